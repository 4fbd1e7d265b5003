"""Least squares for several targets of the same rows."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.losses.targets import encode_numbers
from driftpace.losses.vector import VectorLoss
from driftpace.typing import FloatArray

MOST_OUTPUTS = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class MultiSquaredLoss(VectorLoss):
    """Regress several targets at once by half the sum of their squared errors, + (l2/2)||W||^2.

    The target of a tracker is then about the sum over the targets: scale them to units in which an error of one costs as much as an
    error of another.

    Parameters
    ----------
    outputs : int
        The number of targets of a row.
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||W||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.

    Examples
    --------
    >>> loss = MultiSquaredLoss(outputs=2)
    >>> loss.phi(np.array([[1.0, 2.0]]), np.array([[0.0, 0.0]]))
    array([2.5])
    """

    quadratic: ClassVar[bool] = True

    outputs: int = 1

    def __post_init__(self) -> None:
        VectorLoss.__post_init__(self)
        validation.count("MultiSquaredLoss", least=1, at_most=MOST_OUTPUTS, outputs=self.outputs)

    @property
    def curvature(self) -> float:
        """One."""
        return 1.0

    def with_outputs(self, outputs: int) -> Self:
        """Return the same loss for another number of targets."""
        return replace(self, outputs=outputs)

    def phi(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return half the sum of the squared errors of each row."""
        return np.asarray(0.5 * np.square(scores - y).sum(axis=1))

    def slope(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the errors."""
        return np.asarray(scores - y)

    def bend(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return identity matrices."""
        del y
        return np.broadcast_to(np.eye(scores.shape[1]), (len(scores), scores.shape[1], scores.shape[1]))

    def encode(self, y: FloatArray) -> FloatArray:
        """Return finite numbers, (rows, outputs), or raise DataError."""
        numbers = encode_numbers("MultiSquaredLoss", y)
        if numbers.ndim != 2 or numbers.shape[1] != self.outputs:
            raise DataError(
                f"must have {self.outputs} targets for each row for MultiSquaredLoss; got shape {numbers.shape}.",
                name="y",
            )
        return numbers

    def link(self, scores: FloatArray) -> FloatArray:
        """Return the scores themselves, (rows, outputs)."""
        return scores
