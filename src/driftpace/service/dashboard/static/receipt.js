// What became of a delivery, in sentences, and whether it is good news.
"use strict";

const rows = (count) => `${Number(count).toLocaleString("en")} row${count === 1 ? "" : "s"}`;

// Good where rows came or the period ended with what was wanted, a warning where it ended with less, quiet where nothing happened.
export function receipt(body) {
  const { report, order } = body;
  const said = [];
  if (body.duplicate !== null) said.push(`This delivery was told before (entry ${body.duplicate} of the log); nothing was counted twice.`);
  else if (body.rows > 0) said.push(`${rows(body.rows)} counted.`);
  else if (report === null) said.push("No row was counted.");
  if (body.repeated > 0) said.push(`${rows(body.repeated)} told before in this period left out.`);
  if (body.unlabelled > 0) said.push(`${rows(body.unlabelled)} without a label left out.`);
  if (body.other_period_rows > 0) said.push(`${rows(body.other_period_rows)} of another period left out.`);
  for (const one of body.unknown_categories) said.push(`${rows(one.rows)} with another ${one.column} than those listed ${one.rows === 1 ? "counts" : "count"} as ${one.category}.`);
  if (report !== null) said.push(`Period ${report.period} is closed: ${report.outcome_sentence}.`);
  else if (order.closed) said.push(`Period ${order.period} is closed.`);
  else if (order.missing > 0) said.push(`${rows(order.missing)} still missing.`);
  else said.push("Nothing is missing; the period is open.");
  if (body.duplicate !== null || (report === null && body.rows === 0)) return ["quiet", said];
  return [report === null || held(report) ? "good" : "warn", said];
}

function held(report) {
  return report.promised && (report.epsilon === null || (report.risk_bound !== null && report.risk_bound <= report.epsilon * (1 + 1e-9)));
}
