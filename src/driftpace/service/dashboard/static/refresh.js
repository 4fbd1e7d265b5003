// Refresh a page: load it again and replace the elements marked data-live.
"use strict";
import { clear, clock, warn } from "./banner.js";
import { keepToken, read } from "./service.js";

// Forms and dialogs are outside the live elements, so no input is lost. If the page cannot be loaded, a banner says that it is stale.
// Returns {page}, {wait} with the seconds until a retry, or null if aborted.
export async function refresh(address, signal) {
  const answer = await read(address, signal);
  if (answer === null || signal?.aborted) return null;
  if (!answer.ok) {
    if (answer.status >= 400 && answer.status !== 401) warn(`answer ${answer.status}`, `${answer.message} (since ${clock()}). This page is out of date; retrying.`);
    return { wait: answer.wait };
  }
  clear();
  for (const old of document.querySelectorAll("[data-live]")) replaceLive(old, answer.page.getElementById(old.id));
  keepToken(answer.page);
  document.dispatchEvent(new CustomEvent("refreshed", { detail: answer.page }));
  return { page: answer.page };
}

function replaceLive(old, now) {
  if (now === null || old.outerHTML === now.outerHTML) return;
  const focused = old.contains(document.activeElement) ? path(document.activeElement, old) : null;
  for (const opened of old.querySelectorAll("details[open][id]")) {
    const same = now.querySelector(`#${CSS.escape(opened.id)}`);
    if (same !== null) same.open = true;
  }
  const fresh = document.importNode(now, true);
  old.replaceWith(fresh);
  if (focused !== null) focus(find(focused, fresh) ?? fresh.querySelector("h1, h2") ?? fresh);
}

// Focus an element, even one that is not focusable by itself, such as a heading.
export function focus(element) {
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

// The position of an element: its id, or its index among elements of its kind.
function path(element, within) {
  if (element.id) return { id: element.id };
  const kind = element.localName;
  return { kind, place: [...within.querySelectorAll(kind)].indexOf(element) };
}

function find(place, within) {
  return place.id ? document.getElementById(place.id) : within.querySelectorAll(place.kind)[place.place];
}
