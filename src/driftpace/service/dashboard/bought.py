"""Figures of what is bought: rows asked and come, money spent, and the plan ahead."""

from collections.abc import Sequence

from driftpace.campaign.records import LedgerRow, Order
from driftpace.campaign.summary import named as called
from driftpace.records import Money, Plan
from driftpace.service.dashboard.drawing import Chart, highest
from driftpace.service.dashboard.figures import LATEST, Figure, left_out, panel
from driftpace.service.dashboard.formats import count, money, named, number, plural, straight, tabled


def rows(ledger: Sequence[LedgerRow], order: Order | None) -> Figure | None:
    """Return the rows that were asked for and that came, with those planned."""
    ahead = _ahead(order)
    if not ledger and order is None:
        return None
    past = ledger[-LATEST:]
    future = ahead[:LATEST]
    periods = _periods(ledger, order)
    names = named(periods)[len(ledger) - len(past) : len(ledger) + len(future)]
    blank: list[float | None] = [None] * len(past)
    came: list[float | None] = [float(row.report.samples) for row in past]
    asked: list[float | None] = [float(row.report.asked) for row in past]
    if order is not None:
        came += [float(order.received) if order.received else None]
        asked += [float(order.samples)]
    came += [None] * (len(names) - len(came))
    asked += [None] * (len(names) - len(asked))
    planned = blank + [float(samples) if place else None for place, (_, samples, _) in enumerate(future)]
    planned += [None] * (len(names) - len(planned))

    def draw(chart: Chart) -> None:
        if order is not None and past:
            chart.now(len(past))
        chart.hatched(planned)
        chart.bars(came, "own")
        chart.level(asked, "ink")

    legend = [("own barkey", "received"), ("ink stroke", "asked for")]
    if any(one is not None for one in planned):
        legend.append(("own hatchkey", "planned"))
    total = sum(row.report.samples for row in ledger)
    said = [f"{plural(total, 'row')} came in {plural(len(ledger), 'closed period')}."] if ledger else []
    if order is not None:
        said.append(_so_far(order))
    labels = tabled(periods)
    body = [
        (label, count(row.report.asked), count(row.report.samples), count(row.report.samples_theory))
        for label, row in zip(labels, ledger, strict=False)
    ]
    for place, (label, (_, samples, _)) in enumerate(zip(labels[len(ledger) :], ahead, strict=True)):
        theory = count(order.request.samples_theory) if order and not place else "–"
        came_now = count(order.received) if order and not place else "planned"
        body.append((label, count(samples), came_now, theory))
    return Figure(
        key="rows",
        title="Rows asked and come",
        sentence=" ".join(said),
        panels=(panel("rows", "rows", names, highest(came, asked, planned), draw, tuple(legend), whole=True),),
        columns=("Period", "Asked for", "Came", "Theory alone"),
        rows=tuple(body),
        first=len(ledger) - len(past),
        note=left_out(len(ledger), len(ahead)),
    )


def spending(
    ledger: Sequence[LedgerRow], order: Order | None, *, total: Money | None, cost: Money | None = None
) -> Figure | None:
    """Return what was spent in all, with the plan ahead and the budget; None where money is no object.

    ``cost`` is what the open period costs, where that is not what its plan says.
    """
    if total is None:
        return None
    nothing = Money(total.amount * 0, total.currency)
    spent, past = nothing, []
    for row in ledger:
        spent = spent + (row.report.cost or nothing)
        past.append((row.report.cost or nothing, spent))
    ahead, sum_so_far = [], spent
    for place, (_, _, planned) in enumerate(_ahead(order)):
        price = (None if place else cost) or planned or nothing
        sum_so_far = sum_so_far + price
        ahead.append((price, sum_so_far))
    shown, periods = past[-LATEST:], _periods(ledger, order)
    names = named(periods)[len(past) - len(shown) : len(past) + min(len(ahead), LATEST)]
    if not names:
        return None
    before: list[float | None] = [float(so_far) for _, so_far in shown]
    later: list[float | None] = [float(so_far) for _, so_far in ahead[:LATEST]]
    blank_before, blank_later = [None] * len(before), [None] * len(later)
    top = max(float(total), highest(before, later))

    def draw(chart: Chart) -> None:
        chart.bars([*before, *blank_later], "own")
        chart.hatched([*blank_before, *later])
        chart.across(float(total), "bad")
        if ahead and shown:
            chart.now(len(shown))

    left = f"{money(total - spent)} are left" if spent <= total else f"{money(spent - total)} too much"
    sentence = f"{money(spent)} of {money(total)} are spent, {left}."
    if len(ahead) == 1:
        sentence += f" The open period makes it {money(sum_so_far)}."
    elif ahead:
        sentence += f" By the plan it is {money(sum_so_far)} when the periods of the budget are over."
    return Figure(
        key="spending",
        title="Spent against the budget",
        sentence=sentence,
        panels=(
            panel(
                "spending",
                total.currency or "money",
                names,
                top,
                draw,
                (("own barkey", "spent in all"), ("own hatchkey", "planned"), ("bad limit-line", "budget")),
            ),
        ),
        columns=("Period", "Cost", "In all", ""),
        rows=tuple(
            (name, money(price), money(so_far), "spent" if place < len(past) else "planned")
            for place, (name, (price, so_far)) in enumerate(zip(tabled(periods), [*past, *ahead], strict=True))
        ),
        first=len(past) - len(shown),
        note=left_out(len(past), len(ahead)),
    )


def compared(new: Plan, current: Plan | None) -> Figure:
    """Return a plan beside the one that stands; the chart shows its beginning, the table all of it."""
    last = new.first_period + new.horizon
    first = new.first_period
    if current is not None:
        first, last = min(first, current.first_period), max(last, current.first_period + current.horizon)
    periods = list(range(first, last))
    names = [str(period) for period in periods[:LATEST]]
    ours = [_at(new, period) for period in periods]
    theirs = [None if current is None else _at(current, period) for period in periods]

    shown, beside = ours[:LATEST], theirs[:LATEST]

    def draw(chart: Chart) -> None:
        if current is None:
            chart.bars(shown, "own")
        else:
            chart.bars(beside, "slate", share=0.36, shift=-0.2)
            chart.bars(shown, "own", share=0.36, shift=0.2)

    legend = [("own barkey", "this plan")]
    columns = ["Period", "Rows", "Cost", "Risk"]
    if current is not None:
        legend.insert(0, ("slate barkey", "current plan"))
        columns.append("Rows of the current plan")
    body = []
    for period in periods:
        place = period - new.first_period
        there = 0 <= place < new.horizon
        cells = [
            str(period),
            count(new.samples[place]) if there else "–",
            money(new.costs[place]) if there else "–",
            number(new.risks[place]) if there else "–",
        ]
        if current is not None:
            other = _at(current, period)
            cells.append("–" if other is None else count(int(other)))
        body.append(tuple(cells))
    return Figure(
        key="compared",
        title="Rows to buy, period by period",
        sentence="",
        panels=(panel("compared", "rows", names, highest(shown, beside), draw, tuple(legend), whole=True),),
        columns=tuple(columns),
        rows=tuple(body),
        note=left_out(0, len(periods)),
    )


def _ahead(order: Order | None) -> list[tuple[int, int, Money | None]]:
    """Return period, rows and cost from the open one on, as the order plans them."""
    if order is None:
        return []
    plan = order.request.plan
    if plan is None:
        return [(order.period, order.samples, order.request.cost)]
    found: list[tuple[int, int, Money | None]] = [
        (plan.first_period + place, samples, cost)
        for place, (samples, cost) in enumerate(zip(plan.samples, plan.costs, strict=True))
    ]
    return [(order.period, order.samples, found[0][2]), *found[1:]]


def _periods(ledger: Sequence[LedgerRow], order: Order | None) -> list[tuple[int, str | None]]:
    """Return number and key of the closed periods, of the open one, and of those that are planned."""
    found = [(row.report.period, row.key) for row in ledger]
    return found + [
        (period, order.key if order and not place else None) for place, (period, _, _) in enumerate(_ahead(order))
    ]


def _so_far(order: Order) -> str:
    which = straight(called(order.period, order.key))
    if order.samples == 0:
        return f"Nothing is asked for in {which}."
    came = count(order.received) if order.received else "none"
    return f"Of the {plural(order.samples, 'row')} of {which}, {came} came so far."


def _at(plan: Plan, period: int) -> float | None:
    place = period - plan.first_period
    return float(plan.samples[place]) if 0 <= place < plan.horizon else None
