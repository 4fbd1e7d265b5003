// The page of a fleet: refreshed when the fleet changes, and the table filtered while typing; the last request wins.
"use strict";
import "./live.js";
import { refresh } from "./refresh.js";

let asking = null;
let next = 0;

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (form?.id !== "finder") return;
  asking?.abort(); // superseded
  window.clearTimeout(next);
  next = window.setTimeout(async () => {
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    window.history.replaceState(null, "", `${window.location.pathname}?${new URLSearchParams(given)}`);
    const mine = (asking = new AbortController());
    await refresh(window.location.href, mine.signal);
  }, 180);
});

document.documentElement.classList.add("ready");
