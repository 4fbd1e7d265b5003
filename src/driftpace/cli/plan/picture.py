"""A plan as one HTML file: nothing is fetched, nothing can be injected, and the same plan gives the same bytes.

It stands on the figures, the style and the script of the backtest's report, so that both look and behave alike.
"""

from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driftpace.cli.output import plural
from driftpace.cli.plan.answer import Answer
from driftpace.cli.plan.tables import Grid, compared, traded
from driftpace.cli.plan.words import NAMES, asked, cost, money, now, number, proof, target, world
from driftpace.records import Plan
from driftpace.report.figures import NumericFigure
from driftpace.report.page import Section, figure_data, html_document, section_html

LOOKS = {  # colour, dash; a plan keeps its look in every figure
    "up front": ("rust", "dash"),
    "every 2 periods": ("teal", "dot"),
    "every 5 periods": ("plum", "dashdot"),
    "every period": ("olive", "dash"),
    "the risk rule": ("rose", "dot"),
}
CROWDED = 120  # periods; beyond, a second line on top of the first only hides it
STYLE = ".band.c-bad { background: var(--bad-wash); } .band.c-own { background: var(--own); }"


def write_picture(answer: Answer, path: Path) -> Path:
    """Write the picture and return where it is."""
    path.write_text(picture(answer), encoding="utf-8", newline="\n")
    return path


def picture(answer: Answer) -> str:
    """Return the whole page."""
    sections = [bought(answer), risks(answer), money_left(answer)]
    sections += [curve(answer)] if answer.curve else []
    body = [
        f"<header><p class='quiet'>driftpace plan · {escape(asked(answer))}</p><h1>{escape(_headline(answer))}</h1></header>",
        f'<section aria-labelledby="short-title"><h2 id="short-title" class="hidden">In short</h2>{_cards(answer)}</section>',
        *(section_html(each) for each in sections),
        _others(compared(answer)),
        _facts(answer),
    ]
    title = f"Plan: {asked(answer)}"
    return html_document(title=title, body=body, figures=figure_data(sections), owner="The picture", style=STYLE)


def bought(answer: Answer) -> Section:
    """Show how many samples are bought in each period."""
    plan = answer.plan
    none = None if any(plan.samples) else 10.0  # a scale that looks like one of samples
    chart = _over_periods(plan, axis="samples in the period", digits=",.0f", top=none)
    chart.bars("samples to buy", plan.samples, colour="own")
    for name, other, colour, dash in _looks(answer):
        chart.line(name, other.samples, colour=colour, dash=dash, shown=False)
    orders = sum(samples > 0 for samples in plan.samples)
    return Section(
        key="bought",
        title="When to buy",
        text=f"{_sentence(now(answer))} In all: {cost(plan)}; {plural(plan.horizon - orders, 'period')} without an order.",
        alt="Samples to buy in each period.",
        figure=chart,
        columns=("Period", "Samples", "Cost"),
        rows=[
            (name, f"{samples:,}", str(paid))
            for name, samples, paid in zip(chart.periods, plan.samples, plan.costs, strict=True)
        ],
    )


def risks(answer: Answer) -> Section:
    """Show the risk bound of each period beside the target."""
    plan = answer.plan
    top = 1.15 * max(plan.largest_risk, 1.5 * plan.epsilon)
    chart = _over_periods(plan, axis="risk at most", top=top)
    chart.above("above the target", plan.risks, plan.epsilon, colour="bad")
    chart.line("this plan", plan.risks, colour="own", width=2.5 if plan.horizon <= CROWDED else 1.0, markers=True)
    chart.line("the target", [plan.epsilon] * plan.horizon, colour="bad", dash="dash", width=1.5)
    for name, other, colour, dash in _looks(answer):
        chart.line(name, other.risks, colour=colour, dash=dash, width=1.8, shown=other is _rival(answer))
    high = [name for name, other, _, _ in _looks(answer) if other.largest_risk > top]
    beyond = f" Too high for this figure in places: {', '.join(high)}." if high else ""
    return Section(
        key="risk",
        title="What the plan promises",
        text=f"How much worse than the best model of its kind the model can be. The target is {target(plan)}.{beyond}",
        alt="Risk bound of each period beside the target.",
        figure=chart,
        columns=("Period", "Risk at most", "Target", "Above by"),
        rows=[
            (name, number(risk), number(plan.epsilon), number(gap) if gap > 0.0 else "–")
            for name, risk, gap in zip(chart.periods, plan.risks, plan.gaps, strict=True)
        ],
    )


def money_left(answer: Answer) -> Section:
    """Show what is left of the budget after each period."""
    plan = answer.plan
    currency = f" ({plan.budget.currency})" if plan.budget.currency else ""
    chart = _over_periods(plan, axis=f"money left{currency}", digits=",.2~f")
    left = _left(plan)
    chart.steps("this plan", left, float(plan.budget), colour="own", width=2.5)
    for name, other, colour, dash in _looks(answer):
        chart.steps(name, _left(other), float(plan.budget), colour=colour, dash=dash, shown=other is _rival(answer))
    return Section(
        key="money",
        title="Money left",
        text=f"Of {plan.budget}, after each period." + ("" if answer.curve else f" {_sentence(money(answer))}"),
        alt="Money left after each period.",
        figure=chart,
        columns=("Period", "Left"),
        rows=[(name, f"{amount:,.10g}") for name, amount in zip(chart.periods, left, strict=True)],
    )


def curve(answer: Answer) -> Section:
    """Show which target less or more money would hold."""
    plan, points = answer.plan, answer.curve
    grid = traded(answer)
    assert grid is not None
    amounts = [float(point.budget) for point in points]
    chart = NumericFigure(
        periods=tuple(row[0] for row in grid.rows),
        places=tuple(amounts),
        axis="risk held in every period",
        along=grid.heads[0],
        logarithmic=True,
    )
    chart.line("what the money holds", [point.epsilon for point in points], colour="own", width=2.5, markers=True)
    chart.line("no plan holds less", [point.lower for point in points], colour="slate", dash="dot")
    if answer.solved != "epsilon":
        chart.line("the target", [plan.epsilon] * len(points), colour="bad", dash="dash", width=1.5)
    return Section(
        key="curve",
        title="Less money or more",
        text=f"The lowest risk that each budget can hold in every one of {plural(plan.horizon, 'period')}. "
        + _sentence(money(answer)),
        alt="The lowest risk that each of several budgets can hold.",
        figure=chart,
        columns=tuple(_capital(head) for head in grid.heads),
        rows=grid.rows,
    )


def _over_periods(plan: Plan, **more: Any) -> NumericFigure:
    periods = range(plan.first_period, plan.first_period + plan.horizon)
    return NumericFigure(
        periods=tuple(str(period) for period in periods), places=tuple(float(period) for period in periods), **more
    )


def _looks(answer: Answer) -> list[tuple[str, Plan, str, str]]:
    """Return the other plans, each with its name, its colour and how its line is broken."""
    return [
        (NAMES.get(other.method, other.method), other, *LOOKS.get(other.method, ("slate", "dash")))
        for other in answer.baselines
    ]


def _rival(answer: Answer) -> Plan | None:
    """Return the best of the other plans that the money pays for: the one that is shown at first, where there is room."""
    if answer.plan.horizon > CROWDED:
        return None
    paid = [other for other in answer.baselines if other.spent <= other.budget]
    return min(paid, key=lambda other: other.value, default=None)


def _left(plan: Plan) -> list[float]:
    left, found = plan.budget, []
    for paid in plan.costs:
        left -= paid
        found.append(float(left))
    return found


def _headline(answer: Answer) -> str:
    held = f"the target of {number(answer.plan.epsilon)} is {target(answer.plan)}"
    spends = "the plan spends " if any(answer.plan.samples) else ""
    return f"{_sentence(now(answer))} {_sentence(spends + cost(answer.plan))} {_sentence(held)}"


def _cards(answer: Answer) -> str:
    plan = answer.plan
    first = plan.samples[0]
    missed = sum(gap > 0.0 for gap in plan.gaps)
    found = [
        (
            "Now",
            f"Buy {first:,}" if first else "Buy nothing",
            f"in period {plan.first_period}" + (f", for {plan.costs[0]}" if first else ""),
            "",
        ),
        ("Money", str(plan.spent), f"of {plan.budget}, in {plural(sum(k > 0 for k in plan.samples), 'order')}", ""),
        (
            "Target",
            "Held" if plan.holds else "Missed",
            f"{number(plan.epsilon)} in every period"
            if plan.holds
            else f"in {missed} of {plural(plan.horizon, 'period')}",
            "good" if plan.holds else "bad",
        ),
    ]
    if plan.value > 0.0 and answer.pays_an_order:
        near = "the best" if plan.proven_gap <= 1e-9 else f"within {100.0 * plan.proven_gap:.2g}\u00a0%"
        found.append(
            ("Proven", near, f"no plan has a {plan.goal} below {number(plan.lower)}; this one {number(plan.value)}", "")
        )
    if answer.could_hold is not None:
        found.append(("The money could hold", number(answer.could_hold.epsilon), "in every period", ""))
    if answer.enough is not None:
        found.append(
            ("Holding the target takes", str(answer.enough.spent), f"{number(plan.epsilon)} in every period", "")
        )
    cards = "".join(
        f'<li class="card {tone}"><h3>{escape(title)}</h3><p class="value">{escape(value)}</p>'
        f"<p class='quiet'>{escape(note)}</p></li>"
        for title, value, note, tone in found
    )
    return f'<ul class="cards">{cards}</ul>'


def _others(grid: Grid | None) -> str:
    """Return the other plans as a table that becomes a list of boxes on a narrow screen."""
    if grid is None:
        return ""
    heads = [_capital(head) for head in ("plan", *grid.heads[1:])]
    head = "".join(f'<th scope="col" role="columnheader">{escape(name)}</th>' for name in heads)
    body = ""
    for index, (name, *cells) in enumerate(grid.rows):
        row = "".join(
            f'<td role="cell" data-label="{escape(label)}">{escape(cell)}</td>'
            for label, cell in zip(heads[1:], cells, strict=True)
        )
        ours = "" if index else ' class="own"'
        body += f'<tr role="row"{ours}><th scope="row" role="rowheader">{escape(_capital(name))}</th>{row}</tr>'
    return (
        '<section aria-labelledby="others-title"><h2 id="others-title">Other plans</h2>'
        f"<p>What anyone would try first, for the same money. {escape(grid.note)}</p>"
        '<table class="ways" role="table"><caption class="quiet">Other plans</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table></section>'
    )


def _facts(answer: Answer) -> str:
    facts = [
        ("Asked", asked(answer)),
        ("World", world(answer)),
        ("How sure", proof(answer)),
        ("driftpace", version("driftpace")),
    ]
    rows = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(_capital(text))}</dd></div>" for name, text in facts if text
    )
    title = '<h2 id="facts-title">What this rests on</h2>'
    return f'<section aria-labelledby="facts-title">{title}<dl class="facts">{rows}</dl></section>'


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _sentence(text: str) -> str:
    return f"{_capital(text)}." if text else ""
