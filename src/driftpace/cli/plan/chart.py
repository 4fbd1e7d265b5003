"""A figure over numbers: what the backtest's figures lack, which are over names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from driftpace.backtest.report.figures import Figure, Key
from driftpace.cli.plan.words import number
from driftpace.typing import FloatArray


@dataclass(kw_only=True, slots=True)
class Chart(Figure):
    """A figure over numbers, not names, with bars, steps and areas besides lines; ``along`` says what the numbers are."""

    places: tuple[float, ...]
    along: str = "period"
    logarithmic: bool = False

    def bars(self, label: str, values: Sequence[float], *, colour: str) -> None:
        """Add a bar for each place."""
        trace = self._trace(label, values, True) | {"type": "bar", "marker": {"color": f"var(--{colour})"}}
        self._add([trace], Key(label=label, look="band", colour=colour, traces=(), shown=True))

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
        self._add([edge, roof], Key(label=label, look="band", colour=colour, traces=(), shown=True))

    def layout(self) -> dict[str, Any]:
        """Return what plotly calls a layout."""
        found = Figure.layout(self)
        found["yaxis"]["separatethousands"] = True
        axis = found["xaxis"]
        for name in ("categoryorder", "categoryarray"):
            del axis[name]
        axis |= {"type": "linear", "tickvals": list(self.places), "title": {"text": escape(self.along, quote=False)}}
        if self.logarithmic:
            axis["type"] = found["yaxis"]["type"] = "log"
            del found["yaxis"]["rangemode"]
            marks = _decades([value for trace in self.traces for value in trace["y"] if value])
            found["yaxis"] |= {"tickvals": marks, "ticktext": [number(mark) for mark in marks]}
        else:
            axis["range"] = [self.places[0] - 0.6, self.places[-1] + 0.6]
        return found | {"bargap": 0.3}

    def _trace(self, label: str, values: Sequence[float] | FloatArray, shown: bool) -> dict[str, Any]:
        return Figure._trace(self, label, values, shown) | {"x": list(self.places)}


def _decades(values: Sequence[float]) -> list[float]:
    """Return round numbers for a logarithmic axis: 1, 2 and 5 of each power of ten, or the powers alone where there are many.

    >>> _decades([0.03, 0.4]), _decades([0.001, 2000.0])
    ([0.02, 0.05, 0.1, 0.2, 0.5], [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0])
    """
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 5) if len(powers) <= 4 else (1,)
    marks = [float(f"{digit}e{power}") for power in powers for digit in digits]
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
