"""What is remembered of the rows themselves: their curvature, their noise and the best loss, over a window that forgets.

All are sums over rows that are scaled down when the rows they stand for exceed a cap, so that a world whose noise or whose
features change is followed, at O(d^2) memory. The caps: curvature 20 rows for each coefficient (its error is then a fifth of
an eigenvalue, and LOO leverages guard the rest), noise 400 rows (a relative error near 8 %).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.typing import FloatArray

CURVATURE_ROWS = 20
SCORE_ROWS = 40
NOISE_ROWS = 400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseSums:
    """Rows, sum and sum of squares of the noise of rows, and the sum of their losses at the best model.

    Rows of a group act as one: their gradients are added before they are squared. ``together`` counts the rows beyond the first
    of each group, so that ``rows - together`` is the number of groups.
    """

    rows: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    losses: float = 0.0
    together: float = 0.0

    def with_rows(self, other: "NoiseSums") -> "NoiseSums":
        """Return the sums after more rows, the old ones scaled down to the cap of rows, or of groups."""
        keep = min(1.0, NOISE_ROWS / self.units) if self.rows > 0.0 else 0.0
        return NoiseSums(
            rows=keep * self.rows + other.rows,
            total=keep * self.total + other.total,
            squares=keep * self.squares + other.squares,
            losses=keep * self.losses + other.losses,
            together=keep * self.together + other.together,
        )

    @property
    def units(self) -> float:
        """The number of independent terms: groups, or rows where each is alone."""
        return self.rows - self.together

    @property
    def mean(self) -> float:
        """The noise of one row in one whitened coordinate."""
        return self.total / self.rows

    @property
    def error(self) -> float:
        """The standard error of the mean, from the spread between groups."""
        units = self.units
        spread = max(self.squares / units - (self.total / units) ** 2, 0.0)
        return math.sqrt(spread / units) * (units / self.rows)

    @property
    def best_loss(self) -> float:
        """The mean loss of the best model."""
        return self.losses / self.rows


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Memory:
    """Pooled sums over rows: second derivatives, outer products of gradients, noise."""

    hessian: FloatArray
    hessian_rows: float
    scores: FloatArray
    score_rows: float
    noise: NoiseSums
    rows: int

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return len(self.hessian)

    @property
    def kept_hessian(self) -> tuple[FloatArray, float]:
        """The sum of second derivatives and its rows, scaled down to the cap."""
        keep = _kept(self.hessian_rows, CURVATURE_ROWS * self.size)
        return keep * self.hessian, keep * self.hessian_rows

    def hessian_up_to(self, rows: int) -> tuple[FloatArray, float]:
        """Return the sum of second derivatives and its rows, scaled down to ``rows``."""
        keep = _kept(self.hessian_rows, rows)
        return keep * self.hessian, keep * self.hessian_rows

    @property
    def kept_scores(self) -> tuple[FloatArray, float]:
        """The sum of outer products of gradients and its rows, scaled down to the cap."""
        keep = _kept(self.score_rows, SCORE_ROWS * self.size)
        return keep * self.scores, keep * self.score_rows

    def with_rows(
        self, rows: int, hessian: FloatArray, scores: FloatArray, noise: NoiseSums, effective: float | None = None
    ) -> "Memory":
        """Return the memory after the rows of a period; those of uneven weights count as ``effective`` ones."""
        old_hessian, hessian_rows = self.kept_hessian
        old_scores, score_rows = self.kept_scores
        return replace(
            self,
            hessian=old_hessian + hessian,
            hessian_rows=hessian_rows + rows,
            scores=old_scores + scores,
            score_rows=score_rows + rows,
            noise=self.noise.with_rows(noise),
            rows=self.rows + (rows if effective is None else int(effective)),
        )


def no_memory(size: int) -> Memory:
    """Return the memory before any row."""
    return Memory(
        hessian=np.zeros((size, size)),
        hessian_rows=0.0,
        scores=np.zeros((size, size)),
        score_rows=0.0,
        noise=NoiseSums(),
        rows=0,
    )


def _kept(rows: float, cap: int) -> float:
    return min(1.0, cap / rows) if rows > 0.0 else 0.0
