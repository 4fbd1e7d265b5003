"""Step sizes of stochastic gradient descent.

A schedule gives the step mu_k of the k-th update, k = 1, 2, ... Steps never increase, which the bounds rely on: a risk
recursion with non-increasing steps rises at most once before it falls (docs/theory.md, section 1.1). A learner makes its
schedule from the constants m, A and B.
"""

from dataclasses import dataclass

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class InverseTime:
    """Steps mu_k = scale / (k + shift) (theory 1.1d, 1.3).

    Parameters
    ----------
    scale : float
        The scale: 2/m for steps 2/(m(k + s)), 1/m for steps 1/(mk).
    shift : float, default 0.0
        The shift s.

    Examples
    --------
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
    """Steps mu_k = step (theory 1.1e).

    Parameters
    ----------
    step : float
        The step.

    Examples
    --------
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
    """Steps mu_k = min(m D_k / (A + B D_k), limit), which minimise the final bound (theory 1.1f).

    D_1 is the squared initial distance and D_{k+1} = (1 - 2 m mu_k + B mu_k^2) D_k + A mu_k^2. At an initial distance of
    zero every step is zero.

    Parameters
    ----------
    m, A, B : float
        The constants of the problem.
    limit : float, default inf
        The largest step.

    Examples
    --------
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
        """Return mu_1 .. mu_updates for the initial ``distance``, which is required."""
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
