// Uploading a delivery: a file chosen or dropped, what is to become of the period, and the receipt.
"use strict";
import { refuse } from "./decide.js";
import { changed } from "./news.js";
import { write } from "./service.js";

const form = document.getElementById("upload-form");
const rows = (count) => `${Number(count).toLocaleString("en")} row${count === 1 ? "" : "s"}`;

function receipt(body) {
  const said = [];
  if (body.duplicate !== null) said.push(`This delivery was told before (entry ${body.duplicate} of the log); nothing was counted twice.`);
  else if (body.rows > 0) said.push(`${rows(body.rows)} counted.`);
  else if (body.report === null) said.push("No row was counted.");
  if (body.repeated > 0) said.push(`${rows(body.repeated)} told before in this period left out.`);
  if (body.unlabelled > 0) said.push(`${rows(body.unlabelled)} without a label left out.`);
  if (body.elsewhere > 0) said.push(`${rows(body.elsewhere)} of another period left out.`);
  if (body.report !== null) said.push(`Period ${body.report.period} is closed: ${body.report.outcome_sentence}.`);
  else if (body.order.closed) said.push(`Period ${body.order.period} is closed.`);
  else if (body.order.missing > 0) said.push(`${rows(body.order.missing)} still missing.`);
  else said.push("Nothing is missing; the period is open.");
  return said;
}

if (form !== null) {
  const file = form.elements.file;
  const drop = document.getElementById("drop");
  const hint = document.getElementById("drop-hint");
  const shown = form.querySelector(".receipt");
  const name = document.getElementById("campaign").dataset.name;

  const named = () => { hint.textContent = file.files.length ? `${file.files[0].name}, ${Math.ceil(file.files[0].size / 1024).toLocaleString("en")} kB` : "or drop it here"; };
  const button = form.querySelector('[type="submit"]');
  const label = () => { button.textContent = file.files.length === 0 && form.elements.final.value === "true" ? "Close the period" : "Upload"; };
  form.addEventListener("change", label);
  document.getElementById("upload").addEventListener("opened", (event) => { form.elements.final.value = event.detail.final; label(); });
  file.addEventListener("change", () => { named(); refuse(form, ""); shown.hidden = true; });
  for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over-it"); });
  for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over-it"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files.length) { file.files = event.dataTransfer.files; named(); label(); refuse(form, ""); shown.hidden = true; }
  });
  document.getElementById("upload").addEventListener("close", () => { form.reset(); named(); shown.hidden = true; form.querySelector("[data-closes]").textContent = "Cancel"; });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    refuse(form, "");
    const final = form.elements.final.value;
    const chosen = file.files[0];
    if (chosen === undefined && final !== "true") { refuse(form, "Choose a file first."); file.focus(); return; }
    button.disabled = true;
    button.textContent = chosen === undefined ? "Closing…" : "Uploading…";
    const answer = await deliver(name, chosen, final, document.getElementById("upload"));
    button.disabled = false;
    label();
    if (!answer.ok) { refuse(form, answer.sentence); return; }
    const list = document.createElement("ul");
    list.append(...receipt(answer.body).map((sentence) => { const one = document.createElement("li"); one.textContent = sentence; return one; }));
    shown.replaceChildren(list);
    shown.hidden = false;
    form.querySelector("[data-closes]").textContent = "Done";
    file.value = "";
    named();
    label();
    await changed();
    shown.focus();
  });
}

// Without a name of its own a delivery is known by its rows, so that sending it twice counts once. It is for the period that the
// dialog was opened in: where that is closed by now, the service refuses.
function deliver(name, file, final, meant) {
  const body = file === undefined ? null : new FormData();
  body?.append("file", file, file.name);
  const query = new URLSearchParams(meant.key === "" ? { period: meant.period } : { key: meant.key });
  if (final !== "") query.set("final", final);
  return write(`/api/campaigns/${encodeURIComponent(name)}/deliveries?${query}`, body);
}
