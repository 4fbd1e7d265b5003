// What if: whatever is moved or typed is planned at once; the last wish wins.
"use strict";
import { read } from "./service.js";

const form = document.getElementById("what-if-form");
const outcome = document.getElementById("outcome");
let waiting = 0;
let asking = null;

async function plan() {
  asking?.abort();
  const mine = (asking = new AbortController());
  outcome.setAttribute("aria-busy", "true");
  const wanted = new URLSearchParams(new FormData(form));
  const answer = await read(`${form.dataset.address}?${wanted}`, mine.signal);
  if (mine !== asking) return;
  if (answer !== null && answer.ok) {
    const open = outcome.querySelector("details")?.open ?? false;
    outcome.replaceChildren(...[...answer.page.body.childNodes].map((one) => document.importNode(one, true)));
    if (open && outcome.querySelector("details")) outcome.querySelector("details").open = true;
  } else if (answer !== null) {
    const said = document.createElement("p");
    said.textContent = answer.status === 503 ? "The service is busy planning for others; change something to try again." : `The service answered with ${answer.status}.`;
    outcome.replaceChildren(said);
  }
  outcome.setAttribute("aria-busy", "false");
}

function soon() {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(plan, 220);
}

// A slider of 0..100 stands for a fifth to five times the usual value, or for 1 to twice and more.
function scale(slider) {
  const input = document.getElementById(slider.dataset.slides);
  const usual = Number(input.dataset.usual);
  if (slider.dataset.scale === "even") {
    const most = Math.min(Number(input.max) || Infinity, Math.max(24, 2 * usual));
    return { to: (at) => Math.round(1 + (most - 1) * at / 100), from: (value) => 100 * (value - 1) / (most - 1) };
  }
  const middle = usual > 0 ? usual : 100;
  return { to: (at) => Number((middle * 5 ** ((at - 50) / 50)).toPrecision(2)), from: (value) => 50 + 50 * Math.log(value / middle) / Math.log(5) };
}

function place(slider) {
  const input = document.getElementById(slider.dataset.slides);
  const at = input.value === "" ? 50 : scale(slider).from(Number(input.value));
  slider.value = Number.isFinite(at) ? Math.min(100, Math.max(0, Math.round(at))) : 50;
  slider.setAttribute("aria-valuetext", input.value === "" ? "not set" : input.value);
}

for (const slider of form.querySelectorAll("[data-slides]")) {
  const input = document.getElementById(slider.dataset.slides);
  place(slider);
  slider.addEventListener("input", () => {
    input.value = slider.value === "50" && input.dataset.usual !== "" ? input.dataset.usual : scale(slider).to(Number(slider.value));
    slider.setAttribute("aria-valuetext", input.value);
    soon();
  });
  input.addEventListener("input", () => place(slider));
}
form.addEventListener("input", (event) => { if (event.target.type !== "range") soon(); });
form.addEventListener("submit", (event) => { event.preventDefault(); window.clearTimeout(waiting); plan(); });
document.getElementById("if-reset").addEventListener("click", () => {
  for (const input of form.querySelectorAll("input[name]")) input.value = input.dataset.usual;
  form.querySelectorAll("[data-slides]").forEach(place);
  plan();
});
document.addEventListener("refreshed", () => { soon(); });
if ("pending" in outcome.dataset) plan();
