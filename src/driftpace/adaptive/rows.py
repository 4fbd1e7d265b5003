"""The rows of a period as the look at them needs them: sums over rows, each computed once."""

import numpy as np

from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.typing import FloatArray


class DesignRows:
    """Rows with the intercept's column first. ``penalty`` is the diagonal of the loss's penalty.

    For the squared loss second derivatives do not depend on the model, so their sum is kept.
    """

    __slots__ = ("X", "_gram", "loss", "penalty", "y")

    def __init__(self, *, loss: LinearLoss, X: FloatArray, y: FloatArray, penalty: FloatArray) -> None:
        self.loss, self.X, self.y, self.penalty = loss, X, y, penalty
        self._gram: FloatArray | None = X.T @ X if isinstance(loss, SquaredLoss) else None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def quadratic(self) -> bool:
        """Whether the loss of the rows is a quadratic of the model."""
        return self._gram is not None

    def slopes(self, w: FloatArray) -> FloatArray:
        """Return the derivative of each row's loss in its score."""
        return self.loss.curve.slope(self.X @ w, self.y)

    def bends(self, w: FloatArray) -> FloatArray:
        """Return the second derivative of each row's loss in its score."""
        return self.loss.curve.bend(self.X @ w, self.y)

    def value(self, w: FloatArray) -> float:
        """Return the sum of the rows' losses, the penalty included."""
        return float(self.loss.curve.phi(self.X @ w, self.y).sum()) + 0.5 * len(self) * float(w @ (self.penalty * w))

    def gradient(self, w: FloatArray) -> FloatArray:
        """Return the gradient of :meth:`value`."""
        return np.asarray(self.slopes(w) @ self.X + len(self) * self.penalty * w)

    def hessian_sum(self, w: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives of the rows, without the penalty."""
        if self._gram is not None:
            return self._gram
        scaled = self.X * np.sqrt(self.bends(w))[:, None]
        return np.asarray(scaled.T @ scaled)

    def outer_sum(self, weights: FloatArray) -> FloatArray:
        """Return the sum of outer products of rows, each times the square of its weight."""
        scaled = self.X * weights[:, None]
        return np.asarray(scaled.T @ scaled)
