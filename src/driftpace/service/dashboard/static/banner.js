// The banner that reports problems with the connection. While a dialog is open it is moved inside, since everything else is inert then.
"use strict";

const banner = document.getElementById("gone");
const home = document.getElementById("main");
let problem = "";

export function warn(kind, message) {
  if (problem === kind) return; // keep the time it started
  problem = kind;
  banner.textContent = message;
  banner.hidden = false;
}

// Clear a problem of one kind, or any.
export function clear(kind = problem) {
  if (problem !== kind) return;
  problem = "";
  banner.textContent = "";
  banner.hidden = true;
}

export const bannerShown = () => problem !== "";
export const clock = () => new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

export function moveBanner() {
  const dialog = document.querySelector("dialog[open]");
  if (banner.parentElement === (dialog ?? home.parentElement)) return;
  if (dialog === null) home.before(banner); else dialog.prepend(banner);
}
