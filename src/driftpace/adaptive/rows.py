"""The rows of a period as the look at them needs them: sums over rows, each computed once."""

import numpy as np

from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.typing import BoolArray, FloatArray, IntArray


class DesignRows:
    """Rows with the intercept's column first. ``penalty`` is the diagonal of the loss's penalty.

    ``groups`` are the groups of rows that belong together, numbered from 0 in the order of their first rows; None where each row
    is alone. ``weights`` are what each row counts for, of mean 1 over the period; None where all count alike. The loss of a row,
    and with it its slope and its bend, is times its weight: Hessians are weighted once, squares of gradients twice. For the
    squared loss second derivatives do not depend on the model, so their sum is kept. ``names`` are those of the columns, for
    sentences; None where they have none.
    """

    __slots__ = ("X", "_gram", "groups", "loss", "names", "penalty", "weights", "y")

    def __init__(
        self,
        *,
        loss: LinearLoss,
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
        return isinstance(self.loss, SquaredLoss)

    def slopes(self, w: FloatArray) -> FloatArray:
        """Return the derivative of each row's loss in its score."""
        return self.weighted(self.loss.curve.slope(self.X @ w, self.y))

    def bends(self, w: FloatArray) -> FloatArray:
        """Return the second derivative of each row's loss in its score."""
        return self.weighted(self.loss.curve.bend(self.X @ w, self.y))

    def weighted(self, values: FloatArray) -> FloatArray:
        """Return a value for each row times the weight of the row."""
        return values if self.weights is None else values * self.weights

    def value(self, w: FloatArray) -> float:
        """Return the sum of the rows' losses, the penalty included."""
        losses = self.weighted(self.loss.curve.phi(self.X @ w, self.y))
        return float(losses.sum()) + 0.5 * self.mass * float(w @ (self.penalty * w))

    def gradient(self, w: FloatArray) -> FloatArray:
        """Return the gradient of :meth:`value`."""
        return np.asarray(self.slopes(w) @ self.X + self.mass * self.penalty * w)

    def hessian_sum(self, w: FloatArray) -> FloatArray:
        """Return the sum of the second derivatives of the rows, without the penalty."""
        if self.quadratic:
            if self._gram is None:
                self._gram = self.X.T @ self.X if self.weights is None else self.outer_sum(np.sqrt(self.weights))
            return self._gram
        scaled = self.X * np.sqrt(self.bends(w))[:, None]
        return np.asarray(scaled.T @ scaled)

    def majorant_sum(self, w: FloatArray) -> FloatArray | None:
        """Return the sum of the curvatures of parabolas above each row's loss; None where the loss has none."""
        majorant = self.loss.curve.majorant
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
