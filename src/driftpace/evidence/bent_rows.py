"""Moments of rows, each scaled by the root of its own bend: what curvature is estimated from.

For a loss phi(x'w, y) the Hessian of one row is z z' with z = sqrt(bend) x, so that the mean of z z' is the Hessian of the risk
and the mean of ||z||^2 z z' is E(H_z)^2, from which the constants of the squared loss and Bernstein's radius follow.
"""

from dataclasses import dataclass

import numpy as np

from driftpace.evidence.units import in_units, largest_entry, shrink, unit_for
from driftpace.losses import LinearLoss
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class BentRows:
    """Sums over rows, in units of ``unit``: z z', ||z||^2 z z', ||z||^p for p = 2, 4, 6, 8; ``peak`` the largest ||z||^2.

    Beside them the sum of x x', whatever the bend, in units of ``gram_unit``.
    """

    count: int
    unit: float
    hessian: FloatArray
    fourth: FloatArray
    powers: FloatArray
    peak: float
    gram_unit: float
    gram: FloatArray

    @classmethod
    def none(cls, features: int) -> "BentRows":
        """Return the sums over no rows."""
        square = np.zeros((features, features))
        return cls(
            count=0,
            unit=0.0,
            hessian=square,
            fourth=square,
            powers=np.zeros(4),
            peak=0.0,
            gram_unit=0.0,
            gram=square,
        )

    def add(self, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> "BentRows":
        """Return the sums with more rows; the bend is that at ``coef``."""
        rows = _bent(loss, coef, X, y)
        unit = unit_for(self.unit, largest_entry(rows))
        gram_unit = unit_for(self.gram_unit, largest_entry(X))
        z, x = in_units(rows, unit), in_units(X, gram_unit)
        squares = np.einsum("ki,ki->k", z, z)
        weighted = np.sqrt(squares)[:, None] * z
        if isinstance(loss, LinearLoss):
            hessian = z.T @ z
        else:
            hessian = in_units(
                in_units(loss.hessian(coef, X, y) - np.diag(penalty(loss, coef.size)), unit), unit
            ) * len(y)
        shrunk = np.array([shrink(self.unit, unit, power) for power in (2, 4, 6, 8)])
        return BentRows(
            count=self.count + len(y),
            unit=unit,
            hessian=self.hessian * shrunk[0] + hessian,
            fourth=self.fourth * shrunk[1] + weighted.T @ weighted,
            powers=self.powers * shrunk + np.array([float((squares**power).sum()) for power in (1, 2, 3, 4)]),
            peak=max(self.peak * float(shrunk[0]), float(squares.max(initial=0.0))),
            gram_unit=gram_unit,
            gram=self.gram * shrink(self.gram_unit, gram_unit, 2) + x.T @ x,
        )

    @property
    def moments(self) -> FloatArray:
        """E||z||^p for p = 2, 4, 6, 8, in ``unit``."""
        return self.powers / max(self.count, 1)

    @property
    def gaussian_moments(self) -> FloatArray:
        """E||z||^p for p = 2, 4, 6, 8 of Gaussian rows with the same second moments: ||z||^2 has cumulants 2^(r-1)(r-1)! tr H^r.

        Sampled moments are low exactly when the sample is low, and an interval cut from them then misses; one cut from the larger
        of the two does not.
        """
        eigenvalues = np.maximum(np.linalg.eigvalsh(self.hessian / max(self.count, 1)), 0.0)
        a, b, c, d = (factor * float((eigenvalues**r).sum()) for r, factor in ((1, 1.0), (2, 2.0), (3, 8.0), (4, 48.0)))
        return np.array([a, b + a**2, c + 3 * b * a + a**3, d + 4 * c * a + 3 * b**2 + 6 * b * a**2 + a**4])

    @property
    def excess_kurtosis(self) -> float:
        """How much heavier than Gaussian the rows' tails are, E||z||^4 / (tr^2 + 2 tr H^2) - 1; zero when they are not."""
        gaussian = float(self.gaussian_moments[1])
        return max(0.0, float(self.moments[1]) / gaussian - 1.0) if gaussian > 0.0 else 0.0


def penalty(loss: Loss, features: int) -> FloatArray:
    """Return the diagonal of the penalty's Hessian: l2, and zeros for the trailing unpenalised coefficients."""
    weights = np.full(features, float(loss.l2))
    weights[max(features - loss.unpenalised, 0) :] = 0.0
    return weights


def _bent(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
    if isinstance(loss, LinearLoss):
        bends: FloatArray = np.sqrt(loss.curve.bend(X @ coef, y))
        return bends[:, None] * X
    sizes = np.array([np.linalg.norm(in_units(row, largest_entry(row))) * largest_entry(row) for row in X])
    bent = np.sqrt(np.maximum(loss.row_smoothness(X) - loss.l2, 0.0))  # the most a row can bend, along the row
    scales: FloatArray = np.divide(bent, sizes, out=np.zeros(len(y)), where=sizes > 0.0)
    return X * scales[:, None]
