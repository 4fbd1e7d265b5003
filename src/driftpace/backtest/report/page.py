"""The report as one file: nothing is fetched, nothing can be injected, and the same result gives the same bytes."""

from html import escape
from os import PathLike
from pathlib import Path

from driftpace.backtest.records import BacktestResult
from driftpace.backtest.report import parts, plots
from driftpace.backtest.report.choices import choices
from driftpace.backtest.report.document import document
from driftpace.backtest.report.sections import drawn, section
from driftpace.backtest.report.words import answer


def write_report(result: BacktestResult, path: str | PathLike[str]) -> Path:
    """Write a backtest as one HTML file that a manager can read, offline, on a phone, in the dark; return where it is.

    Folders on the way are made. The figures need plotly (``pip install "driftpace[report]"``), which is put into the file.
    """
    place = Path(path)
    text = report(result)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8", newline="\n")
    return place


def report(result: BacktestResult) -> str:
    """Return the whole page."""
    figures = [plots.samples(result), plots.drift(result), plots.ledger(result), plots.fresh_loss(result)]
    told_apart = plots.auc(result)
    figures += [told_apart] if told_apart is not None else []
    chosen = choices(result)
    figures += [chosen] if chosen is not None else []
    title = f"Backtest of {result.table}: labels, cost and promise"
    body = [
        f"<header><p class='quiet'>driftpace backtest · {escape(result.table)}</p><h1>{escape(answer(result))}</h1></header>",
        f'<section aria-labelledby="short-title"><h2 id="short-title" class="hidden">In short</h2>{parts.cards(result)}</section>',
        *(section(figure) for figure in figures),
        parts.strategies(result),
        parts.assumptions(result),
        parts.what_was_run(result),
        parts.glossary(),
    ]
    return document(title=title, body=body, figures=drawn(figures), owner="write_report()")
