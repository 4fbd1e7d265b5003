"""One figure of the report with everything around it: heading, sentence, legend, and the same numbers as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from driftpace.backtest.report.figures import Figure, Key


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """What a figure says, three times: in a sentence, as a picture, as a table."""

    key: str
    title: str
    text: str
    alt: str
    figure: Figure
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def section(found: Section) -> str:
    """Return the section as HTML; the picture itself is drawn by the page from ``drawn``."""
    name = f"{found.key}-title"
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(found.title)}</h2><p>{escape(found.text)}</p>'
        f'{legend(found.key, found.figure.keys)}<div class="figure" id="{found.key}" role="img" '
        f'aria-label="{escape(found.alt)} {escape(found.text)}"></div>'
        f"<details><summary>The same as a table</summary>{table(found.columns, found.rows, found.title)}</details></section>"
    )


def legend(figure: str, keys: Sequence[Key]) -> str:
    """Return the legend of the figure of that key: a button for each entry, which shows or hides its lines."""
    buttons = "".join(_key(each) for each in keys)
    return (
        f'<div class="keys" role="group" aria-label="Lines of the figure: press to show or hide" data-for="{figure}">'
        f"{buttons}</div>"
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
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


def drawn(sections: Sequence[Section]) -> dict[str, Any]:
    """Return the figures as plotly takes them, by the key of their section."""
    return {each.key: {"data": each.figure.traces, "layout": each.figure.layout()} for each in sections}


def _key(key: Key) -> str:
    traces = ",".join(str(trace) for trace in key.traces)
    pressed = "true" if key.shown else "false"
    return (
        f'<button type="button" aria-pressed="{pressed}" data-traces="{traces}"><span class="look {key.look} c-{key.colour}" '
        f'aria-hidden="true"></span>{escape(key.label)}</button>'
    )
