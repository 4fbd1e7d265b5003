"""What the paper's two rules share: the first periods, the choice of zero, and the smallest number of samples.

They differ only in the risk they assume of the last model, which is handed in.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from driftpace.bounds import RiskBound, smallest_samples
from driftpace.records import Outcome, Sizing
from driftpace.rules.distance import Track, start_distance
from driftpace.rules.protocol import Decision, Terms

_ROUNDING = 1.0 + 1e-12  # sqrt and square do not cancel to the last bit; a target is met up to that


@dataclass(frozen=True, kw_only=True, slots=True)
class Last:
    """The last model: the risk promised for it (None before the first), and the periods without samples since."""

    risk: float | None = None
    skipped: int = 0


def is_blind(terms: Terms, period: int) -> bool:
    """Whether only the diameter bounds the start: period 1, and 2 while the drift is being learnt (A.4, theory I19)."""
    learning = terms.drift is None or terms.drift.steps > 0
    return terms.drift is None or period <= (2 if learning else 1)


Risk = Callable[[RiskBound, float, int], float]


def risk_at(bound: RiskBound, distance: float, samples: int) -> float:
    """Return b(distance, samples), infinite when the distance is: then nothing is promised."""
    return bound(distance, samples) if math.isfinite(distance) else math.inf


def next_risk(terms: Terms, last: Last, samples: int, *, period: int, track: Track, risk: Risk = risk_at) -> float:
    """Return eps_n = b(d0, K_n) after a period trained on ``samples`` samples; infinite when nothing can be said."""
    if terms.bound is None:
        return math.inf
    if terms.drift is None or is_blind(terms, period) or last.risk is None:
        return risk(terms.bound, terms.diameter, samples)
    distance = start_distance(
        terms.bound,
        terms.m,
        last.risk,
        terms.drift,
        rho=terms.drift.upper,
        skipped=last.skipped,
        diameter=terms.diameter,
        track=track,
    )
    return risk(terms.bound, distance, samples)


def decide(terms: Terms, last: Last, *, first_samples: tuple[int, ...], assumed_risk: float, track: Track) -> Decision:
    """Return the decision of a period.

    Zero samples is judged from ``last`` (theory I22); ``assumed_risk`` is what the rule assumes of the last model when it
    sizes: eps for do-not-update, max(eps_{n-1}, eps) for update-past.
    """
    bound, drift = terms.bound, terms.drift
    if bound is None:
        return _pilot(terms, first_samples, math.inf, "the constants of the problem are not known yet")
    blind = drift is None or is_blind(terms, terms.period)
    if terms.period <= len(first_samples) or (blind and not math.isfinite(terms.diameter)):
        return _pilot(terms, first_samples, terms.diameter, "the size of the first periods is fixed")
    if drift is None or blind:
        sizing = smallest_samples(bound, terms.diameter, terms.epsilon, terms.cap)
        return Decision(sizing=sizing, distance=terms.diameter, interval=(sizing.samples, sizing.samples))

    def distance(risk: float, rho: float) -> float:
        return start_distance(
            bound, terms.m, risk, drift, rho=rho, skipped=last.skipped, diameter=terms.diameter, track=track
        )

    start = distance(assumed_risk, drift.upper)
    if not math.isfinite(start):
        return _pilot(terms, first_samples, start, "nothing limits the start yet; a set of finite diameter would")
    most = smallest_samples(bound, start, terms.epsilon, terms.cap)
    if last.risk is not None and math.isfinite(last.risk):
        still = distance(last.risk, drift.upper)
        stale = risk_at(bound, still, 0)
        if stale <= terms.epsilon * _ROUNDING:
            return Decision(sizing=_enough(stale, terms.epsilon, most, bound), distance=still, interval=(0, 0))
    least = smallest_samples(bound, distance(assumed_risk, drift.value), terms.epsilon, terms.cap)
    return Decision(sizing=most, distance=start, interval=(min(least.samples, most.samples), most.samples))


def _enough(stale: float, epsilon: float, otherwise: Sizing, bound: RiskBound) -> Sizing:
    return Sizing(
        samples=0,
        risk=stale,
        risk_one_fewer=math.inf,
        outcome=Outcome.ENOUGH,
        reason=(
            f"the last model is still within {stale:.3g} of the best possible loss, inside the target {epsilon:.3g}; "
            f"re-fitting by the rule would take {otherwise.samples} samples"
        ),
        decided_by=bound.name,
    )


def _pilot(terms: Terms, first_samples: tuple[int, ...], distance: float, reason: str) -> Decision:
    samples = first_samples[min(terms.period, len(first_samples)) - 1] if first_samples else 1
    risk = math.inf if terms.bound is None else risk_at(terms.bound, distance, samples)
    sizing = Sizing(
        samples=samples,
        risk=risk,
        risk_one_fewer=math.inf,
        outcome=Outcome.MET if risk <= terms.epsilon else Outcome.PILOT,
        reason=reason,
        decided_by="first periods",
    )
    return Decision(sizing=sizing, distance=distance, interval=(samples, samples))
