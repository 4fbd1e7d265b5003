"""Sample sizes and risk bounds under a known drift (section II-B of the paper)."""

from collections.abc import Sequence
from dataclasses import dataclass

from driftpace import validation
from driftpace.bounds import RiskBound
from driftpace.records import Sizing
from driftpace.rules.decision import Track, reach, risk_at, smallest


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownSizes:
    """Sample sizes under a known drift (section II-B of the paper).

    Parameters
    ----------
    first : Sizing
        First period.
    steady : Sizing
        Every later period, K*.
    """

    first: Sizing
    steady: Sizing


def sizes_when_known(
    bound: RiskBound, *, rho: float, epsilon: float, m: float, diameter: float, cap: int = 10**9, track: Track = "risk"
) -> KnownSizes:
    """Compute the sample sizes of the first and of every later period under a known drift.

    K_1 = min{K : b(diam, K) <= eps} and K* = min{K : b(sqrt(2 eps/m) + rho, K) <= eps}. K may be 0 (theory I22): without drift, a
    model that meets the target needs no fresh samples.

    Parameters
    ----------
    bound : RiskBound
        Risk bound.
    rho : float
        Drift per period.
    epsilon : float
        Target for the excess risk.
    m : float
        Strong convexity of the risk.
    diameter : float
        Diameter of the set; limits every distance.
    cap : int, default 1000000000
        Largest sample size considered.
    track : {'risk', 'distance'}, default 'risk'
        How a risk becomes a distance: ``'risk'`` by strong convexity as in the paper, ``'distance'`` without its loss of
        M/m (theory S1).

    Returns
    -------
    KnownSizes
        Both sizes with their reasons.

    Examples
    --------
    >>> from driftpace.bounds import LastIterate, NoiseModel
    >>> from driftpace.schedules import InverseTime
    >>> noise = NoiseModel.second_moment(A=0.16, B=4.0)
    >>> bound = LastIterate(m=1.0, M=1.0, noise=noise, schedule=InverseTime(scale=2.0, shift=8.0))
    >>> sizes = sizes_when_known(bound, rho=1.0, epsilon=0.1, m=1.0, diameter=20.0)
    >>> sizes.steady.samples
    11
    """
    validation.nonnegative("sizes_when_known", rho=rho)
    validation.positive("sizes_when_known", m=m, epsilon=epsilon, diameter=diameter)
    validation.choice("sizes_when_known", ("risk", "distance"), track=track)
    steady = min(reach(bound, m, epsilon, track) + rho, diameter)
    return KnownSizes(first=smallest(bound, diameter, epsilon, cap), steady=smallest(bound, steady, epsilon, cap))


def risk_sequence(
    bound: RiskBound,
    samples: Sequence[int],
    *,
    rho: float,
    m: float,
    diameter: float,
    given: int = 1,
    track: Track = "risk",
) -> list[float]:
    """Compute the risk bounds of a sequence of periods under a known drift (A.4).

    eps_n = b(sqrt(2 eps_{n-1}/m) + rho, K_n), the first ``given`` of them b(diam, K_n).

    Parameters
    ----------
    bound : RiskBound
        Risk bound.
    samples : Sequence[int]
        Sample size of each period.
    rho : float
        Drift per period.
    m : float
        Strong convexity of the risk.
    diameter : float
        Diameter of the set; limits every distance.
    given : int, default 1
        Number of first periods whose start is bounded by the diameter alone.
    track : {'risk', 'distance'}, default 'risk'
        How a risk becomes a distance: ``'risk'`` by strong convexity as in the paper, ``'distance'`` without its loss of
        M/m (theory S1).

    Returns
    -------
    list[float]
        eps_1, eps_2, ...

    Examples
    --------
    >>> from driftpace.bounds import LastIterate, NoiseModel
    >>> from driftpace.schedules import InverseTime
    >>> noise = NoiseModel.second_moment(A=0.16, B=4.0)
    >>> bound = LastIterate(m=1.0, M=1.0, noise=noise, schedule=InverseTime(scale=2.0, shift=8.0))
    >>> [round(risk, 3) for risk in risk_sequence(bound, [200, 11, 11, 11], rho=1.0, m=1.0, diameter=20.0)]
    [0.002, 0.052, 0.076, 0.083]
    """
    validation.nonnegative("risk_sequence", rho=rho)
    validation.positive("risk_sequence", m=m)
    validation.count("risk_sequence", least=1, given=given)
    validation.choice("risk_sequence", ("risk", "distance"), track=track)
    risks: list[float] = []
    for count in samples:
        known = len(risks) >= given
        distance = min(reach(bound, m, risks[-1], track) + rho, diameter) if known else diameter
        risks.append(risk_at(bound, distance, count))
    return risks
