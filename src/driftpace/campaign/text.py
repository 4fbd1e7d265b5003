"""Orders, reports and receipts as text."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from driftpace.formatting import known_number, plural, rows_and_labels
from driftpace.records.requests import MEASURED_RISK

if TYPE_CHECKING:
    from driftpace.campaign.records import Erasure, Lateness, Order, Receipt, Undone
    from driftpace.records import AnnotatorReport, Assumption, Audit, Outcome, Retraining, StepReport

Line = tuple[str, str]
"""A label and its text."""


def period_name(period: int, key: str | None) -> str:
    """Return the name of a period.

    >>> period_name(3, "2026-W46"), period_name(3, None)
    ('period 3 (2026-W46)', 'period 3')
    """
    return f"period {period}" if key is None else f"period {period} ({key})"


def order_sentence(order: "Order") -> str:
    """Return what to do, as a sentence."""
    period = period_name(order.period, order.key)
    if order.closed:
        return f"{capitalized(period)} is closed, with {plural(order.received, 'row')}; nothing to do."
    if order.missing > 0:
        if order.received:
            rows = f"{order.missing:,} more {'row' if order.missing == 1 else 'rows'}"
            return f"Label {rows} for {period}; {order.received:,} of {order.samples:,} received."
        return f"Label {plural(order.missing, 'row')} for {period}."
    unaffordable = order.overridden is None and order.request.outcome.value == "budget"
    if order.received and unaffordable:
        return f"All rows that the budget covers for {period} are received; nothing more to label."
    if order.unsupported:
        return f"All rows of {period} are received, and they do not support the target."
    if order.received:
        return f"Enough rows received for {period}; nothing more to label."
    if unaffordable:
        return f"The budget cannot pay for the rows that {period} needs."
    return f"No rows to label for {period}."


def order_lines(order: "Order") -> list[Line]:
    """Return the reason, the range, the cost and the expected accuracy of an order; nothing for a closed period."""
    request = order.request
    if order.closed:
        return []
    lines = [("Reason", capitalized(request.reason)), ("Range", _range(order))]
    if order.cost is not None and request.money_left is not None:
        lines.append(("Cost", f"{order.cost} for the missing rows; {request.money_left} left before paying for them"))
        if request.money_left < order.cost:
            lines.append(("Warning", f"budget: the order costs {order.cost - request.money_left} more than is left"))
    lines.append(("Failed" if order.unsupported else "Accuracy", _expected(order)))
    for label, decision in (("Approved", order.approved), ("Overridden", order.overridden)):
        if decision is not None:
            by = f" by {decision.who}" if decision.who else ""
            reason = f": {decision.reason}" if decision.reason else ""
            instead = f" instead of {decision.asked:,}" if decision.asked != decision.samples else ""
            lines.append((label, f"{plural(decision.samples, 'row')}{instead}{by}{reason}"))
    return lines + measured_lines(request.assumptions) + check_lines(request.assumptions, resolved=order.resolves)


def measured_check(checks: Iterable["Assumption"]) -> "Assumption | None":
    """Return the check of the measured excess loss against the target, None where nothing was measured yet."""
    return next((check for check in checks if check.name == MEASURED_RISK and check.judged), None)


def measured_lines(checks: Iterable["Assumption"], audit: "Audit | None" = None) -> list[Line]:
    """Return what was promised and measured; nothing where the check speaks for itself, in :func:`check_lines`.

    Of few periods, which the check does not judge, ``audit`` has the numbers.
    """
    check = measured_check(checks)
    if check is not None:
        return [("Measured", check.sentence.rstrip("."))] if check.verdict.value == "pass" else []
    return [] if audit is None else [("Measured", capitalized(audit.sentence))]


def check_lines(checks: Iterable["Assumption"], *, resolved: Iterable[str] = ()) -> list[Line]:
    """Return a line for each check that did not pass, failures first; a failure that is being resolved is a warning."""
    failed, warned = [], []
    for check in checks:
        text = f"{check.name}: {check.sentence}"
        if check.verdict.value == "fail" and check.name not in resolved:
            failed.append(("Failed", text))
        elif check.verdict.value in ("fail", "warn"):
            warned.append(("Warning", text))
    return failed + warned


def report_lines(report: "StepReport", key: str | None) -> list[Line]:
    """Return the outcome of a closed period."""
    period = period_name(report.period, key)
    lines = [
        ("Closed", f"{period}, with {plural(report.samples, 'row')}; {report.asked:,} requested"),
        ("Accuracy", _achieved(report)),
    ]
    if report.certificate is not None:
        rows = "the rows of this period" if report.samples else "the rows of earlier periods"
        lines.append(("Certified", f"excess loss at most {known_number(report.certificate)}, measured on {rows}"))
    lines += measured_lines(report.assumptions, report.audit)
    if report.metric is not None:
        lines.append(("Metric", capitalized(report.metric.sentence)))
    if report.status is not None and report.samples:
        lines.append(("Drift", f"{report.status}{_drift_cost(report)}"))
    if report.selected is not None:
        lines.append(("Selected", f"{report.selected.chosen}"))
    if report.cost is not None:
        lines.append(("Cost", f"{report.cost}"))
    lines += base_lines(report.retrain)
    return lines + check_lines(report.assumptions)


def base_lines(retrain: "Retraining | None") -> list[Line]:
    """Return how old the base model is, and what training it again would gain; nothing for a campaign without one.

    >>> from driftpace.records import Retraining
    >>> base_lines(Retraining(due=True, gain=0.012, error=0.004, lower=0.007, threshold=0.006, rows=420, periods=8, since=7))
    [('Base', '7 periods old; training it again would gain 0.0120 ± 0.0040 (420 rows of 8 periods): run driftpace retrain')]
    >>> base_lines(Retraining(due=False, gain=-2e-4, error=8e-4, lower=-1e-3, threshold=0.006, rows=342, periods=2, since=2))
    [('Base', '2 periods old; no need to train it again: the expected gain is -0.0002 ± 0.0008 (342 rows of 2 periods)')]
    """
    if retrain is None:
        return []
    if retrain.since == 0:
        return [("Base", "trained again since the last period")]
    age = f"{plural(retrain.since, 'period')} old"
    over = f"{plural(retrain.rows, 'row')} of {plural(retrain.periods, 'period')}"
    if retrain.gain is None or retrain.error is None:
        return [("Base", f"{age}; too few labels to say what training it again would gain ({over})")]
    if retrain.due:
        gain = (
            f"training it again would gain {retrain.gain:#.3g} ± {retrain.error:#.2g} ({over}): run driftpace retrain"
        )
    else:
        gain = f"no need to train it again: {retrain.not_due} ({over})"
    return [("Base", f"{age}; {gain}")]


def receipt_sentence(receipt: "Receipt", source: str) -> str:
    """Return what became of a delivery, as a sentence."""
    order = receipt.order
    period = period_name(order.period, order.key)
    if receipt.duplicate is not None:
        return f"{source} was already added to {period} (log entry {receipt.duplicate}); nothing was counted twice."
    counts = [
        (receipt.unlabelled, "without a label"),
        (receipt.other_period_rows, f"of another period{named_periods(receipt.other_periods)}"),
        (receipt.incomplete, "with a missing feature"),
        *((rows, f"without {column}") for column, rows in receipt.without.items()),
        (receipt.repeated, "already delivered"),
    ]
    arrived = "; ".join(part.sentence for part in receipt.late)
    if arrived and not receipt.rows + receipt.more_labels and receipt.report is None:
        skipped = ", ".join(f"{count:,} {reason}" for count, reason in counts if count)
        return f"{arrived}" + (f"; skipped {skipped}." if skipped else ".")
    skipped = ", ".join(f"{count:,} {reason}" for count, reason in counts if count)
    if source and receipt.report is None and not receipt.rows + receipt.more_labels and not skipped:
        return f"Nothing new in {source}: {_pending(order)}."
    added = rows_and_labels(receipt.rows, receipt.more_labels)
    rows = f"Added {added}" if receipt.rows + receipt.more_labels or source else "Added no rows"
    arrived = f"; {arrived}" if arrived else ""
    return f"{rows} to {period}{arrived}" + (f"; skipped {skipped}." if skipped else ".")


def receipt_lines(receipt: "Receipt") -> list[Line]:
    """Return what a delivery had besides its rows, what it revised or closed, and what is next."""
    lines: list[Line] = [("Features", receipt.features)] if receipt.features else []
    lines += [("Unlisted", counted.sentence) for counted in receipt.unknown_categories]
    lines += [("Missing", filled.sentence) for filled in receipt.filled]
    lines += [("Warning", warning) for warning in receipt.warnings]
    if receipt.contradictions is not None:
        lines.append(("Warning", receipt.contradictions.sentence))
    if receipt.others:
        lines.append(("Warning", f"{plural(receipt.others, 'row')} that were not drawn for the period"))
    if receipt.mismatch is not None:
        hint = "" if receipt.effective is not None else "; --balance weights rows that were not labelled at random"
        lines.append(("Warning", receipt.mismatch.sentence + hint))
    if receipt.effective is not None:
        lines.append(("Balanced", f"the rows of the period count for {receipt.effective:.1f} rows of the pool"))
    if receipt.revision is not None:
        lines.append(("Revised", receipt.revision.sentence))
    if receipt.report is not None:
        lines += report_lines(receipt.report, receipt.order.key)
    elif not receipt.order.closed:
        lines += [("Next", order_sentence(receipt.order)), ("Reason", capitalized(receipt.order.request.reason))]
    return lines


def named_periods(counts: Mapping[str, int]) -> str:
    """Return the rows of other periods by period, in parentheses; "" if they are not known.

    >>> named_periods({"2026-11": 3, "2026-12": 1}), named_periods({})
    (' (3 of 2026-11, 1 of 2026-12)', '')
    """
    listed = [f"{rows:,} of {name}" for name, rows in list(counts.items())[:5]]
    more = [f"{len(counts) - 5} more periods"] if len(counts) > 5 else []
    return f" ({', '.join([*listed, *more])})" if counts else ""


def outstanding_sentence(outstanding: Mapping[int, int]) -> str:
    """Return which rows of closed periods are still without a label; "" if none.

    >>> outstanding_sentence({2: 12, 4: 1})
    '13 rows drawn for closed periods are without a label: 12 of period 2, 1 of period 4; they are absorbed when they arrive'
    """
    if not outstanding:
        return ""
    items = list(outstanding.items())
    listed = ", ".join(f"{rows:,} of period {period}" for period, rows in items[-5:])
    more = f"{len(items) - 5} earlier periods, " if len(items) > 5 else ""
    total = sum(outstanding.values())
    verb, them = (
        ("is", "it is absorbed when it arrives") if total == 1 else ("are", "they are absorbed when they arrive")
    )
    return f"{plural(total, 'row')} drawn for closed periods {verb} without a label: {more}{listed}; {them}"


def lateness_lines(lateness: "Lateness | None") -> list[Line]:
    """Return how late labels arrive, what that costs, and which rows are outstanding."""
    if lateness is None:
        return []
    texts = [
        ("Delay", lateness.sentence),
        ("Waiting", outstanding_sentence(lateness.outstanding)),
        ("Warning", lateness.warning),
    ]
    return [(label, capitalized(text) if label != "Warning" else text) for label, text in texts if text]


def annotator_lines(report: "AnnotatorReport | None", order: "Order | None" = None) -> list[Line]:
    """Return how much of the noise is the annotators', and how many rows of an open order to label more than once."""
    if report is None:
        return []
    lines = [("Annotators", capitalized(report.sentence))]
    if report.agreement:
        lines.append(("", capitalized(report.agreement)))
    twice = 0 if order is None or order.closed else report.rows_to_repeat(order.missing)
    if order is not None and twice:
        times = "twice" if (report.labels_per_row or 1) <= 2 else f"{report.labels_per_row} times"
        rows = (
            "all rows" if twice == order.missing and twice > 1 else f"{twice:,} of the {plural(order.missing, 'row')}"
        )
        lines.append(("", f"Have {rows} labelled {times}, by different people"))
    return lines + [("Warning", f"annotators: {sentence}") for sentence in report.warnings]


def erasure_sentence(erasure: "Erasure") -> str:
    """Return what was erased.

    >>> from driftpace.campaign.records import Erasure
    >>> erasure_sentence(Erasure()), erasure_sentence(Erasure(entry=9, rows=2, drawn=1, periods=(3,)))
    ('No rows were found.', 'Content of 2 rows and 1 drawn id of period 3 erased.')
    """
    if erasure.entry is None:
        return "No rows were found."
    parts = [plural(erasure.rows, "row")] if erasure.rows or not erasure.drawn else []
    parts += [plural(erasure.drawn, "drawn id")] if erasure.drawn else []
    first, last = erasure.periods[0], erasure.periods[-1]
    which = f"period {first}" if first == last else f"periods {first} to {last}"
    return f"Content of {' and '.join(parts)} of {which} erased."


def erasure_lines(erasure: "Erasure") -> list[Line]:
    """Return what an erasure means from now on."""
    lines: list[Line] = []
    if erasure.missing:
        more = len(erasure.missing) - 10
        names = ", ".join([*map(repr, erasure.missing[:10]), *([f"{more:,} others"] if more > 0 else [])])
        lines.append(("Missing", f"no stored row has the id {names}"))
    if erasure.entry is None:
        return lines
    if erasure.settled:
        lines.append(("Settled", f"nothing up to the end of period {erasure.settled} can change any more"))
    lines.append(("Elsewhere", "backups, exports, files and models made before still have what they had"))
    if not erasure.purged:
        until = "all processes have closed the store (SQLite), or VACUUM FULL of its tables (PostgreSQL)"
        lines.append(("Warning", f"deleted content stays in files until {until}"))
    return lines


def undone_lines(undone: "Undone") -> list[Line]:
    """Return what an undo changed."""
    lines: list[Line] = []
    if undone.reopened is not None:
        key = None if undone.order is None else undone.order.key
        lines.append(("Open", f"{period_name(undone.reopened, key)} is open again"))
    if undone.revision is not None:
        lines.append(("Revised", undone.revision.sentence))
    if undone.trained is not None:
        entry = f"the base was trained on these rows too, by entry {undone.trained} of the log"
        lines.append(("Warning", f"{entry}; undo that entry, then train it again without them"))
    if undone.written_off is not None:
        lines.append(("Paid", f"{undone.written_off} stays paid for rows that no longer count"))
    if undone.order is not None:
        lines.append(("Next", order_sentence(undone.order)))
    return [*lines, ("Restore", f"undo entry {undone.entry} of the log")]


def _pending(order: "Order") -> str:
    period = period_name(order.period, order.key)
    if order.closed:
        return f"{period} is closed"
    if order.missing == 0:
        return f"{period} is missing no rows"
    return f"{period} is missing {plural(order.missing, 'row')}"


def _range(order: "Order") -> str:
    request = order.request
    low, high = request.interval
    if request.outcome.value == "pilot":
        return f"at least {plural(low, 'row')} for the whole period; how many more is computed from them"
    theory = f"theory alone requires {request.samples_theory:,}"
    if high > low:
        return f"{low:,} to {plural(high, 'row')} for the whole period, depending on the drift; {theory}"
    return f"{plural(high, 'row')} for the whole period; {theory}"


def _expected(order: "Order") -> str:
    request = order.request
    target = f"target {known_number(request.epsilon)}" if request.epsilon == request.epsilon else "target not known yet"
    override = "" if order.overridden is None else f" with {plural(order.samples, 'row')}"
    if order.outcome.promised:
        rows = override or (" once all its rows are labelled" if order.missing else "")
        return f"expected excess loss {known_number(order.risk_bound)}{rows} ({target})"
    if override and math.isfinite(order.risk_bound):
        return f"not expected to meet the target: expected excess loss {known_number(order.risk_bound)}{override} ({target})"
    known = f"; expected excess loss {known_number(order.risk_bound)}" if math.isfinite(order.risk_bound) else ""
    return f"{_missed(order.outcome)}: {_without_period(order.outcome.sentence)}{known} ({target})"


def _achieved(report: "StepReport") -> str:
    """Return the expected excess loss of the new model, and why the target is missed where it is."""
    loss = f"expected excess loss {known_number(report.risk_bound)} (target {known_number(report.epsilon)})"
    if report.outcome.promised:
        return f"expected to be within the target: {loss}"
    return f"{_missed(report.outcome)}: {_without_period(report.outcome.sentence)}; {loss}"


def _missed(outcome: "Outcome") -> str:
    """Return how a target is missed: rows spoke against it, or nothing supports it."""
    return "not met" if outcome.value == "unsupported" else "not guaranteed"


def _drift_cost(report: "StepReport") -> str:
    if report.rho is None or report.rho_upper is None:
        return ""
    if report.measures != "rho":
        return f"; the model was {known_number(report.rho)} from the best one, at most {known_number(report.rho_upper)}"
    loss, upper = 0.5 * report.rho**2, 0.5 * report.rho_upper**2
    return f"; without an update a model loses {known_number(loss)} per period, at most {known_number(upper)}"


def capitalized(text: str) -> str:
    """Return the text with a capital first letter; the others are left as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def _without_period(text: str) -> str:
    return text.rstrip(".")


def describe_mapping(mapping: Mapping[str, str], classes: Sequence[str] = ()) -> str:
    """Return a mapping of categories, and classes that are added, as text.

    >>> describe_mapping({"city": "Milan", "plan": "basic"}), describe_mapping({}, ["owl", "cat"])
    ('unlisted values of city count as Milan, of plan as basic', 'the target may be owl or cat')
    """
    parts = [
        f"{'of' if place else 'unlisted values of'} {column} {'as' if place else 'count as'} {category}"
        for place, (column, category) in enumerate(mapping.items())
    ]
    return ", ".join([*parts, *([f"the target may be {' or '.join(classes)}"] if classes else [])])


def list_texts(texts: Sequence[str]) -> str:
    """Return texts as a list, in quotes where they would be ambiguous.

    >>> list_texts(["basic", "gold"]), list_texts(["Rome, Italy", ""])
    ('basic, gold', '"Rome, Italy", ""')
    """
    return ", ".join(
        f'"{text}"' if "," in text or '"' in text or text != text.strip() or not text else text for text in texts
    )
