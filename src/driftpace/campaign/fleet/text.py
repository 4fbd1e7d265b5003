"""Orders, receipts and the status of fleet campaigns as text."""

from collections.abc import Iterable, Mapping

from driftpace.campaign.fleet.records import FleetOrder, FleetPeriod, FleetReceipt, FleetStatus
from driftpace.campaign.fleet.table import SHOWN, SegmentRow
from driftpace.campaign.text import Line, capitalized, period_name
from driftpace.formatting import known_number, plural
from driftpace.records import Outcome

NAMED = 3
"""Segments that a line names."""

HEADS = ("segment", "missing", "received", "expected excess", "target", "last period", "why it matters")


def order_sentence(order: FleetOrder) -> str:
    """Return what to do, as a sentence."""
    period = period_name(order.period, order.key)
    if order.closed:
        return f"{capitalized(period)} is closed, with {plural(order.received, 'row')}; nothing to do."
    if not len(order.segments):
        return f"There are no segments yet in {period}: add them, or deliver their first rows."
    if order.missing:
        more = "more " if order.received else ""
        row = "row" if order.missing == 1 else "rows"
        received = f"; {order.received:,} of {order.samples:,} received" if order.received else ""
        return f"Label {order.missing:,} {more}{row} of {plural(len(order.segments.missing), 'segment')} for {period}{received}."
    return (
        f"Enough rows received for {period}; nothing more to label."
        if order.received
        else f"No rows to label for {period}."
    )


def order_lines(order: FleetOrder) -> list[Line]:
    """Return the segments that miss most rows, and the money."""
    missing = sorted(order.segments.missing.items(), key=lambda item: (-item[1], item[0]))
    if not missing:
        return _money_lines(order)
    shown = ", ".join(f"{name} {count:,}" for name, count in missing[:SHOWN])
    rest = f" and {plural(len(missing) - SHOWN, 'other segment')}" if len(missing) > SHOWN else ""
    return [("Most", f"{shown}{rest}"), *_money_lines(order)]


def _money_lines(order: FleetOrder) -> list[Line]:
    """Return what an open order costs, and how much better any other way of sharing the money could be."""
    lines: list[Line] = []
    if order.cost is not None and order.money_left is not None and not order.closed:
        lines.append(("Cost", f"{order.cost} for the missing rows; {order.money_left} left before paying for them"))
    if order.share is not None and not order.closed:
        lines.append(("Share", capitalized(order.share.sentence)))
    return lines


def period_lines(period: FleetPeriod) -> list[Line]:
    """Return the outcome of a closed period."""
    outcomes = ", ".join(f"{count:,} {name}" for name, count in period.outcomes.items())
    lines = [
        (
            "Closed",
            f"{period_name(period.period, period.key)}, with {plural(period.received, 'row')} of {period.samples:,}",
        ),
        ("Segments", f"{period.segments:,}: {outcomes}" if outcomes else f"{period.segments:,}"),
    ]
    if period.without_rows:
        lines.append(("Without", f"{plural(period.without_rows, 'segment')} had no rows"))
    if period.set_aside:
        lines.append(("Set aside", plural(period.set_aside, "segment")))
    if period.cost is not None:
        lines.append(("Cost", f"{period.cost}; {period.money_left} left"))
    return lines


def receipt_sentence(receipt: FleetReceipt, source: str) -> str:
    """Return what became of a delivery, as a sentence."""
    period = period_name(receipt.order.period, receipt.order.key)
    if receipt.duplicate is not None:
        return (
            f"{source or 'The delivery'} was counted before (entry {receipt.duplicate} of the log); nothing was added."
        )
    rows = f"{plural(receipt.rows, 'row')} received for {period}"
    if receipt.late is not None:
        return f"{rows}, which is closed; its segments are fitted again."
    if receipt.closed is not None:
        return f"{rows}, which is closed." if receipt.rows else f"{capitalized(period)} is closed."
    if receipt.order.missing:
        missing = plural(receipt.order.missing, "more row")
        return f"{rows}; label {missing} of {plural(len(receipt.order.segments.missing), 'segment')}."
    return f"{rows}; none missing."


def receipt_lines(receipt: FleetReceipt) -> list[Line]:
    """Return what was left out and set aside, and the outcome where the period was closed."""
    lines: list[Line] = [("Warning", f"{name} is set aside: {why}") for name, why in _first(receipt.rejected)]
    more = len(receipt.rejected) - NAMED
    if more > 0:
        lines.append(("", f"{plural(more, 'other segment')} set aside; driftpace status names those that matter"))
    if receipt.repeated:
        lines.append(("Repeated", f"{plural(receipt.repeated, 'row')} delivered before"))
    if receipt.unlabelled:
        lines.append(("Unlabelled", f"{plural(receipt.unlabelled, 'row')} left out"))
    for column, count in receipt.without.items():
        lines.append(("Left out", f"{plural(count, 'row')} without {column}"))
    if receipt.doubled:
        ids = ", ".join(list(receipt.doubled)[:NAMED]) + (", ..." if len(receipt.doubled) > NAMED else "")
        total = plural(sum(receipt.doubled.values()), "row")
        lines.append(("Left out", f"{total} that share an id with another row of their segment and differ: {ids}"))
    if receipt.added:
        named = ", ".join(receipt.added[:NAMED])
        lines.append(
            ("New", f"{plural(len(receipt.added), 'segment')}: {named}{', ...' if len(receipt.added) > NAMED else ''}")
        )
    return lines + (order_lines(receipt.order) if receipt.closed is None else period_lines(receipt.closed))


def status_lines(status: FleetStatus) -> list[Line]:
    """Return the totals of a campaign; the segments that matter are a table of their own."""
    totals = status.segments.totals()
    lines: list[Line] = [("Target", status.target)]
    counts = [
        (totals.set_aside, "set aside"),
        (totals.failed, "with a failed check"),
        (totals.not_met, "not met in the last period"),
        (totals.incomplete, "with rows missing"),
    ]
    listed = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    lines.append(("Segments", f"{totals.segments:,}{': ' if listed else ''}{listed}"))
    lines.append(("Borrowing", ", ".join(status.borrow) or "nothing: each segment learns from its own rows only"))
    if status.order is not None:
        lines.append(("Rows", f"{status.order.received:,} of {status.order.samples:,} received"))
    if status.money_left is not None:
        opened = (
            f", {status.committed} for rows of the open period" if status.committed and status.committed.amount else ""
        )
        lines.append(("Budget", f"{status.spent} spent on closed periods{opened}; {status.money_left} left"))
    if status.order is not None and status.order.share is not None:
        lines.append(("Share", capitalized(status.order.share.sentence)))
    if status.last is not None:
        lines += [("Last", dict(period_lines(status.last))["Closed"])]
    lines.append(("So far", f"{plural(status.period - 1, 'period')} closed, {plural(status.rows, 'row')}"))
    lines.append(("Updated", f"{status.updated_at}, log entry {status.entries}"))
    return lines


def segment_cells(row: SegmentRow) -> tuple[str, ...]:
    """Return the cells of a segment under ``HEADS``."""
    return (
        row.segment,
        f"{row.missing:,}",
        f"{row.received:,}",
        "-" if row.risk is None else known_number(row.risk),
        "-" if row.epsilon is None else known_number(row.epsilon),
        row.last or "-",
        why(row),
    )


def why(row: SegmentRow) -> str:
    """Return why a segment matters, in a few words; nothing where it does not.

    >>> why(SegmentRow(segment="Oslo", last="short", missing=3))
    'not met: fewer samples were delivered than the target needs'
    """
    if row.problem is not None:
        return f"set aside: {row.problem}"
    if row.failed:
        return f"check failed: {', '.join(row.failed)}"
    if not row.met:
        return f"not met: {Outcome(row.last).sentence}"
    return "rows missing" if row.missing else ""


def _first(rejected: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    return list(rejected.items())[:NAMED]
