"""The report of a comparison of kinds of models: one picture, one table, one sentence."""

from html import escape
from importlib.metadata import version

from driftpace.backtest.compare_result import HEADS, TITLES, ComparedModel, ModelComparison, points
from driftpace.formatting import plural
from driftpace.report.figures import LegendKey, NumericFigure, decades
from driftpace.report.page import (
    Card,
    Section,
    cards_html,
    facts_html,
    figure_data,
    header_html,
    html_document,
    section_html,
    summary_html,
)

LOOKS = {"linear": ("teal", "dot"), "head": ("own", "solid"), "trees": ("rust", "dash")}
"""The colour and dash of each kind."""


def compare_report(result: ModelComparison) -> str:
    """Return the report of a comparison as one HTML page.

    Parameters
    ----------
    result : ModelComparison
        What :func:`~driftpace.compare_models` returned.

    Returns
    -------
    str
        A page that loads nothing from elsewhere. Its figure needs plotly (``pip install "driftpace[report]"``).
    """
    section = comparison_section(result)
    body = [
        header_html(f"driftpace compare · {result.table}", result.advice),
        summary_html(_cards(result)),
        section_html(section),
        _facts(result),
    ]
    return html_document(
        title=f"Compare: {result.table}", body=body, figures=figure_data([section]), owner="compare_report()"
    )


def frontier_figure(result: ModelComparison) -> NumericFigure:
    """Return the loss of each kind over the labels of a period, both on logarithmic axes."""
    labels = decades([max(each.labels, 1.0) for each in result.models if each.kind in LOOKS])
    figure = NumericFigure(
        periods=tuple(f"{each:,.0f}" for each in labels),
        places=tuple(labels),
        axis="loss",
        along="labels a period",
        logarithmic=True,
    )
    for kind, (colour, dash) in LOOKS.items():
        here = points(result.models, kind)
        if not here:
            continue
        name = TITLES[kind]
        trace = {
            "type": "scatter",
            "name": name,
            "x": [max(each.labels, 1.0) for each in here],
            "y": [each.loss for each in here],
            "text": [escape(each.detail, quote=False) for each in here],
            "mode": "lines+markers",
            "line": {"color": f"var(--{colour})", "dash": dash, "width": 2.0},
            "marker": {"color": f"var(--{colour})", "size": 8},
            "visible": True,
            "hovertemplate": f"{name}, %{{text}}: %{{y:.4r}} with %{{x:,.0f}}<extra></extra>",
        }
        places = (len(figure.traces),)
        figure.traces.append(trace)
        figure.keys.append(LegendKey(label=name, look=dash, colour=colour, traces=places, shown=True))
    for kind, colour in (("frozen", "slate"), ("reference", "bad")):
        level = next(each.loss for each in result.models if each.kind == kind)
        figure.line(TITLES[kind], [level] * len(labels), colour=colour, dash="dashdot", width=1.5)
    return figure


def comparison_section(result: ModelComparison, lead: str = "") -> Section:
    """Return the frontier as a picture and a table, after the sentences of ``lead``."""
    return Section(
        key="frontier",
        title="What accuracy costs",
        text=f"{lead}Mean loss on rows that no model saw, over the labels bought in a mean period; {plural(result.runs, 'run')}.",
        alt="Loss of each kind of model over the labels of a period.",
        figure=frontier_figure(result),
        columns=tuple(f"{head[:1].upper()}{head[1:]}" for head in HEADS),
        rows=result.table_rows(),
    )


def _cards(result: ModelComparison) -> str:
    cards = [
        Card(
            title=TITLES[each.kind].capitalize(),
            value=f"{each.loss:.3g}",
            note=f"with {each.labels:,.0f} labels a period"
            + (f"; {each.promise}" if each.promise else "")
            + ("; every row was bought" if result.every_row_bought(each) else ""),
            tone="warn" if each.promise.startswith("missed") else "",
        )
        for each in _best_of_kinds(result)
    ]
    cards.append(
        Card(title="Every row labelled", value=f"{result.reference.loss:.3g}", note=f"{result.rows:,} rows a period")
    )
    return cards_html(cards)


def _best_of_kinds(result: ModelComparison) -> list[ComparedModel]:
    best = {each.kind: each for each in result.frontier}
    return list(best.values())


def _facts(result: ModelComparison) -> str:
    facts = facts_html(
        [
            *result.lines()[1:],
            ("Promise", "excess over the best linear model of each period, or over the trees with every row labelled"),
            (
                "Trees fitted again",
                "on the first periods and everything bought, at the best of three half-lives in hindsight",
            ),
            ("driftpace", version("driftpace")),
        ]
    )
    return f'<section aria-labelledby="facts-title"><h2 id="facts-title">How it was measured</h2>{facts}</section>'
