"""Losses that see a row only through its score x'w.

Everything a solver or a bound wants follows from one scalar curve phi(score, y): with s = Xw and the penalty's diagonal P
(ones, and zeros for the trailing ``unpenalised`` coefficients),

    value     mean phi(s, y) + (l2/2) w'Pw
    gradient  X' slope(s, y) / rows + l2 Pw
    Hessian   X' diag(bend(s, y)) X / rows + l2 P

A loss is therefore a :class:`~driftpace.losses.curve.Curve` and this algebra, put together; no loss repeats the algebra.
Of no rows at all the mean is zero and the penalty is left.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from driftpace import validation
from driftpace.losses.curve import Curve
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearLoss(ABC):
    """phi(x'w, y) + (l2/2)||w||^2, the penalty leaving the trailing ``unpenalised`` coefficients alone.

    A loss of your own names its curve, and how targets and predictions look; ``driftpace.testing.check_loss`` tells you
    whether the curve's derivatives are right.

    >>> from driftpace.losses import SquaredLoss
    >>> isinstance(SquaredLoss(), LinearLoss)
    True
    """

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
        """Return targets as the loss computes with them, or raise DataError in one sentence."""

    @abstractmethod
    def predict(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return what the model says of rows."""

    @property
    def shape(self) -> float:
        """The one number that sets the form of the curve, where there is one."""
        return 0.0

    @property
    def curvature(self) -> float:
        """The largest bend of the curve."""
        return self.curve.curvature

    def with_unpenalised(self, trailing: int) -> Self:
        """Return the same loss that leaves ``trailing`` last coefficients out of its penalty."""
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
