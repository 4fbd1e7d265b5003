// Light or dark theme: the system setting unless chosen here; applied before the first paint.
"use strict";
(function () {
  const root = document.documentElement;
  root.classList.add("js");
  const symbols = { system: "◐", light: "☀", dark: "☾" };
  const next = { system: "light", light: "dark", dark: "system" };
  let chosen = "system";
  try { chosen = localStorage.getItem("driftpace-colours") || "system"; } catch { /* private windows */ }
  if (!(chosen in symbols)) chosen = "system";

  function apply() {
    if (chosen === "system") delete root.dataset.theme; else root.dataset.theme = chosen;
    const button = document.querySelector("[data-theme-switch]");
    if (button === null) return;
    button.hidden = false;
    button.querySelector("[data-theme-symbol]").textContent = symbols[chosen];
    button.querySelector("[data-theme-text]").textContent = `Colours: ${chosen}. Change to ${next[chosen]}`;
    button.title = `Colours: ${chosen}`;
  }

  apply();
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.querySelector("[data-theme-switch]").addEventListener("click", () => {
      chosen = next[chosen];
      try { localStorage.setItem("driftpace-colours", chosen); } catch { /* applies to this page only */ }
      apply();
    });
    const out = document.querySelector("[data-logout]");
    if (out !== null) {
      out.hidden = false;
      out.addEventListener("click", async () => {
        const csrf = document.querySelector('meta[name="csrf-token"]').content;
        await fetch("/logout", { method: "POST", headers: { "X-CSRF-Token": csrf } }).catch(() => null);
        window.location.assign("/login");
      });
    }
  });
})();
