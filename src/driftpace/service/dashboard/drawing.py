"""A chart as SVG: axes, lines, bands, bars and marks over periods.

Colours are classes of the style sheet, so that one drawing serves light, dark and paper; nothing in it is a script or a style.
"""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from driftpace.service.dashboard.formats import number

Values = Sequence[float | None]
WIDE, NARROW = (600, 256), (330, 236)
"""Pixels of a chart beside text and on a phone."""
HEAD, FOOT = 24.0, 40.0
"""Pixels above the highest and below the lowest value, where the units of the axes stand."""
TYPE = 11.5
"""Pixels of the letters on an axis."""
MARKERS_UP_TO = 40


def ticks(top: float, wanted: int = 4, *, whole: bool = False) -> list[float]:
    """Return round numbers from 0 to at least ``top``; ``whole`` ones where things are counted.

    >>> ticks(0.13), ticks(42), ticks(1.0, whole=True)
    ([0.0, 0.05, 0.1, 0.15], [0.0, 20.0, 40.0, 60.0], [0.0, 1.0])
    """
    if not math.isfinite(top) or top <= 0.0 or top > 1e300:
        top = 1.0
    top = max(1.0, top) if whole else top
    rough = top / wanted
    unit = 10.0 ** math.floor(math.log10(rough))
    sizes = (1.0, 2.0, 5.0, 10.0) if whole and unit < 10.0 else (1.0, 2.0, 2.5, 5.0, 10.0)
    step = next(unit * size for size in sizes if unit * size >= rough * 0.999)
    step = max(1.0, step) if whole else step
    return [float(f"{step * place:.6g}") for place in range(math.ceil(top / step - 1e-9) + 1)]


def highest(*series: Values) -> float:
    """Return the highest value there is; 0 where there is none."""
    return max((one for values in series for one in values if one is not None and math.isfinite(one)), default=0.0)


def wide(text: str) -> float:
    """Return how many pixels a text has on an axis, at most, in the usual fonts.

    >>> wide("2026-W46") > wide("20260046") > wide("i")
    True
    """
    return TYPE * sum(
        1.0
        if sign in "WMmw%@…" or unicodedata.east_asian_width(sign) in "WF"
        else 0.42
        if sign in "ijl.,:;|!'- "
        else 0.7
        for sign in text
    )


@dataclass(kw_only=True, slots=True)
class Chart:
    """A chart in the making, of ``names`` of periods from left to right and values from 0 to ``top``.

    ``axis`` is what the values are, ``whole`` whether they are counted. What lies above the chart is drawn as a triangle at its
    edge, and then ``beyond`` is True.

    >>> chart = Chart(names=["1", "2"], top=1.0, size=(300, 200), key="x")
    >>> chart.line([0.5, None], "own")
    >>> "<circle" in chart.svg()  # a point without a neighbour is drawn as one
    True
    """

    names: Sequence[str]
    top: float
    size: tuple[int, int]
    key: str
    axis: str = ""
    whole: bool = False
    beyond: bool = False
    marks: list[str] = field(default_factory=list)
    left: float = 46.0
    steps: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = ticks(self.top, whole=self.whole)
        self.left = 12.0 + max(wide(number(step)) for step in self.steps)

    def x(self, place: float) -> float:
        """Return where a period is, across."""
        return self.left + (place + 0.5) * self.room

    @property
    def room(self) -> float:
        """The width that a period has."""
        return (self.size[0] - self.left - 8.0) / max(1, len(self.names))

    def y(self, value: float) -> float:
        """Return where a value is, down."""
        foot = self.size[1] - FOOT
        return foot - (foot - HEAD) * min(max(value / self.steps[-1], -0.05), 1.05)

    def line(self, values: Values, tone: str, *, dots: bool = True, look: str = "") -> None:
        """Draw a line; where a value is missing it is broken."""
        runs = _runs(values)
        for run in runs:
            points = " ".join(f"{self.x(place):.1f},{self.y(value):.1f}" for place, value in run)
            if len(run) > 1:
                self.marks.append(f'<polyline class="line {tone} {look}" points="{points}"/>')
        few = dots and len(self.names) <= MARKERS_UP_TO
        for run in runs:
            for place, value in run:
                if self._is_beyond(value):
                    self._above(place, tone)
                elif few or len(run) == 1:
                    self._dot(place, value, tone, 3.0)

    def band(self, lower: Values, upper: Values, tone: str) -> None:
        """Fill what lies between two lines."""
        both = [None if low is None or high is None else high for low, high in zip(lower, upper, strict=True)]
        for run in _runs(both):
            above = [f"{self.x(place):.1f},{self.y(value):.1f}" for place, value in run]
            below = [f"{self.x(place):.1f},{self.y(lower[place] or 0.0):.1f}" for place, _ in reversed(run)]
            if len(run) == 1:
                place, value = run[0]
                self.marks.append(self._bar(place, lower[place] or 0.0, value, f"band {tone}", 0.3))
            else:
                self.marks.append(f'<polygon class="band {tone}" points="{" ".join(above + below)}"/>')

    def bars(self, values: Values, tone: str, *, share: float = 0.62, shift: float = 0.0) -> None:
        """Draw a bar for each value; ``shift`` moves it from the middle of its period, in parts of the room."""
        for place, value in enumerate(values):
            if value is not None and value > 0.0:
                self.marks.append(self._bar(place + shift, 0.0, value, f"bar {tone}", share))

    def hatched(self, values: Values, *, share: float = 0.62, shift: float = 0.0) -> None:
        """Draw bars that are planned and not yet real."""
        for place, value in enumerate(values):
            if value is not None and value > 0.0:
                self.marks.append(
                    self._bar(place + shift, 0.0, value, "bar planned", share, f' fill="url(#{self.key}-hatch)"')
                )

    def level(self, values: Values, tone: str, *, share: float = 0.86) -> None:
        """Draw a short stroke at each value, such as what was asked for."""
        half = min(self.room * share / 2.0, 22.0)
        for place, value in enumerate(values):
            if value is not None and math.isfinite(value):
                x, y = self.x(place), self.y(value)
                self.marks.append(
                    f'<line class="stroke {tone}" x1="{x - half:.1f}" x2="{x + half:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
                )

    def errors(self, values: Values, spread: Values, tone: str) -> None:
        """Draw dots with a bar of twice their standard error."""
        for place, (value, error) in enumerate(zip(values, spread, strict=True)):
            if value is None:
                continue
            x = self.x(place)
            if error is not None and math.isfinite(error):
                top, foot = self.y(value + 2.0 * error), self.y(max(0.0, value - 2.0 * error))
                self.marks.append(
                    f'<line class="whisker {tone}" x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{foot:.1f}"/>'
                )
            if self._is_beyond(value):
                self._above(place, tone)
            else:
                self._dot(place, value, tone, 3.5)

    def across(self, value: float, tone: str) -> None:
        """Draw a line over the whole width, such as a target that never changed."""
        y = self.y(value)
        self.marks.append(
            f'<line class="limit {tone}" x1="{self.left:.1f}" x2="{self.size[0] - 8}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )

    def now(self, place: float) -> None:
        """Mark where the past ends."""
        x = self.x(place - 0.5)
        self.marks.append(f'<line class="now" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 6.0}" y2="{self.size[1] - FOOT}"/>')

    def svg(self, tone: str = "own") -> str:
        """Return the drawing."""
        width, height = self.size
        grid = "".join(
            f'<line class="grid" x1="{self.left:.1f}" x2="{width - 8}" y1="{self.y(step):.1f}" y2="{self.y(step):.1f}"/>'
            f'<text class="tick" x="{self.left - 7:.1f}" y="{self.y(step) + 4:.1f}" text-anchor="end">{number(step)}</text>'
            for step in self.steps
        )
        names = "".join(
            f'<text class="tick" x="{x:.1f}" y="{height - 23}" text-anchor="middle">{escape(name)}</text>'
            for x, name in self._labels()
        )
        units = (
            f'<text class="tick unit" x="2" y="{TYPE - 1.5}">{escape(self.axis)}</text>'
            f'<text class="tick unit" x="{width - 8}" y="{height - 6}" text-anchor="end">period</text>'
        )
        hits = "".join(
            f'<rect class="hit" data-row="{place}" x="{self.x(place) - self.room / 2:.1f}" y="0" '
            f'width="{self.room:.2f}" height="{height - FOOT + 2}"/>'
            for place in range(len(self.names))
        )
        hatch = (
            f'<defs><pattern id="{self.key}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            f'patternTransform="rotate(45)"><rect class="hatch-ground" width="6" height="6"/>'
            f'<line class="hatch {tone}" x1="0" y1="0" x2="0" y2="6"/></pattern></defs>'
        )
        return (
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" preserveAspectRatio="xMinYMid" '
            f'aria-hidden="true" focusable="false">'
            f"{hatch if 'planned' in ''.join(self.marks) else ''}{grid}{''.join(self.marks)}{names}{units}{hits}</svg>"
        )

    def _labels(self) -> list[tuple[float, str]]:
        """Return where names of periods are centred: within the chart, evenly, and none over another."""
        short = [name if len(name) <= 12 else f"{name[:11]}…" for name in self.names]
        room = max((wide(name) for name in short), default=1.0) + 12.0
        every = max(1, math.ceil(room / self.room))
        found: list[tuple[float, str]] = []
        for place, name in enumerate(short):
            half = wide(name) / 2.0 + 1.0
            x = min(max(self.x(place), half), self.size[0] - half)
            if place % every == 0 and (not found or x - found[-1][0] >= room - 6.0):
                found.append((x, name))
        return found

    def _is_beyond(self, value: float) -> bool:
        return value > self.steps[-1] * (1.0 + 1e-9)

    def _above(self, place: int, tone: str) -> None:
        x, self.beyond = self.x(place), True
        top = self.y(math.inf)
        points = f"{x - 4.5:.1f},{top + 7.0:.1f} {x + 4.5:.1f},{top + 7.0:.1f} {x:.1f},{top:.1f}"
        self.marks.append(f'<polygon class="beyond {tone}" points="{points}"/>')

    def _dot(self, place: int, value: float, tone: str, radius: float) -> None:
        self.marks.append(
            f'<circle class="dot {tone}" cx="{self.x(place):.1f}" cy="{self.y(value):.1f}" r="{radius:g}"/>'
        )

    def _bar(self, place: float, foot: float, head: float, classes: str, share: float, more: str = "") -> str:
        wide = max(1.5, min(self.room * share, 44.0 * share / 0.62))
        top, low = self.y(head), self.y(foot)
        return (
            f'<rect class="{classes}" x="{self.x(place) - wide / 2:.1f}" y="{top:.1f}" width="{wide:.1f}" '
            f'height="{max(0.8, low - top):.1f}"{more}/>'
        )


def _runs(values: Values) -> list[list[tuple[int, float]]]:
    runs: list[list[tuple[int, float]]] = [[]]
    for place, value in enumerate(values):
        if value is None or not math.isfinite(value):
            runs.append([])
        else:
            runs[-1].append((place, value))
    return [run for run in runs if run]
