// Approve and override.
"use strict";
import { showError, submitOnce } from "./dialogs.js";
import { changed } from "./live.js";
import { announce, write } from "./service.js";

const name = document.getElementById("campaign").dataset.name;

document.getElementById("override")?.addEventListener("opening", (event) => {
  event.target.querySelector("[name=samples]").value = document.getElementById("order").dataset.samples;
});

for (const form of document.querySelectorAll("form[data-decides]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { samples, reason } = form.elements;
    const body = { reason: reason.value.trim(), period: Number(form.closest("dialog").period) };
    if (samples !== undefined) {
      if (samples.value === "" || !samples.checkValidity()) { showError(form, "Enter a whole number of rows, 0 or more.", samples); return; }
      if (body.reason === "") { showError(form, "Enter a reason for the log.", reason); return; }
      body.samples = Number(samples.value);
    }
    showError(form, "");
    submitOnce(form, () => decide(form, form.dataset.decides, body));
  });
}

async function decide(form, decides, body) {
  const answer = await write(`/api/campaigns/${encodeURIComponent(name)}/orders/current/${decides}`, JSON.stringify(body), { "Content-Type": "application/json" });
  if (!answer.ok) { showError(form, answer.message, answer.status === 422 ? form.elements[answer.parameter] ?? form.elements.samples ?? form.elements.reason : null); return; }
  form.elements.reason.value = "";
  form.closest("dialog").close();
  await changed();
  announce(decides === "approve" ? "Order approved." : `The order is now ${body.samples.toLocaleString("en")} row${body.samples === 1 ? "" : "s"}: ${expectation(answer.body)}.`);
}

function expectation({ promised, risk_bound: risk }) {
  if (promised) return "expected to be within the target";
  return risk === null ? "too little data for a bound on the excess loss" : `expected excess loss ${Number(risk.toPrecision(3))}, above the target`;
}
