"""An order and a report in plain words: how many rows, why, what they cost, and whether the promise stands."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from driftpace.cli.shared.printing import number, plural

if TYPE_CHECKING:
    from driftpace.campaign.records import Order, Receipt
    from driftpace.cli.shared.printing import Line
    from driftpace.records import Assumption, StepReport

_HEADS = {"fail": "Fails", "warn": "Careful"}


def called(period: int, key: str | None) -> str:
    """Return a period as people call it.

    >>> called(3, "2026-W46"), called(3, None)
    ('period 3 (2026-W46)', 'period 3')
    """
    return f"period {period}" if key is None else f"period {period} ({key})"


def sentence(order: "Order") -> str:
    """Return what to do, as a sentence."""
    which = called(order.period, order.key)
    if order.closed:
        return f"Nothing more to do in {which}: it is closed, with {plural(order.came, 'row')}."
    if order.missing > 0:
        if order.came:
            rows = plural(order.missing, "row").replace(" ", " more ", 1)
            return f"Label {rows} for {which}; {order.came:,} of {order.samples:,} came."
        return f"Label {plural(order.missing, 'row')} for {which}."
    broke = order.overridden is None and order.request.outcome.name == "BUDGET"
    if order.came:
        enough = f"All rows came that the budget has for {which}" if broke else f"Enough rows came for {which}"
        return f"{enough}: nothing more to label."
    if broke:
        return f"The budget has nothing for the rows that {which} needs."
    return f"Nothing to label in {which}."


def order_lines(order: "Order") -> list["Line"]:
    """Return why, how sure, and for how much."""
    request = order.request
    low, high = request.interval
    lines = [("Why", _sentence(request.reason))]
    if order.closed:
        return lines
    theory = f"theory alone asks {request.samples_theory:,}"
    if request.outcome.name == "PILOT":
        lines.append(
            ("Range", f"at least {plural(low, 'row')} for the whole period; how many more is known when they came")
        )
    elif high > low:
        lines.append(
            (
                "Range",
                f"{low:,} to {plural(high, 'row')} for the whole period, as the drift is small or large; {theory}",
            )
        )
    else:
        lines.append(("Range", f"{plural(high, 'row')} for the whole period; {theory}"))
    if order.cost is not None and request.money_left is not None:
        lines.append(("Cost", f"{order.cost} for what is missing; {request.money_left} is left before it is paid"))
        if request.money_left < order.cost:
            beyond = order.cost - request.money_left
            lines.append(("Careful", f"budget: That is {beyond} more than is left."))
    lines.append(("Promise", _promise(order)))
    for name, decision in (("Approved", order.approved), ("Overridden", order.overridden)):
        if decision is not None:
            by = f" by {decision.who}" if decision.who else ""
            why = f": {decision.reason}" if decision.reason else ""
            instead = f" instead of {decision.asked:,}" if decision.asked not in (None, decision.samples) else ""
            lines.append((name, f"{plural(decision.samples, 'row')}{instead}{by}{why}"))
    return lines + warnings(request.assumptions)


def warnings(assumptions: Iterable["Assumption"]) -> list["Line"]:
    """Return a line for each assumption that does not plainly hold, failures first."""
    found = [(one.verdict.value, one) for one in assumptions if one.verdict.value in _HEADS]
    return [
        (_HEADS[verdict], f"{one.name}: {one.sentence}")
        for verdict, one in sorted(found, key=lambda pair: list(_HEADS).index(pair[0]))
    ]


def report_lines(report: "StepReport", key: str | None) -> list["Line"]:
    """Return what became of a closed period."""
    which = called(report.period, key)
    lines = [
        ("Closed", f"{which}: {plural(report.samples, 'row')} came, {report.asked:,} were asked for"),
        ("Promise", _kept(report)),
    ]
    if report.certificate is not None:
        rows = "the rows themselves" if report.samples else "the rows of earlier periods"
        lines.append(("Certified", f"at most {number(report.certificate)} above the best, by {rows}"))
    if report.status is not None and report.samples:
        lines.append(("Drift", f"{report.status}{_moved(report)}"))
    if report.selected is not None:
        lines.append(("Chosen", f"{report.selected.chosen}"))
    if report.cost is not None:
        lines.append(("Cost", f"{report.cost}"))
    return lines + warnings(report.assumptions)


def taken(receipt: "Receipt", source: str) -> str:
    """Return what became of a delivery, as a sentence."""
    order = receipt.order
    which = called(order.period, order.key)
    if receipt.duplicate is not None:
        return (
            f"{source} was told before (entry {receipt.duplicate} of the log), for {which}: nothing was counted again."
        )
    left = [
        (receipt.unlabelled, "without a label yet"),
        (receipt.elsewhere, "drawn for another period"),
        (receipt.repeated, "told before in this period"),
    ]
    out = ", ".join(f"{count:,} {why}" for count, why in left if count)
    if source and receipt.report is None and not receipt.rows and not out:
        return f"Nothing new in {source}: {_waits(order)}."
    rows = f"Took {plural(receipt.rows, 'row')}" if receipt.rows or source else "Took nothing"
    return f"{rows} for {which}" + (f"; left out {out}." if out else ".")


def _waits(order: "Order") -> str:
    """Return what a period waits for."""
    which = called(order.period, order.key)
    if order.closed or order.missing == 0:
        return f"{which} is closed" if order.closed else f"{which} misses none"
    return f"{plural(order.missing, 'row')} of {which} {'is' if order.missing == 1 else 'are'} still missing"


def _promise(order: "Order") -> str:
    request = order.request
    asked = (
        f"asked {number(request.epsilon)}"
        if request.epsilon == request.epsilon
        else "the target is not known in numbers yet"
    )
    mine = "" if order.overridden is None else f" with {plural(order.samples, 'row')}"
    if order.outcome.promised:
        return f"{number(order.risk_bound)} above the best{mine}; {asked}"
    if mine and math.isfinite(order.risk_bound):
        return f"none: {number(order.risk_bound)} above the best is expected{mine}; {asked}"
    return f"none: {_plain(order.outcome.value)}; {asked}"


def _kept(report: "StepReport") -> str:
    """Return what is promised of the new model, and where nothing is, why."""
    asked = f"asked {number(report.epsilon)}"
    if report.outcome.promised:
        return f"the target is held; {number(report.risk_bound)} above the best promised, {asked}"
    return f"none: {_plain(report.outcome.value)}; {number(report.risk_bound)} above the best is expected, {asked}"


def _moved(report: "StepReport") -> str:
    if report.rho is None or report.rho_upper is None:
        return ""
    if report.measures != "rho":
        return f"; the model was {number(report.rho)} away from the best, at most {number(report.rho_upper)}"
    cost, most = 0.5 * report.rho**2, 0.5 * report.rho_upper**2
    return f"; a model left alone loses {number(cost)} a period, at most {number(most)}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _plain(text: str) -> str:
    return text.rstrip(".")
