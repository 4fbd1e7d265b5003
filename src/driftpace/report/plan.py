"""The report of a plan as one HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from typing import Any

from driftpace.formatting import plural
from driftpace.planning import TradeOff
from driftpace.records import Plan
from driftpace.report.figures import NumericFigure
from driftpace.report.page import (
    Card,
    Section,
    cards_html,
    facts_html,
    figure_data,
    header_html,
    html_document,
    section_html,
    summary_html,
)

STYLES = {  # colour, dash; a plan keeps its style in every figure
    "up front": ("rust", "dash"),
    "every 2 periods": ("teal", "dot"),
    "every 5 periods": ("plum", "dashdot"),
    "every period": ("olive", "dash"),
    "the risk rule": ("rose", "dot"),
}
CROWDED = 120  # periods; beyond, a second line on top of the first only hides it
CSS = ".band.c-bad { background: var(--bad-wash); } .band.c-own { background: var(--own); }"


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTable:
    """A table of text: its first column names the rows."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanPage:
    """A plan with the sentences and alternatives that its report shows.

    Parameters
    ----------
    plan : Plan
        The plan.
    task, now, cost, target, money : str
        What was to be solved, what to do first, what is spent, whether the target is met, and what other budgets achieve;
        phrases without a capital or a full stop.
    facts : sequence of (str, str)
        Names and texts of the last section.
    baselines : sequence of (str, Plan)
        Other plans by name.
    comparison, curve_table : TextTable, optional
        The other plans, and the points of the curve, as text.
    curve : sequence of TradeOff
        The lowest risk of each of several budgets.
    target_given : bool
        False where the target itself was solved for.
    proven : bool
        Whether to show how near the plan is to the best one.
    tightest, cheapest : Plan, optional
        The plan with the lowest target for the budget, and the cheapest one that meets the target.
    """

    plan: Plan
    task: str
    now: str
    cost: str
    target: str
    money: str = ""
    facts: Sequence[tuple[str, str]] = ()
    baselines: Sequence[tuple[str, Plan]] = ()
    comparison: TextTable | None = None
    curve: Sequence[TradeOff] = ()
    curve_table: TextTable | None = None
    target_given: bool = True
    proven: bool = True
    tightest: Plan | None = None
    cheapest: Plan | None = None


def plan_report(page: PlanPage) -> str:
    """Return the report of a plan as one HTML page.

    Parameters
    ----------
    page : PlanPage
        The plan and its texts.

    Returns
    -------
    str
        A page that loads nothing from elsewhere. Its figures need plotly (``pip install "driftpace[report]"``).
    """
    sections = [_orders_section(page), _risk_section(page), _money_section(page)]
    sections += [_curve_section(page)] if page.curve else []
    body = [
        header_html(f"driftpace plan · {page.task}", _headline(page)),
        summary_html(_cards(page)),
        *(section_html(section) for section in sections),
        _comparison(page.comparison),
        _facts(page),
    ]
    figures = figure_data(sections)
    return html_document(title=f"Plan: {page.task}", body=body, figures=figures, owner="plan_report()", style=CSS)


def _orders_section(page: PlanPage) -> Section:
    """Return the samples to buy in each period."""
    plan = page.plan
    none = None if any(plan.samples) else 10.0  # a scale that looks like one of samples
    chart = _over_periods(plan, axis="samples in the period", digits=",.0f", top=none)
    chart.bars("samples to buy", plan.samples, colour="own")
    for name, other, colour, dash in _styles(page):
        chart.line(name, other.samples, colour=colour, dash=dash, shown=False)
    orders = sum(samples > 0 for samples in plan.samples)
    return Section(
        key="bought",
        title="Orders",
        text=f"{_sentence(page.now)} Total: {page.cost}; {plural(plan.horizon - orders, 'period')} without an order.",
        alt="Samples to buy in each period.",
        figure=chart,
        columns=("Period", "Samples", "Cost"),
        rows=[
            (name, f"{samples:,}", str(paid))
            for name, samples, paid in zip(chart.periods, plan.samples, plan.costs, strict=True)
        ],
    )


def _risk_section(page: PlanPage) -> Section:
    """Return the risk bound of each period beside the target."""
    plan = page.plan
    top = 1.15 * max(plan.largest_risk, 1.5 * plan.epsilon)
    chart = _over_periods(plan, axis="risk bound", top=top)
    chart.above("above the target", plan.risks, plan.epsilon, colour="bad")
    chart.line("this plan", plan.risks, colour="own", width=2.5 if plan.horizon <= CROWDED else 1.0, markers=True)
    chart.line("the target", [plan.epsilon] * plan.horizon, colour="bad", dash="dash", width=1.5)
    for name, other, colour, dash in _styles(page):
        chart.line(name, other.risks, colour=colour, dash=dash, width=1.8, shown=other is _rival(page))
    high = [name for name, other, _, _ in _styles(page) if other.largest_risk > top]
    beyond = f" Beyond the figure in places: {', '.join(high)}." if high else ""
    return Section(
        key="risk",
        title="Risk bound",
        text=f"An upper bound on the excess loss. The target is {page.target}.{beyond}",
        alt="Risk bound of each period beside the target.",
        figure=chart,
        columns=("Period", "Risk bound", "Target", "Gap"),
        rows=[
            (name, _digits(risk), _digits(plan.epsilon), _digits(gap) if gap > 0.0 else "–")
            for name, risk, gap in zip(chart.periods, plan.risks, plan.gaps, strict=True)
        ],
    )


def _money_section(page: PlanPage) -> Section:
    """Return the money left after each period."""
    plan = page.plan
    currency = f" ({plan.budget.currency})" if plan.budget.currency else ""
    chart = _over_periods(plan, axis=f"money left{currency}", digits=",.2~f")
    left = _left(plan)
    chart.steps("this plan", left, float(plan.budget), colour="own", width=2.5)
    for name, other, colour, dash in _styles(page):
        chart.steps(name, _left(other), float(plan.budget), colour=colour, dash=dash, shown=other is _rival(page))
    return Section(
        key="money",
        title="Money left",
        text=f"Of {plan.budget}, after each period." + ("" if page.curve else f" {_sentence(page.money)}"),
        alt="Money left after each period.",
        figure=chart,
        columns=("Period", "Left"),
        rows=[(name, f"{amount:,.10g}") for name, amount in zip(chart.periods, left, strict=True)],
    )


def _curve_section(page: PlanPage) -> Section:
    """Return the lowest risk of each of several budgets."""
    plan, points, table = page.plan, page.curve, page.curve_table
    assert table is not None
    amounts = [float(point.budget) for point in points]
    chart = NumericFigure(
        periods=tuple(row[0] for row in table.rows),
        places=tuple(amounts),
        axis="risk in every period",
        along=table.heads[0],
        logarithmic=True,
    )
    chart.line("achievable", [point.epsilon for point in points], colour="own", width=2.5, markers=True)
    chart.line("lower bound for any plan", [point.lower for point in points], colour="slate", dash="dot")
    if page.target_given:
        chart.line("the target", [plan.epsilon] * len(points), colour="bad", dash="dash", width=1.5)
    return Section(
        key="curve",
        title="Other budgets",
        text=f"The lowest risk that each budget achieves in every one of {plural(plan.horizon, 'period')}. "
        + _sentence(page.money),
        alt="The lowest risk that each of several budgets achieves.",
        figure=chart,
        columns=tuple(_capital(head) for head in table.heads),
        rows=table.rows,
    )


def _over_periods(plan: Plan, **more: Any) -> NumericFigure:
    periods = range(plan.first_period, plan.first_period + plan.horizon)
    return NumericFigure(
        periods=tuple(str(period) for period in periods), places=tuple(float(period) for period in periods), **more
    )


def _styles(page: PlanPage) -> list[tuple[str, Plan, str, str]]:
    """Return the other plans, each with its name, colour and dash."""
    return [(name, other, *STYLES.get(other.method, ("slate", "dash"))) for name, other in page.baselines]


def _rival(page: PlanPage) -> Plan | None:
    """Return the best other plan within the budget: it is visible at first, where there is room."""
    if page.plan.horizon > CROWDED:
        return None
    paid = [other for _, other in page.baselines if other.spent <= other.budget]
    return min(paid, key=lambda other: other.value, default=None)


def _left(plan: Plan) -> list[float]:
    left, amounts = plan.budget, []
    for paid in plan.costs:
        left -= paid
        amounts.append(float(left))
    return amounts


def _headline(page: PlanPage) -> str:
    spends = "the plan spends " if any(page.plan.samples) else ""
    target = f"the target of {_digits(page.plan.epsilon)} is {page.target}"
    return f"{_sentence(page.now)} {_sentence(spends + page.cost)} {_sentence(target)}"


def _cards(page: PlanPage) -> str:
    plan = page.plan
    first = plan.samples[0]
    missed = sum(gap > 0.0 for gap in plan.gaps)
    cards = [
        Card(
            title="Now",
            value=f"Buy {first:,}" if first else "Buy nothing",
            note=f"in period {plan.first_period}" + (f", for {plan.costs[0]}" if first else ""),
        ),
        Card(
            title="Money",
            value=str(plan.spent),
            note=f"of {plan.budget}, in {plural(sum(samples > 0 for samples in plan.samples), 'order')}",
        ),
        Card(
            title="Target",
            value="Met" if plan.holds else "Missed",
            note=f"{_digits(plan.epsilon)} in every period"
            if plan.holds
            else f"in {missed} of {plural(plan.horizon, 'period')}",
            tone="good" if plan.holds else "bad",
        ),
    ]
    if plan.value > 0.0 and page.proven:
        near = "optimal" if plan.proven_gap <= 1e-9 else f"within {100.0 * plan.proven_gap:.2g}\u00a0%"
        note = f"no plan has a {plan.goal} below {_digits(plan.lower)}; this one has {_digits(plan.value)}"
        cards.append(Card(title="Proven", value=near, note=note))
    if page.tightest is not None:
        cards.append(
            Card(title="Lowest target for the budget", value=_digits(page.tightest.epsilon), note="in every period")
        )
    if page.cheapest is not None:
        note = f"{_digits(plan.epsilon)} in every period"
        cards.append(Card(title="Cost of meeting the target", value=str(page.cheapest.spent), note=note))
    return cards_html(cards)


def _comparison(table: TextTable | None) -> str:
    """Return the other plans as a table that becomes a list of boxes on a narrow screen."""
    if table is None:
        return ""
    heads = [_capital(head) for head in ("plan", *table.heads[1:])]
    head = "".join(f'<th scope="col" role="columnheader">{escape(name)}</th>' for name in heads)
    body = ""
    for index, (name, *cells) in enumerate(table.rows):
        row = "".join(
            f'<td role="cell" data-label="{escape(label)}">{escape(cell)}</td>'
            for label, cell in zip(heads[1:], cells, strict=True)
        )
        own = "" if index else ' class="own"'
        body += f'<tr role="row"{own}><th scope="row" role="rowheader">{escape(_capital(name))}</th>{row}</tr>'
    return (
        '<section aria-labelledby="others-title"><h2 id="others-title">Other plans</h2>'
        f"<p>Simple plans for the same budget. {escape(table.note)}</p>"
        '<table class="ways" role="table"><caption class="quiet">Other plans</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table></section>'
    )


def _facts(page: PlanPage) -> str:
    facts = [*page.facts, ("driftpace", version("driftpace"))]
    rows = facts_html([(name, _capital(text) if name != "driftpace" else text) for name, text in facts if text])
    return f'<section aria-labelledby="facts-title"><h2 id="facts-title">Assumptions</h2>{rows}</section>'


def _digits(value: float) -> str:
    """Return a risk with four significant digits."""
    if value != value or value in (float("inf"), float("-inf")):
        return "infinite"
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.4g}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _sentence(text: str) -> str:
    return f"{_capital(text)}." if text else ""
