// News: the service says when the campaign has changed, whoever changed it, and the page is brought up to date.
"use strict";
import { troubled } from "./trouble.js";
import { refresh } from "./fresh.js";
import { say, unreachable } from "./service.js";

const LATER = 5000;
const campaign = document.getElementById("campaign");
let shown = Number(campaign.dataset.entries);
let stream = null;
let silence = 0;
let retry = 0;
let again = 0;
let busy = null;
let lost = false;

// This page without the values of what-if: they are planned for by themselves.
function here() {
  const log = new URLSearchParams(window.location.search).get("log");
  return log === null ? window.location.pathname : `${window.location.pathname}?${new URLSearchParams({ log })}`;
}

// Read the page again; one reading at a time, and whoever asks meanwhile gets another one after it. What fails is tried again.
// True where the page is up to date now.
async function update() {
  while (busy !== null) await busy;
  window.clearTimeout(again);
  busy = (async () => {
    const found = await refresh(here());
    if (!found?.page) { again = window.setTimeout(update, found ? 1000 * found.wait : LATER); return false; }
    const entries = Number(found.page.getElementById("campaign")?.dataset.entries ?? shown);
    if (entries === shown) return true;
    shown = entries;
    say(`Updated: ${document.getElementById("log").dataset.latest || "the campaign has changed."}`);
    return true;
  })();
  try { return await busy; } finally { busy = null; }
}

function listen() {
  hush();
  stream = new EventSource(`/api/campaigns/${encodeURIComponent(campaign.dataset.name)}/stream`);
  stream.addEventListener("open", () => {
    quiet();
    if (lost || troubled()) update(); // a service that was begun anew takes only what a page of its own sends along
    unreachable(false);
    lost = false;
  });
  stream.addEventListener("changed", (event) => {
    if (Number(JSON.parse(event.data).entries) !== shown) update();
  });
  stream.addEventListener("error", () => {
    lost = true;
    if (stream?.readyState !== EventSource.CLOSED) { // it tries again by itself
      if (silence === 0) silence = window.setTimeout(() => { silence = 0; unreachable(true); }, 2500); // and at its next try again: a late answer takes it back
      return;
    }
    quiet(); // refused, such as too many streams: look now and then instead
    update();
    retry = window.setTimeout(listen, LATER);
  });
}

function quiet() { window.clearTimeout(silence); silence = 0; }

function hush() {
  quiet();
  window.clearTimeout(retry);
  window.clearTimeout(again);
  stream?.close();
  stream = null;
}

// After a write of our own the page is brought up to date at once.
export const changed = update;

// A browser keeps few connections to one place, so a page that nobody looks at listens to nothing.
function attend() { if (document.hidden) hush(); else listen(); }
document.addEventListener("visibilitychange", attend);
window.addEventListener("pagehide", hush);
window.addEventListener("pageshow", (event) => { if (event.persisted) attend(); });
attend();
