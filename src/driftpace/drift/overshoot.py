"""How far above the truth the direct estimate settles."""

import math

from driftpace import validation


def overshoot_bound(
    *, rho: float, epsilon: float, m: float, M: float, scatter: float, sigma: float, samples: int
) -> float:
    """Return rho + 2(1 + M/m) sqrt(2 eps/m) + 4 M C/m + 2 sigma/(m sqrt(K)), at least limsup E rhohat_n (theory 3.5).

    For models whose excess risk settles at or below ``epsilon``, trained on at least ``samples`` rows a period, by a learner
    whose independent runs land within ``scatter`` of each other (root mean square); ``sigma`` bounds the spread of gradients.
    The minimiser must be interior. The overshoot falls as the root of epsilon, not as epsilon itself.

    >>> overshoot_bound(rho=1.0, epsilon=0.02, m=1.0, M=1.0, scatter=0.0, sigma=0.0, samples=100)
    1.8
    """
    _check("overshoot_bound", rho, epsilon, m, M, scatter, sigma, samples)
    floor = 2.0 * (1.0 + M / m) * math.sqrt(2.0 * epsilon / m)
    return rho + floor + 4.0 * M * scatter / m + 2.0 * sigma / (m * math.sqrt(samples))


def printed_overshoot_bound(
    *, rho: float, epsilon: float, m: float, M: float, scatter: float, sigma: float, samples: int
) -> float:
    """Return rho + (2M/m^1.5) eps + 2 M C/m + (1/m) sqrt(sigma/K), as printed; for comparison, it is not a bound.

    A root is missing on epsilon, on the gradient noise one is too many, and one of two neighbours is counted (theory I6-I8).

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
