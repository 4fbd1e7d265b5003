"""The shell of every report: one HTML file with its style, figures and scripts, which loads nothing from elsewhere."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from driftpace.errors import MissingExtraError
from driftpace.report.figures import LegendKey, ReportFigure

BADGES = {"bad": "✗ fails", "warn": "! careful", "good": "✓ holds", "open": "– untested"}
"""The badge of each tone, the worst first."""


def html_document(*, title: str, body: Iterable[str], figures: Mapping[str, Any], owner: str, style: str = "") -> str:
    """Return a page that loads nothing: ``body`` is HTML, ``figures`` are plotly figures by the id of their element.

    The same arguments give the same bytes. ``owner`` names the caller in the error where plotly is missing.
    """
    here = files("driftpace.report")
    look = (here / "page.css").read_text(encoding="utf-8") + style
    scripts = [_plotly(owner), (here / "page.js").read_text(encoding="utf-8")]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>\n<style>{look}</style></head>\n<body><main>"
        + "\n".join(body)
        + "</main>\n<noscript><p>The figures need JavaScript; their numbers are in the tables below each.</p></noscript>\n"
        + f'<script type="application/json" id="figures">{_inside_script(figures)}</script>\n'
        + "\n".join(f"<script>{script}</script>" for script in scripts)
        + "\n</body></html>\n"
    )


def _inside_script(figures: Mapping[str, Any]) -> str:
    """Return JSON that may stand inside a script element, whatever the names in it are."""
    text = json.dumps(figures, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: these scripts alone may run, and nothing may be loaded."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{found}'" for found in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _plotly(owner: str) -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'{owner} needs {error.name}: pip install "driftpace[report]".') from error
    return str(get_plotlyjs())


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A number that matters, in a box: ``tone`` is "good", "warn", "bad" or empty."""

    title: str
    value: str
    note: str
    tone: str = ""


def header_html(above: str, headline: str) -> str:
    """Return the head of a page: a quiet line, and the result in short."""
    return f"<header><p class='quiet'>{escape(above)}</p><h1>{escape(headline)}</h1></header>"


def summary_html(cards: str) -> str:
    """Return the section that holds the cards."""
    return f'<section aria-labelledby="short-title"><h2 id="short-title" class="hidden">In short</h2>{cards}</section>'


def cards_html(cards: Iterable[Card]) -> str:
    """Return cards as a list."""
    items = "".join(
        f'<li class="card {card.tone}"><h3>{escape(card.title)}</h3><p class="value">{escape(card.value)}</p>'
        f"<p class='quiet'>{escape(card.note)}</p></li>"
        for card in cards
    )
    return f'<ul class="cards">{items}</ul>'


def facts_html(facts: Iterable[tuple[str, str]], css: str = "facts") -> str:
    """Return names and values as a description list."""
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts)
    return f'<dl class="{css}">{rows}</dl>'


def assumptions_html(assumptions: Iterable[tuple[str, str, str, str]], empty: str) -> str:
    """Return assumptions as a list with badges, the worst first; each is (tone, name, remark, sentence)."""
    order = list(BADGES)
    items = "".join(
        f'<li><span class="badge {tone}">{BADGES[tone]}</span><div><strong>{escape(name)}</strong>'
        + (f" <span class='quiet'>{escape(remark)}</span>" if remark else "")
        + f"<p>{escape(sentence)}</p></div></li>"
        for tone, name, remark, sentence in sorted(assumptions, key=lambda row: order.index(row[0]))
    )
    return f'<ul class="assumptions">{items}</ul>' if items else f"<p>{escape(empty)}</p>"


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A figure with its sentence, and its numbers as a table."""

    key: str
    title: str
    text: str
    alt: str
    figure: ReportFigure
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def section_html(section: Section) -> str:
    """Return the section as HTML; the page's script draws the figure from ``figure_data``."""
    name = f"{section.key}-title"
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(section.title)}</h2><p>{escape(section.text)}</p>'
        f'{legend_html(section.key, section.figure.keys)}<div class="figure" id="{section.key}" role="img" '
        f'aria-label="{escape(section.alt)} {escape(section.text)}"></div>'
        "<details><summary>The same as a table</summary>"
        f"{table_html(section.columns, section.rows, section.title)}</details></section>"
    )


def legend_html(figure: str, keys: Sequence[LegendKey]) -> str:
    """Return the legend of the figure of that key: a button for each entry, which shows or hides its lines."""
    buttons = "".join(_key_html(each) for each in keys)
    return (
        f'<div class="keys" role="group" aria-label="Lines of the figure: press to show or hide" data-for="{figure}">'
        f"{buttons}</div>"
    )


def table_html(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table of short cells that scrolls inside its own frame when it must; the first cell names the row."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="frame" tabindex="0" role="region" aria-label="Table: {escape(caption)}"><table class="numbers">'
        f'<caption class="quiet">{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def figure_data(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the figures as plotly data and layout, by the key of their section."""
    return {each.key: {"data": each.figure.traces, "layout": each.figure.layout()} for each in sections}


def _key_html(key: LegendKey) -> str:
    traces = ",".join(str(trace) for trace in key.traces)
    pressed = "true" if key.shown else "false"
    return (
        f'<button type="button" aria-pressed="{pressed}" data-traces="{traces}"><span class="look {key.look} c-{key.colour}" '
        f'aria-hidden="true"></span>{escape(key.label)}</button>'
    )
