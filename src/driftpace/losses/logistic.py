"""The logistic loss for classification with probabilities."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.losses.linear import Curve, LinearLoss
from driftpace.losses.soft_labels import for_soft_labels
from driftpace.losses.targets import encode_classes
from driftpace.typing import FloatArray


def _phi(scores: FloatArray, y: FloatArray) -> FloatArray:
    margins = y * scores  # log(1 + e^-t) = max(-t, 0) + log(1 + e^-|t|): no exponential of a positive number
    return np.maximum(-margins, 0.0) + np.log1p(np.exp(-np.abs(margins)))


def _probability(scores: FloatArray) -> FloatArray:
    """Return 1/(1 + e^-s), accurate in both tails."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, small) / (1.0 + small)


def _slope(scores: FloatArray, y: FloatArray) -> FloatArray:
    return -y * _probability(-y * scores)


def _bend(scores: FloatArray, y: FloatArray) -> FloatArray:
    del y
    return _probability(scores) * _probability(-scores)


_CURVE = Curve(phi=for_soft_labels(_phi), slope=for_soft_labels(_slope), bend=_bend, curvature=0.25)


@dataclass(frozen=True, kw_only=True, slots=True)
class LogisticLoss(LinearLoss):
    """Classify by log(1 + exp(-y x'w)) + (l2/2)||w||^2, accurate in both tails.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.

    Examples
    --------
    >>> import numpy as np
    >>> loss = LogisticLoss()
    >>> loss.row_values(np.array([1.0]), np.array([[0.0], [1e300], [-1e300]]), np.array([1.0, 1.0, 1.0]))
    array([6.93147181e-001, 0.00000000e+000, 1.00000000e+300])
    """

    code: ClassVar[int] = 2
    soft_labels: ClassVar[bool] = True

    @property
    def curve(self) -> Curve:
        """log(1 + e^-ys); slope -y/(1 + e^ys); bend p(1 - p) with p = 1/(1 + e^-s), at most 1/4."""
        return _CURVE

    def encode(self, y: FloatArray) -> FloatArray:
        """Return two classes as -1 and 1, or raise DataError."""
        return encode_classes("LogisticLoss", y)

    def link(self, scores: FloatArray) -> FloatArray:
        """Return -1 or 1 for each score; zero counts as 1."""
        return np.where(scores >= 0.0, 1.0, -1.0)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return 1/(1 + e^-s), the probability of the second class."""
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(-scores))
