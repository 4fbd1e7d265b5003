"""The smoothed hinge loss for classification with a margin."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.losses.linear import Curve, LinearLoss
from driftpace.losses.soft_labels import for_soft_labels
from driftpace.losses.targets import encode_classes
from driftpace.typing import FloatArray


def _phi(scores: FloatArray, y: FloatArray) -> FloatArray:
    short = np.maximum(1.0 - y * scores, 0.0)
    return 0.5 * short * short


def _slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    return -y * np.maximum(1.0 - y * scores, 0.0)


def _bend(scores: FloatArray, y: FloatArray) -> FloatArray:
    return (y * scores < 1.0).astype(np.float64)


_CURVE = Curve(phi=for_soft_labels(_phi), slope=for_soft_labels(_slope), bend=for_soft_labels(_bend), curvature=1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class SmoothedHinge(LinearLoss):
    """Classify by 1/2 (1 - y x'w)_+^2 + (l2/2)||w||^2, the hinge squared so that its slope is continuous.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.

    Examples
    --------
    >>> import numpy as np
    >>> loss = SmoothedHinge()
    >>> loss.row_values(np.array([1.0]), np.array([[0.5], [2.0], [-1.0]]), np.array([1.0, 1.0, 1.0]))
    array([0.125, 0.   , 2.   ])
    """

    code: ClassVar[int] = 1
    soft_labels: ClassVar[bool] = True

    @property
    def curve(self) -> Curve:
        """1/2 (1 - ys)_+^2; slope -y (1 - ys)_+; bend 1 where ys < 1, else 0."""
        return _CURVE

    def encode(self, y: FloatArray) -> FloatArray:
        """Return two classes as -1 and 1, or raise DataError."""
        return encode_classes("SmoothedHinge", y)

    def link(self, scores: FloatArray) -> FloatArray:
        """Return -1 or 1 for each score; zero counts as 1."""
        return np.where(scores >= 0.0, 1.0, -1.0)
