"""Statistics at the minimisers of periods fitted separately: residual variance and the spread of gradients.

Newton steps from the previous model lead to the period's own minimiser (a single step for the squared loss: least squares). The
rows fitted it, so their gradients there are too small; the leverages say by how much. A period needs three rows more than features.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.constants.concentration import influences, leverages, positive_ends, scaled_inverse
from driftpace.constants.moments import in_units, largest_entry, shrink, unit_for
from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.losses.protocol import Loss
from driftpace.records import Estimate
from driftpace.typing import FloatArray

_STEPS = 20
_CLOSE = 1e-4  # of the size of one standard error: closer than this, more steps change nothing that is estimated


@dataclass(frozen=True, kw_only=True, slots=True)
class SeparateFit:
    """A period's own minimiser, the inverse of its Hessian there, and the share of each row in its own fit."""

    minimiser: FloatArray
    inverse: FloatArray
    shares: FloatArray


def fit_separately(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> SeparateFit | None:
    """Return the fit, or None when rows are too few, columns collinear, or the steps do not settle (separable classes).

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> X, y = np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 2.0])
    >>> fit_separately(SquaredLoss(), np.zeros(1), X, y).minimiser
    array([2.])
    """
    rows, features = X.shape
    solution = _newton(loss, coef, X, y) if rows > features + 2 else None
    if solution is None:
        return None
    minimiser, inverse = solution
    if isinstance(loss, LinearLoss):
        shares = leverages(X, loss.curve.bend(X @ minimiser, y), inverse)
    else:  # a loss without second derivatives per row: every row the same share
        shares = np.full(rows, features / rows)
    return SeparateFit(minimiser=minimiser, inverse=inverse, shares=shares)


def _newton(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the minimiser and the inverse of the Hessian there; steps are halved until the loss falls."""
    point = coef
    for _ in range(_STEPS):
        inverse = scaled_inverse(loss.hessian(point, X, y))
        if inverse is None:
            return None
        gradient = loss.gradient(point, X, y)
        step = inverse @ gradient
        if not np.isfinite(step).all():
            return None
        if isinstance(loss, SquaredLoss):
            return point - step, inverse
        fall = float(step @ gradient)  # twice the decrease predicted for the step
        here = loss.value(point, X, y)
        share = 1.0
        while share > 1e-4 and not loss.value(point - share * step, X, y) <= here - 0.1 * share * fall:
            share /= 2.0
        point = point - share * step
        if fall <= _CLOSE * abs(here) / len(y):
            return point, inverse
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResidualVariance:
    """Sums over residuals in units of ``unit``: squares over ``freedom`` degrees of freedom, fourth powers over ``rows``."""

    rows: int = 0
    freedom: int = 0
    unit: float = 0.0
    squares: float = 0.0
    fourths: float = 0.0

    def add(self, fit: SeparateFit, X: FloatArray, y: FloatArray) -> "ResidualVariance":
        """Return the sums with one more period that was fitted separately."""
        residuals = X @ fit.minimiser - y
        unit = unit_for(self.unit, largest_entry(residuals))
        e = in_units(residuals, unit)
        left = np.where(fit.shares < 1.0 - 1e-9, 1.0 - fit.shares, 1.0)
        return ResidualVariance(
            rows=self.rows + len(y),
            freedom=self.freedom + len(y) - X.shape[1],
            unit=unit,
            squares=self.squares * shrink(self.unit, unit, 2) + float(e @ e),
            fourths=self.fourths * shrink(self.unit, unit, 4) + float((e**4 / left**2).sum()),
        )

    def estimate(self, confidence: float) -> Estimate | None:
        """Return sum of squares / sum of (K - d), each period fitted separately (theory 2, row sigma*, A).

        The ends are the wider of the exact ones for Gaussian noise and of those that the fourth powers give.

        Examples
        --------
        >>> ResidualVariance().estimate(0.95) is None
        True
        """
        if self.freedom == 0:
            return None
        value = self.squares / self.freedom
        spread = max(0.0, self.fourths / self.rows - value * value)
        error = max(math.sqrt(spread / self.freedom), value * math.sqrt(2.0 / self.freedom))
        lower, upper = positive_ends(value, error, confidence)
        square = self.unit * self.unit
        return Estimate(
            value=square * value,
            lower=square * lower,
            upper=square * upper,
            rows=self.rows,
            account=f"residuals of periods fitted separately, {self.freedom} degrees of freedom",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """Sums over gradients s at the minimiser, corrected for their rows' own share in it.

    In units of ``unit``: ss', ||s||^2 and ||s||^4. In units of ``row_unit`` twice and ``unit``: x(x's), and the square of its
    length. In units of ``share_unit``, a loss: s'H^-1 s and its square. ``freedom`` counts rows less one fitted model a period.
    """

    rows: int
    freedom: int
    unit: float
    outer: FloatArray
    lengths: FloatArray
    row_unit: float
    cross: FloatArray
    cross_noise: float
    share_unit: float
    shares: FloatArray

    @classmethod
    def none(cls, features: int) -> "Scores":
        """Return the sums over no rows."""
        return cls(
            rows=0,
            freedom=0,
            unit=0.0,
            outer=np.zeros((features, features)),
            lengths=np.zeros(2),
            row_unit=0.0,
            cross=np.zeros(features),
            cross_noise=0.0,
            share_unit=0.0,
            shares=np.zeros(2),
        )

    def add(self, loss: Loss, fit: SeparateFit, X: FloatArray, y: FloatArray, *, power: float) -> "Scores":
        """Return the sums with one more period; ``power`` is 1/2 for HC2 and 1 for HC3."""
        scores = influences(loss.row_gradients(fit.minimiser, X, y), fit.shares, power=power)
        shares = np.maximum(np.einsum("ki,ki->k", scores @ fit.inverse, scores), 0.0)
        unit, row_unit = unit_for(self.unit, largest_entry(scores)), unit_for(self.row_unit, largest_entry(X))
        share_unit = unit_for(self.share_unit, largest_entry(shares))
        s, x, q = in_units(scores, unit), in_units(X, row_unit), in_units(shares, share_unit)
        squares = np.einsum("ki,ki->k", s, s)
        cross = np.einsum("ki,ki->k", x, s)[:, None] * x
        old, share_old = shrink(self.unit, unit, 2), shrink(self.share_unit, share_unit, 1)
        cross_old = shrink(self.row_unit, row_unit, 2) * shrink(self.unit, unit, 1)
        return Scores(
            rows=self.rows + len(y),
            freedom=self.freedom + len(y) - X.shape[1],
            unit=unit,
            outer=self.outer * old + s.T @ s,
            lengths=self.lengths * np.array([old, old * old]) + np.array([squares.sum(), (squares**2).sum()]),
            row_unit=row_unit,
            cross=self.cross * cross_old + cross.sum(axis=0),
            cross_noise=self.cross_noise * cross_old * cross_old + float((cross**2).sum()),
            share_unit=share_unit,
            shares=self.shares * np.array([share_old, share_old**2]) + np.array([q.sum(), (q**2).sum()]),
        )

    def squared_length(self, confidence: float, *, floor: float = 0.0) -> Estimate | None:
        """Return E||g(w*)||^2, or None before a period could be fitted separately.

        ``floor`` is the least the squared coefficient of variation of ||s||^2 is taken to be.
        """
        if self.rows == 0:
            return None
        mean, second = (float(total) / self.rows for total in self.lengths)
        variance = max(second - mean * mean, floor * mean * mean)
        lower, upper = positive_ends(mean, math.sqrt(variance / self.freedom), confidence)
        return Estimate(
            value=self.unit * (self.unit * mean),
            lower=self.unit * (self.unit * lower),
            upper=self.unit * (self.unit * upper),
            rows=self.rows,
            account="gradients at the minimisers of periods fitted separately",
        )

    def tilt(self, greatest: float, unit: float) -> float:
        """Return theta = ||c|| / (2 sqrt(A B)) in [0, 1], with c = 2 E[H_z g(w*)] and its noise subtracted.

        E||g||^2 = A + c'd + d'E(H_z)^2 d in d = w - w*, at most (1 + theta)(A + B||d||^2): zero for a well-specified linear model
        without penalty, at most 1 for any. ``greatest`` is B in units of ``unit``^4.
        """
        size = float(self.lengths[0]) * greatest / max(self.rows, 1)
        if not (size > 0.0 and unit > 0.0):
            return 0.0
        mean = self.cross / self.rows
        noise = max(0.0, self.cross_noise / self.rows - float(mean @ mean)) / self.rows
        return min(1.0, (self.row_unit / unit) ** 2 * math.sqrt(max(0.0, float(mean @ mean) - noise) / size))

    def spread(self, hessian: FloatArray, confidence: float) -> Estimate | None:
        """Return tr(H^-1 Cov g(w*)) with the pooled Hessian, or None when that is singular (theory 1.6, 2)."""
        inverse = scaled_inverse(hessian) if self.rows else None
        if inverse is None:
            return None
        with np.errstate(over="ignore"):
            value = float(np.einsum("ij,ij->", inverse * self.unit * self.unit, self.outer)) / self.rows
        mean, second = (float(total) / self.rows for total in self.shares)
        floor = 2.0 + 6.0 / len(hessian)  # of e^2 x'H^-1 x for Gaussian rows and noise
        error = self.share_unit * math.sqrt(max(second - mean * mean, floor * mean * mean) / self.freedom)
        lower, upper = positive_ends(value, error, confidence)
        return Estimate(
            value=value,
            lower=lower,
            upper=upper,
            rows=self.rows,
            account="gradients at the minimisers of periods fitted separately, and the pooled Hessian",
        )
