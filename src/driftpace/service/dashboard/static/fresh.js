// Bringing a page up to date: the same address is read again, and the parts marked data-live are exchanged.
"use strict";
import { read } from "./service.js";

// Forms, dialogs and whatever is typed in lie outside the live parts, so nothing of it is lost.
export async function refresh(address = window.location.href) {
  const answer = await read(address);
  if (answer === null || !answer.ok) return null;
  const page = answer.page;
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = page.getElementById(old.id);
    if (now === null) continue;
    if (old.outerHTML === now.outerHTML) continue;
    const focused = old.contains(document.activeElement) ? path(document.activeElement, old) : null;
    for (const one of old.querySelectorAll("details[open][id]")) {
      const same = now.querySelector(`#${CSS.escape(one.id)}`);
      if (same !== null) same.open = true;
    }
    old.replaceWith(document.importNode(now, true));
    if (focused !== null) find(focused, document.getElementById(old.id))?.focus({ preventScroll: true });
  }
  const csrf = page.querySelector('meta[name="csrf-token"]');
  if (csrf !== null) document.querySelector('meta[name="csrf-token"]').content = csrf.content;
  document.dispatchEvent(new CustomEvent("refreshed"));
  return page;
}

// Where an element is: by its id, or the how-manieth of its kind.
function path(element, within) {
  if (element.id) return { id: element.id };
  const kind = element.localName;
  return { kind, place: [...within.querySelectorAll(kind)].indexOf(element) };
}

function find(place, within) {
  if (within === null) return null;
  return place.id ? document.getElementById(place.id) : within.querySelectorAll(place.kind)[place.place];
}
