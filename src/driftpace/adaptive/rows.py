"""The rows of a period as the look at them needs them: sums over rows, each computed once."""

from typing import Any

import numpy as np

from driftpace.adaptive.coordinates import Coordinates
from driftpace.losses import LinearLoss, SquaredLoss, VectorLoss
from driftpace.losses.vector import kronecker_forms, kronecker_sum, outer_rows
from driftpace.typing import BoolArray, FloatArray, IntArray


class DesignRows:
    """Rows with the intercept's column first. ``penalty`` is the diagonal of the loss's penalty.

    ``groups`` are the groups of rows that belong together, numbered from 0 in the order of their first rows; None where each row
    is alone. ``weights`` are what each row counts for, of mean 1 over the period; None where all count alike. The loss of a row,
    and with it its slope and its bend, is times its weight: Hessians are weighted once, squares of gradients twice. For the
    squared loss second derivatives do not depend on the model, so their sum is kept. ``names`` are those of the columns, for
    sentences; None where they have none. A loss of several ``outputs`` has as many coefficients for each column, which stand
    together; slopes are then (rows, outputs), and bends (rows, outputs, outputs).
    """

    __slots__ = ("X", "_gram", "groups", "loss", "names", "penalty", "weights", "y")

    def __init__(
        self,
        *,
        loss: LinearLoss | VectorLoss,
        X: FloatArray,
        y: FloatArray,
        penalty: FloatArray,
        groups: IntArray | None = None,
        weights: FloatArray | None = None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.loss, self.X, self.y, self.penalty, self.weights, self.names = loss, X, y, penalty, weights, names
        self.groups = None if groups is None else number_groups(groups)
        self._gram: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def linear_loss(self) -> LinearLoss:
        """The loss, where rows have one score."""
        assert isinstance(self.loss, LinearLoss)
        return self.loss

    @property
    def outputs(self) -> int:
        """The number of scores of a row."""
        return self.loss.outputs if isinstance(self.loss, VectorLoss) else 1

    @property
    def units(self) -> int:
        """The number of groups, or of rows where each is alone."""
        return len(self) if self.groups is None or not len(self) else int(self.groups.max()) + 1

    @property
    def mass(self) -> float:
        """The sum of the weights: the number of rows where all count alike."""
        return float(len(self) if self.weights is None else self.weights.sum())

    @property
    def effective(self) -> float:
        """The number of rows of equal weight that say as much of a mean, (sum w)^2 / sum w^2 (Kish)."""
        return effective_rows(self.weights) if self.weights is not None else float(len(self))

    def select(self, chosen: BoolArray | slice) -> "DesignRows":
        """Return some of the rows."""
        if chosen.stop >= len(self) if isinstance(chosen, slice) else chosen.all():
            return self
        groups = None if self.groups is None else self.groups[chosen]
        weights = None if self.weights is None else self.weights[chosen]
        return DesignRows(
            loss=self.loss,
            X=self.X[chosen],
            y=self.y[chosen],
            penalty=self.penalty,
            groups=groups,
            weights=weights,
            names=self.names,
        )

    @property
    def quadratic(self) -> bool:
        """Whether the loss of the rows is a quadratic of the model."""
        return self.loss.quadratic if isinstance(self.loss, VectorLoss) else isinstance(self.loss, SquaredLoss)

    def scores(self, w: FloatArray) -> FloatArray:
        """Return the score of each row, or its scores (rows, outputs)."""
        return self.loss.scores(w, self.X) if isinstance(self.loss, VectorLoss) else np.asarray(self.X @ w)

    def losses(self, w: FloatArray) -> FloatArray:
        """Return the loss of each row, without the penalty."""
        return self.weighted(_curve(self.loss).phi(self.scores(w), self.y))

    def slopes(self, w: FloatArray) -> FloatArray:
        """Return the derivative of each row's loss in its score, or scores."""
        return self.weighted(_curve(self.loss).slope(self.scores(w), self.y))

    def bends(self, w: FloatArray) -> FloatArray:
        """Return the second derivative of each row's loss in its score, or scores."""
        bends = _curve(self.loss).bend(self.scores(w), self.y)
        shared = 0.0 if isinstance(self.loss, VectorLoss) else self.loss.shared_curvature
        if shared and len(self):
            bends = (1.0 - shared) * bends + shared * bends.mean()
        return self.weighted(bends)

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return a value for each row, or an array, times the weight of the row."""
        return values if self.weights is None else values * self.weights.reshape(-1, *(1,) * (values.ndim - 1))

    def value(self, w: FloatArray) -> float:
        """Return the sum of the rows' losses, the penalty included."""
        return float(self.losses(w).sum()) + 0.5 * self.mass * float(w @ (self.penalty * w))

    def gradient(self, w: FloatArray) -> FloatArray:
        """Return the gradient of :meth:`value`."""
        return np.asarray(self.gradient_sum(self.slopes(w)) + self.mass * self.penalty * w)

    def gradient_sum(self, slopes: FloatArray, chosen: slice = slice(None)) -> FloatArray:
        """Return the sum of the gradients of rows that have these slopes; of the ``chosen`` ones of both."""
        slopes = slopes[chosen]
        return np.asarray(slopes @ self.X[chosen] if slopes.ndim == 1 else (self.X[chosen].T @ slopes).ravel())

    def white_gradients(self, white: Coordinates, w: FloatArray, whitened: FloatArray | None) -> FloatArray:
        """Return the gradients of the rows in whitened coordinates; ``whitened`` are the rows there, where they have one score."""
        slopes = self.slopes(w)
        if slopes.ndim == 2:
            return white.white_rows(outer_rows(self.X, slopes))
        return np.asarray((white.white_rows(self.X) if whitened is None else whitened) * slopes[:, None])

    def hessian_sum(self, w: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives of the rows, without the penalty."""
        if self.quadratic:
            if self._gram is None:
                gram = self.X.T @ self.X if self.weights is None else self.outer_sum(np.sqrt(self.weights))
                several = isinstance(self.loss, VectorLoss)
                self._gram = np.asarray(np.kron(gram, np.eye(self.outputs)), dtype=np.float64) if several else gram
            return self._gram
        return self.hessian_of(self.bends(w))

    def hessian_of(self, bends: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives of rows that have these bends."""
        if bends.ndim == 3:
            return kronecker_sum(self.X, bends)
        scaled = self.X * np.sqrt(bends)[:, None]
        return np.asarray(scaled.T @ scaled)

    def traces(self, bends: FloatArray, matrix: FloatArray) -> FloatArray:
        """Return tr(A G_i) of each row, with the Hessian G_i = x_i x_i' (x) M_i of its bends, for rows of several scores."""
        return np.asarray(np.einsum("iab,iab->i", bends, kronecker_forms(self.X, matrix, self.outputs)))

    def majorant_sum(self, w: FloatArray) -> FloatArray | None:
        """Return the sum of the curvatures of parabolas above each row's loss; None where the loss has none."""
        majorant = None if isinstance(self.loss, VectorLoss) else self.loss.curve.majorant
        if majorant is None:
            return None
        return self.outer_sum(np.sqrt(self.weighted(majorant(self.X @ w, self.y))))

    def outer_sum(self, weights: FloatArray, scratch: FloatArray | None = None) -> FloatArray:
        """Return the sum of outer products of rows, each times the square of its weight; ``scratch`` is overwritten."""
        scaled = np.multiply(self.X, weights[:, None], out=scratch)
        return np.asarray(scaled.T @ scaled)


def effective_rows(weights: FloatArray) -> float:
    """Return the number of rows of equal weight that say as much of a mean; 0 without rows.

    >>> effective_rows(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0.0 else 0.0


def number_groups(groups: IntArray) -> IntArray | None:
    """Return groups numbered from 0 in the order of their first rows; None where no two rows belong together.

    >>> number_groups(np.array([7, 3, 7, 9])).tolist(), number_groups(np.array([7, 3, 9]))
    ([0, 1, 0, 2], None)
    """
    names, first, of_row = np.unique(groups, return_index=True, return_inverse=True)
    if len(names) == len(groups):
        return None
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(names))
    return rank[of_row]


def group_sums(values: FloatArray, groups: IntArray | None) -> FloatArray:
    """Return the sum of the values (rows, columns) of each group; the values themselves where each row is alone.

    >>> group_sums(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0])).tolist()
    [[5.0], [2.0]]
    """
    if groups is None or not len(groups):
        return values
    order = np.argsort(groups, kind="stable")
    return np.asarray(np.add.reduceat(values[order], np.searchsorted(groups[order], np.arange(groups.max() + 1))))


def _curve(loss: LinearLoss | VectorLoss) -> Any:
    """Return what has the value, slope and bend of a loss in its scores."""
    return loss if isinstance(loss, VectorLoss) else loss.curve
