"""How large the numbers of segments are, so that rows in another unit are found before they are absorbed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from driftpace.fleet.lent import LEAST_SEGMENTS
from driftpace.formatting import number
from driftpace.tracker.method import TellEvent
from driftpace.typing import FloatArray

FAR = 100.0
"""Values so many times the largest known one are not of the segment."""

SCALED = 20.0
"""Where values are spread wider by so much too, values so many times the largest known one are not of the segment either."""

TINY = 300.0
"""Values that are smaller and closer together by so much are not of the segment."""

APART = 4.0
"""In a first period, values must differ from those of other segments by so many deviations of theirs, in logarithms, as well."""

LEAST_ROWS = 5
"""Fewer rows say nothing of how large the numbers of a segment are."""

SHARE = 0.2
"""The share of the rows of a delivery that must be so large: one odd row of many is left to the loss."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Magnitudes:
    """What is remembered of the columns of a segment, the target last, and the number of its rows.

    That is the largest absolute value, the largest mean deviation in a delivery, and the smallest mean of absolute values.
    """

    rows: int
    largest: FloatArray
    spread: FloatArray
    smallest: FloatArray

    def with_more(self, other: "Magnitudes") -> Self:
        """Return what is remembered after another delivery."""
        return type(self)(
            rows=self.rows + other.rows,
            largest=np.maximum(self.largest, other.largest),
            spread=np.maximum(self.spread, other.spread),
            smallest=np.minimum(self.smallest, other.smallest),
        )


def magnitudes_of(events: Mapping[str, TellEvent]) -> dict[str, Magnitudes]:
    """Return how large the numbers of each segment of a delivery are; nothing of segments without rows."""
    filled = {name: event for name, event in events.items() if len(event.y)}
    if not filled:
        return {}
    counts = np.array([len(event.y) for event in filled.values()])
    starts = np.cumsum(counts) - counts
    values = np.vstack([_values(event) for event in filled.values()])
    sizes = np.abs(values)
    means = np.add.reduceat(values, starts) / counts[:, None]
    away = np.abs(values - np.repeat(means, counts, axis=0))
    arrays = (
        np.maximum.reduceat(sizes, starts),
        np.add.reduceat(away, starts) / counts[:, None],
        np.add.reduceat(sizes, starts) / counts[:, None],
    )
    return {
        name: Magnitudes(rows=rows, largest=largest, spread=spread, smallest=smallest)
        for name, rows, largest, spread, smallest in zip(filled, counts.tolist(), *arrays, strict=True)
    }


class FleetMagnitudes:
    """How large the numbers of all segments are, computed when a segment is in doubt, once for each column."""

    def __init__(self, known: Callable[[], Iterable[Magnitudes]]) -> None:
        self._known = known
        self._largest: FloatArray | None = None
        self._usual: dict[int, float | None] = {}
        self._limits: dict[int, float | None] = {}

    def usual(self, column: int) -> float | None:
        """Return what nine of ten segments stay below; None where few segments have values other than zero."""
        if column not in self._usual:
            logs = self._logs(column)
            self._usual[column] = None if logs is None else math.exp(float(np.quantile(logs, 0.9)))
        return self._usual[column]

    def limit(self, column: int) -> float | None:
        """Return what no segment is expected to exceed; None where few segments have values other than zero."""
        if column not in self._limits:
            logs = self._logs(column)
            self._limits[column] = None if logs is None else _limit(logs)
        return self._limits[column]

    def _logs(self, column: int) -> FloatArray | None:
        if self._largest is None:
            known = [one.largest for one in self._known()]
            self._largest = np.array(known) if known else np.zeros((0, 0))
        if len(self._largest) <= LEAST_SEGMENTS:
            return None
        sizes = self._largest[:, column]
        return np.log(sizes[sizes > 0.0]) if np.count_nonzero(sizes) > LEAST_SEGMENTS else None


def _limit(logs: FloatArray) -> float:
    middle = float(np.median(logs))
    deviation = 1.4826 * float(np.median(np.abs(logs - middle)))
    return math.exp(middle + max(math.log(FAR), math.log(10.0) + APART * deviation))


def doubt(
    event: TellEvent, new: Magnitudes, own: Magnitudes | None, fleet: FleetMagnitudes, names: Sequence[str]
) -> str | None:
    """Return why rows cannot be of their segment, as a sentence about the first such column; None where they can be.

    ``own`` is what is remembered of the segment, and ``names`` are its columns, the target last.
    """
    if own is None or own.rows < LEAST_ROWS:
        return _unlike_others(event, new, fleet, names)
    odd = (new.largest > SCALED * own.largest) | (TINY * new.largest < own.smallest)
    for column in np.flatnonzero(odd).tolist():
        known, size = float(own.largest[column]), float(new.largest[column])
        sizes = np.abs(_values(event)[:, column])
        if TINY * size < own.smallest[column]:
            if own.rows >= LEAST_ROWS and _is_tiny(sizes, new, own, column):
                before = number(float(own.smallest[column]))
                return _sentence(names[column], f"at most {number(size)} in these rows and was about {before} before")
            continue
        if column < len(names) - 1 or known == 0.0:  # other segments show how large a feature can be
            known = max(known, fleet.usual(column) or 0.0)
        if known > 0.0 and _is_large(sizes, known, float(own.spread[column])):
            return _sentence(names[column], f"{_about(sizes, known)} and was at most {number(known)} before")
    return None


def _unlike_others(event: TellEvent, new: Magnitudes, fleet: FleetMagnitudes, names: Sequence[str]) -> str | None:
    for column, size in enumerate(new.largest.tolist()):
        limit = fleet.limit(column)
        if limit is None or size <= limit:
            continue
        sizes, usual = np.abs(_values(event)[:, column]), fleet.usual(column) or 0.0
        if _reached(sizes) > limit:
            return _sentence(
                names[column], f"{_about(sizes, usual)} and at most {number(usual)} in most other segments"
            )
    return None


def _is_large(sizes: FloatArray, known: float, spread: float) -> bool:
    if _reached(sizes) > FAR * known:
        return True
    middle = float(np.median(sizes))
    away = float(np.median(np.abs(sizes - middle)))
    return len(sizes) >= LEAST_ROWS and middle > SCALED * known and spread > 0.0 and away > SCALED * spread


def _is_tiny(sizes: FloatArray, new: Magnitudes, own: Magnitudes, column: int) -> bool:
    return (
        len(sizes) >= LEAST_ROWS and bool(sizes.min() > 0.0) and bool(TINY * new.spread[column] <= own.spread[column])
    )


def _reached(sizes: FloatArray) -> float:
    """Return what enough of the values reach."""
    place = 1 if len(sizes) <= 2 else max(2, math.ceil(SHARE * len(sizes)))
    return float(np.sort(sizes)[-place])


def _about(sizes: FloatArray, known: float) -> str:
    large = sizes[sizes > SCALED * known]
    rows = f"all {len(sizes)}" if len(large) == len(sizes) else f"{len(large)} of {len(sizes)}"
    return f"about {number(float(np.median(large)))} in {rows} rows"


def _sentence(column: str, what: str) -> str:
    return f"column {column!r} is {what}: another unit? Correct the rows, or accept them."


def _values(event: TellEvent) -> FloatArray:
    return np.column_stack([event.X, event.y])
