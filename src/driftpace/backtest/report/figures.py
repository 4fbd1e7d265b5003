"""The figures of the report, as plain data for plotly.js: the page draws them, nothing is drawn here.

A colour is the name of a CSS variable (``var(--own)``), looked up by the page when it draws, so that one figure serves light and
dark. What cannot be drawn (NaN, infinity) is a gap.
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
"""What every figure of every page has in common."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One entry of the legend, which shows or hides some traces: its name, how its line looks, whether it starts shown."""

    label: str
    look: str
    colour: str
    traces: tuple[int, ...]
    shown: bool


@dataclass(kw_only=True, slots=True)
class Figure:
    """A figure being put together: traces, and legend entries that hold them.

    >>> figure = Figure(periods=("1990", "1992"), axis="labels")
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
    keys: list[Key] = field(default_factory=list)

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
        self._add([trace], Key(label=label, look=dash, colour=colour, traces=(), shown=shown))

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
        self._add([floor, roof], Key(label=label, look="band", colour=colour, traces=(), shown=True))

    def marks(self, label: str, values: Sequence[float], *, colour: str, symbol: str, note: Sequence[str]) -> None:
        """Add points without a line, with a note each for whoever points at them; nothing when there is nothing to draw."""
        if not _some(values):
            return
        trace = self._trace(label, values, True) | {
            "mode": "markers",
            "marker": {"color": f"var(--{colour})", "symbol": symbol, "size": 10},
            "text": [escape(text, quote=False) for text in note],
            "hovertemplate": f"{escape(label, quote=False)}: %{{text}}<extra></extra>",
        }
        self._add([trace], Key(label=label, look=symbol, colour=colour, traces=(), shown=True))

    def layout(self) -> dict[str, Any]:
        """Return what plotly calls a layout."""
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

    def _add(self, traces: list[dict[str, Any]], key: Key) -> None:
        first = len(self.traces)
        self.traces.extend(traces)
        places = tuple(range(first, first + len(traces)))
        self.keys.append(Key(label=key.label, look=key.look, colour=key.colour, traces=places, shown=key.shown))


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
