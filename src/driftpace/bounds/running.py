"""Checkpoints of a weighted average's certificate: built as far as a search needs, shared between equal problems."""

from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from driftpace.typing import FloatArray


class Certificate(NamedTuple):
    """The numbers that the running sums depend on: steps 2/(m(k+shift)), weights k+shift-1, the moments A, B, C."""

    m: float
    A: float
    B: float
    C: float
    shift: float


class RunningSums:
    """The two sums P, Q of the certificate (theory 1.2) after any number of steps.

    Checkpoints stand where those of the last-iterate recursion stand (256 steps apart at first, further apart later, so that
    memory stays bounded); a question replays the steps since the last one. The table grows by doubling when asked past
    its end.

    >>> sums = RunningSums(Certificate(m=1.0, A=1.0, B=0.0, C=0.0, shift=1.0))
    >>> sums.at(2)
    (0.0, 1.16667)
    """

    __slots__ = ("_columns", "_filled", "_lock", "_numbers")

    def __init__(self, numbers: Certificate) -> None:
        self._numbers = numbers
        self._columns = np.array([[1.0, 0.0, 0.0, 0.0]])
        self._filled = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory of the checkpoints."""
        return self._columns.nbytes

    def at(self, steps: int) -> tuple[float, float]:
        """Return P, Q after ``steps`` steps."""
        from driftpace.bounds.kernels import recursion, weighted

        index = recursion.index_before(steps)
        a, s, P, Q = self._covering(index)[index]
        _, _, P, Q = weighted.replay(a, s, P, Q, recursion.position(index), steps, *self._numbers)
        return float(P), float(Q)

    def _covering(self, index: int) -> FloatArray:
        from driftpace.bounds.kernels import weighted

        with self._lock:
            if self._filled < index:
                until = max(index, 2 * self._filled)
                columns = np.concatenate([self._columns, np.zeros((until - self._filled, 4))])
                weighted.extend(columns, self._filled, until, *self._numbers)
                self._columns, self._filled = columns, until
            return self._columns


@lru_cache(maxsize=8)
def running_sums(numbers: Certificate) -> RunningSums:
    """Return the sums of these numbers, the same object every time while it is among the eight last used.

    >>> numbers = Certificate(m=1.0, A=1.0, B=0.0, C=0.0, shift=1.0)
    >>> running_sums(numbers) is running_sums(numbers)
    True
    """
    return RunningSums(numbers)
