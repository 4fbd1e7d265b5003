"""The Huber loss for regression with outliers."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from driftpace import validation
from driftpace.losses.linear import Curve, LinearLoss
from driftpace.losses.targets import encode_numbers, weighted_quantile
from driftpace.typing import FloatArray

_EFFICIENT = 1.345


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
    threshold : float or None, default 1.0
        The residual from which on the loss is linear. None learns it from the first rows: 1.345 times the residual scale, which
        loses 5 % of the labels where residuals are normal.

    Examples
    --------
    >>> import numpy as np
    >>> loss = HuberLoss(threshold=1.0)
    >>> loss.row_values(np.array([1.0]), np.array([[0.5], [3.0]]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    code: ClassVar[int] = 3

    threshold: float | None = 1.0

    def __post_init__(self) -> None:
        LinearLoss.__post_init__(self)
        if self.threshold is not None:
            validation.positive("HuberLoss", threshold=self.threshold)

    @property
    def shape(self) -> float:
        """The threshold; infinite, as for least squares, where it is yet to be learned."""
        return math.inf if self.threshold is None else float(self.threshold)

    @property
    def open(self) -> bool:
        """Whether the threshold is yet to be learned."""
        return self.threshold is None

    def tuned(self, scale: float, *, rows_per_coefficient: float = math.inf) -> Self:
        """Return the loss with the threshold for residuals of that scale, unless it has one."""
        del rows_per_coefficient
        return replace(self, threshold=_EFFICIENT * max(scale, 1e-12)) if self.threshold is None else self

    @property
    def curve(self) -> Curve:
        """The function h, its slope clipped at the threshold, its bend 1 up to the threshold and 0 beyond."""
        threshold = self.shape

        def phi(scores: FloatArray, y: FloatArray) -> FloatArray:
            size = np.abs(scores - y)
            inner = np.minimum(size, threshold)
            return inner * (size - 0.5 * inner)

        def slope(scores: FloatArray, y: FloatArray) -> FloatArray:
            return np.clip(scores - y, -threshold, threshold)

        def bend(scores: FloatArray, y: FloatArray) -> FloatArray:
            return (np.abs(scores - y) <= threshold).astype(np.float64)

        def majorant(scores: FloatArray, y: FloatArray) -> FloatArray:
            size = np.abs(scores - y)
            return (
                np.where(size <= threshold, 1.0, threshold / np.maximum(size, 1e-300))
                if threshold < math.inf
                else bend(scores, y)
            )

        return Curve(phi=phi, slope=slope, bend=bend, curvature=1.0, majorant=majorant)

    def constant_score(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the median of the targets."""
        return weighted_quantile(y, 0.5, weights)

    def encode(self, y: FloatArray) -> FloatArray:
        """Return finite numbers as floats, or raise DataError."""
        return encode_numbers("HuberLoss", y)
