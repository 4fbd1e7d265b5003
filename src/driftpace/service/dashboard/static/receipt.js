// The result of a delivery as sentences, with a tone.
"use strict";

const rows = (count) => `${Number(count).toLocaleString("en")} row${count === 1 ? "" : "s"}`;

// The rows of other periods by period, in parentheses.
function named(counts) {
  const listed = Object.entries(counts).map(([name, count]) => `${Number(count).toLocaleString("en")} of ${name}`);
  return listed.length === 0 ? "" : ` (${listed.slice(0, 5).join(", ")}${listed.length > 5 ? `, ${listed.length - 5} more periods` : ""})`;
}

// good: rows counted, or period closed within the target; warn: closed above the target; quiet: nothing changed.
// Of a preview, rows would count.
export function receipt(body, preview = false) {
  const { report, order } = body;
  const sentences = [];
  if (body.duplicate !== null) sentences.push(`This delivery was received before (log entry ${body.duplicate}); nothing was counted twice.`);
  else if (body.rows > 0) sentences.push(`${rows(body.rows)} ${preview ? "would count" : "counted"}.`);
  else if (report === null && body.late.length === 0) sentences.push("No rows were counted.");
  for (const item of body.late) sentences.push(`${rows(item.rows)} for period ${item.period}${item.key === null ? "" : ` (${item.key})`} arrived late.`);
  if (body.revision !== null) sentences.push(`${body.revision.sentence.charAt(0).toUpperCase()}${body.revision.sentence.slice(1)}.`);
  if (body.features !== "") sentences.push(`Features: ${body.features}.`);
  for (const warning of body.warnings) sentences.push(`${warning}.`);
  if (body.others > 0) sentences.push(`${rows(body.others)} counted that ${body.others === 1 ? "was" : "were"} not drawn for the period.`);
  if (body.mismatch !== null) sentences.push(`${body.mismatch.sentence.charAt(0).toUpperCase()}${body.mismatch.sentence.slice(1)}.`);
  if (body.effective !== null) sentences.push(`The rows of the period are balanced to the pool and count for ${body.effective.toFixed(1)}.`);
  if (body.repeated > 0) sentences.push(`${rows(body.repeated)} skipped: delivered before in this period.`);
  if (body.unlabelled > 0) sentences.push(`${rows(body.unlabelled)} skipped: no label.`);
  if (body.other_period_rows > 0) sentences.push(`${rows(body.other_period_rows)} skipped: of another period${named(body.other_periods)}.`);
  if (body.incomplete > 0) sentences.push(`${rows(body.incomplete)} skipped: a feature is missing.`);
  for (const [column, count] of Object.entries(body.without)) sentences.push(`${rows(count)} skipped: without ${column}.`);
  for (const item of body.unknown_categories) sentences.push(`${rows(item.rows)} with an unlisted category of ${item.column} ${item.rows === 1 ? "counts" : "count"} as ${item.category}.`);
  for (const item of body.filled) sentences.push(`${Number(item.cells).toLocaleString("en")} missing cell${item.cells === 1 ? "" : "s"} of ${item.column} ${item.cells === 1 ? "counts" : "count"} as ${item.value}.`);
  if (report !== null) sentences.push(`Period ${report.period} ${preview ? "would be" : "is"} closed: ${report.outcome_sentence}.`);
  else if (order.closed) sentences.push(`Period ${order.period} is closed.`);
  else if (order.missing > 0) sentences.push(`${rows(order.missing)} ${preview ? "would still be" : "still"} missing.`);
  else sentences.push("No rows are missing; the period is open.");
  if (body.duplicate !== null || (report === null && body.rows === 0 && body.late.length === 0)) return ["quiet", sentences];
  return [report === null || withinTarget(report) ? "good" : "warn", sentences];
}

function withinTarget(report) {
  return report.promised && (report.epsilon === null || (report.risk_bound !== null && report.risk_bound <= report.epsilon * (1 + 1e-9)));
}
