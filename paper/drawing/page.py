"""The page "The paper and driftpace, side by side": one file, offline, for somebody who has not read the paper."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from driftpace.report.page import html_document
from paper.drawing.interactive import Drawable, interactive
from paper.drawing.parts import chapter, figure_id
from paper.drawing.words import plural, typeset
from paper.records import Finding

TITLE = "The paper and driftpace, side by side"
PAPER = "C. Wilson, Y. Bu and V. Veeravalli, “Adaptive Sequential Machine Learning”"
SYMBOLS = (
    ("n", "period", "the periods, one after the other: days, weeks, waves of a survey."),
    (
        "ρ",
        "rho",
        "how far the best model moves from one period to the next. Nobody knows it; both methods estimate it.",
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
    style = (files("paper.drawing") / "page.css").read_text(encoding="utf-8")
    return html_document(title=typeset(title), body=body, figures=_plotted(drawn), owner="The page", style=style)


def _plotted(drawn: dict[str, Drawable]) -> dict[str, object]:
    return {key: each.plotted() for key, each in drawn.items()}


def _opening(findings: Sequence[Finding], title: str) -> str:
    how = sorted({(finding.runs, finding.seed) for finding in findings})
    said = "; ".join(f"{plural(runs, 'run')}, seed {seed}" for runs, seed in how)
    return f"<header id='top'><p class='quiet'>driftpace reproduce · {escape(said)}</p><h1>{escape(typeset(title))}</h1></header>"


def _before() -> str:
    symbols = "".join(
        f'<div><dt id="term-{key}">{escape(sign)} <span class="quiet">{escape(key) if sign != key else ""}</span></dt>'
        f"<dd>{escape(text)}</dd></div>"
        for sign, key, text in SYMBOLS
    )
    return (
        '<section aria-labelledby="before-title"><h2 id="before-title">Before you read</h2>'
        f"<p>The world drifts, and a model that was fitted once goes stale. {escape(PAPER)} decides in every period how many "
        "fresh samples to buy so that the model stays close to the best one. This page repeats its experiments and puts three "
        "things side by side:</p>"
        "<ul><li><strong>the paper</strong>: what it reports, in its own words;</li>"
        "<li><strong>as in the paper</strong>: its method, run here, with its misprints corrected;</li>"
        "<li><strong>practical default</strong>: what driftpace does when it is told no more than the target.</li></ul>"
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
