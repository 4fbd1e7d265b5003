"""Linear losses: the scalar curve phi(score, y) of a loss and the algebra that all losses share.

A linear loss depends on a row only through its score s = x'w, so everything a solver or a bound needs follows from the
curve. With s = Xw and the diagonal P of the penalty (ones, and zeros for the trailing ``unpenalised`` coefficients),

    value     mean phi(s, y) + (l2/2) w'Pw
    gradient  X' slope(s, y) / rows + l2 Pw
    Hessian   X' diag(bend(s, y)) X / rows + l2 P

The mean over zero rows is zero, so that only the penalty remains.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray

ScalarFunction = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """The curve phi(score, y) of a loss and its first two derivatives in the score.

    Parameters
    ----------
    phi, slope, bend : callable
        phi and its first and second derivative in the score, as functions of two arrays of equal shape. ``bend`` is zero
        or more everywhere (the loss is convex) and at most ``curvature``; where the slope has a kink, it is one of the
        two one-sided values.
    curvature : float
        An upper bound of ``bend``.
    majorant : callable, optional
        The curvature of a parabola that touches phi at a score and is above it everywhere else, for losses whose ``bend`` vanishes
        away from the minimum: where Newton's method takes no good step, such a parabola always gives one.

    Examples
    --------
    >>> import numpy as np
    >>> square = Curve(
    ...     phi=lambda s, y: 0.5 * (s - y) ** 2, slope=lambda s, y: s - y, bend=lambda s, y: np.ones_like(s), curvature=1.0
    ... )
    >>> square.slope(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    phi: ScalarFunction
    slope: ScalarFunction
    bend: ScalarFunction
    curvature: float
    majorant: ScalarFunction | None = None

    def __post_init__(self) -> None:
        validation.positive("Curve", curvature=self.curvature)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearLoss(ABC):
    """Base class of losses phi(x'w, y) + (l2/2)||w||^2.

    A subclass defines its ``curve`` and how it encodes targets, and overrides ``link`` where a prediction is not the score
    itself. Check the derivatives with :func:`driftpace.testing.check_loss`, and make the loss available by name with
    :func:`driftpace.losses.register_loss`.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out (1 for an intercept).

    Examples
    --------
    >>> from driftpace.losses import SquaredLoss
    >>> isinstance(SquaredLoss(), LinearLoss)
    True
    """

    soft_labels: ClassVar[bool] = False
    """Whether a loss of two classes takes the mean of several labels of one row, between -1 and 1."""

    takes_exposure: ClassVar[bool] = False
    """Whether a target may be a total over an exposure, such as the claims of half a year, which is then told as a rate."""

    bounded_curvature: ClassVar[bool] = True
    """Whether ``curvature`` is a bound of practical size, which learners and bounds of composed methods need."""

    l2: float = 0.0
    unpenalised: int = 0

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validation.nonnegative(owner, l2=self.l2)
        validation.count(owner, unpenalised=self.unpenalised)

    @property
    @abstractmethod
    def curve(self) -> Curve:
        """phi, its slope and its bend."""

    @abstractmethod
    def encode(self, y: FloatArray) -> FloatArray:
        """Return targets as the loss computes with them, or raise DataError."""

    def link(self, scores: FloatArray) -> FloatArray:
        """Return the predictions that scores x'w stand for: the scores themselves, unless a subclass overrides it."""
        return scores

    def probabilities(self, scores: FloatArray) -> FloatArray | None:
        """Return the probabilities of the second class, or None where the loss does not estimate them."""
        del scores
        return None

    def predict(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return the prediction for each row."""
        return self.link(X @ coef)

    @property
    def open(self) -> bool:
        """Whether a parameter was left open, to be learned from the first rows by :meth:`tuned`."""
        return False

    def tuned(self, scale: float, *, rows_per_coefficient: float = math.inf) -> Self:
        """Return the loss with open parameters set for residuals of that scale, known from so many rows per coefficient."""
        del scale, rows_per_coefficient
        return self

    @property
    def shared_curvature(self) -> float:
        """The share of a row's second derivative that is taken from the mean of all rows of a period: none, by default."""
        return 0.0

    @property
    def most_noise(self) -> float:
        """The largest plausible tr(H^-1 Cov g) per coefficient: a limit for first rows, which may show no curvature."""
        return math.inf

    @property
    def exact(self) -> Self:
        """The loss that this one approximates, in which results are measured; itself, unless it is smoothed."""
        return self

    def constant_score(self, y: FloatArray, weights: FloatArray | None = None) -> float | None:
        """Return the score of the best constant model, at which a first fit starts; None to start at zero."""
        del y, weights
        return None

    @property
    def shape(self) -> float:
        """The parameter that sets the shape of the curve, where there is one."""
        return 0.0

    @property
    def curvature(self) -> float:
        """The largest bend of the curve."""
        return self.curve.curvature

    def with_unpenalised(self, trailing: int) -> Self:
        """Return the same loss with ``trailing`` last coefficients left out of its penalty."""
        return replace(self, unpenalised=trailing)

    def penalty_weights(self, features: int) -> FloatArray:
        """Return the diagonal of the penalty's Hessian: l2, and zeros for the trailing unpenalised coefficients."""
        weights = np.full(features, float(self.l2))
        weights[max(features - self.unpenalised, 0) :] = 0.0
        return weights

    def row_values(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        return self.curve.phi(X @ coef, y) + self._penalty(coef)

    def value(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> float:
        """Return the mean loss."""
        return float(self.curve.phi(X @ coef, y).sum()) / max(len(y), 1) + self._penalty(coef)

    def gradient(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the gradient of the mean loss."""
        return self.curve.slope(X @ coef, y) @ X / max(len(y), 1) + self.penalty_weights(coef.size) * coef

    def row_gradients(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the gradient of each row's loss, (rows, features)."""
        return self.curve.slope(X @ coef, y)[:, None] * X + self.penalty_weights(coef.size) * coef

    def hessian(self, coef: FloatArray, X: FloatArray, y: FloatArray) -> FloatArray:
        """Return the Hessian of the mean loss, exactly symmetric."""
        scaled = np.sqrt(self.curve.bend(X @ coef, y) / max(len(y), 1))[:, None] * X
        hessian: FloatArray = scaled.T @ scaled  # one array with itself: BLAS fills half and mirrors it
        hessian[np.diag_indices_from(hessian)] += self.penalty_weights(coef.size)
        return hessian

    def hessian_product(self, coef: FloatArray, X: FloatArray, y: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the Hessian times a direction, without forming the Hessian."""
        along = self.curve.bend(X @ coef, y) * (X @ direction)
        return along @ X / max(len(y), 1) + self.penalty_weights(coef.size) * direction

    def row_smoothness(self, X: FloatArray) -> FloatArray:
        """Return for each row the Lipschitz constant of its gradient, for any coefficients: c||x||^2 + l2."""
        squares: FloatArray = np.einsum("ij,ij->i", X, X)
        return self.curve.curvature * squares + self.l2

    def _penalty(self, coef: FloatArray) -> float:
        if self.l2 == 0.0:
            return 0.0
        penalised = coef[: max(coef.size - self.unpenalised, 0)]
        return 0.5 * self.l2 * float(penalised @ penalised)
