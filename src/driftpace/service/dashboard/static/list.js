// The list: found while one types, and read again when one comes back to it.
"use strict";
import { refresh } from "./fresh.js";

const finder = document.getElementById("finder");
const said = document.getElementById("list-said");

async function show(address) {
  const page = await refresh(address);
  if (page === null) return;
  said.textContent = page.getElementById("list-said").textContent;
}

if (finder !== null) {
  let waiting = 0;
  const search = finder.elements.search;
  search.addEventListener("input", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      const address = new URL(window.location.href);
      address.search = new URLSearchParams(new FormData(finder)).toString();
      window.history.replaceState(null, "", address);
      show(address.href);
    }, 180);
  });
}

window.setInterval(() => { if (!document.hidden) show(window.location.href); }, 20000);
document.addEventListener("visibilitychange", () => { if (!document.hidden) show(window.location.href); });
