// The cost of an override, and the budget left after it.
"use strict";

const samples = document.getElementById("override-samples");
const costHint = Object.assign(document.createElement("p"), { className: "hint", id: "override-cost", hidden: true });
costHint.setAttribute("role", "status");

const order = () => document.getElementById("order").dataset;

// p(K) = fixed + each row at the price of its tier; an order below the minimum is billed as the minimum, an empty one is free.
function price(rows, { fixed = 0, minimum = 0, per_sample: each = 1, tiers = [[1, each]] }) {
  if (rows === 0) return 0;
  const billed = Math.max(rows, minimum);
  const after = (place) => tiers[place + 1]?.[0] ?? Infinity;
  return tiers.reduce((sum, [start, one], place) => sum + Number(one) * Math.max(0, Math.min(billed, after(place) - 1) - start + 1), Number(fixed));
}

export function money(amount, currency) {
  const exact = Number(amount.toPrecision(15));
  const digits = Number.isInteger(exact) ? 0 : 2;
  return `${exact.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: 6 })} ${currency}`.trim();
}

function show() {
  const { prices, purse, received } = order();
  costHint.hidden = !prices || samples.value === "" || !samples.checkValidity();
  if (costHint.hidden) return;
  const { currency = "", ...how } = JSON.parse(prices);
  const paid = Math.max(Number(samples.value), Number(received)); // received rows are paid
  const cost = price(paid, how);
  const left = Number(purse) - cost;
  const rows = `${paid.toLocaleString("en")} row${paid === 1 ? "" : "s"}${paid > Number(samples.value) ? " already received" : ""} cost${paid === 1 ? "s" : ""}`;
  costHint.textContent = `${rows} ${money(cost, currency)}; ` + (left < 0 ? `${money(-left, currency)} over budget.` : `${money(left, currency)} left.`);
  costHint.classList.toggle("too-much", left < 0);
}

if (samples !== null) {
  document.getElementById("override-hint").after(costHint);
  samples.setAttribute("aria-describedby", "override-hint override-cost");
  samples.addEventListener("input", show);
  document.getElementById("override").addEventListener("opening", () => window.queueMicrotask(show)); // after the number has been filled in
  document.addEventListener("refreshed", show);
}
