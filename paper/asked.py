"""What was asked of an experiment, and how it says how far it has come."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, TypeVar

from driftpace import validation

Item = TypeVar("Item")
Answer = TypeVar("Answer")
Over = Callable[[Iterable[Any], str, int], Iterator[Any]]
"""Yields the items and counts them for a progress bar: ``over(items, what, total)``."""


def quietly(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Yield the items without a word."""
    del what, total
    yield from items


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """``runs`` repetitions of every experiment that is repeated, from ``seed``, on ``workers`` processes (None: one for each core).

    ``psid`` is the user's own extract of the Panel Study of Income Dynamics, where there is one, and ``psid_columns`` the names
    of its columns by the parameters of :func:`driftpace.datasets.load_psid_extract`. Results depend on runs and seed alone.
    """

    runs: int = 20
    seed: int = 0
    workers: int | None = None
    psid: str | PathLike[str] | None = None
    psid_columns: dict[str, Any] = field(default_factory=dict)
    over: Over = quietly

    def __post_init__(self) -> None:
        validation.count("reproduce", least=2, runs=self.runs)
        validation.count("reproduce", least=0, seed=self.seed)
        if self.workers is not None:
            validation.count("reproduce", least=1, workers=self.workers)


def key(seed: int, run: int) -> int:
    """Return the whole number that stands for a run of a seed, and seeds its world: runs of small seeds do not meet.

    >>> key(0, 7), key(1, 7)
    (7, 1000010)
    """
    return 1_000_003 * seed + run


def mapped(asked: Asked, task: Callable[[Item], Answer], items: Sequence[Item], what: str) -> list[Answer]:
    """Return ``task(item)`` for each item in order, on as many processes as were asked for, counted as ``what``.

    The task must be a function of a module and depend on its item alone; linear algebra uses one thread everywhere, so any number
    of processes gives the same numbers.
    """
    from paper.crew import spread

    return list(asked.over(spread(task, items, workers=asked.workers), what, len(items)))
