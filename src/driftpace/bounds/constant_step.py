"""Last-iterate SGD with one step length: geometric forgetting down to a floor (theory 1.1e)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.distance import DistanceBound
from driftpace.bounds.protocol import Factors
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps


def geometric(gain: float, added: float, steps: int) -> tuple[float, float]:
    """Return c^n and added (1 + c + ... + c^(n-1)), c = 1 - gain, n = ``steps``; infinity where they overflow.

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
    """b(d0, K) = (M/2) [c^n d0^2 + F (1 - c^n)], n = K // batch, c = max(0, 1 - 2 m mu + B mu^2), F = A mu^2/(1 - c).

    F = A mu/(2m - B mu) where c > 0. It falls geometrically and levels off at (M/2) F, so a target under that floor needs a
    shorter step, not more samples. A step of 2m/B or longer has c >= 1 and never gains: the start is then the best.

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
        """The steps for which this bound is true."""
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
