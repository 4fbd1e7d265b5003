"""Last-iterate SGD by its exact recursion (theory 1.1), the bound that decides by default."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.constant_step import ConstantStep, geometric
from driftpace.bounds.distance import DistanceBound
from driftpace.bounds.protocol import Factors
from driftpace.bounds.table import SHELF, Numbers, Table, step_numbers
from driftpace.errors import ParameterError
from driftpace.schedules import ConstantSteps, InverseTime


@dataclass(frozen=True, kw_only=True, slots=True)
class LastIterate(DistanceBound):
    """b(d0, K) = (M/2) D_n after n = K/batch steps, D_{k+1} = max(0, 1 - 2 m mu_k + B mu_k^2) D_k + A mu_k^2, D_0 = d0^2.

    When the batch does not divide K, the last step has the rows that remain, with their larger A and B (theory 1.7); where
    that step would be longer than the noise model allows for so few rows, they are not used.

    The bound rises at most once before it falls. Write c for the factor and F = A mu^2/(1 - c) (infinite where c >= 1), so
    that D_{k+1} = c_k D_k + (1 - c_k) F_k and D_{k+1} <= D_k exactly if D_k >= F_k. F is A mu/(2m - B mu), or A mu^2 where
    the factor is 0, both increasing in mu, and steps never increase: so F_{k+1} <= F_k. After a first descent, D_{k+1} is a
    mean of D_k >= F_k and F_k, so D_{k+1} >= F_k >= F_{k+1}, and the next step descends too. Hence the least value up to K is
    the start's, the last whole batch's or the value at K; and a target that the start misses is met from some K on.

    >>> from driftpace.bounds import NoiseModel
    >>> bound = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0))
    >>> bound(1.4472136, 11), bound(1.4472136, 10)
    (0.08981, 0.10664)
    >>> bound.smallest(1.4472136, 0.1, cap=10**9), bound.smallest(1.4472136, 1e-6, cap=10**9)
    (11, 106666)
    """

    schedule: InverseTime | ConstantSteps

    def _check(self) -> None:
        if not isinstance(self.schedule, InverseTime | ConstantSteps):
            raise ParameterError(
                f"must be InverseTime or ConstantSteps (Greedy bounds the tuned steps); got {self.schedule!r}.",
                owner="LastIterate",
                name="schedule",
            )
        limit = self.batch_noise.step_limit
        if self._step(1) > limit * (1.0 + 1e-12):
            raise ParameterError(
                f"must have no step longer than {limit:.6g}, where the noise model ends; "
                f"its first is {self._step(1):.6g}.",
                owner="LastIterate",
                name="schedule",
            )

    name: ClassVar[str] = "last iterate of SGD, exact recursion"

    @property
    def rate(self) -> float:
        """-1 with steps c/(k + s), or -2mc where that is slower; 0 with a constant step, which levels off."""
        A = self.batch_noise.A
        if isinstance(self.schedule, ConstantSteps):
            return -math.inf if A == 0.0 and self._gain(self.schedule.step) > 0.0 else 0.0
        forgetting = 2.0 * self.m * self.schedule.scale
        return -forgetting if A == 0.0 else -min(1.0, forgetting)

    @property
    def steps_in_words(self) -> str:
        """The step lengths, in words."""
        if isinstance(self.schedule, ConstantSteps):
            return f"steps have length {self.schedule.step:.4g}"
        return f"the k-th step has length {self.schedule.scale:.4g}/(k + {self.schedule.shift:.4g})"

    def floor(self, distance: float) -> float:
        """Return where a constant step levels off, (M/2) F, or the start if that is less; 0 for falling steps."""
        if isinstance(self.schedule, InverseTime):
            return 0.0
        gain = self._gain(self.schedule.step)
        level = self.batch_noise.A * self.schedule.step**2 / gain if gain > 0.0 else math.inf
        return min(self.start(distance), 0.5 * self.M * level)

    @property
    def floor_reason(self) -> str:
        """Why it stays there."""
        if isinstance(self.schedule, ConstantSteps) and self._gain(self.schedule.step) <= 0.0:
            return "the step is too long to gain anything, so the bound stays"
        return "with a constant step the bound levels off"

    def raw(self, distance: float, samples: int) -> float:
        """Return the recursion's value at ``samples``; infinity where the rows that remain are too few for a step."""
        (a, s), squared = self._state(samples), distance * distance
        remembered = a * squared if squared > 0.0 else 0.0
        return 0.5 * self.M * (remembered + s)  # in the kernel's order, so that both round alike

    def factors(self, samples: int) -> Factors:
        """Return alpha = (M/2) a and beta = (M/2) s."""
        validation.count("LastIterate.factors", samples=samples)
        a, s = self._state(samples)
        return Factors(alpha=0.5 * self.M * a, beta=0.5 * self.M * s)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap with bound(distance, K) <= epsilon, or None: a bisection over checkpoints."""
        validation.distance("LastIterate.smallest", distance=distance)
        if self.start(distance) <= epsilon:
            return 0
        if cap < 1:
            return None
        steps = self._first_whole(distance, epsilon, -(-cap // self.batch))
        if steps is None or self.batch == 1:
            return steps
        samples = self._fewest_rows(distance, epsilon, steps)
        return samples if samples <= cap else None

    def candidates(self, samples: int) -> tuple[int, ...]:
        """Return the last whole batch and all the samples, where the least value can be (besides the start)."""
        rest = samples % self.batch
        return (samples - rest, samples) if rest else (samples,)

    def _fewest_rows(self, distance: float, epsilon: float, steps: int) -> int:
        misses, meets = (
            (steps - 1) * self.batch,
            steps * self.batch,
        )  # the more rows in the last batch, the lower the value
        while meets - misses > 1:
            middle = (misses + meets) // 2
            if self.raw(distance, middle) <= epsilon:
                meets = middle
            else:
                misses = middle
        return meets

    def _state(self, samples: int) -> tuple[float, float]:
        whole, rest = divmod(samples, self.batch)
        a, s = self._whole(whole)
        if rest == 0:
            return a, s
        noise, mu = self.noise.batched(rest), self._step(whole + 1)
        if mu > noise.step_limit * (1.0 + 1e-12):
            return math.inf, math.inf
        c = max(0.0, 1.0 - 2.0 * self.m * mu + noise.B * mu * mu)
        return c * a, c * s + noise.A * mu * mu

    def _whole(self, steps: int) -> tuple[float, float]:
        if isinstance(self.schedule, ConstantSteps):  # a geometric sum, which needs no table
            return geometric(self._gain(self.schedule.step), self.batch_noise.A * self.schedule.step**2, steps)
        return self._table().at(steps)

    def _first_whole(self, distance: float, epsilon: float, cap: int) -> int | None:
        if isinstance(self.schedule, ConstantSteps):
            steps = ConstantStep(m=self.m, M=self.M, noise=self.batch_noise, step=self.schedule.step)
            return steps.smallest(distance, epsilon, cap)
        return self._table().first(distance * distance, 0.5 * self.M, epsilon, cap)

    def _gain(self, mu: float) -> float:
        return min(1.0, mu * (2.0 * self.m - self.batch_noise.B * mu))

    def _step(self, k: int) -> float:
        scale, grow, shift = step_numbers(self.schedule)
        return scale / (grow * k + shift)

    def _table(self) -> Table:
        noise = self.batch_noise
        return SHELF.table(Numbers(self.m, noise.A, noise.B, *step_numbers(self.schedule)))
