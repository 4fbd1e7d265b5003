"""alpha, beta of Gaussian least squares for every number of steps up to a horizon, built as far as questions reach."""

from functools import lru_cache
from threading import Lock

import numpy as np

from driftpace.typing import FloatArray

WORK = 2**28  # the largest steps x groups^2: a few tenths of a second
LONGEST = 2**20  # the largest number of steps kept: 16 MB


def horizon(groups: int) -> int:
    """Return the number of steps that are followed for so many distinct eigenvalues.

    >>> horizon(1), horizon(10), horizon(100)
    (1048576, 1048576, 26843)
    """
    return min(LONGEST, WORK // groups**2)


class GaussianTable:
    """The risk after k steps is alpha_k d0^2 + beta_k for the worst direction of the start (theory 1.1g).

    The values may rise and fall more than once, so questions look at all of them, skipping blocks that cannot matter.

    >>> table = GaussianTable((1.0, 0.5), (1, 1), noise=0.1, batch=1, scale=2.0, grow=1.0, shift=10.0)
    >>> table.at(0), table.at(1)
    ((0.5, 0.0), (0.37190, 0.0020661))
    >>> table.first(1.0, 0.2, 100), table.least(1.0, 100)
    (4, (0.0036942, 100))
    """

    def __init__(
        self,
        eigenvalues: tuple[float, ...],
        counts: tuple[int, ...],
        noise: float,
        batch: int,
        scale: float,
        grow: float,
        shift: float,
    ) -> None:
        from driftpace.bounds.kernels import gaussian

        groups = len(eigenvalues)
        self.horizon = horizon(groups)
        self._kernels = gaussian
        self._numbers = (np.array(eigenvalues), np.array(counts, float), noise, float(batch), scale, grow, shift)
        self._states = np.vstack([np.eye(groups), np.zeros((1, groups))])
        start = 0.5 * max(eigenvalues)
        self._columns: tuple[FloatArray, FloatArray, FloatArray, FloatArray] = (
            np.array([start]),
            np.zeros(1),
            np.array([start]),
            np.zeros(1),
        )
        self._lock = Lock()

    def at(self, steps: int) -> tuple[float, float]:
        """Return alpha, beta after ``steps`` steps, or after the horizon where that is fewer."""
        alphas, betas, _, _ = self._covering(min(steps, self.horizon))
        k = min(steps, self.horizon)
        return float(alphas[k]), float(betas[k])

    def first(self, squared: float, epsilon: float, cap: int) -> int | None:
        """Return the least k in 1 .. cap with alpha_k squared + beta_k <= epsilon, or None."""
        end, begin = min(cap, self.horizon), 1
        while begin <= end:
            columns = self._covering(min(end, max(1023, 2 * begin)))
            last = min(end, columns[0].size - 1)
            k = int(self._kernels.first(*columns, squared, epsilon, begin, last))
            if k > 0:
                return k
            begin = last + 1
        return None

    def least(self, squared: float, steps: int) -> tuple[float, int]:
        """Return the least value over 0 .. ``steps`` (the horizon where that is fewer) and where it is."""
        end = min(steps, self.horizon)
        value, at = self._kernels.least(*self._covering(end), squared, end)
        return float(value), int(at)

    def _covering(self, steps: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        with self._lock:
            alphas, betas, alpha_blocks, beta_blocks = self._columns
            filled = alphas.size - 1
            if filled < steps:
                until = min(self.horizon, max(steps, filled + filled // 2))
                blocks = (until >> self._kernels.BLOCK_BITS) + 1
                alphas, betas = _longer(alphas, until + 1, 0.0), _longer(betas, until + 1, 0.0)
                alpha_blocks, beta_blocks = _longer(alpha_blocks, blocks, np.inf), _longer(beta_blocks, blocks, np.inf)
                self._kernels.extend(
                    self._states, alphas, betas, alpha_blocks, beta_blocks, filled, until, *self._numbers
                )
                self._columns = (alphas, betas, alpha_blocks, beta_blocks)
            return self._columns


def _longer(column: FloatArray, size: int, fill: float) -> FloatArray:
    return np.concatenate([column, np.full(size - column.size, fill)])


@lru_cache(maxsize=8)
def gaussian_table(
    eigenvalues: tuple[float, ...],
    counts: tuple[int, ...],
    noise: float,
    batch: int,
    scale: float,
    grow: float,
    shift: float,
) -> GaussianTable:
    """Return the table of these numbers, shared between equal problems."""
    return GaussianTable(eigenvalues, counts, noise, batch, scale, grow, shift)
