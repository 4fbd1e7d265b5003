"""Figures as plain data for plotly.js, which the page's script draws.

A colour is the name of a CSS variable (``var(--own)``), resolved when the page draws, so that one figure serves light and dark
mode. Values that cannot be drawn (NaN, infinity) are gaps.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from driftpace.typing import FloatArray

MARKERS_UP_TO = 60  # periods; beyond, a line alone reads better
LONGEST_NAME = 12  # letters of a period's name below the axis
OFF_THE_CHART = 3.0  # context this many times higher than the figure itself starts hidden


LAYOUT: dict[str, Any] = {
    "showlegend": False,
    "hovermode": "x unified",
    "margin": {"l": 8, "r": 12, "t": 12, "b": 8},
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"color": "var(--ink)", "family": "system-ui, sans-serif", "size": 13},
    "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "var(--edge)", "activecolor": "var(--own)"},
    "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--grid)", "font": {"color": "var(--ink)"}},
}
"""Layout shared by all figures."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LegendKey:
    """An entry of the legend, which shows or hides some traces."""

    label: str
    look: str
    colour: str
    traces: tuple[int, ...]
    shown: bool


@dataclass(kw_only=True, slots=True)
class ReportFigure:
    """A figure over named periods, built trace by trace with its legend.

    >>> figure = ReportFigure(periods=("1990", "1992"), axis="labels")
    >>> figure.line("asked", [3.0, math.inf], colour="own")
    >>> figure.traces[0]["y"], figure.keys[0].label
    ([3.0, None], 'asked')
    """

    periods: tuple[str, ...]
    axis: str
    top: float | None = None
    from_zero: bool = True
    digits: str = ",.3~r"
    traces: list[dict[str, Any]] = field(default_factory=list)
    keys: list[LegendKey] = field(default_factory=list)

    def line(
        self,
        label: str,
        values: Sequence[float] | FloatArray,
        *,
        colour: str,
        dash: str = "solid",
        width: float = 2.0,
        markers: bool = False,
        shown: bool = True,
    ) -> None:
        """Add a line through the periods; nothing when there is nothing to draw."""
        if not _some(values):
            return
        dots = (markers and len(self.periods) <= MARKERS_UP_TO) or _alone(values)
        trace = self._trace(label, values, shown) | {
            "mode": "lines+markers" if dots else "lines",
            "line": {"color": f"var(--{colour})", "dash": dash, "width": width},
            "marker": {"color": f"var(--{colour})", "size": 6},
        }
        self._add([trace], LegendKey(label=label, look=dash, colour=colour, traces=(), shown=shown))

    def band(self, label: str, lower: FloatArray, upper: FloatArray, *, colour: str) -> None:
        """Add the area between two lines; a gap in either is a gap in the area."""
        whole = [math.isfinite(low) and math.isfinite(high) for low, high in zip(lower, upper, strict=True)]
        low = [float(value) if there else math.nan for value, there in zip(lower, whole, strict=True)]
        high = [float(value) if there else math.nan for value, there in zip(upper, whole, strict=True)]
        if not any(whole):
            return
        edge = {"mode": "lines", "line": {"width": 0, "simplify": False}, "hoverinfo": "skip"}
        floor = self._trace(label, low, True) | edge
        roof = self._trace(label, high, True) | edge
        for trace in (floor, roof):
            del trace["hovertemplate"]
        roof |= {"fill": "tonexty", "fillcolor": f"var(--{colour}-band)"}
        self._add([floor, roof], LegendKey(label=label, look="band", colour=colour, traces=(), shown=True))

    def marks(self, label: str, values: Sequence[float], *, colour: str, symbol: str, note: Sequence[str]) -> None:
        """Add points without a line, each with a note on hover; nothing when there is nothing to draw."""
        if not _some(values):
            return
        trace = self._trace(label, values, True) | {
            "mode": "markers",
            "marker": {"color": f"var(--{colour})", "symbol": symbol, "size": 10},
            "text": [escape(text, quote=False) for text in note],
            "hovertemplate": f"{escape(label, quote=False)}: %{{text}}<extra></extra>",
        }
        self._add([trace], LegendKey(label=label, look=symbol, colour=colour, traces=(), shown=True))

    def layout(self) -> dict[str, Any]:
        """Return the layout in plotly's format."""
        grid = {
            "gridcolor": "var(--grid)",
            "linecolor": "var(--grid)",
            "zerolinecolor": "var(--grid)",
            "automargin": True,
        }
        y: dict[str, Any] = {"title": {"text": escape(self.axis, quote=False), "standoff": 8}, "nticks": 6, **grid}
        if self.top is not None:
            y["range"] = [0.0, self.top]
        elif self.from_zero:
            y["rangemode"] = "tozero"
        return {
            "xaxis": {
                "type": "category",
                "categoryorder": "array",
                "categoryarray": _safe(self.periods),
                "tickvals": _safe(self.periods),  # the page keeps as many of them as there is room for
                "ticktext": _safe([_short(name) for name in self.periods]),
                "tickangle": 0,
                **grid,
                "showgrid": False,
            },
            "yaxis": y,
            **LAYOUT,
        }

    def _trace(self, label: str, values: Sequence[float] | FloatArray, shown: bool) -> dict[str, Any]:
        name = escape(label, quote=False)
        return {
            "type": "scatter",
            "name": name,
            "x": _safe(self.periods),
            "y": [float(value) if math.isfinite(value) else None for value in values],
            "visible": shown,
            "connectgaps": False,
            "hovertemplate": f"{name}: %{{y:{self.digits}}}<extra></extra>",
        }

    def _add(self, traces: list[dict[str, Any]], key: LegendKey) -> None:
        first = len(self.traces)
        self.traces.extend(traces)
        places = tuple(range(first, first + len(traces)))
        self.keys.append(LegendKey(label=key.label, look=key.look, colour=key.colour, traces=places, shown=key.shown))


def fits(context: Sequence[float] | FloatArray, height: float) -> bool:
    """Tell whether a line for context can be drawn without flattening a figure of that height.

    >>> fits([100.0, 120.0], 80.0), fits([1000.0], 80.0)
    (True, False)
    """
    finite = [value for value in context if math.isfinite(value)]
    return bool(finite and max(finite) <= OFF_THE_CHART * height)


def highest(*series: Sequence[float] | FloatArray) -> float:
    """Return the highest finite value, zero when there is none."""
    return max((float(value) for values in series for value in values if math.isfinite(value)), default=0.0)


def _some(values: Sequence[float] | FloatArray) -> bool:
    return any(math.isfinite(value) for value in values)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _safe(names: Sequence[str]) -> list[str]:
    """Names from a file, so that plotly shows them as they are instead of reading tags in them."""
    return [escape(name, quote=False) for name in names]


def _alone(values: Sequence[float] | FloatArray) -> bool:
    """Tell whether some point has no neighbour: a line would not show it."""
    there = [False, *(math.isfinite(value) for value in values), False]
    return any(b and not a and not c for a, b, c in zip(there, there[1:], there[2:], strict=False))


@dataclass(kw_only=True, slots=True)
class NumericFigure(ReportFigure):
    """A figure over numbers instead of names, with bars, steps and areas; ``along`` is the title of the axis."""

    places: tuple[float, ...]
    along: str = "period"
    logarithmic: bool = False

    def bars(self, label: str, values: Sequence[float], *, colour: str) -> None:
        """Add a bar for each place."""
        trace = self._trace(label, values, True) | {"type": "bar", "marker": {"color": f"var(--{colour})"}}
        self._add([trace], LegendKey(label=label, look="band", colour=colour, traces=(), shown=True))

    def steps(
        self,
        label: str,
        values: Sequence[float],
        before: float,
        *,
        colour: str,
        dash: str = "solid",
        width: float = 1.8,
        shown: bool = True,
    ) -> None:
        """Add a line that keeps its height around each place and jumps between them, from ``before`` on."""
        self.line(label, values, colour=colour, dash=dash, width=width, shown=shown)
        trace = self.traces[-1]
        trace["line"]["shape"] = "hvh"
        trace["mode"] = "lines"
        trace["x"] = [
            self.places[0] - 1.0,
            *self.places,
            self.places[-1] + 1.0,
        ]  # beyond the figure, so that it ends at its edges
        trace["y"] = [before, *values, values[-1]]

    def above(self, label: str, values: Sequence[float], level: float, *, colour: str) -> None:
        """Shade what lies above a level, from crossing to crossing; nothing where nothing does."""
        across, heights = _cut(self.places, values, level)
        if max(heights) <= level:
            return
        edge: dict[str, Any] = {
            "type": "scatter",
            "name": escape(label, quote=False),
            "x": across,
            "y": [level] * len(across),
            "mode": "lines",
            "line": {"width": 0, "simplify": False},
            "hoverinfo": "skip",
        }
        roof = edge | {"y": heights, "fill": "tonexty", "fillcolor": f"var(--{colour}-wash)"}
        self._add([edge, roof], LegendKey(label=label, look="band", colour=colour, traces=(), shown=True))

    def layout(self) -> dict[str, Any]:
        """Return the layout in plotly's format."""
        found = ReportFigure.layout(self)
        found["yaxis"]["separatethousands"] = True
        axis = found["xaxis"]
        for name in ("categoryorder", "categoryarray"):
            del axis[name]
        axis |= {"type": "linear", "tickvals": list(self.places), "title": {"text": escape(self.along, quote=False)}}
        if self.logarithmic:
            axis["type"] = found["yaxis"]["type"] = "log"
            del found["yaxis"]["rangemode"]
            marks = decades([value for trace in self.traces for value in trace["y"] if value])
            found["yaxis"] |= {"tickvals": marks, "ticktext": [_tick(mark) for mark in marks]}
        else:
            axis["range"] = [self.places[0] - 0.6, self.places[-1] + 0.6]
        return found | {"bargap": 0.3}

    def _trace(self, label: str, values: Sequence[float] | FloatArray, shown: bool) -> dict[str, Any]:
        return ReportFigure._trace(self, label, values, shown) | {"x": list(self.places)}


_FINE = [1, 1.5, 2, 3, 4, 5, 6, 8]


def decades(values: Sequence[float]) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2 and 5 of each power of ten, the powers alone or finer steps.

    >>> decades([0.03, 0.4]), decades([0.001, 2000.0])
    ([0.02, 0.05, 0.1, 0.2, 0.5], [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0])
    >>> decades([0.0575, 0.178]), decades([0.462, 0.508])
    ([0.06, 0.08, 0.1, 0.15], [0.47, 0.48, 0.49, 0.5])
    """
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if len(powers) <= 4 else (1,)
    marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
    if high > low and sum(low <= mark <= high for mark in marks) < 3:
        for steps in (_FINE, *([digit / split for digit in range(split, 10 * split)] for split in (10, 20, 100))):
            inside = [mark for power in powers for each in steps if low <= (mark := float(f"{each}e{power}")) <= high]
            if len(inside) >= 3:
                return inside
    return [mark for mark in marks if low / 2 <= mark <= high * (2 if len(digits) > 1 else 10)]


def _cut(places: Sequence[float], values: Sequence[float], level: float) -> tuple[list[float], list[float]]:
    """Return the line with what is below the level raised to it, and with a point wherever it crosses.

    >>> _cut([1.0, 2.0], [0.0, 2.0], 1.0)
    ([1.0, 1.5, 2.0], [1.0, 1.0, 2.0])
    """
    across, heights = [], []
    for index, (place, value) in enumerate(zip(places, values, strict=True)):
        if index and (values[index - 1] - level) * (value - level) < 0.0:
            share = (level - values[index - 1]) / (value - values[index - 1])
            across.append(places[index - 1] + share * (place - places[index - 1]))
            heights.append(level)
        across.append(place)
        heights.append(max(value, level))
    return across, heights


def _tick(value: float) -> str:
    return f"{value:,.0f}" if 1000.0 <= value < 1e7 else f"{value:.4g}"
