"""Figures of a campaign: excess loss, drift, rows, spending, and a plan beside the current one."""

from collections.abc import Sequence

from driftpace.campaign.ledger import LedgerColumn, format_cell, ledger_columns
from driftpace.campaign.records import LedgerRow, Order
from driftpace.campaign.text import period_name
from driftpace.formatting import strip_bidi
from driftpace.records import Money, Plan
from driftpace.service.dashboard.charts import (
    LATEST,
    Chart,
    HistoryPage,
    PageFigure,
    finite,
    hidden_periods_note,
    highest,
    panel,
)
from driftpace.service.templating import (
    count,
    money,
    number,
    period_cells,
    period_labels,
    plural,
)

_DRIFT_VERDICTS = {
    "stable": "are consistent with that",
    "warning": "may not be consistent with that",
    "drift": "indicate a larger drift",
}


def excess_loss_figure(ledger: Sequence[LedgerRow], page: int = 1) -> PageFigure | None:
    """Return expected, certified and measured excess loss and target of each closed period, and the loss on new rows."""
    if not ledger:
        return None
    shown = HistoryPage.of(len(ledger), page)
    latest = ledger[shown.start : shown.stop]
    periods = [(row.report.period, row.key) for row in ledger]
    names = period_labels(periods)[shown.start : shown.stop]
    bounds = [finite(row.report.risk_bound) for row in latest]
    certificates = [finite(row.report.certificate) for row in latest]
    targets = [finite(row.report.epsilon) for row in latest]
    audits = [row.report.audit for row in latest]
    means = [None if audit is None else max(audit.mean, 0.0) for audit in audits]
    lower = [None if audit is None else max(audit.mean - 2.0 * audit.mean_error, 0.0) for audit in audits]
    upper = [None if audit is None else max(audit.mean + 2.0 * audit.mean_error, 0.0) for audit in audits]
    typical = highest(bounds[1:] or bounds, targets, certificates[1:] or certificates)
    top = min(highest(bounds, certificates, targets), 2.5 * typical)  # the first period must not flatten the others

    def draw_excess(chart: Chart) -> None:
        chart.band(lower, upper, "teal")
        chart.line(means, "teal", dots=False)
        chart.line(certificates, "slate", look="dash")
        chart.line(bounds, "own")
        if len(set(targets)) == 1 and targets[0] is not None:
            chart.across(targets[0], "bad")
        else:
            chart.line(targets, "bad", dots=False, look="limit-line")

    legend = [
        ("own line", "expected excess loss"),
        ("slate dash", "certificate (upper bound)"),
        ("bad limit-line", "target"),
    ]
    if any(audit is not None for audit in audits):
        legend.append(("teal line", "measured, mean of the last periods ± 2 standard errors"))
    panels = [panel("loss-excess", "excess loss", names, top, draw_excess, tuple(legend))]
    losses = [None if row.served is None else finite(row.served.loss) for row in latest]
    errors = [None if row.served is None else finite(row.served.error) for row in latest]
    if any(loss is not None for loss in losses):
        ends = [(loss or 0.0) + 2.0 * (error or 0.0) for loss, error in zip(losses, errors, strict=True)]
        prior = (("teal dotkey", "prior loss: the model in use on new rows, ± 2 standard errors"),)
        panels.append(
            panel("loss-prior", "loss", names, highest(ends), lambda chart: chart.errors(losses, errors, "teal"), prior)
        )
    met = sum(row.report.outcome.promised for row in ledger)
    last = ledger[-1].report
    known = finite(last.risk_bound) is not None
    latest_bound = (
        f"Latest expected excess loss {number(last.risk_bound)}" if known else "No bound on the excess loss yet"
    )
    columns = ledger_columns(ledger, shown=True)
    return PageFigure(
        key="loss",
        title="Expected and measured loss",
        sentence=(
            f"Expected to be within the target in {met} of {plural(len(ledger), 'closed period')}. "
            f"{latest_bound} (target {number(last.epsilon)})."
        ),
        panels=tuple(panels),
        columns=tuple(column.heading.capitalize() for column in columns),
        rows=tuple(tuple(_ledger_cell(column, row) for column in columns) for row in latest),
    )


def _ledger_cell(column: LedgerColumn, row: LedgerRow) -> str:
    if column.kind == "money":
        return money(row.report.cost)
    if column.key == "outcome":
        return f"{'✓' if row.report.outcome.promised else '✗'} {format_cell(column, row)}"
    return format_cell(column, row)


def drift_figure(ledger: Sequence[LedgerRow], page: int = 1) -> PageFigure | None:
    """Return the estimated drift of the best model with its upper bound; None where the page has no estimate."""
    known = [row for row in ledger if row.report.rho is not None]
    shown = HistoryPage.of(len(ledger), page)
    places = [place for place in range(shown.start, shown.stop) if ledger[place].report.rho is not None]
    if not places:
        return None
    latest = [ledger[place] for place in places]
    periods = [(row.report.period, row.key) for row in ledger]
    labels, cells = period_labels(periods), period_cells(periods)
    values = [finite(row.report.rho) for row in latest]
    uppers = [finite(row.report.rho_upper) for row in latest]

    def draw(chart: Chart) -> None:
        chart.band(values, uppers, "own")
        chart.line(uppers, "own", dots=False, look="thin")
        chart.line(values, "own")

    top = min(highest(values, uppers), 4.0 * highest(values) or highest(uppers))
    last = known[-1].report
    verdict = "" if last.status is None else f" The latest rows {_DRIFT_VERDICTS.get(last.status, last.status)}."
    per = "from the last model" if last.measures == "distance" else "per period"
    legend = (("own line", "estimated drift"), ("own bandkey", "up to the upper bound"))
    return PageFigure(
        key="drift",
        title="Drift",
        sentence=f"Estimated drift {number(last.rho)} {per}, upper bound {number(last.rho_upper)}.{verdict}",
        panels=(panel("drift", "drift", [labels[place] for place in places], top, draw, legend),),
        columns=("Period", "Drift", "Upper bound", "Check"),
        rows=tuple(
            (cells[place], number(row.report.rho), number(row.report.rho_upper), row.report.status or "–")
            for place, row in zip(places, latest, strict=True)
        ),
    )


def rows_figure(ledger: Sequence[LedgerRow], order: Order | None, page: int = 1) -> PageFigure | None:
    """Return requested, received and planned rows; the open and the planned periods are on page 1."""
    if not ledger and order is None:
        return None
    total = sum(row.report.samples for row in ledger)
    sentences = [f"{plural(total, 'row')} received in {plural(len(ledger), 'closed period')}."] if ledger else []
    if order is not None:
        sentences.append(_progress(order))
    shown = HistoryPage.of(len(ledger), page)
    order = order if shown.page == 1 else None
    ahead = _ahead(order)
    past, future = ledger[shown.start : shown.stop], ahead[:LATEST]
    periods = _periods(ledger, order)
    names = period_labels(periods)[shown.start : shown.stop + len(future)]
    received: list[float | None] = [float(row.report.samples) for row in past]
    requested: list[float | None] = [float(row.report.asked) for row in past]
    if order is not None:
        received.append(float(order.received) if order.received else None)
        requested.append(float(order.samples))
    planned: list[float | None] = [None] * len(past)
    planned += [float(samples) if place else None for place, (_, samples, _) in enumerate(future)]
    for series in (received, requested, planned):
        series += [None] * (len(names) - len(series))

    def draw(chart: Chart) -> None:
        if order is not None and past:
            chart.now(len(past))
        chart.hatched(planned)
        chart.bars(received, "own")
        chart.level(requested, "ink")

    legend = [("own barkey", "received"), ("ink stroke", "requested")]
    if any(samples is not None for samples in planned):
        legend.append(("own hatchkey", "planned"))
    labels = period_cells(periods)
    cells = [
        (label, count(row.report.asked), count(row.report.samples), count(row.report.samples_theory))
        for label, row in zip(labels[shown.start : shown.stop], past, strict=True)
    ]
    for place, (label, (_, samples, _)) in enumerate(zip(labels[len(ledger) :], ahead, strict=True)):
        is_open = order is not None and place == 0
        theory = count(order.request.samples_theory) if order is not None and is_open else "–"
        so_far = count(order.received) if order is not None and is_open else "planned"
        cells.append((label, count(samples), so_far, theory))
    return PageFigure(
        key="rows",
        title="Rows requested and received",
        sentence=" ".join(sentences),
        panels=(panel("rows", "rows", names, highest(received, requested, planned), draw, tuple(legend), whole=True),),
        columns=("Period", "Requested", "Received", "By theory alone"),
        rows=tuple(cells),
        note=hidden_periods_note(len(ahead)),
    )


def spending_figure(
    ledger: Sequence[LedgerRow], order: Order | None, *, total: Money | None, cost: Money | None = None, page: int = 1
) -> PageFigure | None:
    """Return cumulative spending, planned spending and the budget; None without a budget. Planned periods are on page 1.

    ``cost`` is the cost of the open period where it differs from the plan.
    """
    if total is None:
        return None
    zero = Money(total.amount * 0, total.currency)
    spent, past = zero, []
    for row in ledger:
        spent = spent + (row.report.cost or zero)
        past.append((row.report.cost or zero, spent))
    ahead, planned_total = [], spent
    for place, (_, _, planned) in enumerate(_ahead(order)):
        price = (None if place else cost) or planned or zero
        planned_total = planned_total + price
        ahead.append((price, planned_total))
    shown = HistoryPage.of(len(ledger), page)
    upcoming = ahead[:LATEST] if shown.page == 1 else []
    latest, periods = past[shown.start : shown.stop], _periods(ledger, order)
    names = period_labels(periods)[shown.start : shown.stop + len(upcoming)]
    if not names:
        return None
    before: list[float | None] = [float(so_far) for _, so_far in latest]
    later: list[float | None] = [float(so_far) for _, so_far in upcoming]
    blank_before, blank_later = [None] * len(before), [None] * len(later)

    def draw(chart: Chart) -> None:
        chart.bars([*before, *blank_later], "own")
        chart.hatched([*blank_before, *later])
        chart.across(float(total), "bad")
        if upcoming and latest:
            chart.now(len(latest))

    left = f"{money(total - spent)} left" if spent <= total else f"{money(spent - total)} over budget"
    sentence = f"{money(spent)} of {money(total)} spent, {left}."
    if len(ahead) == 1:
        sentence += f" With the open period: {money(planned_total)}."
    elif ahead:
        sentence += f" Planned by the end of the budget: {money(planned_total)}."
    legend = (("own barkey", "total spent"), ("own hatchkey", "planned"), ("bad limit-line", "budget"))
    top = max(float(total), highest(before, later))
    return PageFigure(
        key="spending",
        title="Spending and budget",
        sentence=sentence,
        panels=(panel("spending", total.currency or "money", names, top, draw, legend),),
        columns=("Period", "Cost", "Total", ""),
        rows=tuple(
            (name, money(price), money(so_far), "spent" if place < len(latest) else "planned")
            for place, (name, (price, so_far)) in enumerate(
                zip(period_cells(periods)[shown.start :], [*latest, *(ahead if shown.page == 1 else [])], strict=False)
            )
        ),
        note=hidden_periods_note(len(ahead) if shown.page == 1 else 0),
    )


def plan_figure(new: Plan, current: Plan | None) -> PageFigure:
    """Return a plan beside the current one; the chart shows its start, the table all of it."""
    first, last = new.first_period, new.first_period + new.horizon
    if current is not None:
        first, last = min(first, current.first_period), max(last, current.first_period + current.horizon)
    periods = list(range(first, last))
    new_rows = [_rows_at(new, period) for period in periods][:LATEST]
    current_rows = [None if current is None else _rows_at(current, period) for period in periods][:LATEST]

    def draw(chart: Chart) -> None:
        if current is None:
            chart.bars(new_rows, "own")
        else:
            chart.bars(current_rows, "slate", share=0.36, shift=-0.2)
            chart.bars(new_rows, "own", share=0.36, shift=0.2)

    legend = [("own barkey", "this plan")]
    columns = ["Period", "Rows", "Cost", "Expected excess loss"]
    if current is not None:
        legend.insert(0, ("slate barkey", "current plan"))
        columns.append("Rows, current plan")
    names = [str(period) for period in periods[:LATEST]]
    top = highest(new_rows, current_rows)
    return PageFigure(
        key="plan",
        title="Rows per period",
        sentence="",
        panels=(panel("plan", "rows", names, top, draw, tuple(legend), whole=True),),
        columns=tuple(columns),
        rows=tuple(_plan_cells(new, current, period) for period in periods),
        note=hidden_periods_note(len(periods)),
    )


def _plan_cells(new: Plan, current: Plan | None, period: int) -> tuple[str, ...]:
    place = period - new.first_period
    planned = 0 <= place < new.horizon
    cells = [
        str(period),
        count(new.samples[place]) if planned else "–",
        money(new.costs[place]) if planned else "–",
        number(new.risks[place]) if planned else "–",
    ]
    if current is not None:
        rows = _rows_at(current, period)
        cells.append("–" if rows is None else count(int(rows)))
    return tuple(cells)


def _rows_at(plan: Plan, period: int) -> float | None:
    place = period - plan.first_period
    return float(plan.samples[place]) if 0 <= place < plan.horizon else None


def _ahead(order: Order | None) -> list[tuple[int, int, Money | None]]:
    """Return period, rows and cost from the open period on, as the order plans them."""
    if order is None:
        return []
    plan = order.request.plan
    if plan is None:
        return [(order.period, order.samples, order.request.cost)]
    planned: list[tuple[int, int, Money | None]] = [
        (plan.first_period + place, samples, cost)
        for place, (samples, cost) in enumerate(zip(plan.samples, plan.costs, strict=True))
    ]
    return [(order.period, order.samples, planned[0][2]), *planned[1:]]


def _periods(ledger: Sequence[LedgerRow], order: Order | None) -> list[tuple[int, str | None]]:
    """Return number and key of the closed, open and planned periods."""
    closed = [(row.report.period, row.key) for row in ledger]
    ahead = [(period, order.key if order and not place else None) for place, (period, _, _) in enumerate(_ahead(order))]
    return closed + ahead


def _progress(order: Order) -> str:
    which = strip_bidi(period_name(order.period, order.key))
    if order.samples == 0:
        return f"No rows requested in {which}."
    received = count(order.received) if order.received else "none"
    return f"{received.capitalize()} of {plural(order.samples, 'row')} received in {which}."
