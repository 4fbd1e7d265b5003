// Uploading a delivery: a file chosen or dropped, what is to become of the period, and the receipt.
"use strict";
import { known, once, refuse } from "./dialogs.js";
import { changed } from "./news.js";
import { receipt } from "./receipt.js";
import { say, write } from "./service.js";

const dialog = document.getElementById("upload");
if (dialog !== null) begin(dialog.querySelector("form"));

function begin(form) {
  const file = form.elements.file;
  const drop = document.getElementById("drop");
  const shown = form.querySelector(".receipt");
  const button = form.querySelector('[type="submit"]');
  const done = form.querySelector("[data-closes]");

  function label() {
    const chosen = file.files[0];
    document.getElementById("drop-hint").textContent = chosen ? `${chosen.name}, ${Math.ceil(chosen.size / 1024).toLocaleString("en")} kB` : "or drop it here";
    button.textContent = !chosen && form.elements.final.value === "true" ? "Close the period" : "Upload";
  }

  // There is a receipt, or none; of a closed period there is nothing more to send.
  function show(tone, sentences, closed) {
    const list = document.createElement("ul");
    list.append(...sentences.map((sentence) => Object.assign(document.createElement("li"), { textContent: sentence })));
    shown.replaceChildren(list);
    shown.className = `receipt tone-${tone}`;
    shown.hidden = sentences.length === 0;
    done.textContent = shown.hidden ? "Cancel" : "Done";
    done.classList.toggle("main", closed);
    for (const one of [drop, form.querySelector("fieldset"), button]) one.hidden = closed;
  }

  function reset() { form.reset(); show("quiet", [], false); label(); }

  function picked() { refuse(form, ""); show("quiet", [], false); label(); }

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
    const answer = await deliver(chosen, form.elements.final.value);
    label();
    if (!answer.ok) { refuse(form, answer.sentence, chosen !== undefined && [413, 415, 422].includes(answer.status) ? file : null); return; }
    const [tone, sentences] = receipt(answer.body);
    await changed();
    if (!dialog.open) { say(sentences.join(" ")); return; }
    file.value = "";
    label();
    show(tone, sentences, answer.body.report !== null || answer.body.order.closed);
    known(dialog);
    shown.focus();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = file.files[0];
    if (chosen === undefined && form.elements.final.value !== "true") { refuse(form, "Choose a file first.", file); return; }
    refuse(form, "");
    once(form, () => send(chosen));
  });
}

// Without a name of its own a delivery is known by its rows, so that sending it twice counts once. It is for the period that the
// dialog was opened in: where that is closed by now, the service refuses.
function deliver(file, final) {
  const body = file === undefined ? null : new FormData();
  body?.append("file", file, file.name);
  const query = new URLSearchParams(dialog.key === "" ? { period: dialog.period } : { key: dialog.key });
  if (final !== "") query.set("final", final);
  return write(`/api/campaigns/${encodeURIComponent(document.getElementById("campaign").dataset.name)}/deliveries?${query}`, body);
}
