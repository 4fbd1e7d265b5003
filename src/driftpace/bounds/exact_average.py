"""The exact risk of averaged SGD with a constant step on isotropic Gaussian least squares (theory 1.4)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps
from driftpace.typing import FloatArray

_SUMMED = 64  # up to here the sum itself; the closed form loses digits when mu h K is tiny


@dataclass(frozen=True, kw_only=True, slots=True)
class ExactAverage(FormulaBound):
    """Exact mean excess risk of averaged SGD on isotropic Gaussian least squares (theory 1.4).

    b = (h/2K^2) sum_{k<K} D_k (1 + 2r(1 - r^(K-1-k))/(1-r)), r = 1 - mu h. Features are N(0, h I) with independent noise,
    D_k = F + (d0^2 - F)c^k is the mean squared distance of the iterate after k steps, c = 1 - 2 mu h + mu^2 h^2 (d+2),
    F = mu noise d/(2 - g), g = mu h (d+2) < 2. Summed in closed form, and affine in d0^2.

    Over K it rises and then falls when d0^2 < F(2-g)/(4-g), and only falls when d0^2 > F(2-g)/(3-g) (verified numerically on a
    grid of 6,000 problems). In between it may fall a little, rise and fall again, and always falls from K = 4/(mu h(2-g)) on; in
    that band, for fewer rows than that, the value at the band's far end is used: monotone, and no less than the risk.

    Parameters
    ----------
    noise : float
        Variance of the residual y - x'w*.
    features : int
        Number of features d.
    step : float
        Length mu of every step.
    h : float, default 1.0
        Curvature of the risk, the same in every direction (1 after whitening).

    Examples
    --------
    >>> bound = ExactAverage(noise=0.5, features=2, h=1.0, step=1 / 16)
    >>> bound(1.0, 100), bound.smallest(1.0, 0.1, cap=1_000)
    (0.0182968, 35)
    """

    noise: float
    features: int
    step: float
    h: float = 1.0

    unconstrained: ClassVar[bool] = True
    name: ClassVar[str] = "averaged least-squares SGD, exact"
    nature: ClassVar[Nature] = Nature.EXACT

    def __post_init__(self) -> None:
        validation.nonnegative("ExactAverage", noise=self.noise)
        validation.count("ExactAverage", least=1, features=self.features)
        validation.positive("ExactAverage", step=self.step, h=self.h)
        if not self.g < 2.0:
            limit = 2.0 / (self.h * (self.features + 2.0))
            raise ParameterError(
                f"must be below 2/(h(d+2))={limit:.6g}; got {self.step!r}.",
                owner="ExactAverage",
                name="step",
            )

    @property
    def rate(self) -> float:
        """-1; without noise -2."""
        return -1.0 if self.noise > 0.0 else -2.0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Isotropic Gaussian features, independent noise, no penalty and no constraint; the step."""
        return (
            "rows are independent draws of the period's distribution, each used once",
            "squared loss without penalty, and no constraint",
            f"the {self.features} features are Gaussian with mean zero and covariance {self.h:.4g} I",
            f"the residual y - x'w* has mean zero and variance {self.noise:.4g} for every x",
            f"every step has length {self.step:.4g}, and the model is the plain average of the iterates before each step",
        )

    @property
    def schedule(self) -> ConstantSteps:
        """The steps for which this bound holds."""
        return ConstantSteps(step=self.step)

    @property
    def g(self) -> float:
        """Mu h (d + 2), the step in units of 1/R2."""
        return self.step * self.h * (self.features + 2.0)

    @property
    def level(self) -> float:
        """F, the squared distance at which single iterates stay."""
        return self.step * self.noise * self.features / (2.0 - self.g)

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.ones(samples)

    def start(self, distance: float) -> float:
        """Return (h/2) d0^2."""
        return 0.5 * self.h * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return the exact risk; for few rows in the band where it is not monotone, that of the band's far end."""
        squared, gain = distance * distance, 2.0 - self.g
        near, far = gain / (4.0 - self.g) * self.level, gain / (3.0 - self.g) * self.level
        if (1.0 - 1e-9) * near < squared < far and samples < self.settled:
            squared = far
        alpha, beta = self.alpha_beta(samples)
        return alpha * squared + beta

    @property
    def settled(self) -> float:
        """4/(mu h(2-g)), the number of rows from which the risk falls at every distance."""
        return 4.0 / (self.step * self.h * (2.0 - self.g))

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta; None for the few rows at which the band is treated apart."""
        if 0 < samples < self.settled:
            return None
        alpha, beta = self.alpha_beta(samples) if samples else (0.5 * self.h, 0.0)
        return Factors(alpha=alpha, beta=beta)

    def alpha_beta(self, samples: int) -> tuple[float, float]:
        """Return alpha, beta of the exact risk alpha d0^2 + beta after one sample or more."""
        forget, slow = self.step * self.h * (2.0 - self.g), self.step * self.h  # 1 - c, 1 - r
        if samples <= _SUMMED:
            starts, rows = _sums(1.0 - forget, 1.0 - slow, samples)
        else:
            starts, rows = _closed_sums(forget, slow, samples)
        scale = 0.5 * self.h / samples**2
        return scale * starts, max(0.0, scale * self.level * (rows - starts))

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/h), which is exact."""
        validation.nonnegative("ExactAverage.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.h)


def _sums(c: float, r: float, samples: int) -> tuple[float, float]:
    """Return sum_{k,l} of c^min(k,l) r^|k-l| and of r^|k-l|, term by term: E||sum of w_k||^2 for D_k = c^k and for D_k = 1."""
    starts = rows = start = row = 0.0
    power = 1.0
    for _ in range(samples):
        starts, rows = starts + power + 2.0 * start, rows + 1.0 + 2.0 * row
        start, row, power = r * (start + power), r * (row + 1.0), c * power
    return starts, rows


def _closed_sums(forget: float, slow: float, samples: int) -> tuple[float, float]:
    """Return the same in closed form, from 1 - c and 1 - r."""
    c, r, log_c, log_r = 1.0 - forget, 1.0 - slow, math.log1p(-forget), math.log1p(-slow)
    many, twice = (1.0 + r) / slow, 2.0 * r / slow
    log_less, log_more = sorted((log_c, log_r))
    apart = abs(forget - slow) / max(c, r)  # 1 - less/more
    ratio = -math.expm1(samples * (log_less - log_more)) / apart if apart > 1e-12 else float(samples)
    mixed = math.exp((samples - 1) * log_more) * ratio  # sum of c^k r^(K-1-k)
    starts = many * -math.expm1(samples * log_c) / forget - twice * mixed
    rows = many * samples - twice * -math.expm1(samples * log_r) / slow
    return starts, rows
