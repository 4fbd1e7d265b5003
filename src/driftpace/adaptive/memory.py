"""What is remembered of the rows themselves: their curvature, the covariance of their gradients and their noise.

Sums over rows are scaled down when the rows they stand for exceed a cap, so that a world whose features change is followed, at
O(d^2) memory. The caps: curvature 20 rows for each column (its error is then a fifth of an eigenvalue, and LOO leverages
guard the rest), gradients 40. Noise is remembered by :mod:`driftpace.adaptive.noise`.
"""

from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive.noise import FIXED_RATE, NoiseMemory, NoiseSums
from driftpace.typing import FloatArray

CURVATURE_ROWS = 20
SCORE_ROWS = 40


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Memory:
    """Pooled sums over rows: second derivatives, outer products of gradients, noise."""

    hessian: FloatArray
    hessian_rows: float
    scores: FloatArray
    score_rows: float
    noise: NoiseMemory
    rows: int
    outputs: int = 1

    @property
    def columns(self) -> int:
        """The number of columns: that of coefficients, unless rows have several scores."""
        return len(self.hessian) // self.outputs

    @property
    def kept_hessian(self) -> tuple[FloatArray, float]:
        """The sum of second derivatives and its rows, scaled down to the cap."""
        keep = _kept(self.hessian_rows, CURVATURE_ROWS * self.columns)
        return keep * self.hessian, keep * self.hessian_rows

    def hessian_up_to(self, rows: int) -> tuple[FloatArray, float]:
        """Return the sum of second derivatives and its rows, scaled down to ``rows``."""
        keep = _kept(self.hessian_rows, rows)
        return keep * self.hessian, keep * self.hessian_rows

    @property
    def kept_scores(self) -> tuple[FloatArray, float]:
        """The sum of outer products of gradients and its rows, scaled down to the cap."""
        keep = _kept(self.score_rows, SCORE_ROWS * self.columns)
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
            noise=self.noise.with_rows(noise).next_period(),
            rows=self.rows + (rows if effective is None else int(effective)),
        )


def no_memory(size: int, rates: tuple[float, ...] = FIXED_RATE, outputs: int = 1) -> Memory:
    """Return the memory before any row, for ``size`` coefficients."""
    return Memory(
        hessian=np.zeros((size, size)),
        hessian_rows=0.0,
        scores=np.zeros((size, size)),
        score_rows=0.0,
        noise=NoiseMemory.of(NoiseSums(), rates),
        rows=0,
        outputs=outputs,
    )


def _kept(rows: float, cap: int) -> float:
    return min(1.0, cap / rows) if rows > 0.0 else 0.0
