"""Weighted averages of the iterates of SGD (theory 1.2).

In this file the model is the average of w_1 .. w_K, the points at which the K gradients were taken: w_1 is the start.
A later iterate weighs more, in proportion to its number.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.bounds.certificate import CertificateNumbers, certificate_table
from driftpace.bounds.noise import SecondMoment, bounded_start
from driftpace.schedules import InverseTime
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightedBounded(FormulaBound):
    """Bound on a weighted average of SGD with bounded gradients (theory 1.2).

    b = 2 G2/(m(K+1)) for the average with weights k, steps 2/(m(k+1)) and E||g||^2 <= G2 (theory 1.2).

    The start is forgotten altogether, and the risk need not be smooth. ``M`` is used for zero samples only.

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    G2 : float
        Bound on E||g||^2 over the set.
    M : float, optional
        Smoothness of the risk; used for zero samples only.

    Examples
    --------
    >>> bound = WeightedBounded(m=0.5, G2=4.0)
    >>> bound(10.0, 0), bound(10.0, 159), bound.smallest(10.0, 0.1, cap=1_000)
    (4.0, 0.1, 159)
    """

    m: float
    G2: float
    M: float | None = None

    name: ClassVar[str] = "weighted average of SGD, bounded gradients"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.positive("WeightedBounded", m=self.m)
        validation.nonnegative("WeightedBounded", G2=self.G2)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and bounded gradients; the steps and the weights."""
        return (
            f"the risk is {self.m:.4g}-strongly convex",
            *SecondMoment(A=self.G2).sentences(),
            "step k has length 2/(m(k + 1)) and the iterate before it has weight k",
        )

    @property
    def schedule(self) -> InverseTime:
        """The steps for which this bound holds."""
        return InverseTime(scale=2.0 / self.m, shift=1.0)

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.arange(1.0, samples + 1.0)

    def start(self, distance: float) -> float:
        """Return the largest possible risk of the start."""
        return bounded_start(distance, G2=self.G2, m=self.m, M=self.M)

    def raw(self, distance: float, samples: int) -> float:
        """Return 2 G2/(m(K+1))."""
        del distance
        return 2.0 * self.G2 / (self.m * (samples + 1.0))

    def factors(self, samples: int) -> Factors | None:
        """Return alpha = 0 and beta: the start is forgotten."""
        if samples == 0:
            return None  # the risk of the start is not a multiple of the squared distance
        return Factors(alpha=0.0, beta=self.raw(0.0, samples))

    def guess(self, distance: float, epsilon: float) -> float:
        """Return 2 G2/(m epsilon) - 1."""
        del distance
        return 2.0 * self.G2 / (self.m * epsilon) - 1.0

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative("WeightedBounded.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)


@dataclass(frozen=True, kw_only=True, slots=True)
class _WeightedBound(FormulaBound):
    """What the two bounds of the average with steps 2/(m(k+s)) and weights k+s-1 share."""

    m: float
    moment: SecondMoment
    M: float | None = None

    nature: ClassVar[Nature] = Nature.UPPER

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validation.positive(owner, m=self.m)
        if self.M is not None:
            validation.positive(owner, M=self.M)

    @property
    def rate(self) -> float:
        """-1; without noise at the minimiser -2."""
        return -1.0 if self.moment.A > 0.0 else -2.0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and the moments of a gradient; the steps and the weights."""
        return (
            f"the risk is {self.m:.4g}-strongly convex",
            *self.moment.sentences(),
            f"step k has length 2/(m(k + {self.shift:.4g})), the iterate before it weight k + {self.shift - 1.0:.4g}",
        )

    @property
    def shift(self) -> float:
        """The shift s = max(1, 4(B + mC)/m^2)."""
        return max(1.0, 4.0 * self.moment.per_distance(m=self.m) / self.m**2)  # theory 1.2

    @property
    def schedule(self) -> InverseTime:
        """The steps for which this bound holds."""
        return InverseTime(scale=2.0 / self.m, shift=self.shift)

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.arange(1.0, samples + 1.0) + (self.shift - 1.0)

    def start(self, distance: float) -> float:
        """Return the largest possible risk of the start."""
        return self.moment.start(distance, M=self.M)

    def raw(self, distance: float, samples: int) -> float:
        """Return alpha d0^2 + beta."""
        alpha, beta = self._alpha_beta(samples)
        return alpha * distance * distance + beta

    def factors(self, samples: int) -> Factors | None:
        """Return alpha, beta from one sample on."""
        if samples == 0:
            return None  # the risk of the start is not a multiple of the squared distance
        alpha, beta = self._alpha_beta(samples)
        return Factors(alpha=alpha, beta=beta)

    @abstractmethod
    def _alpha_beta(self, samples: int) -> tuple[float, float]:
        """Return alpha, beta at ``samples`` >= 1."""

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative(f"{type(self).__name__}.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightedClosedForm(_WeightedBound):
    """Closed-form bound on a weighted average of SGD (theory 1.2).

    b = [m s(s-1) d0^2 + 4 A K/m] / [K(K+2s-1)], s = max(1, 4(B + mC)/m^2) (theory 1.2).

    Proof. With t = k + s, one step gives p_k (2 mu - C mu^2) <= D_k - D_{k+1} + mu^2 (A + B D_k), p_k = <grad f(w_k), w_k - w*>.
    Spend p_k as (1 - C mu) (f_k - f* + (m/2) D_k) + (C mu/2) m D_k, and B D_k <= (2B/m)(f_k - f*): as t >= 4(B + mC)/m^2, half of
    f_k - f* is left, (1/2)(f_k - f*) <= (m/4)(t-2) D_k - (m/4) t D_{k+1} + A/(m t). Multiply by t - 1 and add up.

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    moment : SecondMoment
        Second moments of a row's gradient.
    M : float, optional
        Smoothness of the risk; used for zero samples only.

    Examples
    --------
    >>> bound = WeightedClosedForm(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0))
    >>> bound.shift, bound.smallest(1.5, 0.1, cap=1_000)
    (16.0, 63)
    """

    name: ClassVar[str] = "weighted average of SGD, closed form"

    def _alpha_beta(self, samples: int) -> tuple[float, float]:
        m, s = self.m, self.shift
        below = samples * (samples + 2.0 * s - 1.0)
        return m * s * (s - 1.0) / below, 4.0 * self.moment.A * samples / m / below

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the root of epsilon K^2 + (epsilon(2s-1) - 4A/m) K - m s(s-1) d0^2 = 0 (theory 1.2)."""
        m, s = self.m, self.shift
        half = 0.5 * ((2.0 * s - 1.0) - 4.0 * self.moment.A / (m * epsilon))
        product = m * s * (s - 1.0) * distance * distance / epsilon
        root = math.sqrt(half * half + product)
        return product / (half + root) if half > 0.0 else root - half


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighted(_WeightedBound):
    """Bound on a weighted average of SGD by its certificate, summed step by step (theory 1.2).

    Up to twice smaller than the telescoped :class:`WeightedClosedForm` of the same average. b = [P_K d0^2 + Q_K] / [K(K+2s-1)/2],
    with the running sums of theory 1.2 ("sharper computable certificate") in which the distances D_k are bounded by the
    last-iterate recursion; one pass serves every distance.

    Non-increasing for K >= 1. Proof for C = 0: apart from the one term with d0^2 of the first step, b is the running average,
    with weights k+s-1, of r_k = (A + B D_k)/(m t), t = k + s, where D_{k+1} = c D_k + A mu^2, c <= 1 + B mu^2. So
    (A + B D_{k+1})/(A + B D_k) <= 1 + B mu^2 = 1 + 4B/(m t)^2 <= 1 + 1/t, as t >= s >= 4B/m^2, and r_{k+1} <= r_k. With C the
    term e_k of step k is theta_k (m/4) c (t-2c)/((t-c)(t-1-c)) + theta_k B/(m(t-c)), c = C/m <= t/4; D_k rises by at most
    4A/(m t)^2 a step, which changes r_k by less than A/(m(t-c)(t+1-c)), by which its term A/(m(t-c)) falls.

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    moment : SecondMoment
        Second moments of a row's gradient.
    M : float, optional
        Smoothness of the risk; used for zero samples only.

    Examples
    --------
    >>> bound = Weighted(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0))
    >>> bound.smallest(1.5, 0.1, cap=1_000)
    51
    """

    name: ClassVar[str] = "weighted average of SGD, summed step by step"

    def _alpha_beta(self, samples: int) -> tuple[float, float]:
        s = self.shift
        numbers = CertificateNumbers(m=self.m, A=self.moment.A, B=self.moment.B, C=self.moment.C, shift=s)
        P, Q = certificate_table(numbers).at(samples)
        below = 0.5 * samples * (samples + 2.0 * s - 1.0)
        return P / below, Q / below
