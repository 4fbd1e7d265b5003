"""A figure as plain data for plotly.js, which draws it on the page.

Colours are names of the page's style, so that one figure serves light and dark.
"""

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from driftpace.report.figures import LAYOUT, LegendKey
from driftpace.typing import FloatArray
from paper.records import Figure, Series
from paper.report import static
from paper.report.static import Look, intervals_as_bands, looks
from paper.report.text import number, typeset

MARKERS_UP_TO = 60  # points; beyond, a line alone reads better
_DASHES = {"longdash": "9px,3px", "longdashdot": "9px,3px,2px,3px", "dash": "5px,4px"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawable:
    """Traces and a layout in plotly's words, and the entries of the legend."""

    traces: tuple[dict[str, Any], ...]
    layout: dict[str, Any]
    keys: tuple[LegendKey, ...]

    def plotted(self) -> dict[str, Any]:
        """Return what the page's script takes."""
        return {"data": list(self.traces), "layout": self.layout}


def interactive(figure: Figure) -> Drawable:
    """Return the figure as plotly draws it; what cannot be drawn (NaN, infinity, a logarithm of zero) is a gap."""
    bands = intervals_as_bands(figure.series)
    traces: list[dict[str, Any]] = []
    keys: list[LegendKey] = []
    for series, look in zip(figure.series, looks(figure), strict=True):
        shown = static.above(series, static.floor(figure)) if figure.log_y else series
        first = len(traces)
        traces += _traces(shown, look, bands=bands)
        places = tuple(range(first, len(traces)))
        sign = (look.marker or "circle").replace("-open", " open") if series.marks else look.dash
        keys.append(LegendKey(label=typeset(series.label), look=sign, colour=look.colour, traces=places, shown=True))
    return Drawable(traces=tuple(traces), layout=_layout(figure), keys=tuple(keys))


def _traces(series: Series, look: Look, *, bands: bool) -> list[dict[str, Any]]:
    name = escape(typeset(series.label), quote=False)
    dots = series.marks or (look.marker is not None and series.x.size <= MARKERS_UP_TO and not series.steps)
    curve: dict[str, Any] = {
        "type": "scatter",
        "name": name,
        "x": _plain(series.x),
        "y": _plain(series.y),
        "visible": True,
        "connectgaps": False,
        "mode": "markers" if series.marks else "lines+markers" if dots or _lonely(series.y) else "lines",
        "line": {
            "color": f"var(--{look.colour})",
            "dash": _DASHES.get(look.dash, look.dash),
            "width": 2.2 * look.width,
        },
        "marker": {
            "color": f"var(--{look.colour})",
            "symbol": look.marker or "circle",
            "size": 9 if series.marks else 6,
        },
        "hovertemplate": f"{name}: %{{y:,.4~r}}<extra></extra>",
    }
    if series.steps:
        curve["line"]["shape"] = "hvh"
    if series.low is None or series.high is None:
        return [curve]
    interval = [
        f"{number(low)} to {number(high)}" if math.isfinite(low) and math.isfinite(high) else "not measured"
        for low, high in zip(series.low, series.high, strict=True)
    ]
    curve |= {"text": interval, "hovertemplate": f"{name}: %{{y:,.4~r}} (%{{text}})<extra></extra>"}
    if series.marks or not bands:
        curve["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": _plain(np.maximum(series.high - series.y, 0.0)),
            "arrayminus": _plain(np.maximum(series.y - series.low, 0.0)),
            "color": f"var(--{look.colour})",
            "thickness": 1,
            "width": 2,
        }
        return [curve]
    known = np.isfinite(series.low) & np.isfinite(series.high)
    edge: dict[str, Any] = {
        "type": "scatter",
        "name": name,
        "x": _plain(series.x),
        "y": _plain(np.where(known, series.low, np.nan)),
        "visible": True,
        "connectgaps": False,
        "mode": "lines",
        "line": {"width": 0, "simplify": False, "shape": "hvh" if series.steps else "linear"},
        "hoverinfo": "skip",
    }
    roof = edge | {"y": _plain(np.where(known, series.high, np.nan))}
    return [edge, roof | {"fill": "tonexty", "fillcolor": f"var(--{look.colour}-band)"}, curve]


def _layout(figure: Figure) -> dict[str, Any]:
    grid = {"gridcolor": "var(--grid)", "linecolor": "var(--grid)", "zerolinecolor": "var(--grid)", "automargin": True}
    x: dict[str, Any] = {
        "title": _title(figure.x_label),
        "nticks": 8,
        **grid,
        "showgrid": figure.equal,
        "zeroline": False,
    }
    y: dict[str, Any] = {"title": _title(figure.y_label), "nticks": 7, **grid, "separatethousands": True}
    if static.logarithmic_x(figure):
        x |= {"type": "log", **_marks(*static.along(figure)[[0, -1]].tolist())}
    elif static.whole(figure):
        x["tickformat"] = "d"
        first, last = static.along(figure)[[0, -1]].tolist()
        beyond = max(0.5, 0.02 * (last - first))
        x["range"] = [first - beyond, last + beyond]
    if figure.log_y:
        low, high = static.floor(figure), static.ceiling(figure)
        y |= {"type": "log", "range": [math.log10(low), math.log10(high)], **_marks(low, high)}
    elif static.from_zero(figure):
        y["rangemode"] = "tozero"
    if figure.equal:
        y["scaleanchor"] = "x"
    return {
        "xaxis": x,
        "yaxis": y,
        **LAYOUT,
        **({"hovermode": "closest"} if figure.equal else {}),
    }


def _title(label: str) -> dict[str, Any]:
    return {"text": escape(typeset(label), quote=False), "standoff": 8}


def _marks(low: float, high: float) -> dict[str, Any]:
    marks = static.marks_of_logarithm(low, high)
    return {"tickvals": marks, "tickmode": "array", "ticktext": [number(mark) for mark in marks]}


def _plain(values: FloatArray) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _lonely(values: FloatArray) -> bool:
    """Return whether some point has no neighbour: a line would not show it."""
    there = [False, *np.isfinite(values).tolist(), False]
    return any(b and not a and not c for a, b, c in zip(there, there[1:], there[2:], strict=False))
