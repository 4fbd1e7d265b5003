"""The squared loss of regression."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.losses.curve import Curve
from driftpace.losses.linear import LinearLoss
from driftpace.losses.targets import encode_numbers
from driftpace.typing import FloatArray


def _phi(scores: FloatArray, y: FloatArray) -> FloatArray:
    residuals = scores - y
    return 0.5 * residuals * residuals


def _slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    return scores - y


def _bend(scores: FloatArray, y: FloatArray) -> FloatArray:
    del y
    return np.ones_like(scores)


_CURVE = Curve(phi=_phi, slope=_slope, bend=_bend, curvature=1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class SquaredLoss(LinearLoss):
    """1/2 (y - x'w)^2 + (l2/2)||w||^2: regression, with the half that makes its bend one.

    >>> import numpy as np
    >>> loss = SquaredLoss(l2=0.1)
    >>> loss.value(np.array([1.0]), np.array([[1.0], [2.0]]), np.array([1.0, 4.0]))
    1.05
    """

    code: ClassVar[int] = 0

    @property
    def curve(self) -> Curve:
        """1/2 (s - y)^2; slope s - y; bend 1."""
        return _CURVE

    def encode(self, y: FloatArray) -> FloatArray:
        """Return finite numbers as they came, or raise DataError."""
        return encode_numbers("SquaredLoss", y)

    def predict(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return the number x'w for each row."""
        return X @ coef
