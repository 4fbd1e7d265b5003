"""What the page says of one experiment, as HTML: question, answer, numbers side by side, figures, claims, what was left open."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from driftpace.backtest.report.sections import legend
from driftpace.experiments.drawing.interactive import Drawable
from driftpace.experiments.drawing.numbers import numbers
from driftpace.experiments.drawing.words import NOTHING, measured, typeset
from driftpace.experiments.records import Comparison, Figure, Finding, Measured, Sensitivity

_HEADS = ("The paper", "As in the paper", "Practical default")


def figure_id(finding: Finding, figure: Figure) -> str:
    """Return what the figure is called everywhere: on the page and, with an ending, in the folders beside it."""
    return f"{finding.name}-{figure.key}"


def chapter(finding: Finding, drawn: Mapping[str, Drawable], place: int) -> str:
    """Return everything about one experiment."""
    inside = [
        f'<h2 id="{finding.name}-title"><span class="quiet">{place}.</span> {_said(finding.title)}</h2>',
        f'<p class="question">{_said(finding.question)}</p><p class="answer"><strong>{_said(finding.answer)}</strong></p>',
        _compared(finding),
        _figures(finding, drawn),
        _claims(finding),
        _constants(finding),
        *(_sensitivity(each) for each in finding.sensitivity),
        _notes(finding.notes),
    ]
    return f'<section class="chapter" id="{finding.name}" aria-labelledby="{finding.name}-title">{"".join(inside)}</section>'


def _compared(finding: Finding) -> str:
    if not finding.comparisons:
        return ""
    rows = [
        (
            _row_head(each.what, each.note),
            [f"<span>{_said(each.paper or NOTHING)}</span>", _measured(each.as_in_paper), _measured(each.practical)],
        )
        for each in finding.comparisons
    ]
    heading = f"<h3>Side by side</h3>{_plus_minus(finding.comparisons)}"
    return heading + _ways("Number", _HEADS, rows, f"{finding.title}: numbers side by side")


def _plus_minus(comparisons: Iterable[Comparison]) -> str:
    """Say what ± is where the numbers do not say so themselves."""
    found = [each for one in comparisons for each in (one.as_in_paper, one.practical) if each is not None]
    if not any(each.error is not None and not each.note for each in found):
        return ""
    return '<p class="quiet">± is the standard error over runs unless something else is said.</p>'


def _measured(found: Measured | None) -> str:
    if found is None:
        return f'<span>{NOTHING}<span class="hidden"> nothing</span></span>'
    note = f'<span class="quiet">{_said(found.note)}</span>' if found.note else ""
    return f"<span>{_said(measured(found))}</span>{note}"


def _figures(finding: Finding, drawn: Mapping[str, Drawable]) -> str:
    if not finding.figures:
        return ""
    shown = "".join(_figure(finding, figure, drawn[figure_id(finding, figure)]) for figure in finding.figures)
    return f'<h3>Figures</h3><div class="figures">{shown}</div>'


def _figure(finding: Finding, figure: Figure, drawn: Drawable) -> str:
    key = figure_id(finding, figure)
    heads, rows = numbers(figure)
    origin = f"The paper’s {figure.paper}." if figure.paper else "Not in the paper."
    links = ", ".join(
        f'<a href="{folder}/{key}.{ending}" aria-label="{escape(typeset(figure.title))} as {name}">{name}</a>'
        for folder, ending, name in (("figures", "png", "PNG"), ("figures", "svg", "SVG"), ("data", "csv", "CSV"))
    )
    return (
        f'<figure aria-labelledby="{key}-title"><h4 id="{key}-title">{_said(figure.title)}</h4>{legend(key, drawn.keys)}'
        f'<div class="figure{" square" if figure.equal else ""}" id="{key}" role="img" aria-label="{_said(figure.alt)}"></div>'
        f'<figcaption>{_said(figure.caption)} <span class="quiet">{_said(origin)} {links}.</span></figcaption>'
        f"<details><summary>The same as a table</summary>{_numbers(heads, rows, figure.title)}</details></figure>"
    )


def _claims(finding: Finding) -> str:
    if not finding.claims:
        return ""
    items = "".join(
        f'<li>{_badge(claim.holds)}<div><p>{_said(claim.says)}</p><p class="quiet">{_said(claim.measured)}</p></div></li>'
        for claim in finding.claims
    )
    return f'<h3>What is claimed, and whether it holds here</h3><ul class="assumptions claims">{items}</ul>'


def _badge(holds: bool) -> str:
    tone, sign, word = ("good", "✓", "Holds") if holds else ("bad", "✗", "Does not hold")
    return f'<span class="badge {tone}"><span aria-hidden="true">{sign} </span>{word}</span>'


def _constants(finding: Finding) -> str:
    if not finding.constants:
        return ""
    rows = [
        (_row_head(each.name), [f"<span>{_said(each.chosen)}</span>", f"<span>{_said(each.why)}</span>"])
        for each in finding.constants
    ]
    return "<h3>What the paper leaves open</h3>" + _ways(
        "Left open", ("Chosen here", "Why"), rows, f"{finding.title}: what the paper leaves open", words=True
    )


def _sensitivity(found: Sensitivity) -> str:
    return (
        f"<h3>{_said(found.title)}</h3>{_numbers(found.columns, found.rows, found.title)}"
        f'<p class="reading">{_said(found.reading)}</p>'
    )


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    return f"<h3>Notes</h3><ul>{''.join(f'<li>{_said(note)}</li>' for note in notes)}</ul>"


def _ways(
    first: str, heads: Sequence[str], rows: Sequence[tuple[str, list[str]]], caption: str, *, words: bool = False
) -> str:
    """Return a table that becomes a list of boxes on a narrow screen; the cells are HTML."""
    head = "".join(f'<th scope="col" role="columnheader">{escape(name)}</th>' for name in (first, *heads))
    body = ""
    for name, cells in rows:
        row = "".join(
            f'<td role="cell" data-label="{escape(label)}">{cell}</td>'
            for label, cell in zip(heads, cells, strict=True)
        )
        body += f'<tr role="row"><th scope="row" role="rowheader">{name}</th>{row}</tr>'
    return (
        f'<table class="ways{" words" if words else ""}" role="table"><caption class="quiet">{_said(caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead><tbody role="rowgroup">{body}</tbody></table>'
    )


def _row_head(name: str, note: str = "") -> str:
    return _said(name) + (f'<span class="quiet">{_said(note)}</span>' if note else "")


def _numbers(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table of short cells that scrolls inside its own frame when it must; the first cell names the row."""
    head = "".join(f'<th scope="col">{_said(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{_said(row[0])}</th>{"".join(f"<td>{_said(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    name = _said(caption)
    return (
        f'<div class="frame" tabindex="0" role="region" aria-label="Table: {name}"><table class="numbers">'
        f'<caption class="quiet">{name}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _said(text: str) -> str:
    return escape(typeset(text))
