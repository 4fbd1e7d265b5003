// Draw the rows to label from a pool, and offer them as a file.
"use strict";
import { acknowledge, showError, submitOnce } from "./dialogs.js";
import { changed } from "./live.js";
import { write } from "./service.js";
import { askForSheet, table } from "./upload.js";

const SHOWN = 5;
const dialog = document.getElementById("draw");
if (dialog !== null) begin(dialog.querySelector("form"));

function begin(form) {
  const file = form.elements.file;
  const shown = form.querySelector(".receipt");
  const preview = document.getElementById("draw-preview");
  const download = document.getElementById("draw-download");
  const button = form.querySelector('[type="submit"]');
  const done = form.querySelector("[data-closes]");

  function reset() {
    form.reset();
    askForSheet(form, undefined);
    shown.hidden = true;
    table(preview, null);
    if (download.href !== "") URL.revokeObjectURL(download.href);
    download.removeAttribute("href");
    download.hidden = true;
    button.hidden = false;
    done.textContent = "Cancel";
  }

  function show(body) {
    const skipped = Object.entries(body.invalid).map(([why, count]) => `${Number(count).toLocaleString("en")} ${why}`).join(", ");
    const sentences = [body.sentence, ...(body.skipped > 0 ? [`Skipped in the pool: ${skipped}.`] : [])];
    const list = document.createElement("ul");
    list.append(...sentences.map((sentence) => Object.assign(document.createElement("li"), { textContent: sentence.charAt(0).toUpperCase() + sentence.slice(1) })));
    shown.replaceChildren(list);
    shown.hidden = false;
    if (body.rows.length > 0) {
      const columns = Object.keys(body.rows[0]);
      const rows = body.rows.map((row) => columns.map((name) => row[name]));
      table(preview, { columns, rows: rows.slice(0, SHOWN) });
      download.href = URL.createObjectURL(new Blob([csv([columns, ...rows])], { type: "text/csv" }));
      download.download = `${document.getElementById("campaign").dataset.name}-${dialog.key || dialog.period}.csv`;
      download.hidden = false;
      button.hidden = true;
      done.textContent = "Done";
    }
    shown.focus();
  }

  async function send(chosen) {
    button.textContent = "Drawing…";
    const body = new FormData();
    body.append("file", chosen, chosen.name);
    const query = new URLSearchParams({ choose: form.elements.choose.value });
    if (form.elements.sheet.value.trim() !== "") query.set("sheet", form.elements.sheet.value.trim());
    const name = document.getElementById("campaign").dataset.name;
    const answer = await write(`/api/campaigns/${encodeURIComponent(name)}/sample?${query}`, body);
    button.textContent = "Draw";
    if (!answer.ok) { showError(form, answer.message, form.elements[answer.parameter] ?? file); return; }
    await changed();
    if (!dialog.open) return;
    acknowledge(dialog);
    show(answer.body);
  }

  file.addEventListener("change", () => { showError(form, ""); askForSheet(form, file.files[0]); });
  dialog.addEventListener("opening", reset);
  dialog.addEventListener("close", reset);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = file.files[0];
    if (chosen === undefined) { showError(form, "Choose a file.", file); return; }
    showError(form, "");
    submitOnce(form, () => send(chosen));
  });
}

// Cells with commas, quotes or line breaks are quoted.
function csv(lines) {
  const cell = (value) => { const text = String(value ?? ""); return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text; };
  return lines.map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");
}
