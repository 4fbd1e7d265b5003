// Approving and overriding: a dialog each, with the reason; what is typed stays when news come in.
"use strict";
import { changed } from "./news.js";
import { say, write } from "./service.js";

const name = document.getElementById("campaign").dataset.name;

export function refuse(form, sentence) {
  const place = form.querySelector(".refused");
  place.textContent = sentence;
  place.hidden = sentence === "";
}

// The numbers of the order as it stands now.
function number(dialog) {
  const order = document.getElementById("order").dataset;
  for (const place of dialog.querySelectorAll("[data-now]")) place.textContent = Number(order[place.dataset.now]).toLocaleString("en");
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener !== null) {
    const dialog = document.getElementById(opener.dataset.opens);
    refuse(dialog.querySelector("form"), "");
    dialog.querySelector(".meanwhile").hidden = true;
    dialog.returnTo = opener.id;
    dialog.period = document.getElementById("order").dataset.period; // what is decided here is about this period and no other
    dialog.key = document.getElementById("order").dataset.key;
    dialog.seen = JSON.stringify(document.getElementById("order").dataset);
    number(dialog);
    const samples = dialog.querySelector("[name=samples]");
    if (samples !== null) samples.value = document.getElementById("order").dataset.samples;
    dialog.showModal();
    dialog.dispatchEvent(new CustomEvent("opened", { detail: opener.dataset }));
  }
  const closer = event.target.closest("[data-closes]");
  if (closer !== null) closer.closest("dialog").close();
});

// The button that opened a dialog may have been exchanged meanwhile, so it is looked up by its id.
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => document.getElementById(dialog.returnTo ?? "")?.focus());
}

for (const form of document.querySelectorAll("form[data-decides]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const decides = form.dataset.decides;
    const wanted = { reason: form.elements.reason.value.trim(), period: Number(form.closest("dialog").period) };
    if (decides === "override") {
      const samples = form.elements.samples;
      if (samples.value === "" || !samples.checkValidity()) { refuse(form, "Give a whole number of rows, 0 or more."); samples.focus(); return; }
      if (wanted.reason === "") { refuse(form, "Say why, for the log."); form.elements.reason.focus(); return; }
      wanted.samples = Number(samples.value);
    }
    const button = form.querySelector('[type="submit"]');
    button.disabled = true;
    const answer = await write(`/api/campaigns/${encodeURIComponent(name)}/orders/current/${decides}`, JSON.stringify(wanted), { "Content-Type": "application/json" });
    button.disabled = false;
    if (!answer.ok) { refuse(form, answer.sentence); return; }
    form.elements.reason.value = "";
    form.closest("dialog").close();
    await changed();
    say(decides === "approve" ? "The order is approved." : `The order is now ${wanted.samples} rows.`);
  });
}

document.addEventListener("refreshed", () => {
  const order = document.getElementById("order");
  for (const dialog of document.querySelectorAll("dialog[open]")) {
    if (dialog.seen === JSON.stringify(order.dataset)) continue;
    const place = dialog.querySelector(".meanwhile");
    place.textContent = order.dataset.period !== dialog.period ? `Period ${dialog.period} was closed meanwhile.` : `The order changed meanwhile: ${order.dataset.came} of ${order.dataset.samples} rows came.`;
    place.hidden = false;
    if (order.dataset.period === dialog.period) number(dialog);
  }
});
