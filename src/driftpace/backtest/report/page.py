"""The report as one file: nothing is fetched, nothing can be injected, and the same result gives the same bytes."""

import base64
import hashlib
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path

from driftpace.backtest.records import BacktestResult
from driftpace.backtest.report import parts, plots
from driftpace.backtest.report.sections import drawn, section
from driftpace.backtest.report.words import answer
from driftpace.errors import MissingExtraError


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
    here = files("driftpace.backtest.report")
    style = (here / "page.css").read_text(encoding="utf-8")
    scripts = [_plotly(), (here / "page.js").read_text(encoding="utf-8")]
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
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n<body><main>"
        + "\n".join(body)
        + "</main>\n<noscript><p>The figures need JavaScript; their numbers are in the tables below each.</p></noscript>\n"
        + f'<script type="application/json" id="figures">{drawn(figures)}</script>\n'
        + "\n".join(f"<script>{script}</script>" for script in scripts)
        + "\n</body></html>\n"
    )


def _policy(scripts: list[str]) -> str:
    """Say what a browser may do with the page: run exactly these scripts, fetch nothing."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'write_report() needs {error.name}: pip install "driftpace[report]".') from error
    return str(get_plotlyjs())
