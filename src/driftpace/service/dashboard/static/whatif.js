// What if: whatever is moved or typed is planned at once. The last wish wins, and is tried until it is answered; what is shown is
// never the plan for other values than those in the form.
"use strict";
import { blame } from "./dialogs.js";
import { read } from "./service.js";
import { couple, place } from "./sliders.js";

const PAUSE = 220;
const form = document.getElementById("what-if-form");
const outcome = document.getElementById("outcome");
const numbers = [...form.querySelectorAll("input[name]")];
const sliders = [...form.querySelectorAll("[data-slides]")];
let waiting = 0;
let asking = null;

function soon(pause = PAUSE) {
  window.clearTimeout(waiting);
  asking?.abort(); // nobody waits for it any more
  asking = null;
  outcome.setAttribute("aria-busy", "true");
  waiting = window.setTimeout(plan, pause);
}

async function plan() {
  const wrong = numbers.find((input) => input.validity.badInput) ?? null; // such as 1e999: the browser gives it as nothing
  blame(form, wrong, "outcome");
  if (wrong !== null) { tell("bad", `“${wrong.labels[0].textContent.trim()}” is not a number that can be planned with.`); return; }
  share();
  const mine = (asking = new AbortController());
  const answer = await read(`${form.dataset.address}?${new URLSearchParams(new FormData(form))}`, mine.signal);
  if (mine !== asking) return;
  asking = null;
  if (answer.ok) { show(answer.page.body.childNodes); return; }
  tell("wait", `No plan for these values yet. ${answer.sentence.replace(/\.$/, "")}; trying again by itself.`);
  waiting = window.setTimeout(plan, 1000 * answer.wait);
}

function show(nodes) {
  const open = outcome.querySelector("details")?.open ?? false;
  outcome.replaceChildren(...[...nodes].map((one) => document.importNode(one, true)));
  if (open && outcome.querySelector("details")) outcome.querySelector("details").open = true;
  outcome.setAttribute("aria-busy", "false");
}

// A sentence in the place of a plan; it is read aloud once, however often it comes.
function tell(tone, sentence) {
  outcome.setAttribute("aria-busy", "false");
  if (outcome.textContent.trim().endsWith(sentence)) return;
  const box = Object.assign(document.createElement("div"), { className: `outcome tone-${tone}` });
  const line = Object.assign(document.createElement("p"), { className: "headline" });
  const sign = Object.assign(document.createElement("span"), { className: "sign", textContent: tone === "bad" ? "✗" : "…" });
  sign.setAttribute("aria-hidden", "true");
  line.append(sign, " ", Object.assign(document.createElement("span"), { textContent: sentence }));
  box.append(line);
  outcome.replaceChildren(box);
}

// The address says what was changed, so that it can be sent to somebody.
function share() {
  const address = new URL(window.location.href);
  const changed = numbers.filter((input) => input.value !== input.dataset.usual);
  for (const input of numbers) address.searchParams.delete(input.name);
  for (const input of changed) address.searchParams.set(input.name, input.value);
  if (changed.length) address.hash = "what-if"; else if (address.hash === "#what-if") address.hash = "";
  if (address.href !== window.location.href) window.history.replaceState(window.history.state, "", address);
}

// What is usual goes with the periods; whoever has not changed a number goes along.
function follow(page) {
  for (const input of numbers) {
    const usual = page.getElementById(input.id)?.dataset.usual ?? input.dataset.usual;
    if (input.value === input.dataset.usual && !input.validity.badInput) input.value = usual;
    input.dataset.usual = usual;
  }
  sliders.forEach(place);
}

sliders.forEach(couple);
form.addEventListener("input", () => soon());
form.addEventListener("submit", (event) => { event.preventDefault(); soon(0); });
document.getElementById("if-reset").addEventListener("click", () => {
  for (const input of numbers) input.value = input.dataset.usual;
  sliders.forEach(place);
  soon(0);
});
document.addEventListener("refreshed", (event) => { follow(event.detail); soon(); });
if ("pending" in outcome.dataset || numbers.some((input) => input.value !== "" && input.value !== input.defaultValue)) soon(0); // typed before this script came
