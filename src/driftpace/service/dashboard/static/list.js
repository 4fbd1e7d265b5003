// The list: found while one types, and read again when one comes back to it; the last wish wins.
"use strict";
import { refresh } from "./fresh.js";

const EVERY = 20;
const said = document.getElementById("list-said");
let asking = null;
let next = 0;
let finder = null; // the form, while something new is in it

async function show() {
  window.clearTimeout(next);
  asking?.abort();
  const mine = (asking = new AbortController());
  if (finder !== null) window.history.replaceState(null, "", `?${new URLSearchParams(new FormData(finder))}`);
  finder = null;
  const found = await refresh(window.location.href, mine.signal);
  if (mine !== asking) return;
  if (found?.page) said.textContent = found.page.getElementById("list-said").textContent;
  later(found?.wait ?? EVERY);
}

function later(seconds) {
  window.clearTimeout(next);
  next = window.setTimeout(() => { if (document.hidden) later(EVERY); else show(); }, 1000 * seconds);
}

document.addEventListener("input", (event) => { // what is typed in comes with the first campaign, so it may not be there yet
  if (event.target.form?.id !== "finder") return;
  finder = event.target.form;
  asking?.abort(); // what was wished before is wished no more
  asking = null;
  later(0.18);
});

const search = document.getElementById("search");
if (search !== null && search.value !== search.defaultValue) finder = search.form; // typed before this script came
later(finder === null ? EVERY : 0);
document.addEventListener("visibilitychange", () => { if (!document.hidden) show(); });
