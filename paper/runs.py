"""Settings of a reproduction, parallel runs, and statistics over runs."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from driftpace import validation
from driftpace.backtest.workers import hide_main
from driftpace.executors import cores, one_thread
from driftpace.typing import FloatArray, IntArray
from paper.records import Measured, Role, Series

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Over = Callable[[Iterable[Any], str, int], Iterator[Any]]
"""Yields the items and counts them for a progress bar: ``over(items, what, total)``."""


def no_progress(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Yield the items without showing progress."""
    del what, total
    yield from items


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings:
    """``runs`` repetitions of every experiment that is repeated, from ``seed``, on ``workers`` processes (None: one for each core).

    ``psid`` is the user's own extract of the Panel Study of Income Dynamics, where there is one, and ``psid_columns`` the names
    of its columns by the parameters of :func:`driftpace.datasets.load_psid_extract`. Results depend on runs and seed alone.
    """

    runs: int = 20
    seed: int = 0
    workers: int | None = None
    psid: str | PathLike[str] | None = None
    psid_columns: dict[str, Any] = field(default_factory=dict)
    over: Over = no_progress

    def __post_init__(self) -> None:
        validation.count("reproduce", least=2, runs=self.runs)
        validation.count("reproduce", least=0, seed=self.seed)
        if self.workers is not None:
            validation.count("reproduce", least=1, workers=self.workers)


def run_seed(seed: int, run: int) -> int:
    """Return the whole number that stands for a run of a seed, and seeds its data: runs of small seeds do not meet.

    >>> run_seed(0, 7), run_seed(1, 7)
    (7, 1000010)
    """
    return 1_000_003 * seed + run


def map_runs(asked: RunSettings, task: Callable[[Item], Answer], items: Sequence[Item], what: str) -> list[Answer]:
    """Return ``task(item)`` for each item in order, on the given number of processes, counted as ``what``.

    The task must be a function of a module and depend on its item alone; linear algebra uses one thread everywhere, so any number
    of processes gives the same numbers.
    """
    from paper.runs import parallel_map

    return list(asked.over(parallel_map(task, items, workers=asked.workers), what, len(items)))


def parallel_map(task: Callable[[Item], Answer], items: Sequence[Item], *, workers: int | None) -> Iterator[Answer]:
    """Yield ``task(item)`` for each item, in order."""
    count = min(cores() if workers is None else workers, len(items))
    if count <= 1:
        with one_thread():
            for item in items:
                yield task(item)
        return
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin) as executor:
        with hide_main():
            futures = [executor.submit(task, item) for item in items]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _begin() -> Any:
    one_thread()


def standard_errors(values: FloatArray) -> FloatArray:
    """Return the standard error of the mean over runs, the first axis, of every other number."""
    return np.asarray(np.std(values, axis=0, ddof=1) / math.sqrt(len(values)))


def standard_error(each: FloatArray) -> float:
    """Return the standard error of the mean of one number for each run."""
    if np.ptp(each) == 0.0:  # equal numbers have a mean that is off by rounding, and would have an error of 1e-17
        return 0.0
    return float(standard_errors(each))


def measured(each: FloatArray | IntArray, *, unit: str = "", note: str = "") -> Measured:
    """Return the mean of one number for each run, with its standard error.

    >>> measured(np.array([1.0, 2.0, 3.0]))
    Measured(value=2.0, error=0.577, unit='', note='')
    """
    numbers = np.asarray(each, dtype=np.float64)
    mean = numbers[0] if np.ptp(numbers) == 0.0 else numbers.mean()  # of equal numbers without its rounding
    return Measured(value=float(mean), error=standard_error(numbers), unit=unit, note=note)


def curve(
    label: str, role: Role, x: FloatArray, values: FloatArray, *, steps: bool = False, band: bool = True
) -> Series:
    """Return the mean over runs of ``values``, (runs, len(x)), two standard errors to either side."""
    mean = values.mean(axis=0)
    if not band:
        return Series(label=label, role=role, x=x, y=mean, steps=steps)
    error = 2.0 * standard_errors(values)
    # a band of two standard errors never leaves what was seen, so that a log axis can show it
    low, high = np.maximum(mean - error, values.min(axis=0)), np.minimum(mean + error, values.max(axis=0))
    return Series(label=label, role=role, x=x, y=mean, low=low, high=high, steps=steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class Paired:
    """A mean difference over the same runs, ``z`` standard errors from zero."""

    mean: float
    error: float

    @property
    def z(self) -> float:
        """The difference in standard errors; infinite where every run has the same."""
        if self.error == 0.0:
            return 0.0 if self.mean == 0.0 else math.copysign(math.inf, self.mean)
        return self.mean / self.error

    def __str__(self) -> str:
        return f"{self.mean:.3g} +- {self.error:.2g} (z = {self.z:.1f})"


def paired(one: FloatArray, other: FloatArray) -> Paired:
    """Return how much ``one`` is above ``other``, run by run.

    >>> paired(np.array([2.0, 3.0, 4.5]), np.array([1.0, 2.0, 3.0])).z
    7.0
    """
    each = np.asarray(one, dtype=np.float64) - np.asarray(other, dtype=np.float64)
    return Paired(mean=float(each.mean()), error=standard_error(each))
