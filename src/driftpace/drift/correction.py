"""The correction D_n for gradients on training rows, and the overshoot of the direct estimate (theory 3.1, 3.5, I3)."""

import math
from dataclasses import dataclass

from driftpace import validation
from driftpace.drift.one_step.base import strong_convexity
from driftpace.records import PeriodData


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectionState:
    """The last period's C and K^-1/2, and the sum of the terms of D_n over ``count`` one-step estimates."""

    scatter: float = math.inf
    root: float = math.inf
    total: float = 0.0
    count: int = 0

    def add(self, seen: PeriodData, *, counted: bool) -> "CorrectionState":
        """Return the state after one more period with rows; ``counted`` when it gave a one-step estimate.

        The term is (1 + M/m)(C_i + C_{i-1}) + (sigma/m)(K_i^-1/2 + K_{i-1}^-1/2). The printed sqrt(sigma/K) has the wrong units.

        Examples
        --------
        >>> CorrectionState().mean
        0.0
        """
        scatter, root = seen.scatter, 1.0 / math.sqrt(len(seen.y))
        if not counted:
            return CorrectionState(scatter=scatter, root=root, total=self.total, count=self.count)
        m = strong_convexity("Drift(correction=True)", seen.constants)
        M, sigma = seen.constants.safe("M"), seen.constants.safe("sigma")
        term = (1.0 + M / m) * (scatter + self.scatter) + (sigma / m) * (root + self.root)
        return CorrectionState(scatter=scatter, root=root, total=self.total + term, count=self.count + 1)

    @property
    def mean(self) -> float:
        """D_n; zero before the first term."""
        return self.total / self.count if self.count else 0.0


def overshoot_bound(
    *, rho: float, epsilon: float, m: float, M: float, scatter: float, sigma: float, samples: int
) -> float:
    """Bound the level at which the direct estimate settles (theory 3.5).

    rho + 2(1 + M/m) sqrt(2 eps/m) + 4 M C/m + 2 sigma/(m sqrt(K)) is at least limsup E rhohat_n. The minimiser must be interior.
    The overshoot decreases as the root of epsilon, not as epsilon itself.

    Parameters
    ----------
    rho : float
        Distance the minimiser moves in one period.
    epsilon : float
        Excess risk at which the models settle.
    m : float
        Strong convexity of the risk.
    M : float
        Smoothness of the risk.
    scatter : float
        Root mean square distance between independent runs of the learner.
    sigma : float
        Root of the bound on the variance of a gradient.
    samples : int
        Training rows per period.

    Returns
    -------
    float
        Upper bound on the limit of the mean estimate.

    Examples
    --------
    >>> overshoot_bound(rho=1.0, epsilon=0.02, m=1.0, M=1.0, scatter=0.0, sigma=0.0, samples=100)
    1.8
    """
    _check("overshoot_bound", rho, epsilon, m, M, scatter, sigma, samples)
    floor = 2.0 * (1.0 + M / m) * math.sqrt(2.0 * epsilon / m)
    return rho + floor + 4.0 * M * scatter / m + 2.0 * sigma / (m * math.sqrt(samples))


def printed_overshoot_bound(
    *, rho: float, epsilon: float, m: float, M: float, scatter: float, sigma: float, samples: int
) -> float:
    """Evaluate the overshoot formula as printed in the paper, which is not a bound; for comparison.

    rho + (2M/m^1.5) eps + 2 M C/m + (1/m) sqrt(sigma/K). A root is missing on epsilon, one is superfluous on the gradient noise,
    and only one of two neighbours is counted (theory I6-I8).

    Parameters
    ----------
    rho : float
        Distance the minimiser moves in one period.
    epsilon : float
        Excess risk at which the models settle.
    m : float
        Strong convexity of the risk.
    M : float
        Smoothness of the risk.
    scatter : float
        Root mean square distance between independent runs of the learner.
    sigma : float
        Root of the bound on the variance of a gradient.
    samples : int
        Training rows per period.

    Returns
    -------
    float
        The printed formula.

    Examples
    --------
    >>> printed_overshoot_bound(rho=1.0, epsilon=0.02, m=1.0, M=1.0, scatter=0.0, sigma=0.0, samples=100)
    1.04
    """
    _check("printed_overshoot_bound", rho, epsilon, m, M, scatter, sigma, samples)
    return rho + 2.0 * M / (m * math.sqrt(m)) * epsilon + 2.0 * M * scatter / m + math.sqrt(sigma / samples) / m


def _check(
    owner: str, rho: float, epsilon: float, m: float, M: float, scatter: float, sigma: float, samples: int
) -> None:
    validation.positive(owner, m=m, M=M)
    validation.nonnegative(owner, rho=rho, epsilon=epsilon, scatter=scatter, sigma=sigma)
    validation.count(owner, least=1, samples=samples)
