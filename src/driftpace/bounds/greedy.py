"""Last-iterate SGD with the steps that minimise the final bound (theory 1.1f)."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.bounds.base import Factors
from driftpace.bounds.closed_form import DistanceBound
from driftpace.schedules import GreedySteps


@dataclass(frozen=True, kw_only=True, slots=True)
class GreedyBound(DistanceBound):
    """What the bounds of greedy steps share: mu_k = min(m D_k/(A + B D_k), limit), tuned to the start distance.

    Every step shrinks D_k, and by the most that R allows; as R is increasing in D_k, no other sequence of steps ends lower.
    B is taken as m^2 at least, which is always true (||grad f|| >= m ||w - w*||). A last batch that is not whole is not used.
    """

    @property
    def spread(self) -> float:
        """B, or m^2 where a smaller number was given."""
        return max(self.batch_noise.B, self.m**2)

    @property
    def steps_in_words(self) -> str:
        """The step lengths, in words."""
        return "steps are greedy, tuned to a start distance that is at least the root mean square of the true one"

    @property
    def schedule(self) -> GreedySteps:
        """The steps for which this bound holds; ask it for steps(updates, distance)."""
        noise = self.batch_noise
        return GreedySteps(m=self.m, A=noise.A, B=self.spread, limit=noise.step_limit)

    @property
    def rate(self) -> float:
        """-1; without noise at the minimiser it falls faster than any power."""
        return -1.0 if self.batch_noise.A > 0.0 else -math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class Greedy(GreedyBound):
    """Bound on the last iterate of SGD with the steps that minimise it (theory 1.1f).

    b(d0, K) = (M/2) D_n, n = K // batch, D_{k+1} = D_k (1 - m^2 D_k/(A + B D_k)), D_0 = d0^2 (theory 1.1f).

    The leading term is A/(m^2 K), a quarter of that of steps 2/(m(k+s)) by their closed form, and no samples are asked
    for as d0 goes to zero. Values past the first few dozen steps are from a closed form of the recursion, on the safe side by
    a millionth of a step; so every number of samples costs about as much as a few.

    As a function of the distance the steps are tuned to it is concave, not affine, so :meth:`factors` is None;
    :meth:`tuned_factors` gives the affine bound for a start that is not where the steps were tuned to.

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
    >>> bound = Greedy(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> bound(1.4472136, 9), bound(1.4472136, 8)
    (0.09540, 0.12147)
    >>> bound.smallest(1.4472136, 0.1, cap=10**9), bound.smallest(1.4472136, 1e-10, cap=10**9)
    (9, 800000071)
    """

    name: ClassVar[str] = "last iterate of SGD, greedy steps"

    def raw(self, distance: float, samples: int) -> float:
        """Return the recursion's value after ``samples`` // batch steps."""
        from driftpace.bounds.kernels import greedy

        noise = self.batch_noise
        squared = greedy.squared_distance(
            float(distance) ** 2, samples // self.batch, self.m, noise.A, self.spread, noise.step_limit
        )
        return 0.5 * self.M * float(squared)

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the number of samples given by the closed form of the recursion."""
        from driftpace.bounds.kernels import greedy

        noise, target = self.batch_noise, 2.0 * epsilon / self.M
        steps = greedy.steps_to(float(distance) ** 2, target, self.m, noise.A, self.spread, noise.step_limit)
        return self.batch * math.ceil(steps) if steps < 1e18 else math.inf

    def tuned_factors(self, tuned: float, samples: int) -> Factors:
        """Return alpha, beta of a start d away when the steps are tuned to ``tuned``: b = alpha d^2 + beta, for any d.

        At d = tuned it is the bound itself, and a wrong distance costs exactly alpha (d^2 - tuned^2). O(samples).

        Examples
        --------
        >>> from driftpace.bounds import NoiseModel
        >>> bound = Greedy(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
        >>> line = bound.tuned_factors(1.0, 20)
        >>> bound(1.0, 20), line.alpha + line.beta, 4.0 * line.alpha + line.beta
        (0.010855, 0.010855, 0.022053)
        """
        from driftpace.bounds.kernels import greedy

        validation.nonnegative("Greedy.tuned_factors", tuned=tuned)
        validation.count("Greedy.tuned_factors", samples=samples)
        noise = self.batch_noise
        a, s = greedy.tuned(tuned**2, samples // self.batch, self.m, noise.A, self.spread, noise.step_limit)
        return Factors(alpha=0.5 * self.M * float(a), beta=0.5 * self.M * float(s))


@dataclass(frozen=True, kw_only=True, slots=True)
class GreedyClosedForm(GreedyBound):
    """Closed-form bound on the last iterate of SGD with greedy steps (theory 1.1f).

    b(d0, K) = (M/2) / (1/d0^2 + n m mu_1/d0^2), n = K // batch, mu_1 = min(m d0^2/(A + B d0^2), limit).

    Without a limit it is (M/2) / (1/d0^2 + n m^2/(A + B d0^2)) (theory 1.1f). A greedy step mu <= m D/(A + B D) has
    D - D' = 2 m mu D - mu^2 (A + B D) >= m mu D, so 1/D' - 1/D >= m mu/D' >= m mu/D, which is m^2/(A + B D) or m limit/D;
    both only grow as D falls.

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
    >>> bound = GreedyClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> bound(1.0, 20), bound.smallest(1.0, 0.1, cap=100)
    (0.08609, 17)
    """

    name: ClassVar[str] = "last iterate of SGD, greedy steps, closed form"
    rate: ClassVar[float] = -1.0

    def raw(self, distance: float, samples: int) -> float:
        """Return the closed form after ``samples`` // batch steps."""
        squared = distance * distance
        return 0.5 * self.M * squared / (1.0 + samples // self.batch * self._gain(squared))

    def guess(self, distance: float, epsilon: float) -> float:
        """Return the number of samples at which the closed form is epsilon."""
        gain = self._gain(distance * distance)
        steps = (self.start(distance) / epsilon - 1.0) / gain if gain > 0.0 else math.inf
        return self.batch * math.ceil(steps) if math.isfinite(steps) else math.inf

    def _gain(self, squared: float) -> float:
        noise = self.batch_noise
        return self.m * min(self.m * squared / (noise.A + self.spread * squared), noise.step_limit)
