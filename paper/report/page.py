"""The HTML page "The paper and driftpace, side by side", in one offline file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from driftpace.report.page import html_document, legend_html
from paper.records import Comparison, Figure, Finding, Measured, Sensitivity
from paper.report.interactive import Drawable, interactive
from paper.report.text import NOTHING, grouped, measured, numbers, plural, typeset

Row = tuple[str, list[str]]
Groups = Sequence[tuple[str, list[Row]]]
OFTEN = 3  # numbers with the same note
_HEADS = ("The paper", "As in the paper", "Default method")


def figure_id(finding: Finding, figure: Figure) -> str:
    """Return what the figure is called everywhere: on the page and, with an ending, in the folders beside it."""
    own = figure.key.removeprefix(f"{finding.name}-").removeprefix(f"{finding.name}_")  # not twice
    return f"{finding.name}-{own}"


def chapter(finding: Finding, drawn: Mapping[str, Drawable], place: int) -> str:
    """Return everything about one experiment."""
    inside = [
        f'<h2 id="{finding.name}-title"><span class="quiet">{place}.</span> {_formatted(finding.title)}</h2>',
        f'<p class="question">{_formatted(finding.question)}</p><p class="answer">{_formatted(finding.answer)}</p>',
        _compared(finding),
        _figures(finding, drawn),
        _claims(finding),
        _constants(finding),
        *(_sensitivity(each) for each in finding.sensitivity),
        _notes(finding.notes),
        '<p class="quiet up"><a href="#top">Back to the top</a></p>',
    ]
    return f'<section class="chapter" id="{finding.name}" aria-labelledby="{finding.name}-title">{"".join(inside)}</section>'


def _compared(finding: Finding) -> str:
    if not finding.comparisons:
        return ""
    legend_of_errors, often, sign = _errors(finding.comparisons)

    def cell(found: Measured | None) -> str:
        if found is None:
            return f'<span>{NOTHING}<span class="hidden"> nothing</span></span>'
        if found.note and found.note == often:
            return f"<span>{_formatted(measured(found))}{sign}</span>"
        note = f'<span class="quiet">{_formatted(found.note)}</span>' if found.note else ""
        return f"<span>{_formatted(measured(found))}</span>{note}"

    groups = [
        (
            head,
            [
                (
                    _row_head(each.what, each.note),
                    [f"<span>{_formatted(each.paper or NOTHING)}</span>", cell(each.as_in_paper), cell(each.practical)],
                )
                for each in group
            ],
        )
        for head, group in grouped(finding.comparisons)
    ]
    table = _ways("Number", _HEADS, groups, f"{finding.title}: numbers compared")
    return f"<h3>Side by side</h3>{legend_of_errors}{table}"


def _errors(comparisons: Iterable[Comparison]) -> tuple[str, str, str]:
    """Return what ± means, stated once above the table; the note that many numbers share; and its sign there."""
    found = [each for one in comparisons for each in (one.as_in_paper, one.practical) if each is not None]
    silent = any(each.error is not None and not each.note for each in found)
    notes = Counter(each.note for each in found if each.note).most_common(1)
    often = notes[0][0] if notes and notes[0][1] >= OFTEN else ""
    sign = "\u202f*" if silent else ""
    said = ["± is the standard error over runs."] if silent else []
    said += [f"{'* ' if silent else ''}{'' if '±' in typeset(often) else '±: '}{often.rstrip('.')}."] if often else []
    return (f'<p class="quiet">{_formatted(" ".join(said))}</p>' if said else ""), often, sign


def _figures(finding: Finding, drawn: Mapping[str, Drawable]) -> str:
    if not finding.figures:
        return ""
    shown = "".join(_figure(finding, figure, drawn[figure_id(finding, figure)]) for figure in finding.figures)
    return f'<h3>Figures</h3><div class="figures">{shown}</div>'


def _figure(finding: Finding, figure: Figure, drawn: Drawable) -> str:
    key = figure_id(finding, figure)
    heads, rows = numbers(figure)
    origin = f"In the paper: {figure.paper.rstrip('.')}." if figure.paper else "Not in the paper."
    links = ", ".join(
        f'<a href="{folder}/{key}.{ending}" aria-label="{escape(typeset(figure.title))} as {name}">{name}</a>'
        for folder, ending, name in (("figures", "png", "PNG"), ("figures", "svg", "SVG"), ("data", "csv", "CSV"))
    )
    return (
        f'<figure aria-labelledby="{key}-title"><h4 id="{key}-title">{_formatted(figure.title)}</h4>{legend_html(key, drawn.keys)}'
        f'<div class="figure{" square" if figure.equal else ""}" id="{key}" role="img" '
        f'aria-label="{escape(typeset(figure.alt))}"></div>'
        f'<figcaption>{_formatted(figure.caption)} <span class="quiet">{_formatted(origin)} {links}.</span></figcaption>'
        f"<details><summary>The same as a table</summary>{_numbers(heads, rows, figure.title)}</details></figure>"
    )


def _claims(finding: Finding) -> str:
    if not finding.claims:
        return ""
    items = "".join(
        f'<li>{_badge(claim.holds)}<div><p>{_formatted(claim.says)}</p><p class="quiet">{_formatted(claim.measured)}</p></div></li>'
        for claim in finding.claims
    )
    return f'<h3>Claims of the paper, and whether they hold here</h3><ul class="assumptions claims">{items}</ul>'


def _badge(holds: bool) -> str:
    tone, sign, word = ("good", "✓", "Holds") if holds else ("bad", "✗", "Does not hold")
    return f'<span class="badge {tone}"><span aria-hidden="true">{sign} </span>{word}</span>'


def _constants(finding: Finding) -> str:
    if not finding.constants:
        return ""
    rows = [
        (_row_head(each.name), [f"<span>{_formatted(each.chosen)}</span>", f"<span>{_formatted(each.why)}</span>"])
        for each in finding.constants
    ]
    caption = f"{finding.title}: what the paper does not state"
    return _folded(
        "What the paper leaves open", _ways("Left open", ("Chosen here", "Why"), [("", rows)], caption, words=True)
    )


def _sensitivity(found: Sensitivity) -> str:
    table = _numbers(found.columns, found.rows, found.title)
    return _folded(
        found.title, f'{table}<p class="reading">{_formatted(found.reading)}</p>', before="How much it matters: "
    )


def _notes(notes: Sequence[str]) -> str:
    return _folded("Notes", f"<ul>{''.join(f'<li>{_formatted(note)}</li>' for note in notes)}</ul>") if notes else ""


def _folded(title: str, inside: str, before: str = "") -> str:
    """Return a section that is collapsed at first."""
    quiet = f'<span class="quiet">{escape(before)}</span>' if before else ""
    return f'<details class="fold"><summary><h3>{quiet}{_formatted(title)}</h3></summary>{inside}</details>'


def _ways(first: str, heads: Sequence[str], groups: Groups, caption: str, *, words: bool = False) -> str:
    """Return a table that becomes a list of boxes on a narrow screen; the cells are HTML, each group has its heading."""
    head = "".join(f'<th scope="col" role="columnheader">{escape(name)}</th>' for name in (first, *heads))
    body = "".join(f'<tbody role="rowgroup">{_group(each, heads)}</tbody>' for each in groups)
    return (
        f'<table class="ways{" words" if words else ""}" role="table"><caption class="quiet">{_formatted(caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>{body}</table>'
    )


def _group(group: tuple[str, list[Row]], heads: Sequence[str]) -> str:
    title, rows = group
    body = ""
    if title:
        wide = len(heads) + 1
        body = f'<tr role="row" class="group"><th scope="rowgroup" role="rowheader" colspan="{wide}">{_formatted(title)}</th></tr>'
    for name, cells in rows:
        row = "".join(
            f'<td role="cell" data-label="{escape(label)}">{cell}</td>'
            for label, cell in zip(heads, cells, strict=True)
        )
        body += f'<tr role="row"><th scope="row" role="rowheader">{name}</th>{row}</tr>'
    return body


def _row_head(name: str, note: str = "") -> str:
    return _formatted(name) + (f'<span class="quiet">{_formatted(note)}</span>' if note else "")


def _numbers(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Return a table of short cells that scrolls inside its own frame when it must; the first cell names the row."""
    head = "".join(f'<th scope="col">{_formatted(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{_formatted(row[0])}</th>{"".join(f"<td>{_formatted(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    name = escape(typeset(caption))
    return (
        f'<div class="frame" tabindex="0" role="region" aria-label="Table: {name}"><table class="numbers">'
        f'<caption class="quiet">{name}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _formatted(text: str) -> str:
    """Return words as HTML, symbols as letters, and what stands between `backticks` as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(typeset(text))
    return "".join(
        f"<code>{escape(part)}</code>" if place % 2 else escape(typeset(part)) for place, part in enumerate(parts)
    )


TITLE = "The paper and driftpace, side by side"
PAPER = "C. Wilson, Y. Bu and V. Veeravalli, “Adaptive Sequential Machine Learning”"
SYMBOLS = (
    ("n", "period", "the periods, one after the other: days, weeks, waves of a survey."),
    (
        "ρ",
        "rho",
        "how far the best model moves from one period to the next. It is unknown; both methods estimate it.",
    ),
    ("Kₙ", "K_n", "how many fresh samples are bought in period n. This is what both methods decide."),
    (
        "ε",
        "epsilon",
        "the target: how much worse than the best model of its kind the model may be on average (its excess risk).",
    ),
)


def page(findings: Sequence[Finding]) -> str:
    """Return the whole page; its links lead to the files that stand beside it."""
    drawn = {figure_id(finding, figure): interactive(figure) for finding in findings for figure in finding.figures}
    alone = findings[0].title if len(findings) == 1 else ""
    title = f"{TITLE}: {alone}" if alone else TITLE
    body = [
        _opening(findings, title),
        _before(),
        *([_contents(findings)] if len(findings) > 1 else []),
        *(chapter(finding, drawn, place) for place, finding in enumerate(findings, start=1)),
    ]
    style = (files("paper.report") / "page.css").read_text(encoding="utf-8")
    return html_document(title=typeset(title), body=body, figures=_plotted(drawn), owner="The page", style=style)


def _plotted(drawn: dict[str, Drawable]) -> dict[str, object]:
    return {key: each.plotted() for key, each in drawn.items()}


def _opening(findings: Sequence[Finding], title: str) -> str:
    how = sorted({(finding.runs, finding.seed) for finding in findings})
    said = "; ".join(f"{plural(runs, 'run')}, seed {seed}" for runs, seed in how)
    return f"<header id='top'><p class='quiet'>python -m paper · {escape(said)}</p><h1>{escape(typeset(title))}</h1></header>"


def _before() -> str:
    symbols = "".join(
        f'<div><dt id="term-{key}">{escape(sign)} <span class="quiet">{escape(key) if sign != key else ""}</span></dt>'
        f"<dd>{escape(text)}</dd></div>"
        for sign, key, text in SYMBOLS
    )
    return (
        '<section aria-labelledby="before-title"><h2 id="before-title">Before you read</h2>'
        f"<p>The data drift, and a model that was fitted once becomes outdated. {escape(PAPER)} decides in every period how many "
        "fresh samples to buy so that the model stays close to the best one. This page repeats its experiments and compares three "
        "results:</p>"
        "<ul><li><strong>the paper</strong>: what it reports;</li>"
        "<li><strong>as in the paper</strong>: its method, run here, with its errata corrected;</li>"
        "<li><strong>default method</strong>: what driftpace does when it is given only the target.</li></ul>"
        f'<h3>Four symbols</h3><dl class="facts">{symbols}</dl></section>'
    )


def _contents(findings: Sequence[Finding]) -> str:
    entries = ""
    for finding in findings:
        held = sum(claim.holds for claim in finding.claims)
        stands = f"{held} of {plural(len(finding.claims), 'claim')} hold" if finding.claims else ""
        entries += (
            f'<li><a href="#{finding.name}">{escape(typeset(finding.title))}</a>'
            f"<p>{escape(typeset(finding.answer))}</p>" + (f'<p class="quiet">{stands}</p>' if stands else "") + "</li>"
        )
    return (
        '<nav class="contents" aria-labelledby="contents-title"><h2 id="contents-title">In short</h2>'
        f"<ol>{entries}</ol></nav>"
    )
