"""Losses of counts and positive amounts: half the deviance of a mean e^s, whose logarithm is linear."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.errors import DataError
from driftpace.losses.linear import Curve, LinearLoss
from driftpace.losses.targets import encode_numbers
from driftpace.typing import BoolArray, FloatArray

MOST_SCORE = 60.0
"""Scores beyond this, means beyond 1e26, have a loss that is continued along its tangent, so that nothing overflows."""

LARGEST = 1e15
"""Targets beyond this are refused."""

_NO_COUNT = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLinkLoss(LinearLoss):
    """Base class of half deviances phi(s, y) of a target y with the mean e^s, whose variance is proportional to e^(ps).

    The loss is nonnegative, and zero where y = e^s. Its second derivative has no useful upper bound, so it is fitted by the
    adaptive method only. A row with the exposure e, such as e years at risk, has the mean e e^s: its loss is e times that of the
    rate y/e, so it is told as the rate with e times the weight, and the mean loss is that of a unit of exposure.

    Parameters
    ----------
    l2 : float, default 0.0
        The weight of the penalty (l2/2)||w||^2.
    unpenalised : int, default 0
        How many trailing coefficients the penalty leaves out.
    """

    takes_exposure: ClassVar[bool] = True
    bounded_curvature: ClassVar[bool] = False
    least_target: ClassVar[float] = 0.0
    """The smallest target that is allowed."""

    @property
    @abstractmethod
    def variance_power(self) -> float:
        """The power p of the mean that the variance is proportional to."""

    @property
    def allowed(self) -> str:
        """The targets that are allowed, in words."""
        return f"numbers from {self.least_target:g} to {LARGEST:g}"

    def allows(self, y: FloatArray) -> BoolArray:
        """Return which targets are allowed.

        >>> from driftpace.losses import GammaLoss, PoissonLoss
        >>> PoissonLoss().allows(np.array([0.0, -2.0])).tolist(), GammaLoss().allows(np.array([0.0, 1.5])).tolist()
        ([True, False], [False, True])
        """
        return (y >= self.least_target) & (y <= LARGEST)

    def encode(self, y: FloatArray) -> FloatArray:
        """Return targets as floats, which need not be whole, or raise DataError.

        >>> from driftpace.losses import PoissonLoss
        >>> PoissonLoss().encode([0, -2])
        Traceback (most recent call last):
            ...
        driftpace.errors.DataError: y must be numbers from 0 to 1e+15 for PoissonLoss; got -2.0 in row 1.
        """
        name = type(self).__name__
        numbers = encode_numbers(name, y)
        bad = ~self.allows(numbers)
        if bad.any():
            row = int(np.argmax(bad))
            got = f"{float(numbers[row])!r} in row {row}"
            raise DataError(f"must be {self.allowed} for {name}; got {got}.", name="y")
        return numbers

    def link(self, scores: FloatArray) -> FloatArray:
        """Return the means e^s."""
        return np.asarray(np.exp(np.clip(scores, -10.0 * MOST_SCORE, 10.0 * MOST_SCORE)))

    def constant_score(self, y: FloatArray, weights: FloatArray | None = None) -> float:
        """Return the logarithm of the mean; where all targets are zero, that of half a count in all rows."""
        mean = float(np.average(y, weights=weights)) if len(y) else 1.0
        return math.log(mean) if mean > 0.0 else math.log(_NO_COUNT / len(y))


def tweedie_curve(power: float) -> Curve:
    """Return half the unit deviance of the variance function mean^power, as a function of the logarithm of the mean.

    With a = 2 - p and b = p - 1, it is e^(as)/a + y e^(-bs)/b less its value at y = e^s; e^s - ys for p = 1 and s + y e^-s for
    p = 2. Each exponential is continued along its tangent beyond :data:`MOST_SCORE`.
    """
    a, b = 2.0 - power, power - 1.0
    largest = math.exp(max(a, b) * MOST_SCORE) * LARGEST

    def growth(rate: float, s: FloatArray) -> FloatArray:
        """Return e^(rate s)/rate, or s where the rate is zero."""
        if rate == 0.0:
            return s
        inner = np.clip(s, -MOST_SCORE, MOST_SCORE)
        return np.asarray(np.exp(rate * inner) * (1.0 / rate + (s - inner)))

    def least(y: FloatArray) -> FloatArray:
        """Return the value at y = e^s."""
        positive = np.where(y > 0.0, y, 1.0)
        if a == 0.0:
            return 1.0 + np.log(positive)
        if b == 0.0:
            return y - y * np.log(positive)
        return np.asarray(np.power(y, a) * (1.0 / a + 1.0 / b))

    def steepness(rate: float, s: FloatArray) -> FloatArray:
        return np.asarray(np.exp(rate * np.clip(s, -MOST_SCORE, MOST_SCORE)))

    def bend_of(rate: float, s: FloatArray) -> FloatArray:
        return np.where(np.abs(s) <= MOST_SCORE, rate * steepness(rate, s), 0.0)

    def phi(scores: FloatArray, y: FloatArray) -> FloatArray:
        return np.maximum(growth(a, scores) - y * growth(-b, scores) - least(y), 0.0)

    def slope(scores: FloatArray, y: FloatArray) -> FloatArray:
        return steepness(a, scores) - y * steepness(-b, scores)

    def bend(scores: FloatArray, y: FloatArray) -> FloatArray:
        return bend_of(a, scores) - y * bend_of(-b, scores)

    return Curve(phi=phi, slope=slope, bend=bend, curvature=largest)
