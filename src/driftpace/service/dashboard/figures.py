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
    ``note`` says what the chart leaves out.
    """

    key: str
    title: str
    sentence: str
    panels: tuple["Panel", ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    first: int = 0
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """One drawing in two sizes; a legend entry is how it looks (a class) and what it is.

    ``beyond`` is whether something lies above the chart, which is then drawn as a triangle at its edge.
    """

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
) -> Panel:
    """Return a drawing in both sizes; ``whole`` where the values are counts."""
    drawn, beyond = [], False
    for size, kind in ((WIDE, "wide"), (NARROW, "narrow")):
        chart = Chart(names=names, top=top, size=size, key=f"{key}-{kind}", axis=axis, whole=whole)
        draw(chart)
        beyond = beyond or chart.beyond
        drawn.append(chart.svg())
    return Panel(axis=axis, legend=legend, wide=drawn[0], narrow=drawn[1], beyond=beyond)


def left_out(closed: int, planned: int = 0) -> str:
    """Return what a chart of so many closed and planned periods does not show; the table has all of them.

    >>> left_out(69), left_out(12, 200), left_out(12)
    ('The chart shows the last 60 of 69 closed periods; the table has all of them.',
     'The chart shows the next 60 of 200 planned periods; the table has all of them.', '')
    """
    said = [f"the last {LATEST} of {closed:,} closed periods"] if closed > LATEST else []
    said += [f"the next {LATEST} of {planned:,} planned periods"] if planned > LATEST else []
    return f"The chart shows {' and '.join(said)}; the table has all of them." if said else ""


def finite(value: float | None) -> float | None:
    """Return a number that can be drawn, or None."""
    return None if value is None or value != value or value in (float("inf"), float("-inf")) else float(value)
