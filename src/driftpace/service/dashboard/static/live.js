// Live updates: refresh the page when the event stream reports a change.
"use strict";
import { bannerShown } from "./banner.js";
import { refresh } from "./refresh.js";
import { announce, setUnreachable } from "./service.js";

const LATER = 5000;
const campaign = document.getElementById("campaign");
let shown = Number(campaign.dataset.entries);
let stream = null;
let silence = 0;
let retry = 0;
let again = 0;
let busy = null;
let lost = false;

// The address of this page without the what-if values, which are planned separately.
const KEPT = ["log", "periods", "sort", "order", "show", "search", "page"];
function here() {
  const pages = [...new URLSearchParams(window.location.search)].filter(([name]) => KEPT.includes(name));
  return pages.length === 0 ? window.location.pathname : `${window.location.pathname}?${new URLSearchParams(pages)}`;
}

// Refresh the page, one refresh at a time; a failed one is retried. Returns whether the page is up to date.
async function update() {
  while (busy !== null) await busy;
  window.clearTimeout(again);
  busy = (async () => {
    const result = await refresh(here());
    if (!result?.page) { again = window.setTimeout(update, result ? 1000 * result.wait : LATER); return false; }
    const entries = Number(result.page.getElementById("campaign")?.dataset.entries ?? shown);
    if (entries === shown) return true;
    shown = entries;
    announce(`Updated: ${document.getElementById("log").dataset.latest || "the campaign has changed."}`);
    return true;
  })();
  try { return await busy; } finally { busy = null; }
}

function connect() {
  disconnect();
  stream = new EventSource(`/api/campaigns/${encodeURIComponent(campaign.dataset.name)}/stream`);
  stream.addEventListener("open", () => {
    clearSilence();
    if (lost || bannerShown()) update(); // a restarted service accepts only the CSRF token of a page it sent itself
    setUnreachable(false);
    lost = false;
  });
  stream.addEventListener("changed", (event) => {
    if (Number(JSON.parse(event.data).entries) !== shown) update();
  });
  stream.addEventListener("error", () => {
    lost = true;
    if (stream?.readyState !== EventSource.CLOSED) { // it reconnects by itself
      if (silence === 0) silence = window.setTimeout(() => { silence = 0; setUnreachable(true); }, 2500); // cleared by the next successful response
      return;
    }
    clearSilence(); // refused, such as too many streams: poll instead
    update();
    retry = window.setTimeout(connect, LATER);
  });
}

function clearSilence() { window.clearTimeout(silence); silence = 0; }

function disconnect() {
  clearSilence();
  window.clearTimeout(retry);
  window.clearTimeout(again);
  stream?.close();
  stream = null;
}

// Called after a write of this page.
export const changed = update;

// Browsers allow few connections to one host, so a hidden page does not listen.
function onVisibility() { if (document.hidden) disconnect(); else connect(); }
document.addEventListener("visibilitychange", onVisibility);
window.addEventListener("pagehide", disconnect);
window.addEventListener("pageshow", (event) => { if (event.persisted) onVisibility(); });
onVisibility();
