// What-if: every change is planned at once. The last request wins and is retried until it is answered; the plan shown is never for
// other values than those in the form.
"use strict";
import { markInvalid } from "./dialogs.js";
import { read } from "./service.js";
import { bindSlider, setSlider } from "./sliders.js";

const PAUSE = 220;
const form = document.getElementById("what-if-form");
const outcome = document.getElementById("outcome");
const numbers = [...form.querySelectorAll("input[name]")];
const sliders = [...form.querySelectorAll("[data-slides]")];
let waiting = 0;
let asking = null;

function soon(pause = PAUSE) {
  window.clearTimeout(waiting);
  asking?.abort(); // superseded
  asking = null;
  outcome.setAttribute("aria-busy", "true");
  waiting = window.setTimeout(plan, pause);
}

async function plan() {
  const wrong = numbers.find((input) => input.validity.badInput) ?? null; // such as 1e999: the browser reports an empty value
  markInvalid(form, wrong, "outcome");
  if (wrong !== null) { showMessage("bad", `“${wrong.labels[0].textContent.trim()}” is not a valid number.`); return; }
  updateAddress();
  const mine = (asking = new AbortController());
  const answer = await read(`${form.dataset.address}?${new URLSearchParams(new FormData(form))}`, mine.signal);
  if (mine !== asking) return;
  asking = null;
  if (answer.ok) { show(answer.page.body.childNodes); return; }
  showMessage("wait", `No plan for these values yet. ${answer.message.replace(/\.$/, "")}; retrying.`);
  waiting = window.setTimeout(plan, 1000 * answer.wait);
}

function show(nodes) {
  const open = outcome.querySelector("details")?.open ?? false;
  outcome.replaceChildren(...[...nodes].map((node) => document.importNode(node, true)));
  if (open && outcome.querySelector("details")) outcome.querySelector("details").open = true;
  outcome.setAttribute("aria-busy", "false");
}

// A message instead of a plan; screen readers announce it once, however often it is repeated.
function showMessage(tone, message) {
  outcome.setAttribute("aria-busy", "false");
  if (outcome.textContent.trim().endsWith(message)) return;
  const box = Object.assign(document.createElement("div"), { className: `outcome tone-${tone}` });
  const line = Object.assign(document.createElement("p"), { className: "headline" });
  const symbol = Object.assign(document.createElement("span"), { className: "sign", textContent: tone === "bad" ? "✗" : "…" });
  symbol.setAttribute("aria-hidden", "true");
  line.append(symbol, " ", Object.assign(document.createElement("span"), { textContent: message }));
  box.append(line);
  outcome.replaceChildren(box);
}

// Put the changed values into the address, so that it can be shared.
function updateAddress() {
  const address = new URL(window.location.href);
  const changed = numbers.filter((input) => input.value !== input.dataset.default);
  for (const input of numbers) address.searchParams.delete(input.name);
  for (const input of changed) address.searchParams.set(input.name, input.value);
  if (changed.length) address.hash = "what-if"; else if (address.hash === "#what-if") address.hash = "";
  if (address.href !== window.location.href) window.history.replaceState(window.history.state, "", address);
}

// Defaults change with the periods; fields that were not edited follow.
function follow(page) {
  for (const input of numbers) {
    const initial = page.getElementById(input.id)?.dataset.default ?? input.dataset.default;
    if (input.value === input.dataset.default && !input.validity.badInput) input.value = initial;
    input.dataset.default = initial;
  }
  sliders.forEach(setSlider);
}

sliders.forEach(bindSlider);
form.addEventListener("input", () => soon());
form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
document.getElementById("if-reset").addEventListener("click", () => {
  for (const input of numbers) input.value = input.dataset.default;
  sliders.forEach(setSlider);
  soon(0);
});
document.addEventListener("refreshed", (event) => { follow(event.detail); soon(); });
if ("pending" in outcome.dataset || numbers.some((input) => input.value !== "" && input.value !== input.defaultValue)) soon(0); // typed before this script was loaded
