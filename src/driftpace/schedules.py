"""Step sizes of stochastic gradient descent.

A schedule gives the step mu_k of the k-th update, k = 1, 2, ... Steps never increase: the bounds rely on it (a risk
recursion with non-increasing steps rises at most once before it falls, theory 1.1).
Numbers are resolved: the learner that knows the constants m, A, B makes the schedule from them.
"""

from dataclasses import dataclass

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class InverseTime:
    """mu_k = scale / (k + shift): 2/(m(k+s)) with ``scale=2/m``, and 1/(mk) with ``scale=1/m, shift=0`` (theory 1.1d, 1.3).

    >>> InverseTime(scale=2.0, shift=8.0).steps(3)
    array([0.22222222, 0.2       , 0.18181818])
    """

    scale: float
    shift: float = 0.0

    def __post_init__(self) -> None:
        validation.positive("InverseTime", scale=self.scale)
        validation.nonnegative("InverseTime", shift=self.shift)

    def steps(self, updates: int, distance: float | None = None) -> FloatArray:
        """Return mu_1 .. mu_updates; ``distance`` is not used."""
        del distance
        return self.scale / (np.arange(1.0, updates + 1.0) + self.shift)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstantSteps:
    """mu_k = step (theory 1.1e).

    >>> ConstantSteps(step=0.1).steps(2)
    array([0.1, 0.1])
    """

    step: float

    def __post_init__(self) -> None:
        validation.positive("ConstantSteps", step=self.step)

    def steps(self, updates: int, distance: float | None = None) -> FloatArray:
        """Return mu_1 .. mu_updates; ``distance`` is not used."""
        del distance
        return np.full(updates, self.step)


@dataclass(frozen=True, kw_only=True, slots=True)
class GreedySteps:
    """mu_k = min(m D_k / (A + B D_k), limit): the steps that minimise the final bound (theory 1.1f).

    D_1 = distance^2 is the squared start distance and D_{k+1} = (1 - 2 m mu_k + B mu_k^2) D_k + A mu_k^2.
    With a start distance of zero there is nothing to gain, and every step is zero.

    >>> GreedySteps(m=1.0, A=0.16, B=4.0).steps(3, distance=1.0)
    array([0.24038462, 0.23749399, 0.23385042])
    """

    m: float
    A: float
    B: float
    limit: float = np.inf

    def __post_init__(self) -> None:
        validation.positive("GreedySteps", m=self.m)
        validation.nonnegative("GreedySteps", A=self.A, B=self.B)

    def steps(self, updates: int, distance: float | None = None) -> FloatArray:
        """Return mu_1 .. mu_updates tuned to the start ``distance``, which is needed."""
        if distance is None:
            distance = -1.0
        validation.nonnegative("GreedySteps.steps", distance=distance)
        squared, steps = distance**2, np.zeros(updates)
        for k in range(updates):
            noise = self.A + self.B * squared
            step = min(self.m * squared / noise, self.limit) if noise > 0.0 else 0.0
            steps[k] = step
            squared = max(0.0, 1.0 - 2.0 * self.m * step + self.B * step**2) * squared + self.A * step**2
        return steps


Schedule = InverseTime | ConstantSteps | GreedySteps
