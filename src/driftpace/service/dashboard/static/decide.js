// Approving and overriding, with the reason; what is typed stays when news come in.
"use strict";
import { once, refuse } from "./dialogs.js";
import { changed } from "./news.js";
import { say, write } from "./service.js";

const name = document.getElementById("campaign").dataset.name;

document.getElementById("override")?.addEventListener("opening", (event) => {
  event.target.querySelector("[name=samples]").value = document.getElementById("order").dataset.samples;
});

for (const form of document.querySelectorAll("form[data-decides]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { samples, reason } = form.elements;
    const wanted = { reason: reason.value.trim(), period: Number(form.closest("dialog").period) };
    if (samples !== undefined) {
      if (samples.value === "" || !samples.checkValidity()) { refuse(form, "Give a whole number of rows, 0 or more.", samples); return; }
      if (wanted.reason === "") { refuse(form, "Say why, for the log.", reason); return; }
      wanted.samples = Number(samples.value);
    }
    refuse(form, "");
    once(form, () => decide(form, form.dataset.decides, wanted));
  });
}

async function decide(form, decides, wanted) {
  const answer = await write(`/api/campaigns/${encodeURIComponent(name)}/orders/current/${decides}`, JSON.stringify(wanted), { "Content-Type": "application/json" });
  if (!answer.ok) { refuse(form, answer.sentence, answer.status === 422 ? form.elements[answer.about] ?? form.elements.samples ?? form.elements.reason : null); return; }
  form.elements.reason.value = "";
  form.closest("dialog").close();
  await changed();
  say(decides === "approve" ? "The order is approved." : `The order is now ${wanted.samples.toLocaleString("en")} row${wanted.samples === 1 ? "" : "s"}: ${promise(answer.body)}.`);
}

function promise({ promised, risk_bound: risk }) {
  if (promised) return "the target is promised";
  return risk === null ? "too little is known to promise anything" : `${Number(risk.toPrecision(3))} above the best is expected, and the target not promised`;
}
