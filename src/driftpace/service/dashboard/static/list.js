// The list: filtered while typing, refreshed periodically and when the page becomes visible; the last request wins.
"use strict";
import { refresh } from "./refresh.js";

const EVERY = 20;
const summary = document.getElementById("list-summary");
let asking = null;
let next = 0;
let finder = null; // the form, while it has unsent input

async function show() {
  window.clearTimeout(next);
  asking?.abort();
  const mine = (asking = new AbortController());
  if (finder !== null) window.history.replaceState(null, "", `?${new URLSearchParams(new FormData(finder))}`);
  finder = null;
  const result = await refresh(window.location.href, mine.signal);
  if (mine !== asking) return;
  if (result?.page) summary.textContent = result.page.getElementById("list-summary").textContent;
  later(result?.wait ?? EVERY);
}

function later(seconds) {
  window.clearTimeout(next);
  next = window.setTimeout(() => { if (document.hidden) later(EVERY); else show(); }, 1000 * seconds);
}

document.addEventListener("input", (event) => { // delegated: the form appears with the first campaign
  if (event.target.form?.id !== "finder") return;
  finder = event.target.form;
  asking?.abort(); // superseded
  asking = null;
  later(0.18);
});

const search = document.getElementById("search");
if (search !== null && search.value !== search.defaultValue) finder = search.form; // typed before this script was loaded
later(finder === null ? EVERY : 0);
document.addEventListener("visibilitychange", () => { if (!document.hidden) show(); });
