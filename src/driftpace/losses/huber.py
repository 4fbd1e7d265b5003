"""The Huber loss of regression with outliers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.losses.curve import Curve
from driftpace.losses.linear import LinearLoss
from driftpace.losses.targets import encode_numbers
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class HuberLoss(LinearLoss):
    """Half the square of a residual up to ``threshold``, a straight line beyond it, + (l2/2)||w||^2.

    h(r) = r^2/2 for |r| <= threshold, threshold (|r| - threshold/2) beyond; r = x'w - y. One outlier moves a gradient by
    at most threshold ||x||.

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
        """Return finite numbers as they came, or raise DataError."""
        return encode_numbers("HuberLoss", y)

    def predict(self, coef: FloatArray, X: FloatArray) -> FloatArray:
        """Return the number x'w for each row."""
        return X @ coef
