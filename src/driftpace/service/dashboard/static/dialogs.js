// Dialogs: opened for the period that stands, refused with a sentence at the field, and left to where one came from.
"use strict";
import { settle } from "./trouble.js";
import { land } from "./fresh.js";

const order = () => document.getElementById("order").dataset;
const seen = () => JSON.stringify(order());

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener !== null) open(document.getElementById(opener.dataset.opens), opener);
  event.target.closest("[data-closes]")?.closest("dialog").close();
});

function open(dialog, opener) {
  refuse(dialog.querySelector("form"), "");
  dialog.querySelector(".meanwhile").hidden = true;
  dialog.returnTo = opener.id;
  dialog.period = order().period; // what is decided here is about this period and no other
  dialog.key = order().key;
  dialog.seen = seen();
  number(dialog);
  dialog.dispatchEvent(new CustomEvent("opening", { detail: opener.dataset }));
  dialog.showModal();
  settle();
}

// The button that opened a dialog may have been exchanged meanwhile, or be gone with its period.
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => {
    settle();
    land(document.getElementById(dialog.returnTo ?? "") ?? document.getElementById("order-title"));
  });
}

// The numbers of the order, and of the budget, as they stand now.
function number(dialog) {
  for (const place of dialog.querySelectorAll("[data-now]")) {
    const now = order()[place.dataset.now];
    place.textContent = now === "" || Number.isNaN(Number(now)) ? now : Number(now).toLocaleString("en");
  }
}

// Say what is wrong, at the field that is wrong where it is known; an empty sentence takes it back.
export function refuse(form, sentence, field = null) {
  const place = form.querySelector(".refused");
  place.id ||= `${form.closest("dialog").id}-refused`;
  place.textContent = sentence;
  place.hidden = sentence === "";
  blame(form, field, place.id);
  field?.focus();
}

// Mark one field of a form, or none, as the one at fault, described by the element with that id too.
export function blame(form, field, id) {
  for (const one of form.querySelectorAll('[aria-invalid="true"]')) {
    one.removeAttribute("aria-invalid");
    const others = (one.getAttribute("aria-describedby") ?? "").split(" ").filter((other) => other !== "" && other !== id);
    if (others.length) one.setAttribute("aria-describedby", others.join(" ")); else one.removeAttribute("aria-describedby");
  }
  if (field === null) return;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${id}`.trim());
}

// Send something once: the button keeps the keyboard, but does nothing until the answer is there.
export async function once(form, send) {
  const dialog = form.closest("dialog");
  if (dialog.sending) return;
  const button = form.querySelector('[type="submit"]');
  dialog.sending = true;
  button.setAttribute("aria-disabled", "true");
  try { await send(); } finally {
    dialog.sending = false;
    button.removeAttribute("aria-disabled");
    meanwhile(dialog);
  }
}

// What a dialog has brought about itself is no news in it.
export function known(dialog) { dialog.seen = seen(); number(dialog); }

function meanwhile(dialog) {
  if (!dialog.open || dialog.sending || dialog.seen === seen()) return;
  const now = order();
  const place = dialog.querySelector(".meanwhile");
  if (dialog.dataset.about === "budget") {
    place.textContent = `The campaign changed meanwhile: of ${now.budget}, ${now.left} are left.`;
    place.hidden = false;
    number(dialog);
    return;
  }
  place.textContent = now.period !== dialog.period ? `Period ${dialog.period} was closed meanwhile.` : `The order changed meanwhile: ${now.received} of ${now.samples} rows came.`;
  place.hidden = false;
  if (now.period === dialog.period) number(dialog);
}
document.addEventListener("refreshed", () => document.querySelectorAll("dialog[open]").forEach(meanwhile));
