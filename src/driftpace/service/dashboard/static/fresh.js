// Bringing a page up to date: an address is read again, and the parts marked data-live are exchanged.
"use strict";
import { clear, clock, warn } from "./trouble.js";
import { keep, read } from "./service.js";

// Forms, dialogs and whatever is typed in lie outside the live parts, so nothing of it is lost. A page that cannot be read says that
// it is old. What comes back is the new page, {wait} where it is to be tried again, or null where it was given up.
export async function refresh(address, signal) {
  const answer = await read(address, signal);
  if (answer === null || signal?.aborted) return null;
  if (!answer.ok) {
    if (answer.status >= 400 && answer.status !== 401) warn(`answer ${answer.status}`, `${answer.sentence}: so it is since ${clock()}. What you see is old; trying again by itself.`);
    return { wait: answer.wait };
  }
  clear();
  for (const old of document.querySelectorAll("[data-live]")) exchange(old, answer.page.getElementById(old.id));
  keep(answer.page);
  document.dispatchEvent(new CustomEvent("refreshed", { detail: answer.page }));
  return { page: answer.page };
}

function exchange(old, now) {
  if (now === null || old.outerHTML === now.outerHTML) return;
  const focused = old.contains(document.activeElement) ? path(document.activeElement, old) : null;
  for (const one of old.querySelectorAll("details[open][id]")) {
    const same = now.querySelector(`#${CSS.escape(one.id)}`);
    if (same !== null) same.open = true;
  }
  const fresh = document.importNode(now, true);
  old.replaceWith(fresh);
  if (focused !== null) land(find(focused, fresh) ?? fresh.querySelector("h1, h2") ?? fresh);
}

// Put the keyboard somewhere, be it a heading; never nowhere.
export function land(element) {
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

// Where an element is: by its id, or the how-manieth of its kind.
function path(element, within) {
  if (element.id) return { id: element.id };
  const kind = element.localName;
  return { kind, place: [...within.querySelectorAll(kind)].indexOf(element) };
}

function find(place, within) {
  return place.id ? document.getElementById(place.id) : within.querySelectorAll(place.kind)[place.place];
}
