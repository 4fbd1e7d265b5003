// More money for the budget: what there is then, while it is typed; sent once, for money that is added twice is there twice.
"use strict";
import { once, refuse } from "./dialogs.js";
import { changed } from "./news.js";
import { money } from "./price.js";
import { say, write } from "./service.js";

const dialog = document.getElementById("money");
const order = () => document.getElementById("order").dataset;
const currency = () => JSON.parse(order().prices || "{}").currency ?? "";
const some = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

if (dialog !== null) begin(dialog.querySelector("form"));

function begin(form) {
  const { money: amount, periods, reason } = form.elements;
  const then = document.getElementById("money-then");
  let unsure = ""; // the budget as it was when something was sent that was never answered

  // The periods that are left, the open one or the next one included, with those that are to be added.
  const ahead = () => Number(order().last) + Number(periods.value) - Number(order().at) + 1;

  function show() {
    then.hidden = !order().last || amount.value === "" || !amount.checkValidity() || !periods.checkValidity();
    if (then.hidden) return;
    const there = money(Math.max(0, Number(order().purse) + Number(amount.value)), currency());
    const over = ahead() < 1;
    then.textContent = over ? `The budget still ends before period ${order().at}, so nothing is bought: add ${some(1 - ahead(), "period")} more.` : `Then there are ${there} for ${some(ahead(), "period")}.`;
    then.classList.toggle("too-much", over);
  }

  function wrong() {
    if (amount.value === "" || !amount.checkValidity()) return ["Give an amount of money, 0 or more.", amount];
    if (periods.value === "" || !periods.checkValidity()) return ["Give a whole number of periods, 0 or more.", periods];
    if (Number(amount.value) === 0 && Number(periods.value) === 0) return ["Give money, or periods, or both.", amount];
    return reason.value.trim() === "" ? ["Say why, for the log.", reason] : null;
  }

  async function send() {
    if (unsure !== "") {
      const before = unsure;
      if (!(await changed())) { refuse(form, "The service cannot be reached; whether the money was added is not known yet."); return; }
      unsure = "";
      if (order().budget !== before) { refuse(form, `The budget is ${order().budget} by now. Add money again if that is not enough.`); return; }
    }
    const wanted = { money: amount.value, periods: Number(periods.value), reason: reason.value.trim() };
    const before = order().budget;
    const answer = await write(`/api/campaigns/${encodeURIComponent(document.getElementById("campaign").dataset.name)}/budget`, JSON.stringify(wanted), { "Content-Type": "application/json" });
    if (!answer.ok) {
      unsure = answer.status === 0 ? before : "";
      refuse(form, unsure === "" ? answer.sentence : "The service cannot be reached; whether the money was added is not known. Trying again looks first.", form.elements[answer.about] ?? null);
      return;
    }
    const added = [Number(amount.value) > 0 ? money(Number(amount.value), currency()) : "", wanted.periods > 0 ? some(wanted.periods, "period") : ""];
    reason.value = "";
    dialog.close();
    await changed();
    say(`Added to the budget: ${added.filter(Boolean).join(" and ")}.`);
  }

  form.addEventListener("input", show);
  document.addEventListener("refreshed", show);
  dialog.addEventListener("opening", () => {
    amount.value = "";
    periods.value = "0";
    periods.value = String(Math.max(0, 1 - ahead())); // as many as the open period is beyond the budget
    show();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fault = wrong();
    if (fault !== null) { refuse(form, ...fault); return; }
    refuse(form, "");
    once(form, send);
  });
}
