"""The parts of the report that are words and tables: cards, strategies, assumptions, what was run, glossary."""

import math
from html import escape
from importlib.metadata import version

import numpy as np

from driftpace.backtest.records import BacktestResult, Strategy
from driftpace.backtest.report.facts import judge, labels, mean, named, shows_money
from driftpace.backtest.report.words import (
    BROKEN,
    KEPT,
    against,
    asked,
    count,
    loss,
    money,
    number,
    outcome,
    plural,
    ratio,
    shortfall,
    span,
    standing,
    verdict,
)

CARDS = (
    ("from_scratch", "Against re-fitting from scratch"),
    ("best_constant", "Against the best constant, known only in hindsight"),
    ("paper", "Against the paper's rule"),
)
SIGNS = {"bad": "✗ fails", "warn": "! careful", "good": "✓ holds"}  # the worst first
BADGES = {KEPT: ("good", "✓"), BROKEN: ("bad", "✗")}
GLOSSARY = (
    (
        "Label",
        "One row whose true answer somebody had to find out: a survey answered, an invoice checked, a reading taken.",
    ),
    ("Period", "One step of time: a week, a wave of a survey, a year. Labels are bought period by period."),
    (
        "Excess risk",
        "How much worse the model was than the best model of its kind that period, in units of the loss. Zero is perfect.",
    ),
    ("Target (epsilon, ε)", "The largest excess risk that was accepted when the backtest was started."),
    (
        "Promise kept or broken",
        (
            "The excess risk averaged over runs and periods is at most the target, and at most one period in ten is above it "
            "by more than chance explains (two standard errors). Where a confidence was asked for: the share of periods "
            "within the target is at least that. The best constant in hindsight is judged after period 3, once it has learnt."
        ),
    ),
    (
        "Promised beforehand (risk bound)",
        "What driftpace expected the excess risk to be, before it saw the period's labels.",
    ),
    (
        "Certificate",
        (
            "An upper limit on the period's excess risk, computed from the labels afterwards. It should be above the truth as "
            "often as its level says."
        ),
    ),
    (
        "Drift",
        "How far the best model moved since the period before, as the excess risk that a model left alone would gain.",
    ),
    (
        "Asked by theory alone",
        "What the proven rule asks for: from a last model no better than the target, in a world that moves as far as is plausible.",
    ),
    (
        "Run",
        "One replay of the whole table with other rows drawn and other rows held out for testing. Bands show how runs differ.",
    ),
    ("Rows available (pool)", "The rows of a period that could be bought: all but those held out for testing."),
    ("In hindsight", "Found by trying every value on the same data. Nobody can do that beforehand; it is a yardstick."),
)


def cards(result: BacktestResult) -> str:
    """Return the few numbers that matter, each in a box of its own."""
    own = result.strategies[0]
    total, kept = labels(own), judge(own, result.epsilon, result.confidence)
    found = [
        _card(
            "Promise", (KEPT if kept.kept else BROKEN).capitalize(), verdict(kept), tone="good" if kept.kept else "bad"
        ),
        _card("Labels", count(total), f"{number(total / len(result.periods))} a period on average"),
    ]
    if shows_money(result):
        each = money(result.price, result.currency)
        found.append(_card("Money", money(total * result.price, result.currency), f"at {each} a label"))
    for name, title in CARDS:
        other = named(result, name)
        if other is not None:
            found.append(_saved(result, title, total, other))
    return f'<ul class="cards">{"".join(found)}</ul>'


def strategies(result: BacktestResult) -> str:
    """Return every way of buying labels as a table that becomes a list of boxes on a narrow screen."""
    paid, classes = shows_money(result), any(each.auc is not None for each in result.strategies)
    columns = ["Labels", *(["Money"] if paid else []), "Promise", "Excess risk", "Risk / target", "Test loss"]
    columns += ["AUC"] if classes else []
    widest = max((labels(each) for each in result.strategies if math.isfinite(labels(each))), default=0.0)
    head = "".join(f'<th scope="col" role="columnheader">{name}</th>' for name in ("Way of buying labels", *columns))
    body = "".join(_row(result, each, columns, widest) for each in result.strategies)
    return (
        '<section aria-labelledby="all-title"><h2 id="all-title">Every way of buying labels</h2>'
        f"<p>Averages over {plural(result.runs, 'run')}; labels are totals of one run. "
        "All were replayed on the same rows. “Everything up front” and “spread evenly” spend what driftpace spent, as far as "
        "the periods have rows to sell.</p>"
        f'<table class="ways" role="table"><caption class="quiet">Every way of buying labels</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
        f"{_skipped(result)}</section>"
    )


def _skipped(result: BacktestResult) -> str:
    """Return the baselines that could not run, with the reason."""
    items = "".join(f"<li><strong>{escape(one.title)}</strong>: {escape(one.reason)}</li>" for one in result.skipped)
    return f"<h3>Baselines that could not run</h3><ul>{items}</ul>" if items else ""


def assumptions(result: BacktestResult) -> str:
    """Return what the promise rests on, and whether it held here."""
    order = list(SIGNS)
    found = [(each, *standing(each, often)) for each, often in result.assumptions]
    items = "".join(
        f'<li><span class="badge {tone}">{SIGNS[tone]}</span><div><strong>{escape(each.name)}</strong> '
        f"<span class='quiet'>{said}</span><p>{escape(each.sentence)}</p></div></li>"
        for each, tone, said in sorted(found, key=lambda one: order.index(one[1]))
    )
    body = f'<ul class="assumptions">{items}</ul>' if items else "<p>None were reported.</p>"
    return (
        '<section aria-labelledby="rests-title"><h2 id="rests-title">What the promise rests on</h2>'
        f"<p>The worst that was seen of each, and how often.</p>{body}</section>"
    )


def what_was_run(result: BacktestResult) -> str:
    """Return everything needed to run the same again."""
    facts = [
        ("Table", result.table),
        ("Predicted column", result.target),
        (plural(len(result.features), "feature"), ", ".join(result.features)),
        ("Loss", result.loss.replace(", unpenalised=0", "")),
        ("Asked", asked(result)),
        ("Periods", _span(result.periods)),
        ("Rows available a period", span(result.pool)),
        (
            "Rows held out a period",
            span(result.test_rows),
        ),
        ("Runs", count(result.runs)),
        ("Seed", str(result.seed)),
        ("driftpace", version("driftpace")),
        ("Time", f"{number(result.seconds)} seconds"),
    ]
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
    notes = "".join(f"<li>{escape(note)}</li>" for note in result.notes)
    extra = f"<h3>Notes</h3><ul>{notes}</ul>" if notes else ""
    return (
        '<section aria-labelledby="run-title"><h2 id="run-title">What was run</h2>'
        f'<dl class="facts">{rows}</dl>{extra}</section>'
    )


def glossary() -> str:
    """Return the words of the report in plain words."""
    rows = "".join(f"<div><dt>{escape(word)}</dt><dd>{escape(meaning)}</dd></div>" for word, meaning in GLOSSARY)
    return f'<section aria-labelledby="words-title"><h2 id="words-title">Words</h2><dl class="facts words">{rows}</dl></section>'


def _card(title: str, value: str, note: str, tone: str = "") -> str:
    return (
        f'<li class="card {tone}"><h3>{escape(title)}</h3><p class="value">{escape(value)}</p>'
        f"<p class='quiet'>{escape(note)}</p></li>"
    )


def _saved(result: BacktestResult, title: str, own: float, other: Strategy) -> str:
    theirs = labels(other)
    note = f"{count(theirs)} there, {count(own)} here"
    if shows_money(result):
        saved = (theirs - own) * result.price
        note += f": {money(abs(saved), result.currency)} {'less' if saved >= 0 else 'more'}"
    fell = shortfall(result, other)
    return _card(title, against(own, theirs), f"{note}; that way {fell}" if fell else note)


def _row(result: BacktestResult, strategy: Strategy, columns: list[str], widest: float) -> str:
    total = labels(strategy)
    width = 100.0 * total / widest if widest > 0.0 and math.isfinite(total) else 0.0
    bar = f'<span class="bar" aria-hidden="true"><span style="width:{width:.1f}%"></span></span>'
    cells = [count(total) + bar]
    if shows_money(result):
        cells.append(escape(money(total * result.price, result.currency)))
    found = outcome(result, strategy)
    tone, sign = BADGES.get(found, ("warn", "!"))
    cells.append(f'<span class="badge {tone}">{sign} {found}</span>')
    risk = mean(strategy.excess_risk)
    cells += [number(risk), ratio(risk / mean(np.array(result.epsilon))), loss(mean(strategy.test_loss))]
    if "AUC" in columns:
        cells.append("–" if strategy.auc is None else number(mean(strategy.auc)))
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
