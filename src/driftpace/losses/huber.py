"""The Huber loss for regression with outliers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.losses.linear import Curve, LinearLoss
from driftpace.losses.targets import encode_numbers
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class HuberLoss(LinearLoss):
    """Regress by a loss that is quadratic for small residuals and linear for large ones.

    With r = x'w - y, the loss is h(r) + (l2/2)||w||^2, where h(r) = r^2/2 for |r| <= threshold and
    threshold (|r| - threshold/2) beyond. One outlier changes a gradient by at most threshold ||x||.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.
    threshold : float, default 1.0
        The residual from which on the loss is linear.

    Examples
    --------
    >>> import numpy as np
    >>> loss = HuberLoss(threshold=1.0)
    >>> loss.row_values(np.array([1.0]), np.array([[0.5], [3.0]]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    code: ClassVar[int] = 3

    threshold: float = 1.0

    def __post_init__(self) -> None:
        LinearLoss.__post_init__(self)
        validation.positive("HuberLoss", threshold=self.threshold)

    @property
    def shape(self) -> float:
        """The threshold."""
        return float(self.threshold)

    @property
    def curve(self) -> Curve:
        """The function h, its slope clipped at the threshold, its bend 1 up to the threshold and 0 beyond."""
        threshold = float(self.threshold)

        def phi(scores: FloatArray, y: FloatArray) -> FloatArray:
            size = np.abs(scores - y)
            inner = np.minimum(size, threshold)
            return inner * (size - 0.5 * inner)

        def slope(scores: FloatArray, y: FloatArray) -> FloatArray:
            return np.clip(scores - y, -threshold, threshold)

        def bend(scores: FloatArray, y: FloatArray) -> FloatArray:
            return (np.abs(scores - y) <= threshold).astype(np.float64)

        return Curve(phi=phi, slope=slope, bend=bend, curvature=1.0)

    def encode(self, y: FloatArray) -> FloatArray:
        """Return finite numbers as floats, or raise DataError."""
        return encode_numbers("HuberLoss", y)
