// Add money to the budget. It must be sent once: money added twice counts twice.
"use strict";
import { showError, submitOnce } from "./dialogs.js";
import { changed } from "./live.js";
import { money } from "./price.js";
import { announce, write } from "./service.js";

const dialog = document.getElementById("money");
const order = () => document.getElementById("order").dataset;
const currency = () => JSON.parse(order().prices || "{}").currency ?? "";
const some = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

if (dialog !== null) begin(dialog.querySelector("form"));

function begin(form) {
  const { money: amount, periods, reason } = form.elements;
  const then = document.getElementById("money-then");
  let unsure = ""; // the budget at the time of a write that was never answered

  // The remaining periods, including the open or next one and those to add.
  const ahead = () => Number(order().last) + Number(periods.value) - Number(order().at) + 1;

  function show() {
    then.hidden = !order().last || amount.value === "" || !amount.checkValidity() || !periods.checkValidity();
    if (then.hidden) return;
    const there = money(Math.max(0, Number(order().purse) + Number(amount.value)), currency());
    const over = ahead() < 1;
    then.textContent = over ? `The budget still ends before period ${order().at}: add ${some(1 - ahead(), "period")} more.` : `New total: ${there} for ${some(ahead(), "period")}.`;
    then.classList.toggle("too-much", over);
  }

  function wrong() {
    if (amount.value === "" || !amount.checkValidity()) return ["Enter an amount of money, 0 or more.", amount];
    if (periods.value === "" || !periods.checkValidity()) return ["Enter a whole number of periods, 0 or more.", periods];
    if (Number(amount.value) === 0 && Number(periods.value) === 0) return ["Enter money, periods, or both.", amount];
    return reason.value.trim() === "" ? ["Enter a reason for the log.", reason] : null;
  }

  async function send() {
    if (unsure !== "") {
      const before = unsure;
      if (!(await changed())) { showError(form, "The service cannot be reached; it is not known yet whether the money was added."); return; }
      unsure = "";
      if (order().budget !== before) { showError(form, `The budget is now ${order().budget}. Add money again if that is not enough.`); return; }
    }
    const body = { money: amount.value, periods: Number(periods.value), reason: reason.value.trim() };
    const before = order().budget;
    const answer = await write(`/api/campaigns/${encodeURIComponent(document.getElementById("campaign").dataset.name)}/budget`, JSON.stringify(body), { "Content-Type": "application/json" });
    if (!answer.ok) {
      unsure = answer.status === 0 ? before : "";
      showError(form, unsure === "" ? answer.message : "The service cannot be reached; it is not known whether the money was added. Another try checks first.", form.elements[answer.parameter] ?? null);
      return;
    }
    const added = [Number(amount.value) > 0 ? money(Number(amount.value), currency()) : "", body.periods > 0 ? some(body.periods, "period") : ""];
    reason.value = "";
    dialog.close();
    await changed();
    announce(`Added to the budget: ${added.filter(Boolean).join(" and ")}.`);
  }

  form.addEventListener("input", show);
  document.addEventListener("refreshed", show);
  dialog.addEventListener("opening", () => {
    amount.value = "";
    periods.value = "0";
    periods.value = String(Math.max(0, 1 - ahead())); // the number of periods that the open one is beyond the budget
    show();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fault = wrong();
    if (fault !== null) { showError(form, ...fault); return; }
    showError(form, "");
    submitOnce(form, send);
  });
}
