"""The squared loss for regression."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.losses.linear import Curve, LinearLoss
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
    """Regress by 1/2 (y - x'w)^2 + (l2/2)||w||^2; the half makes the curvature one.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.

    Examples
    --------
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
        """Return finite numbers as floats, or raise DataError."""
        return encode_numbers("SquaredLoss", y)
