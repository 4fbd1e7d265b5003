"""Last-iterate SGD with steps 2/(m(k+s)): the telescoped closed form (theory 1.1d)."""

import math
from dataclasses import dataclass

from driftpace import require
from driftpace.bounds.base import FormulaBound
from driftpace.bounds.noise import NoiseModel
from driftpace.bounds.protocol import Factors, Nature
from driftpace.schedules import InverseTime


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedForm(FormulaBound):
    """b(d0, K) = (M/2) [s(s-1) d0^2 + 4 A n/m^2] / [(n+s)(n+s-1)], n = K // batch steps of length 2/(m(k+s)).

    The shift s = max(2, 2B/m^2), and more where the noise model limits the first step. It is the recursion of
    :class:`~driftpace.bounds.LastIterate` bounded step by step: two to three times looser, inverted without a search.

    >>> bound = ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> bound.shift, bound(1.5, 18)
    (8.0, 0.10578)
    >>> bound.smallest(1.5, 0.1, cap=1_000)
    19
    """

    m: float
    M: float
    noise: NoiseModel
    batch: int = 1

    def __post_init__(self) -> None:
        require.positive("ClosedForm", m=self.m, M=self.M)
        require.count("ClosedForm", least=1, batch=self.batch)

    @property
    def name(self) -> str:
        """A few words for people."""
        return "last iterate of SGD, closed form"

    @property
    def nature(self) -> Nature:
        """An upper bound."""
        return Nature.UPPER

    @property
    def rate(self) -> float:
        """-1; without noise at the minimiser -2."""
        return -1.0 if self.noise.A > 0.0 else -2.0

    @property
    def conditions(self) -> tuple[str, ...]:
        """Those of the noise model, strong convexity and smoothness."""
        return (
            f"the risk is {self.m:.4g}-strongly convex and {self.M:.4g}-smooth",
            *self.noise.conditions,
            f"the k-th of the steps, each on {self.batch} fresh rows, has length 2/(m(k + {self.shift:.4g}))",
        )

    @property
    def shift(self) -> float:
        """The s of the steps 2/(m(k+s)): long enough for the telescope and for the step limit."""
        noise = self.noise.batched(self.batch)
        return max(2.0, 2.0 * noise.B / self.m**2, 2.0 / (self.m * noise.step_limit) - 1.0)  # theory 1.1d

    @property
    def schedule(self) -> InverseTime:
        """The steps for which this bound is true."""
        return InverseTime(scale=2.0 / self.m, shift=self.shift)

    def start(self, distance: float) -> float:
        """Return (M/2) d0^2."""
        return 0.5 * self.M * distance * distance

    def raw(self, distance: float, samples: int) -> float:
        """Return the closed form after ``samples`` // batch steps."""
        factors = self.factors(samples)
        return factors.alpha * distance * distance + factors.beta

    def factors(self, samples: int) -> Factors:
        """Return alpha, beta of the closed form."""
        noise, s, n = self.noise.batched(self.batch), self.shift, samples // self.batch
        below = (n + s) * (n + s - 1.0)
        return Factors(alpha=0.5 * self.M * s * (s - 1.0) / below, beta=2.0 * self.M * noise.A * n / self.m**2 / below)

    def reach(self, risk: float) -> float:
        """Return sqrt(2 risk/M): the bound is (M/2) times one on the squared distance (theory S1)."""
        require.nonnegative("ClosedForm.reach", risk=risk)
        return math.sqrt(2.0 * risk / self.M)

    def smallest(self, distance: float, epsilon: float, cap: int) -> int | None:
        """Return the least K <= cap that meets epsilon: the larger root of a quadratic, verified on both sides."""
        require.nonnegative("ClosedForm", distance=distance)
        if self.start(distance) <= epsilon:
            return 0
        # epsilon n^2 + (epsilon(2s-1) - M c/2) n + epsilon s(s-1) - M a/2 = 0, a = s(s-1) d0^2, c = 4A/m^2 (theory 1.1d)
        s, c = self.shift, 4.0 * self.noise.batched(self.batch).A / self.m**2
        half = 0.5 * ((2.0 * s - 1.0) - 0.5 * self.M * c / epsilon)
        rest = s * (s - 1.0) * (1.0 - self.start(distance) / epsilon)
        root = math.sqrt(max(0.0, half * half - rest))
        steps = -rest / (half + root) if half > 0.0 else root - half
        if not steps < cap:
            steps = float(cap)
        n = max(1, math.ceil(steps) - 1)
        while n * self.batch <= cap:
            if self.raw(distance, n * self.batch) <= epsilon:
                while n > 1 and self.raw(distance, (n - 1) * self.batch) <= epsilon:
                    n -= 1
                return n * self.batch
            n += 1
        return None
