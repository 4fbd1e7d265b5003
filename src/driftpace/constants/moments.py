"""Moments of rows, from which curvature and its intervals follow, and the detection of collinear columns.

For a loss phi(x'w, y) the Hessian of one row is z z' with z = sqrt(phi'') x, a curvature-weighted row: the mean of z z' is the
Hessian of the risk and the mean of ||z||^2 z z' is E(H_z)^2. For the squared loss phi'' is one and z is x.

Sums are kept in units that are powers of two, so that they neither overflow nor underflow and changing the unit is exact.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.losses import LinearLoss
from driftpace.losses.protocol import Loss
from driftpace.typing import FloatArray


def unit_for(unit: float, largest: float) -> float:
    """Return a power of two of at least ``largest`` and ``unit``; zero while everything is zero.

    Examples
    --------
    >>> unit_for(0.0, 5.0), unit_for(8.0, 5.0), unit_for(0.0, 0.0)
    (8.0, 8.0, 0.0)
    """
    if largest <= unit:
        return unit
    return math.ldexp(1.0, min(math.frexp(largest)[1], 1023))


def shrink(unit: float, new_unit: float, power: int) -> float:
    """Return what a sum of ``power``-th powers in the old unit is multiplied by in the new one; no OverflowError.

    Examples
    --------
    >>> shrink(1.0, 4.0, 2), shrink(0.0, 4.0, 2)
    (0.0625, 0.0)
    """
    ratio = unit / new_unit if new_unit > 0.0 else 1.0
    return math.prod([ratio] * power)


def in_units(array: FloatArray, unit: float) -> FloatArray:
    """Return the array in the unit; zeros stay zeros when the unit is zero."""
    return array / unit if unit > 0.0 else array


def largest_entry(array: FloatArray) -> float:
    """Return the largest absolute entry, zero of no entries."""
    return float(abs(array).max()) if array.size else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RowMoments:
    """Sums over rows, in units of ``unit``: z z', ||z||^2 z z', ||z||^p for p = 2, 4, 6, 8; ``peak`` the largest ||z||^2."""

    count: int
    unit: float
    outer: FloatArray
    fourth: FloatArray
    powers: FloatArray
    peak: float

    @classmethod
    def none(cls, features: int) -> "RowMoments":
        """Return the sums over no rows."""
        square = np.zeros((features, features))
        return cls(count=0, unit=0.0, outer=square, fourth=square, powers=np.zeros(4), peak=0.0)

    def add(self, rows: FloatArray, hessian: FloatArray | None = None) -> "RowMoments":
        """Return the sums with more rows; ``hessian`` stands in for the mean of their z z' where that is known better.

        Examples
        --------
        >>> sums = RowMoments.none(1).add(np.array([[3.0], [1e150]]))
        >>> sums.unit > 1e149 and bool(np.isfinite(sums.powers).all())
        True
        """
        unit = unit_for(self.unit, largest_entry(rows))
        z = in_units(rows, unit)
        squares = np.einsum("ki,ki->k", z, z)
        weighted = np.sqrt(squares)[:, None] * z
        outer = z.T @ z if hessian is None else in_units(in_units(hessian, unit), unit) * len(rows)
        shrunk = np.array([shrink(self.unit, unit, power) for power in (2, 4, 6, 8)])
        return RowMoments(
            count=self.count + len(rows),
            unit=unit,
            outer=self.outer * shrunk[0] + outer,
            fourth=self.fourth * shrunk[1] + weighted.T @ weighted,
            powers=self.powers * shrunk + np.array([float((squares**power).sum()) for power in (1, 2, 3, 4)]),
            peak=max(self.peak * float(shrunk[0]), float(squares.max(initial=0.0))),
        )

    def summary(self) -> "RowSummary":
        """Return means over the rows, and what follows from them; computed once for all uses."""
        count = max(self.count, 1)
        second: FloatArray = self.outer / count
        eigenvalues: FloatArray = np.asarray(np.linalg.eigvalsh(second), dtype=np.float64)
        positive = np.maximum(eigenvalues, 0.0)
        a, b, c, d = (factor * float((positive**r).sum()) for r, factor in ((1, 1.0), (2, 2.0), (3, 8.0), (4, 48.0)))
        gaussian = (a, b + a**2, c + 3 * b * a + a**3, d + 4 * c * a + 3 * b**2 + 6 * b * a**2 + a**4)
        return RowSummary(
            count=self.count,
            unit=self.unit,
            second=second,
            eigenvalues=eigenvalues,
            fourth=self.fourth / count,
            moments=tuple((self.powers / count).tolist()),
            gaussian_moments=gaussian,
            peak=self.peak,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RowSummary:
    """Means over rows, in units of ``unit``: E zz' with its eigenvalues, E||z||^2 zz', E||z||^p for p = 2, 4, 6, 8.

    ``gaussian_moments`` are E||z||^p of Gaussian rows with the same second moments: ||z||^2 has cumulants 2^(r-1)(r-1)! tr H^r.
    Sampled moments are low exactly when the sample is low, and an interval cut from them then misses; one cut from the larger of
    the two does not.
    """

    count: int
    unit: float
    second: FloatArray
    eigenvalues: FloatArray
    fourth: FloatArray
    moments: tuple[float, ...]
    gaussian_moments: tuple[float, ...]
    peak: float

    @property
    def features(self) -> int:
        """The length of a row."""
        return len(self.second)

    @property
    def excess_kurtosis(self) -> float:
        """How much heavier than Gaussian the rows' tails are, E||z||^4 / (tr^2 + 2 tr H^2) - 1; zero when they are not."""
        gaussian = self.gaussian_moments[1]
        return max(0.0, self.moments[1] / gaussian - 1.0) if gaussian > 0.0 else 0.0


def penalty(loss: Loss, features: int) -> FloatArray:
    """Return the diagonal of the penalty's Hessian: l2, and zeros for the trailing unpenalised coefficients."""
    weights = np.full(features, float(loss.l2))
    weights[max(features - loss.unpenalised, 0) :] = 0.0
    return weights


def add_weighted_rows(sums: RowMoments, loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> RowMoments:
    """Return the sums with more rows, each scaled by the root of its second derivative at ``coef``.

    A loss without second derivatives per row gives its Hessian; its rows are then taken to have the largest curvature possible.
    """
    if isinstance(loss, LinearLoss):
        bends: FloatArray = np.sqrt(loss.curve.bend(X @ coef, y))
        return sums.add(bends[:, None] * X)
    unit = largest_entry(X)
    sizes = unit * np.sqrt(np.einsum("ki,ki->k", in_units(X, unit), in_units(X, unit)))
    most = np.sqrt(np.maximum(loss.row_smoothness(X) - loss.l2, 0.0))
    scales: FloatArray = np.divide(most, sizes, out=np.zeros(len(y)), where=sizes > 0.0)
    return sums.add(X * scales[:, None], loss.hessian(coef, X, y) - np.diag(penalty(loss, coef.size)))


_SINGULAR = 1e-11  # of the scaled Gram matrix: columns whose part outside the others is under 3e-6 of their length
_TOUCHES = 1e-5


def collinear(rows: RowMoments) -> tuple[int, ...]:
    """Return the columns that are zero, or linear combinations of others, in every row so far; columns start at 0.

    All columns of a combination are named, since any of them could be dropped. With fewer rows than columns some always are.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> X[:, 3] = X[:, 0] - 2.0 * X[:, 2]
    >>> collinear(RowMoments.none(4).add(X))
    (0, 2, 3)
    """
    return dependent_columns(rows.outer)


def dependent_columns(gram: FloatArray) -> tuple[int, ...]:
    """Return the columns that are zero or linearly dependent on others, from the sum of x x' over rows, in any units.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0]])
    >>> dependent_columns(X.T @ X)
    (1,)
    """
    sizes = np.sqrt(np.diag(gram))
    empty = sizes == 0.0
    scale = np.where(empty, 1.0, sizes)
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    lost = vectors[:, values <= _SINGULAR * len(values)]
    touched = np.einsum("ij,ij->i", lost, lost) > _TOUCHES
    return tuple(int(column) for column in np.flatnonzero(touched | empty))


def identified(rows: RowMoments) -> bool:
    """Return whether the rows identify every coefficient: as many rows as columns, none of them collinear.

    Examples
    --------
    >>> identified(RowMoments.none(2).add(np.eye(2)))
    True
    """
    return rows.count >= len(rows.outer) and not collinear(rows)
