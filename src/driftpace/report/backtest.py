"""The report of a backtest as one HTML page."""

import math
from html import escape
from importlib.metadata import version

import numpy as np

from driftpace.backtest.breach import audit_text, breach_lines, measured_mean
from driftpace.backtest.judgement import find_strategy, judge, nan_mean, shows_money, total_labels
from driftpace.backtest.result import BacktestResult, Strategy
from driftpace.backtest.text import (
    MET,
    MISSED,
    assumption_status,
    cheaper_strategies,
    compare_labels,
    count_orders,
    headline,
    judgement_text,
    labels_text,
    orders_text,
    outcome,
    outcome_text,
    shown_metrics,
    target_text,
)
from driftpace.formatting import count, loss, money, number, plural, ratio, span
from driftpace.metrics import get_metric
from driftpace.report import backtest_figures
from driftpace.report.compare import comparison_section
from driftpace.report.page import (
    Card,
    assumptions_html,
    cards_html,
    facts_html,
    figure_data,
    header_html,
    html_document,
    section_html,
    summary_html,
)


def backtest_report(result: BacktestResult) -> str:
    """Return the report of a backtest as one HTML page.

    Parameters
    ----------
    result : BacktestResult
        What :func:`driftpace.backtest` returned.

    Returns
    -------
    str
        A page that loads nothing from elsewhere. Its figures need plotly (``pip install "driftpace[report]"``).
    """
    optional = (backtest_figures.auc_section(result), backtest_figures.choices_section(result))
    sections = [
        backtest_figures.samples_section(result),
        backtest_figures.drift_section(result),
        backtest_figures.ledger_section(result),
        backtest_figures.loss_section(result),
        *(section for section in optional if section is not None),
    ]
    if result.comparison is not None:
        sections.append(comparison_section(result.comparison, f"{result.comparison.advice} "))
    body = [
        header_html(f"driftpace backtest · {result.table}", headline(result)),
        _breach(result),
        summary_html(_cards(result)),
        *(section_html(section) for section in sections),
        _strategies(result),
        _assumptions(result),
        _configuration(result),
        _glossary(),
    ]
    title = f"Backtest of {result.table}: labels, cost and target"
    return html_document(title=title, body=body, figures=figure_data(sections), owner="backtest_report()")


CARDS = (
    ("from_scratch", "Against re-fitting from scratch"),
    ("best_constant", "Against the best constant, known only in hindsight"),
    ("paper", "Against the paper's rule"),
)
_OUTCOME_BADGES = {MET: ("good", "✓"), MISSED: ("bad", "✗")}
GLOSSARY = (
    (
        "Label",
        "One row whose true answer was found out: a survey answered, an invoice checked, a reading taken.",
    ),
    ("Period", "One step of time: a week, a wave of a survey, a year. Labels are bought period by period."),
    (
        "Excess risk",
        "How much higher the loss of the model was than that of the best model of its kind in the period. Zero is best.",
    ),
    ("Target (epsilon, ε)", "The largest excess risk that is acceptable, as configured."),
    (
        "Target met or missed",
        (
            "The excess risk averaged over runs and periods is at most the target, and at most one period in ten is above it "
            "by more than chance explains (two standard errors). Where a confidence was asked for: the share of periods "
            "within the target is at least that. The best constant in hindsight is judged after period 3, when its warm-up is over."
        ),
    ),
    (
        "Predicted (risk bound)",
        "The excess risk that driftpace predicted before it saw the labels of the period.",
    ),
    (
        "Audit (measured from labels)",
        (
            "The excess risk that driftpace measures from its own labels, on rows that had no part in its decisions. It is "
            "unbiased but noisy in a single period; the true excess risk is known in a backtest only."
        ),
    ),
    (
        "Certificate",
        (
            "An upper bound on the excess risk of the period, computed from its labels. It should be above the truth as "
            "often as its level says."
        ),
    ),
    (
        "Drift",
        "How far the best model moved since the previous period, as the excess risk that an unchanged model would gain.",
    ),
    (
        "Proven rule (theory)",
        "Labels by the proven rule: for a last model no better than the target, and the largest plausible drift.",
    ),
    (
        "Run",
        "One replay of the whole table with its own random rows and test rows. Bands show the variation over runs.",
    ),
    ("Rows available (pool)", "The rows of a period that can be labelled: all but the test rows."),
    ("In hindsight", "Found by trying every value on the same data, which is not possible in advance: a yardstick."),
)


def _breach(result: BacktestResult) -> str:
    """Return where and why the target was missed; nothing where it was met."""
    lines = breach_lines(result)
    if not lines:
        return ""
    return (
        '<section aria-labelledby="missed-title"><h2 id="missed-title">Where and why the target was missed</h2>'
        f"{facts_html(lines)}</section>"
    )


def _cards(result: BacktestResult) -> str:
    own = result.strategies[0]
    total, judgement = total_labels(own), judge(result, own)
    cards = [
        Card(
            title="Target",
            value=(MET if judgement.kept else MISSED).capitalize(),
            note=judgement_text(judgement),
            tone="good" if judgement.kept else "bad",
        ),
        *_audit_card(result),
        Card(title="Labels", value=count(total), note=f"{number(total / len(result.periods))} a period on average"),
        *_orders_card(result),
    ]
    if shows_money(result):
        each = money(result.price, result.currency)
        cards.append(Card(title="Money", value=money(total * result.price, result.currency), note=f"at {each} a label"))
    for name, title in CARDS:
        other = find_strategy(result, name)
        if other is not None:
            cards.append(_comparison_card(result, title, other))
    cheaper = cheaper_strategies(result)
    if cheaper:
        note = "; ".join(f"{each.title}: {labels_text(result, total_labels(each))}" for each in cheaper)
        cards.append(Card(title="Met the target with fewer labels", value=count(len(cheaper)), note=note))
    return cards_html(cards)


def _orders_card(result: BacktestResult) -> list[Card]:
    """Return how many orders a period had; nothing where there is none to count."""
    counted = count_orders(result)
    return [] if counted is None else [Card(title="Orders", value=number(counted[0]), note=orders_text(result))]


def _audit_card(result: BacktestResult) -> list[Card]:
    """Return what was promised and measured from labels beside the truth; nothing where nothing was measured."""
    text = audit_text(result)
    return [Card(title="Audit", value=number(measured_mean(result)), note=text)] if text else []


def _strategies(result: BacktestResult) -> str:
    """Return all strategies as a table that becomes a list of boxes on a narrow screen."""
    paid, metrics = shows_money(result), [get_metric(name).title for name in shown_metrics(result)]
    columns = ["Labels", *(["Money"] if paid else []), "Target", "Excess risk", "Risk / target", "Test loss"]
    columns += metrics
    widest = max((total_labels(each) for each in result.strategies if math.isfinite(total_labels(each))), default=0.0)
    head = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in ("Strategy", *columns))
    body = "".join(_row(result, each, columns, widest) for each in result.strategies)
    return (
        '<section aria-labelledby="all-title"><h2 id="all-title">All strategies</h2>'
        f"<p>Averages over {plural(result.runs, 'run')}; labels are totals of one run. "
        "All were replayed on the same rows. “Everything up front” and “spread evenly” spend what driftpace spent, as far as "
        "the periods have rows.</p>"
        f'<table class="ways" role="table"><caption class="quiet">All strategies</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
        f"{_skipped(result)}</section>"
    )


def _skipped(result: BacktestResult) -> str:
    """Return the baselines that could not run, with the reason."""
    items = "".join(f"<li><strong>{escape(one.title)}</strong>: {escape(one.reason)}</li>" for one in result.skipped)
    return f"<h3>Baselines that could not run</h3><ul>{items}</ul>" if items else ""


def _assumptions(result: BacktestResult) -> str:
    """Return the worst verdict on each assumption, and how often it was reached."""
    rows = []
    for assumption, frequency in result.assumptions:
        tone, remark = assumption_status(assumption, frequency)
        rows.append((tone, assumption.name, remark, assumption.sentence))
    return (
        '<section aria-labelledby="rests-title"><h2 id="rests-title">Assumptions</h2>'
        f"<p>The worst verdict on each, and how often it was reached.</p>{assumptions_html(rows, 'None were reported.')}</section>"
    )


def _configuration(result: BacktestResult) -> str:
    """Return everything needed to repeat the run."""
    facts = [
        ("Table", result.table),
        ("Predicted column", result.target),
        *([("Classes", ", ".join(result.classes))] if result.classes else []),
        (plural(len(result.features), "feature"), ", ".join(result.features)),
        ("Loss", result.loss.replace(", unpenalised=0", "")),
        ("Target", target_text(result)),
        ("Periods", _span(result.periods)),
        ("Rows per period", span(result.pool)),
        (
            "Test rows per period",
            span(result.test_rows),
        ),
        ("Runs", count(result.runs)),
        ("Seed", str(result.seed)),
        ("driftpace", version("driftpace")),
        ("Time", f"{number(result.seconds)} seconds"),
    ]
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    extra = f"<h3>Notes</h3><ul>{notes}</ul>" if notes else ""
    return (
        '<section aria-labelledby="run-title"><h2 id="run-title">Configuration</h2>'
        f"{facts_html(facts)}{extra}</section>"
    )


def _glossary() -> str:
    """Return the terms of the report, explained."""
    title = '<h2 id="words-title">Glossary</h2>'
    return f'<section aria-labelledby="words-title">{title}{facts_html(GLOSSARY, "facts words")}</section>'


def _comparison_card(result: BacktestResult, title: str, other: Strategy) -> Card:
    """Return how many labels another way took, and which of the two met the target."""
    own = result.strategies[0]
    ours, theirs = total_labels(own), total_labels(other)
    note = f"{count(theirs)} there, {count(ours)} here"
    if shows_money(result):
        saved = (theirs - ours) * result.price
        note += f": {money(abs(saved), result.currency)} {'less' if saved >= 0 else 'more'}"
    note += f"; it {outcome_text(result, other)}, driftpace {outcome_text(result, own)}"
    return Card(title=title, value=compare_labels(ours, theirs), note=note)


def _row(result: BacktestResult, strategy: Strategy, columns: list[str], widest: float) -> str:
    total = total_labels(strategy)
    width = 100.0 * total / widest if widest > 0.0 and math.isfinite(total) else 0.0
    bar = f'<span class="bar" aria-hidden="true"><span style="width:{width:.1f}%"></span></span>'
    cells = [count(total) + bar]
    if shows_money(result):
        cells.append(escape(money(total * result.price, result.currency)))
    found = outcome(result, strategy)
    tone, sign = _OUTCOME_BADGES.get(found, ("warn", "!"))
    cells.append(f'<span class="badge {tone}">{sign} {found}</span>')
    risk = nan_mean(strategy.excess_risk)
    cells += [number(risk), ratio(risk / nan_mean(np.array(result.epsilon))), loss(nan_mean(strategy.test_loss))]
    cells += [number(nan_mean(strategy.metrics[name])) for name in shown_metrics(result)]
    body = "".join(
        f'<td role="cell" data-label="{name}">{cell}</td>' for name, cell in zip(columns, cells, strict=True)
    )
    ours = ' class="own"' if strategy is result.strategies[0] else ""
    return (
        f'<tr role="row"{ours}><th scope="row" role="rowheader">{escape(strategy.title)}'
        f"<span class='quiet'>{escape(strategy.note)}</span></th>{body}</tr>"
    )


def _span(periods: tuple[str, ...]) -> str:
    return f"{count(len(periods))}, from {periods[0]} to {periods[-1]}" if len(periods) > 1 else ", ".join(periods)
