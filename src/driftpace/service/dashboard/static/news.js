// News: the service says when the campaign has changed, whoever changed it, and the page is brought up to date.
"use strict";
import { refresh } from "./fresh.js";
import { say, unreachable } from "./service.js";

const campaign = document.getElementById("campaign");
let shown = Number(campaign.dataset.entries);
let stream = null;
let silence = 0;
let busy = false;
let wanted = shown;

async function update() {
  if (busy) return;
  busy = true;
  try {
    while (wanted !== shown) {
      const aim = wanted;
      const page = await refresh();
      if (page === null) return;
      const now = page.getElementById("campaign");
      shown = now === null ? aim : Number(now.dataset.entries);
      if (wanted < shown) wanted = shown;
      say(`Updated: ${document.getElementById("log").dataset.latest || "the campaign has changed."}`);
    }
  } finally { busy = false; }
}

function listen() {
  stream = new EventSource(`/api/campaigns/${encodeURIComponent(campaign.dataset.name)}/stream`);
  stream.addEventListener("open", () => { window.clearTimeout(silence); silence = 0; unreachable(false); });
  stream.addEventListener("changed", (event) => {
    const entries = Number(JSON.parse(event.data).entries);
    if (entries !== shown) { wanted = entries; update(); }
  });
  stream.addEventListener("error", () => {
    if (silence === 0) silence = window.setTimeout(() => unreachable(true), 2500);
    if (stream.readyState === EventSource.CLOSED) { stream.close(); window.setTimeout(listen, 5000); } // refused: try again later
  });
}

// After a write of our own the page is brought up to date at once.
export async function changed() {
  wanted = -1;
  await update();
}

window.addEventListener("pagehide", () => stream?.close());
window.addEventListener("pageshow", (event) => { if (event.persisted) listen(); });
listen();
