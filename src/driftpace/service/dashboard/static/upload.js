// Upload a delivery, or close the period.
"use strict";
import { acknowledge, showError, submitOnce } from "./dialogs.js";
import { changed } from "./live.js";
import { receipt } from "./receipt.js";
import { announce, write } from "./service.js";

const dialog = document.getElementById("upload");
if (dialog !== null) begin(dialog.querySelector("form"));

function begin(form) {
  const file = form.elements.file;
  const drop = document.getElementById("drop");
  const shown = form.querySelector(".receipt");
  const button = form.querySelector('[type="submit"]');
  const done = form.querySelector("[data-closes]");
  const preview = document.getElementById("upload-preview");

  function label() {
    const chosen = file.files[0];
    askForSheet(form, chosen);
    document.getElementById("drop-hint").textContent = chosen ? `${chosen.name}, ${Math.ceil(chosen.size / 1024).toLocaleString("en")} kB` : "or drop it here";
    button.textContent = !chosen && form.elements.final.value === "true" ? "Close the period" : "Upload";
  }

  // Show the receipt, if any; after a closed period there is nothing more to send.
  function show(tone, sentences, closed) {
    const list = document.createElement("ul");
    list.append(...sentences.map((sentence) => Object.assign(document.createElement("li"), { textContent: sentence })));
    shown.replaceChildren(list);
    shown.className = `receipt tone-${tone}`;
    shown.hidden = sentences.length === 0;
    done.textContent = shown.hidden ? "Cancel" : "Done";
    done.classList.toggle("main", closed);
    for (const element of [drop, form.querySelector("fieldset"), button, document.getElementById("preview-upload")]) element.hidden = closed;
  }

  function reset() { form.reset(); show("quiet", [], false); table(preview, null); label(); }

  function picked() { showError(form, ""); show("quiet", [], false); table(preview, null); label(); }

  // What the delivery would do, and its first rows; nothing is written.
  async function look(chosen) {
    const answer = await deliver(chosen, form.elements, true);
    if (!answer.ok) { table(preview, null); showError(form, answer.message, file); return; }
    const [, sentences] = receipt(answer.body, true);
    show("quiet", ["A preview: nothing was counted.", ...sentences], false);
    done.textContent = "Cancel";
    table(preview, answer.body.preview);
    shown.focus();
  }

  document.getElementById("preview-upload").addEventListener("click", () => {
    const chosen = file.files[0];
    if (chosen === undefined) { showError(form, "Choose a file.", file); return; }
    showError(form, "");
    submitOnce(form, () => look(chosen));
  });

  form.addEventListener("change", label);
  file.addEventListener("change", picked);
  dialog.addEventListener("opening", (event) => { reset(); form.elements.final.value = event.detail.final; label(); });
  dialog.addEventListener("close", reset);
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over-it"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over-it"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) { file.files = event.dataTransfer.files; picked(); }
  });

  async function send(chosen) {
    button.textContent = chosen === undefined ? "Closing…" : "Uploading…";
    const answer = await deliver(chosen, form.elements, false);
    table(preview, null);
    label();
    if (!answer.ok) { showError(form, answer.message, chosen !== undefined && [413, 415, 422].includes(answer.status) ? file : null); return; }
    const [tone, sentences] = receipt(answer.body);
    await changed();
    if (!dialog.open) { announce(sentences.join(" ")); return; }
    file.value = "";
    label();
    show(tone, sentences, answer.body.report !== null || answer.body.order.closed);
    acknowledge(dialog);
    shown.focus();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = file.files[0];
    if (chosen === undefined && form.elements.final.value !== "true") { showError(form, "Choose a file.", file); return; }
    showError(form, "");
    submitOnce(form, () => send(chosen));
  });
}

// A delivery is identified by its rows, so that sending it twice counts once. It is for the period that was open when the dialog
// was opened; the service refuses it if that period has been closed.
function deliver(file, { final, others, balance, sheet }, look) {
  const body = file === undefined ? null : new FormData();
  body?.append("file", file, file.name);
  const query = new URLSearchParams({ period: dialog.period });
  if (final.value !== "") query.set("final", final.value);
  if (others.checked) query.set("accept_others", "true");
  if (balance.checked) query.set("balance", "true");
  if (look) query.set("dry_run", "true");
  if (sheet.value.trim() !== "") query.set("sheet", sheet.value.trim());
  return write(`/api/campaigns/${encodeURIComponent(document.getElementById("campaign").dataset.name)}/deliveries?${query}`, body);
}

// Show the field for the sheet of a workbook.
export function askForSheet(form, chosen) {
  const place = form.querySelector("[data-workbook]");
  place.hidden = !/\.xlsx$/i.test(chosen?.name ?? "");
  if (place.hidden) form.elements.sheet.value = "";
}

// Fill an element with a table of the first rows of a file, or hide it.
export function table(place, preview) {
  place.hidden = preview === null;
  if (preview === null) { place.replaceChildren(); return; }
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    row.append(...cells.map((cell) => Object.assign(document.createElement(kind), { textContent: cell ?? "" })));
    return row;
  };
  const made = document.createElement("table");
  made.createTHead().append(line(preview.columns, "th"));
  made.createTBody().append(...preview.rows.map((cells) => line(cells, "td")));
  place.replaceChildren(made);
}
