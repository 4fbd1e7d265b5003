// Dialogs: bound to the open period, with errors at their fields; focus returns to the opener.
"use strict";
import { moveBanner } from "./banner.js";
import { focus } from "./refresh.js";

const order = () => document.getElementById("order").dataset;
const snapshot = () => JSON.stringify(order());

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener !== null) open(document.getElementById(opener.dataset.opens), opener);
  event.target.closest("[data-closes]")?.closest("dialog").close();
});

function open(dialog, opener) {
  showError(dialog.querySelector("form"), "");
  dialog.querySelector(".meanwhile").hidden = true;
  dialog.returnTo = opener.id;
  dialog.period = order().period; // the decision is for this period only
  dialog.key = order().key;
  dialog.snapshot = snapshot();
  fillNumbers(dialog);
  dialog.dispatchEvent(new CustomEvent("opening", { detail: opener.dataset }));
  dialog.showModal();
  moveBanner();
}

// The button that opened a dialog may have been replaced or removed meanwhile.
for (const dialog of document.querySelectorAll("dialog")) {
  dialog.addEventListener("close", () => {
    moveBanner();
    focus(document.getElementById(dialog.returnTo ?? "") ?? document.getElementById("order-title"));
  });
}

// Fill in the current numbers of the order and the budget.
function fillNumbers(dialog) {
  for (const place of dialog.querySelectorAll("[data-now]")) {
    const now = order()[place.dataset.now];
    place.textContent = now === "" || Number.isNaN(Number(now)) ? now : Number(now).toLocaleString("en");
  }
}

// Show an error, at its field if known; an empty message clears it.
export function showError(form, message, field = null) {
  const place = form.querySelector(".refused");
  place.id ||= `${(form.closest("dialog") ?? form).id}-refused`;
  place.textContent = message;
  place.hidden = message === "";
  markInvalid(form, field, place.id);
  field?.focus();
}

// Mark one field of a form, or none, as invalid and described by the element with that id.
export function markInvalid(form, field, id) {
  for (const marked of form.querySelectorAll('[aria-invalid="true"]')) {
    marked.removeAttribute("aria-invalid");
    const others = (marked.getAttribute("aria-describedby") ?? "").split(" ").filter((other) => other !== "" && other !== id);
    if (others.length) marked.setAttribute("aria-describedby", others.join(" ")); else marked.removeAttribute("aria-describedby");
  }
  if (field === null) return;
  field.setAttribute("aria-invalid", "true");
  field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${id}`.trim());
}

// Submit once: the button keeps focus but does nothing until the response arrives.
export async function submitOnce(form, send) {
  if (form.sending) return;
  const dialog = form.closest("dialog");
  const button = form.querySelector('[type="submit"]');
  form.sending = true;
  button.setAttribute("aria-disabled", "true");
  try { await send(); } finally {
    form.sending = false;
    button.removeAttribute("aria-disabled");
    if (dialog !== null) showChanges(dialog);
  }
}

// Take the current state as known: a change by the dialog itself is not reported in it.
export function acknowledge(dialog) { dialog.snapshot = snapshot(); fillNumbers(dialog); }

function showChanges(dialog) {
  if (!dialog.open || dialog.querySelector("form").sending || dialog.snapshot === snapshot() || dialog.dataset.about === "log") return;
  const now = order();
  const place = dialog.querySelector(".meanwhile");
  if (dialog.dataset.about === "budget") {
    place.textContent = `The campaign has changed: ${now.left} of ${now.budget} left.`;
    place.hidden = false;
    fillNumbers(dialog);
    return;
  }
  place.textContent = now.period !== dialog.period ? `Period ${dialog.period} has been closed meanwhile.` : `The order has changed: ${now.received} of ${now.samples} rows received.`;
  place.hidden = false;
  if (now.period === dialog.period) fillNumbers(dialog);
}
document.addEventListener("refreshed", () => document.querySelectorAll("dialog[open]").forEach(showChanges));
