"""Last-iterate SGD with steps 2/(m(k+s)): the telescoped closed form (theory 1.1d)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace.bounds.distance import DistanceBound
from driftpace.bounds.protocol import Factors
from driftpace.schedules import InverseTime


@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedForm(DistanceBound):
    """b(d0, K) = (M/2) [s(s-1) d0^2 + 4 A n/m^2] / [(n+s)(n+s-1)], n = K // batch steps of length 2/(m(k+s)).

    The shift s = max(2, 2B/m^2), and more where the noise model limits the first step. It is the recursion of
    :class:`~driftpace.bounds.LastIterate` bounded step by step: two to three times looser, inverted without a search.

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
        """The steps for which this bound is true."""
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
