// Undo an entry of the log.
"use strict";
import { showError, submitOnce } from "./dialogs.js";
import { changed } from "./live.js";
import { announce, write } from "./service.js";

const dialog = document.getElementById("undo");
if (dialog !== null) begin(dialog.querySelector("form"));

function begin(form) {
  dialog.addEventListener("opening", ({ detail }) => {
    form.reset();
    dialog.entry = Number(detail.entry);
    for (const place of dialog.querySelectorAll("[data-shows]")) place.textContent = detail[place.dataset.shows];
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const reason = form.elements.reason;
    if (reason.value.trim() === "") { showError(form, "Enter a reason for the log.", reason); return; }
    showError(form, "");
    submitOnce(form, () => undo(form, { entry: dialog.entry, reason: reason.value.trim(), refund: form.elements.refund?.checked ?? false }));
  });
}

async function undo(form, body) {
  const name = document.getElementById("campaign").dataset.name;
  const answer = await write(`/api/campaigns/${encodeURIComponent(name)}/undo`, JSON.stringify(body), { "Content-Type": "application/json" });
  if (!answer.ok) { showError(form, answer.message, answer.parameter === "reason" ? form.elements.reason : null); return; }
  dialog.close();
  await changed();
  const { revision } = answer.body;
  announce(`Entry ${body.entry} undone${revision === null ? "" : `; ${revision.sentence}`}.`);
}
