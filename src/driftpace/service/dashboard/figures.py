"""A figure of the page: a chart with its legend, a sentence, and the table that says the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from driftpace.service.dashboard.drawing import NARROW, WIDE, Chart

LATEST = 60
"""Periods that a chart shows; the table has all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A chart as two drawings (beside text, on a phone), and what it says in words and numbers.

    ``panels`` are drawings below each other that share the table; ``first`` is the row of the table that the chart begins with.
    """

    key: str
    title: str
    sentence: str
    panels: tuple["Panel", ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    first: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One drawing in two sizes; a legend entry is how it looks (a class) and what it is."""

    axis: str
    legend: tuple[tuple[str, str], ...]
    wide: str
    narrow: str


def panel(
    key: str,
    axis: str,
    names: Sequence[str],
    top: float,
    draw: Callable[[Chart], None],
    legend: tuple[tuple[str, str], ...],
) -> Panel:
    """Return a drawing in both sizes."""
    drawn = []
    for size, kind in ((WIDE, "wide"), (NARROW, "narrow")):
        chart = Chart(names=names, top=top, size=size, key=f"{key}-{kind}")
        draw(chart)
        drawn.append(chart.svg())
    return Panel(axis=axis, legend=legend, wide=drawn[0], narrow=drawn[1])


def finite(value: float | None) -> float | None:
    """Return a number that can be drawn, or None."""
    return None if value is None or value != value or value in (float("inf"), float("-inf")) else float(value)
