"""Uniform averages of the iterates of SGD, and robust stochastic approximation (theory 1.3).

In this file the model is the plain average of w_1 .. w_K, the points at which the K gradients were taken: w_1 is the start.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.bounds.noise import SecondMoment, bounded_start
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps, InverseTime
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class UniformAverage(FormulaBound):
    """Bound on the uniform average of SGD with a constant step (theory 1.3).

    b = d0^2/(2 v K) + A mu^2/(2 v), v = mu(1 - C mu/2), for constant steps mu <= 1/(B/m + C/2) (theory 1.3).

    With C = 0 it is d0^2/(2 mu K) + mu A/2. It levels off at A mu^2/(2v): a constant step never forgets the noise (in this
    analysis; for least squares see :class:`~driftpace.bounds.AveragedSquares`).

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    moment : SecondMoment
        Second moments of a row's gradient.
    step : float
        Length mu of every step.
    M : float, optional
        Smoothness of the risk; used for zero samples only.

    Examples
    --------
    >>> bound = UniformAverage(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0), step=0.1)
    >>> bound(1.5, 200), bound.floor(1.5), bound.smallest(1.5, 0.1, cap=1_000)
    (0.06425, 0.008, 123)
    """

    m: float
    moment: SecondMoment
    step: float
    M: float | None = None

    name: ClassVar[str] = "average of SGD with a constant step"
    nature: ClassVar[Nature] = Nature.UPPER

    def __post_init__(self) -> None:
        validation.positive("UniformAverage", m=self.m, step=self.step)
        limit = self.moment.B / self.m + 0.5 * self.moment.C  # 1/limit: B mu^2/(2v) <= m/2, and v > 0
        if self.step * limit > 1.0 + 1e-12 or self._gain <= 0.0:
            raise ParameterError(
                f"must be at most 1/(B/m + C/2)={1.0 / limit:.6g}; got {self.step!r}.",
                owner="UniformAverage",
                name="step",
            )

    @property
    def _gain(self) -> float:
        return self.step * (1.0 - 0.5 * self.moment.C * self.step)

    @property
    def _level(self) -> float:
        return 0.5 * self.moment.A * self.step**2 / self._gain

    @property
    def rate(self) -> float:
        """0: it levels off (-1 when there is no noise at the minimiser, where it falls to zero)."""
        return 0.0 if self.moment.A > 0.0 else -1.0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and the moments of a gradient; the step."""
        return (
            f"the risk is {self.m:.4g}-strongly convex",
            *self.moment.sentences(),
            f"every step has length {self.step:.4g}, and the model is the plain average of the iterates before each step",
        )

    @property
    def schedule(self) -> ConstantSteps:
        """The steps for which this bound holds."""
        return ConstantSteps(step=self.step)

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.ones(samples)

    def start(self, distance: float) -> float:
        """Return the largest possible risk of the start."""
        return self.moment.start(distance, M=self.M)

    def raw(self, distance: float, samples: int) -> float:
        """Return alpha d0^2 + beta."""
        return 0.5 * distance * distance / (self._gain * samples) + self._level

    def factors(self, samples: int) -> Factors | None:
        """Return 1/(2 v K) and A mu^2/(2 v)."""
        if samples == 0:
            return None  # the risk of the start is not a multiple of the squared distance
        return Factors(alpha=0.5 / (self._gain * samples), beta=self._level)

    def floor(self, distance: float) -> float:
        """Return where it levels off, or the risk of the start where that is less."""
        return min(self._level, self.start(distance))

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative("UniformAverage.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return alpha d0^2 K/(epsilon - beta); infinity under the floor."""
        room = epsilon - self._level
        return 0.5 * distance**2 / (self._gain * room) if room > 0.0 else math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class LogarithmicAverage(FormulaBound):
    """Bound on the uniform average of SGD with steps 1/(m k) and bounded gradients (theory 1.3).

    b = G2 (1 + ln K)/(2 m K) for steps 1/(m k) and E||g||^2 <= G2 (theory 1.3).

    f_k - f* <= (m/2)((k-1) D_k - k D_{k+1}) + G2/(2 m k), and the sum of 1/k is at most 1 + ln K. The start is forgotten.
    The weighted average (:class:`~driftpace.bounds.WeightedBounded`) has no logarithm and is smaller from K = 16 on.

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
    >>> bound = LogarithmicAverage(m=0.5, G2=4.0)
    >>> bound(10.0, 100), bound.smallest(10.0, 0.1, cap=1_000)
    (0.224207, 263)
    """

    m: float
    G2: float
    M: float | None = None

    name: ClassVar[str] = "average of SGD with steps 1/(mk)"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -1.0

    def __post_init__(self) -> None:
        validation.positive("LogarithmicAverage", m=self.m)
        validation.nonnegative("LogarithmicAverage", G2=self.G2)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and bounded gradients; the steps."""
        return (
            f"the risk is {self.m:.4g}-strongly convex",
            *SecondMoment(A=self.G2).sentences(),
            "step k has length 1/(mk), and the model is the plain average of the iterates before each step",
        )

    @property
    def schedule(self) -> InverseTime:
        """The steps for which this bound holds."""
        return InverseTime(scale=1.0 / self.m)

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.ones(samples)

    def start(self, distance: float) -> float:
        """Return the largest possible risk of the start."""
        return bounded_start(distance, G2=self.G2, m=self.m, M=self.M)

    def raw(self, distance: float, samples: int) -> float:
        """Return G2 (1 + ln K)/(2 m K), which never rises."""
        del distance
        return self.G2 * (1.0 + math.log(samples)) / (2.0 * self.m * samples)

    def factors(self, samples: int) -> Factors | None:
        """Return alpha = 0 and beta: the start is forgotten."""
        if samples == 0:
            return None  # the risk of the start is not a multiple of the squared distance
        return Factors(alpha=0.0, beta=self.raw(0.0, samples))

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity."""
        validation.nonnegative("LogarithmicAverage.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.m)


@dataclass(frozen=True, kw_only=True, slots=True)
class RobustAverage(FormulaBound):
    """Robust stochastic approximation: a uniform average that needs no strong convexity (theory 1.3).

    b = d0 sqrt(A/K) for constant steps d0/sqrt(A K), which minimise d0^2/(2 mu K) + mu A/2. The bound is linear in d0, so it does
    not factor as C.2. The learner must know K before it starts, and d0: a step for d when the true distance is d' costs
    (d'^2/d + d)/2 in place of d0. Use it when m cannot be trusted.

    Parameters
    ----------
    A : float
        Bound on E||g||^2 over the set.
    m : float, optional
        Strong convexity; without it :meth:`reach` is infinite.
    M : float, optional
        Smoothness of the risk; used for zero samples only.

    Examples
    --------
    >>> bound = RobustAverage(A=4.0)
    >>> bound(0.5, 0), bound(0.5, 100), bound.step(0.5, 100), bound.smallest(0.5, 0.1, cap=1_000)
    (1.0, 0.1, 0.025, 100)
    """

    A: float
    m: float | None = None
    M: float | None = None

    name: ClassVar[str] = "robust stochastic approximation"
    nature: ClassVar[Nature] = Nature.UPPER
    rate: ClassVar[float] = -0.5

    def __post_init__(self) -> None:
        validation.nonnegative("RobustAverage", A=self.A)
        if self.m is not None:
            validation.positive("RobustAverage", m=self.m)

    @property
    def conditions(self) -> tuple[str, ...]:
        """Convexity and bounded gradients; the step."""
        return (
            "the risk is convex, and the iterates are projected to a convex set that holds a minimiser",
            *SecondMoment(A=self.A).sentences(),
            "every step has length d0/sqrt(A K), and the model is the plain average of the iterates before each step",
        )

    def step(self, distance: float, samples: int) -> float:
        """Return d0/sqrt(A K), the step for which this bound is true."""
        validation.positive("RobustAverage.step", A=self.A)
        validation.count("RobustAverage.step", least=1, samples=samples)
        return distance / math.sqrt(self.A * samples)

    def weights(self, samples: int) -> FloatArray:
        """Return the weights of w_1 .. w_K, not normalised."""
        return np.ones(samples)

    def start(self, distance: float) -> float:
        """Return the largest possible risk of the start."""
        return SecondMoment(A=self.A).start(distance, M=self.M)

    def raw(self, distance: float, samples: int) -> float:
        """Return d0 sqrt(A/K)."""
        return distance * math.sqrt(self.A / samples)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/m), by strong convexity; infinity when m is not known."""
        validation.nonnegative("RobustAverage.reach", risk=risk)
        return math.inf if self.m is None else math.sqrt(2.0 * risk / self.m)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return A d0^2/epsilon^2."""
        return self.A * (distance / epsilon) ** 2
