"""Charts over periods as SVG, and figures: charts with legend, sentence and table.

Colours are classes of the style sheet, so that one drawing serves light, dark and print; it contains no script and no style.
"""

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from driftpace.service.templating import number

Values = Sequence[float | None]
WIDE, NARROW = (600, 256), (330, 236)
"""Pixels of a chart on a desktop and on a phone."""
HEAD, FOOT = 24.0, 40.0
"""Pixels above the highest and below the lowest value, for the units of the axes."""
FONT_SIZE = 11.5
"""Pixels of axis labels."""
MAX_MARKERS = 40


def ticks(top: float, wanted: int = 4, *, whole: bool = False) -> list[float]:
    """Return round numbers from 0 to at least ``top``; integers if ``whole``.

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
    """Return the highest finite value; 0 if there is none."""
    return max(
        (value for values in series for value in values if value is not None and math.isfinite(value)), default=0.0
    )


def text_width(text: str) -> float:
    """Return an upper bound on the pixels of an axis label in common fonts.

    >>> text_width("2026-W46") > text_width("20260046") > text_width("i")
    True
    """
    return FONT_SIZE * sum(
        1.0
        if character in "WMmw%@…" or unicodedata.east_asian_width(character) in "WF"
        else 0.42
        if character in "ijl.,:;|!'- "
        else 0.7
        for character in text
    )


@dataclass(kw_only=True, slots=True)
class Chart:
    """A chart of ``names`` of periods from left to right and values from 0 to ``top``.

    ``axis`` names the values, ``whole`` says that they are counts. Values above the chart are drawn as triangles at its edge, and
    then ``beyond`` is True.

    >>> chart = Chart(names=["1", "2"], top=1.0, size=(300, 200), key="x")
    >>> chart.line([0.5, None], "own")
    >>> "<circle" in chart.svg()  # a point without neighbours
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
        self.left = 12.0 + max(text_width(number(step)) for step in self.steps)

    def x(self, place: float) -> float:
        """Return the horizontal position of a period."""
        return self.left + (place + 0.5) * self.step_width

    @property
    def step_width(self) -> float:
        """The width of a period."""
        return (self.size[0] - self.left - 8.0) / max(1, len(self.names))

    def y(self, value: float) -> float:
        """Return the vertical position of a value."""
        foot = self.size[1] - FOOT
        return foot - (foot - HEAD) * min(max(value / self.steps[-1], -0.05), 1.05)

    def line(self, values: Values, tone: str, *, dots: bool = True, look: str = "") -> None:
        """Draw a line, interrupted at missing values."""
        runs = _runs(values)
        for run in runs:
            points = " ".join(f"{self.x(place):.1f},{self.y(value):.1f}" for place, value in run)
            if len(run) > 1:
                self.marks.append(f'<polyline class="line {tone} {look}" points="{points}"/>')
        few = dots and len(self.names) <= MAX_MARKERS
        for run in runs:
            for place, value in run:
                if self._is_beyond(value):
                    self._above(place, tone)
                elif few or len(run) == 1:
                    self._dot(place, value, tone, 3.0)

    def band(self, lower: Values, upper: Values, tone: str) -> None:
        """Fill the area between two lines."""
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
        """Draw a bar for each value; ``shift`` moves it from the middle of its period, as a share of the width."""
        for place, value in enumerate(values):
            if value is not None and value > 0.0:
                self.marks.append(self._bar(place + shift, 0.0, value, f"bar {tone}", share))

    def hatched(self, values: Values, *, share: float = 0.62, shift: float = 0.0) -> None:
        """Draw bars of planned values."""
        for place, value in enumerate(values):
            if value is not None and value > 0.0:
                self.marks.append(
                    self._bar(place + shift, 0.0, value, "bar planned", share, f' fill="url(#{self.key}-hatch)"')
                )

    def level(self, values: Values, tone: str, *, share: float = 0.86) -> None:
        """Draw a short stroke at each value."""
        half = min(self.step_width * share / 2.0, 22.0)
        for place, value in enumerate(values):
            if value is not None and math.isfinite(value):
                x, y = self.x(place), self.y(value)
                self.marks.append(
                    f'<line class="stroke {tone}" x1="{x - half:.1f}" x2="{x + half:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
                )

    def errors(self, values: Values, spread: Values, tone: str) -> None:
        """Draw dots with bars of two standard errors."""
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
        """Draw a line over the whole width, such as a constant target."""
        y = self.y(value)
        self.marks.append(
            f'<line class="limit {tone}" x1="{self.left:.1f}" x2="{self.size[0] - 8}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )

    def now(self, place: float) -> None:
        """Mark the end of the closed periods."""
        x = self.x(place - 0.5)
        self.marks.append(f'<line class="now" x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 6.0}" y2="{self.size[1] - FOOT}"/>')

    def svg(self, tone: str = "own") -> str:
        """Return the SVG."""
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
            f'<text class="tick unit" x="2" y="{FONT_SIZE - 1.5}">{escape(self.axis)}</text>'
            f'<text class="tick unit" x="{width - 8}" y="{height - 6}" text-anchor="end">period</text>'
        )
        hits = "".join(
            f'<rect class="hit" data-row="{place}" x="{self.x(place) - self.step_width / 2:.1f}" y="0" '
            f'width="{self.step_width:.2f}" height="{height - FOOT + 2}"/>'
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
        """Return the positions of period labels: within the chart, evenly spaced, not overlapping."""
        short = [name if len(name) <= 12 else f"{name[:11]}…" for name in self.names]
        width = max((text_width(name) for name in short), default=1.0) + 12.0
        every = max(1, math.ceil(width / self.step_width))
        labels: list[tuple[float, str]] = []
        for place, name in enumerate(short):
            half = text_width(name) / 2.0 + 1.0
            x = min(max(self.x(place), half), self.size[0] - half)
            if place % every == 0 and (not labels or x - labels[-1][0] >= width - 6.0):
                labels.append((x, name))
        return labels

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
        width = max(1.5, min(self.step_width * share, 44.0 * share / 0.62))
        top, low = self.y(head), self.y(foot)
        return (
            f'<rect class="{classes}" x="{self.x(place) - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
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


LATEST = 60
"""Periods that a page of the history shows, and planned periods that a chart shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPage:
    """A page of the closed periods, the latest on page 1: those from position ``start`` up to ``stop``, of ``count``.

    >>> HistoryPage.of(69, 1).start, HistoryPage.of(69, 2).stop, HistoryPage.of(69, 7).page, HistoryPage.of(0, 1).pages
    (9, 9, 2, 1)
    """

    page: int
    pages: int
    start: int
    stop: int
    count: int

    @classmethod
    def of(cls, count: int, page: int) -> "HistoryPage":
        """Return a page of ``count`` periods, or the nearest there is."""
        pages = max(1, -(-count // LATEST))
        page = min(max(1, page), pages)
        stop = count - (page - 1) * LATEST
        return cls(page=page, pages=pages, start=max(0, stop - LATEST), stop=stop, count=count)


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFigure:
    """A chart with its sentence and its table.

    ``panels`` are drawings that share the table, whose first row is the first period of the chart; ``note`` says which planned
    periods the chart leaves out.
    """

    key: str
    title: str
    sentence: str
    panels: tuple["ChartPanel", ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPanel:
    """A drawing in two sizes; a legend entry is a CSS class and a text. ``beyond`` is whether values lie above the chart."""

    axis: str
    legend: tuple[tuple[str, str], ...]
    wide: str
    narrow: str
    beyond: bool = False


def panel(
    key: str,
    axis: str,
    names: Sequence[str],
    top: float,
    draw: Callable[[Chart], None],
    legend: tuple[tuple[str, str], ...],
    *,
    whole: bool = False,
) -> ChartPanel:
    """Draw a panel in both sizes; ``whole`` says that the values are counts."""
    drawings, beyond = [], False
    for size, kind in ((WIDE, "wide"), (NARROW, "narrow")):
        chart = Chart(names=names, top=top, size=size, key=f"{key}-{kind}", axis=axis, whole=whole)
        draw(chart)
        beyond = beyond or chart.beyond
        drawings.append(chart.svg())
    return ChartPanel(axis=axis, legend=legend, wide=drawings[0], narrow=drawings[1], beyond=beyond)


def hidden_periods_note(planned: int) -> str:
    """Return which of the planned periods a chart shows, "" if all.

    >>> hidden_periods_note(200), hidden_periods_note(12)
    ('The chart shows the next 60 of 200 planned periods; the table has all of them.', '')
    """
    return (
        f"The chart shows the next {LATEST} of {planned:,} planned periods; the table has all of them."
        if planned > LATEST
        else ""
    )


def finite(value: float | None) -> float | None:
    """Return a finite number, or None."""
    return None if value is None or value != value or value in (float("inf"), float("-inf")) else float(value)
