// Tooltips of charts: the row of the table under the pointer.
"use strict";

const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("aria-hidden", "true");
tip.hidden = true;
document.body.append(tip);

function show(hit, x, y) {
  const figure = hit.closest("figure");
  const row = figure.querySelectorAll("tbody tr")[Number(hit.dataset.row)];
  if (row === undefined) return;
  const names = [...figure.querySelectorAll("thead th")].map((header) => header.textContent);
  tip.replaceChildren(...[...row.children].map((cell, place) => {
    const line = document.createElement(place === 0 ? "strong" : "span");
    line.textContent = place === 0 || !names[place] ? cell.textContent : `${names[place]}: ${cell.textContent}`;
    return line;
  }));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(x + 14, window.innerWidth - box.width - 8))}px`;
  tip.style.top = `${y - box.height - 14 < 8 ? y + 18 : y - box.height - 14}px`;
}

document.addEventListener("pointermove", (event) => {
  const hit = event.target instanceof Element ? event.target.closest(".hit") : null;
  if (hit === null) tip.hidden = true; else show(hit, event.clientX, event.clientY);
});
document.addEventListener("pointerdown", (event) => { if (!(event.target instanceof Element && event.target.closest(".hit"))) tip.hidden = true; });
document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
document.addEventListener("refreshed", () => { tip.hidden = true; });
