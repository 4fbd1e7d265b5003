// The strip that says what is wrong between page and service. It stays in sight: while a dialog is open it lies in there, because
// all else is out of reach then, for eyes and for screen readers.
"use strict";

const strip = document.getElementById("gone");
const home = document.getElementById("main");
let trouble = "";

export function warn(kind, sentence) {
  if (trouble === kind) return; // it says since when
  trouble = kind;
  strip.textContent = sentence;
  strip.hidden = false;
}

// What is over: trouble of one kind, or any.
export function clear(kind = trouble) {
  if (trouble !== kind) return;
  trouble = "";
  strip.textContent = "";
  strip.hidden = true;
}

export const troubled = () => trouble !== "";
export const clock = () => new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

export function settle() {
  const dialog = document.querySelector("dialog[open]");
  if (strip.parentElement === (dialog ?? home.parentElement)) return;
  if (dialog === null) home.before(strip); else dialog.prepend(strip);
}
