"""Checkpoints of the last-iterate recursion: built as far as a search needs, shared between equal problems."""

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

import numpy as np

from driftpace.schedules import ConstantSteps, InverseTime
from driftpace.typing import FloatArray


class Numbers(NamedTuple):
    """The recursion's numbers, which are all that a table depends on; the k-th step is scale / (grow k + shift)."""

    m: float
    A: float
    B: float
    scale: float
    grow: float
    shift: float


def step_numbers(schedule: InverseTime | ConstantSteps) -> tuple[float, float, float]:
    """Return scale, grow and shift of a schedule: its k-th step is scale / (grow k + shift).

    >>> step_numbers(InverseTime(scale=2.0, shift=8.0)), step_numbers(ConstantSteps(step=0.1))
    ((2.0, 1.0, 8.0), (0.1, 0.0, 1.0))
    """
    if isinstance(schedule, ConstantSteps):
        return schedule.step, 0.0, 1.0
    return schedule.scale, 1.0, schedule.shift


class Table:
    """(a, s) of the recursion R at checkpoints, and what is found between them (theory 1.10).

    E||w - w*||^2 <= a_k d0^2 + s_k after k steps, whatever d0: one table serves every distance and every target. It grows
    by doubling when a question reaches past its end, about 2 ns a step; a question costs a bisection and one short replay.

    >>> table = Table(Numbers(m=1.0, A=0.16, B=4.0, scale=2.0, grow=1.0, shift=8.0))
    >>> table.at(1)
    (0.753086, 0.00790123)
    >>> table.first(squared=2.25, half_M=0.5, epsilon=0.1, cap=1_000)
    11
    >>> table.nbytes < 10_000
    True
    """

    __slots__ = ("_columns", "_found", "_kernels", "_lock", "_numbers")

    def __init__(self, numbers: Numbers) -> None:
        from driftpace.bounds.kernels import recursion

        self._kernels = recursion
        self._numbers = numbers
        self._columns = (np.ones(1), np.zeros(1), 0)  # a, s, last index filled; replaced as one, never changed
        self._found: dict[int, tuple[float, float]] = {}
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory of the checkpoints."""
        return self._columns[0].nbytes + self._columns[1].nbytes

    def at(self, steps: int) -> tuple[float, float]:
        """Return a_k, s_k after ``steps`` steps."""
        found = self._found.get(steps)
        if found is not None:
            return found
        alphas, betas, filled = self._columns
        index = self._kernels.index_before(steps)
        if filled < index:  # some more than asked, so that many questions in a row extend it few times
            further = self._kernels.position(filled) // 4 * 5
            alphas, betas = self._covering(max(index, self._kernels.index_before(further)))
        a, s = self._kernels.at(alphas, betas, steps, *self._numbers)
        return float(a), float(s)

    def first(self, squared: float, half_M: float, epsilon: float, cap: int) -> int | None:
        """Return the least k in 1 .. cap with half_M (a_k squared + s_k) <= epsilon, or None; the start must miss epsilon."""
        while True:
            alphas, betas, filled = self._columns
            k, a, s, a_before, s_before = self._kernels.first(
                alphas, betas, filled, squared, half_M, epsilon, cap, *self._numbers
            )
            if k > 0:
                self._found = {k: (a, s), k - 1: (a_before, s_before)}  # the next question is often about these
                return int(k)
            if k < 0:
                return None
            further = max(2 * self._kernels.position(filled), 4096)  # twice the steps, as far as the cap
            self._covering(self._kernels.index_before(min(further, cap)))

    def _covering(self, index: int) -> tuple[FloatArray, FloatArray]:
        alphas, betas, filled = self._columns
        if filled < index:
            with self._lock:
                alphas, betas, filled = self._columns
                if filled < index:
                    more = np.zeros(index - filled)
                    alphas, betas = np.concatenate([alphas, more]), np.concatenate([betas, more])
                    self._kernels.extend(alphas, betas, filled, index, *self._numbers)
                    self._columns = (alphas, betas, index)
        return alphas, betas


class Shelf:
    """The ``most`` last used tables, fewer when together they take more than ``limit`` bytes.

    Constants that are estimated anew each period ask for a new table each period: the shelf must stay short.

    >>> shelf = Shelf(most=8, limit=1_000)
    >>> numbers = Numbers(m=1.0, A=0.16, B=4.0, scale=2.0, grow=1.0, shift=8.0)
    >>> shelf.table(numbers) is shelf.table(numbers)
    True
    """

    def __init__(self, most: int, limit: int) -> None:
        self._most = most
        self._limit = limit
        self._tables: OrderedDict[Numbers, Table] = OrderedDict()
        self._lock = Lock()

    def table(self, numbers: Numbers) -> Table:
        """Return the table of these numbers, the same one every time while it is kept."""
        with self._lock:
            table = self._tables.get(numbers)
            if table is not None:
                self._tables.move_to_end(numbers)
                return table
            table = self._tables[numbers] = Table(numbers)
            while len(self._tables) > self._most or (len(self._tables) > 1 and self._weight() > self._limit):
                self._tables.popitem(last=False)
            return table

    def _weight(self) -> int:
        return sum(table.nbytes for table in self._tables.values())


SHELF = Shelf(most=64, limit=64 * 2**20)
