// The list: found while one types, and read again when one comes back to it; the last wish wins.
"use strict";
import { refresh } from "./fresh.js";

const EVERY = 20;
const finder = document.getElementById("finder");
const said = document.getElementById("list-said");
let asking = null;
let next = 0;

async function show() {
  window.clearTimeout(next);
  asking?.abort();
  const mine = (asking = new AbortController());
  const found = await refresh(window.location.href, mine.signal);
  if (mine !== asking) return;
  if (found?.page) said.textContent = found.page.getElementById("list-said").textContent;
  later(found?.wait ?? EVERY);
}

function later(seconds) {
  window.clearTimeout(next);
  next = window.setTimeout(() => { if (document.hidden) later(EVERY); else show(); }, 1000 * seconds);
}

finder?.elements.search.addEventListener("input", () => {
  asking?.abort(); // what was wished before is wished no more
  asking = null;
  const address = new URL(window.location.href);
  address.search = new URLSearchParams(new FormData(finder)).toString();
  window.history.replaceState(null, "", address);
  later(0.18);
});

later(EVERY);
document.addEventListener("visibilitychange", () => { if (!document.hidden) show(); });
