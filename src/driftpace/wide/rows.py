"""Rows of the wide method: whitened coordinates and targets, with one score or, of several classes, several.

A model is a matrix of (coordinates, scores), kept as one vector in rows, so that the scores of a band of coordinates are together.
Of several classes scores are scaled so that all are about equally curved: a score that sets a rare class apart has larger
coefficients, and the same number of rows shows it as well as others.
"""

from dataclasses import dataclass, replace

import numpy as np

from driftpace.losses import LinearLoss, SquaredLoss, VectorLoss
from driftpace.typing import BoolArray, FloatArray

_LEAST_BEND = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideRows:
    """Rows in whitened coordinates, a column of ones first where there is an intercept, and their encoded targets.

    The scores of the loss are those of the model times ``scale``, a symmetric matrix; None where they are the same.
    """

    loss: LinearLoss | VectorLoss
    Z: FloatArray
    y: FloatArray
    scale: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def quadratic(self) -> bool:
        """Whether the loss is a quadratic of the model."""
        return isinstance(self.loss, SquaredLoss)

    @property
    def outputs(self) -> int:
        """The number of scores of a row."""
        return self.loss.outputs if isinstance(self.loss, VectorLoss) else 1

    def select(self, chosen: BoolArray) -> "WideRows":
        """Return some of the rows."""
        return self if chosen.all() else replace(self, Z=self.Z[chosen], y=self.y[chosen])

    def scores(self, model: FloatArray) -> FloatArray:
        """Return the scores of rows, (rows, scores)."""
        return np.asarray(self.Z @ self.scaled(model.reshape(-1, self.outputs)))

    def scaled(self, values: FloatArray) -> FloatArray:
        """Return scores, or derivatives in them, (rows, scores), after a change of scale."""
        return values if self.scale is None else np.asarray(values @ self.scale)

    def losses(self, scores: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        if isinstance(self.loss, VectorLoss):
            return self.loss.phi(scores, self.y)
        return self.loss.curve.phi(scores[:, 0], self.y)

    def slopes(self, scores: FloatArray) -> FloatArray:
        """Return the derivatives of losses in the scores of the model, (rows, scores)."""
        if isinstance(self.loss, VectorLoss):
            return self.scaled(self.loss.slope(scores, self.y))
        return self.loss.curve.slope(scores[:, 0], self.y)[:, None]

    def bends(self, scores: FloatArray) -> FloatArray:
        """Return the second derivatives of losses in the scores of the model, (rows, scores, scores)."""
        if isinstance(self.loss, VectorLoss):
            bends = self.loss.bend(scores, self.y)
            return bends if self.scale is None else np.asarray(self.scale @ bends @ self.scale)
        return self.loss.curve.bend(scores[:, 0], self.y)[:, None, None]

    def turn(self, bends: FloatArray) -> FloatArray:
        """Return directions of scores, in columns, in which the mean second derivatives have no cross terms."""
        if self.outputs == 1 or not len(self):
            return np.eye(self.outputs)
        return np.asarray(np.linalg.eigh(bends.mean(axis=0))[1])


def bends_along(bends: FloatArray, turn: FloatArray) -> FloatArray:
    """Return the second derivatives along each direction of scores, (rows, directions); never next to nothing."""
    along = bends[:, :, 0] if turn.size == 1 else np.einsum("iab,ac,bc->ic", bends, turn, turn, optimize=True)
    return np.maximum(along, _LEAST_BEND)
