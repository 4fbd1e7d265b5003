// Check a table: send the file, and show what driftpace would make of it.
"use strict";
import { showError, submitOnce } from "./dialogs.js";
import { announce, write } from "./service.js";

const COMMANDS = { Next: "Replay it", Campaign: "Make a campaign of it" };
const form = document.getElementById("check-form");
const drop = document.getElementById("check-drop");
const result = document.getElementById("check-result");
const file = form.elements.file;
const button = form.querySelector('[type="submit"]');

const element = (kind, text, more = {}) => Object.assign(document.createElement(kind), { textContent: text, ...more });

// Lines with the same label are one entry.
function entries(lines) {
  const made = [];
  for (const { label, text } of lines) {
    if (label in COMMANDS) continue;
    if (label !== "" || made.length === 0) made.push([label, []]);
    made.at(-1)[1].push(text);
  }
  return made.map(([label, texts]) => {
    const entry = document.createElement("div");
    const value = document.createElement("dd");
    value.append(...texts.map((text) => element("p", text)));
    if (label === "Problem") value.className = "mark-warn";
    entry.append(element("dt", label), value);
    return entry;
  });
}

function commands(lines) {
  return lines.filter(({ label }) => label in COMMANDS).flatMap(({ label, text }) => {
    const block = document.createElement("pre");
    block.append(element("code", text));
    return [element("h3", COMMANDS[label]), block];
  });
}

// The columns, with a button for each that can be predicted.
function table(body) {
  const made = document.createElement("table");
  const head = made.createTHead().insertRow();
  for (const name of ["Column", "Holds", "", "Distinct", "Missing", "As a target"]) head.append(element("th", name, { scope: "col" }));
  const rows = made.createTBody();
  for (const column of body.columns) {
    const row = rows.insertRow();
    row.append(element("th", column.name, { scope: "row" }));
    for (const cell of [column.holds, column.detail, column.distinct.toLocaleString("en"), column.missing ? column.missing.toLocaleString("en") : ""]) row.append(element("td", cell));
    const last = element("td", column.target === null ? "" : `${column.target} `);
    if (body.candidates.includes(column.name) && column.name !== body.target) {
      const choose = element("button", "Predict", { type: "button", className: "plain" });
      choose.setAttribute("aria-label", `Predict ${column.name}`);
      choose.addEventListener("click", () => { form.elements.target.value = column.name; form.requestSubmit(); });
      last.append(choose);
    }
    row.append(last);
  }
  return made;
}

function show(body) {
  document.getElementById("check-result-title").textContent = `${body.name}: ${body.rows.toLocaleString("en")} rows, ${body.columns.length.toLocaleString("en")} columns`;
  document.getElementById("check-lines").replaceChildren(...entries(body.lines));
  const next = document.getElementById("check-commands");
  next.replaceChildren(...(body.target === null ? [] : commands(body.lines)));
  next.hidden = next.childElementCount === 0;
  const columns = document.getElementById("check-table");
  columns.replaceChildren(table(body));
  columns.hidden = false;
  document.getElementById("check-columns").replaceChildren(...body.columns.map(({ name }) => Object.assign(document.createElement("option"), { value: name })));
  result.hidden = false;
  result.focus();
  announce("The table is checked.");
}

async function send(chosen) {
  button.textContent = "Checking…";
  const query = new URLSearchParams();
  for (const name of ["target", "period", "weight", "sheet"]) {
    const value = form.elements[name].value.trim();
    if (value !== "") query.set(name, value);
  }
  const body = new FormData();
  body.append("file", chosen, chosen.name);
  const answer = await write(`/api/check?${query}`, body);
  button.textContent = "Check";
  if (!answer.ok) { result.hidden = true; showError(form, answer.message, form.elements[answer.parameter] ?? file); return; }
  show(answer.body);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = file.files[0];
  if (chosen === undefined) { showError(form, "Choose a file.", file); return; }
  showError(form, "");
  submitOnce(form, () => send(chosen));
});
file.addEventListener("change", () => { showError(form, ""); result.hidden = true; form.elements.target.value = ""; });
for (const kind of ["dragenter", "dragover"]) drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over-it"); });
for (const kind of ["dragleave", "drop"]) drop.addEventListener(kind, () => drop.classList.remove("over-it"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.files.length) { file.files = event.dataTransfer.files; file.dispatchEvent(new Event("change")); }
});
document.documentElement.classList.add("ready");
