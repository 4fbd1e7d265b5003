"""Closed-form bounds on the last iterate of SGD: decreasing steps 2/(m(k+s)) and constant steps (theory 1.1d, 1.1e)."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.base import Factors, FormulaBound, Nature
from driftpace.bounds.noise import NoiseModel
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps, InverseTime


@dataclass(frozen=True, kw_only=True, slots=True)
class DistanceBound(FormulaBound):
    """Base class of last-iterate bounds: b = (M/2) times a bound on E||w - w*||^2 (theory 1.1, S1).

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    M : float
        Smoothness of the risk.
    noise : NoiseModel
        Noise model of one row's gradient.
    batch : int, default 1
        Rows in one step.
    """

    m: float
    M: float
    noise: NoiseModel
    batch: int = 1

    nature: ClassVar[Nature] = Nature.UPPER

    def __post_init__(self) -> None:
        owner = type(self).__name__
        validation.positive(owner, m=self.m, M=self.M)
        validation.count(owner, least=1, batch=self.batch)
        if self.m > self.M:
            raise ParameterError(f"must be at most M={self.M!r}; got {self.m!r}.", owner=owner, name="m")
        self._check()

    def _check(self) -> None:
        """Refuse what a subclass cannot work with."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """Strong convexity and smoothness, those of the noise model, and the steps."""
        return (
            f"the risk is {self.m:.4g}-strongly convex and {self.M:.4g}-smooth",
            *self.noise.conditions,
            f"{self.steps_in_words}, each step on {self.batch} fresh row{'s' if self.batch > 1 else ''}",
        )

    @property
    @abstractmethod
    def steps_in_words(self) -> str:
        """The step lengths, in words."""

    @property
    def batch_noise(self) -> NoiseModel:
        """The noise model of one step's mean gradient (theory 1.7)."""
        return self.noise.batched(self.batch)

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2, the bound on the risk of the start."""
        return 0.5 * self.M * distance * distance

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/M): the squared distance itself was bounded, by 2 risk/M (theory S1)."""
        validation.nonnegative(f"{type(self).__name__}.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.M)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedForm(DistanceBound):
    """Closed-form bound on the last iterate of SGD with steps 2/(m(k+s)) (theory 1.1d).

    b(d0, K) = (M/2) [s(s-1) d0^2 + 4 A n/m^2] / [(n+s)(n+s-1)], n = K // batch steps of length 2/(m(k+s)).

    The shift s = max(2, 2B/m^2), and more where the noise model limits the first step. It is the recursion of
    :class:`~driftpace.bounds.LastIterate` bounded step by step: two to three times looser, inverted without a search.

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    M : float
        Smoothness of the risk.
    noise : NoiseModel
        Noise model of one row's gradient.
    batch : int, default 1
        Rows in one step.

    Examples
    --------
    >>> from driftpace.bounds import NoiseModel
    >>> bound = ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> bound.shift, bound(1.5, 18)
    (8.0, 0.10578)
    >>> bound.smallest(1.5, 0.1, cap=1_000)
    19
    """

    name: ClassVar[str] = "last iterate of SGD, closed form"

    @property
    def rate(self) -> float:
        """-1; without noise at the minimiser -2."""
        return -1.0 if self.noise.A > 0.0 else -2.0

    @property
    def steps_in_words(self) -> str:
        """The step lengths, in words."""
        return f"the k-th step has length 2/(m(k + {self.shift:.4g}))"

    @property
    def shift(self) -> float:
        """The s of the steps 2/(m(k+s)): long enough for the telescope and for the step limit."""
        noise = self.batch_noise
        return max(2.0, 2.0 * noise.B / self.m**2, 2.0 / (self.m * noise.step_limit) - 1.0)  # theory 1.1d

    @property
    def schedule(self) -> InverseTime:
        """The steps for which this bound holds."""
        return InverseTime(scale=2.0 / self.m, shift=self.shift)

    def raw(self, distance: float, samples: int) -> float:
        """Return the closed form after ``samples`` // batch steps."""
        factors = self.factors(samples)
        return factors.alpha * distance * distance + factors.beta

    def factors(self, samples: int) -> Factors:
        """Return alpha, beta of the closed form."""
        noise, s, n = self.batch_noise, self.shift, samples // self.batch
        below = (n + s) * (n + s - 1.0)
        return Factors(alpha=0.5 * self.M * s * (s - 1.0) / below, beta=2.0 * self.M * noise.A * n / self.m**2 / below)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the larger root of the quadratic in the number of steps (theory 1.1d), in samples."""
        # n^2 + ((2s-1) - M c/(2 epsilon)) n + s(s-1) (1 - M d0^2/(2 epsilon)) = 0, c = 4A/m^2
        s, c = self.shift, 4.0 * self.batch_noise.A / self.m**2
        half = 0.5 * ((2.0 * s - 1.0) - 0.5 * self.M * c / epsilon)
        rest = s * (s - 1.0) * (1.0 - self.start(distance) / epsilon)
        if not math.isfinite(rest):
            return math.inf
        root = math.sqrt(max(0.0, half * half - rest))
        return self.batch * math.ceil(-rest / (half + root) if half > 0.0 else root - half)


def geometric(gain: float, added: float, steps: int) -> tuple[float, float]:
    """Return c^n and added (1 + c + ... + c^(n-1)), c = 1 - gain, n = ``steps``; infinity where they overflow.

    Examples
    --------
    >>> geometric(0.5, 0.1, 3)
    (0.125, 0.175)
    """
    if gain == 1.0:
        return float(steps == 0), added * (steps > 0)
    if gain == 0.0:
        return 1.0, added * steps
    forgotten = steps * math.log1p(-gain)
    if forgotten > 700.0:
        return math.inf, math.inf if added > 0.0 else 0.0
    return math.exp(forgotten), -added * math.expm1(forgotten) / gain


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstantStep(DistanceBound):
    """Bound on the last iterate of SGD with a constant step (theory 1.1e).

    b(d0, K) = (M/2) [c^n d0^2 + F (1 - c^n)], n = K // batch, c = max(0, 1 - 2 m mu + B mu^2), F = A mu^2/(1 - c).

    F = A mu/(2m - B mu) where c > 0. It falls geometrically and levels off at (M/2) F, so a target under that floor needs a
    shorter step, not more samples. A step of 2m/B or longer has c >= 1 and never gains: the start is then the best.

    Parameters
    ----------
    m : float
        Strong convexity of the risk.
    M : float
        Smoothness of the risk.
    noise : NoiseModel
        Noise model of one row's gradient.
    batch : int, default 1
        Rows in one step.
    step : float
        Length mu of every step.

    Examples
    --------
    >>> from driftpace.bounds import NoiseModel
    >>> bound = ConstantStep(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), step=0.1)
    >>> bound(1.5, 20), bound.floor(1.5)
    (0.03926, 0.005)
    >>> bound.smallest(1.5, 0.1, cap=1_000), bound.smallest(1.5, 0.004, cap=1_000)
    (15, None)
    """

    step: float

    def _check(self) -> None:
        validation.positive("ConstantStep", step=self.step)
        limit = self.batch_noise.step_limit
        if self.step > limit * (1.0 + 1e-12):
            raise ParameterError(
                f"must be at most {limit:.6g}, where the noise model ends; got {self.step!r}.",
                owner="ConstantStep",
                name="step",
            )

    name: ClassVar[str] = "last iterate of SGD, constant step"

    @property
    def rate(self) -> float:
        """0, for it levels off; without noise at the minimiser it falls faster than any power."""
        return -math.inf if self.batch_noise.A == 0.0 and self.gain > 0.0 else 0.0

    @property
    def steps_in_words(self) -> str:
        """The step lengths, in words."""
        return f"steps have length {self.step:.4g}"

    @property
    def schedule(self) -> ConstantSteps:
        """The steps for which this bound holds."""
        return ConstantSteps(step=self.step)

    @property
    def gain(self) -> float:
        """The part 1 - c of the squared distance that one step removes; zero or less when the step is too long."""
        return min(1.0, self.step * (2.0 * self.m - self.batch_noise.B * self.step))

    def floor(self, distance: float) -> float:
        """Return (M/2) F, or the start if that is less."""
        level = self.batch_noise.A * self.step**2 / self.gain if self.gain > 0.0 else math.inf
        return min(self.start(distance), 0.5 * self.M * level)

    @property
    def floor_reason(self) -> str:
        """Why it stays there."""
        if self.gain <= 0.0:
            return "the step is too long to gain anything, so the bound stays"
        return "with a constant step the bound levels off"

    def raw(self, distance: float, samples: int) -> float:
        """Return the formula after ``samples`` // batch steps."""
        (a, s), squared = self._after(samples // self.batch), distance * distance
        return 0.5 * self.M * ((a * squared if squared > 0.0 else 0.0) + s)

    def factors(self, samples: int) -> Factors:
        """Return alpha = (M/2) c^n and beta = (M/2) A mu^2 (1 + c + ... + c^(n-1))."""
        a, s = self._after(samples // self.batch)
        return Factors(alpha=0.5 * self.M * a, beta=0.5 * self.M * s)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return log((d0^2 - F)/(2 epsilon/M - F)) / log(1/c), in samples (theory 1.1e); infinity under the floor."""
        level = self.floor(distance)
        if level >= epsilon:
            return math.inf
        if self.gain == 1.0:
            return float(self.batch)
        steps = math.log((self.start(distance) - level) / (epsilon - level)) / -math.log1p(-self.gain)
        return self.batch * math.ceil(steps)

    def _after(self, steps: int) -> tuple[float, float]:
        return geometric(self.gain, self.batch_noise.A * self.step**2, steps)
