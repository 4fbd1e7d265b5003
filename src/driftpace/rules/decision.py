"""What both rules share: the start distance, the first periods, the choice of zero samples, the smallest sample size.

The rules differ only in the risk they assume of the last model, which is a parameter.
"""

import math
from typing import Literal

from driftpace.bounds import RiskBound, smallest_samples
from driftpace.errors import ParameterError
from driftpace.records import DriftEstimate, Outcome, Sizing
from driftpace.rules.protocol import RuleContext, RuleDecision

Track = Literal["risk", "distance"]


def reach(bound: RiskBound, m: float, risk: float, track: Track) -> float:
    """Return how far from its minimiser a model may be whose excess risk is at most ``risk``.

    ``"risk"`` is the paper's route by strong convexity, sqrt(2 risk / m). ``"distance"`` asks the bound, which for bounds on
    the distance gives sqrt(2 risk / M): the paper's route loses a factor M/m in d0^2 at every step (theory S1).
    """
    if not math.isfinite(risk):
        return math.inf
    if track == "distance":
        return bound.reach(risk)
    return math.sqrt(2.0 * risk / m)


def start_distance(
    bound: RiskBound, m: float, risk: float, drift: DriftEstimate, *, rho: float, diameter: float, track: Track
) -> float:
    """Return d0 = reach(risk) + rho, at most the diameter (theory I1: b takes a distance, not its square).

    ``rho`` is the drift to assume, the estimate's value or its upper end. A drift that measures the distance itself is
    taken as it is (theory 3.3 P) unless periods passed since it was measured: each of them may have added one more step,
    and a step is at most that distance plus the reach of the model it was measured from.
    """
    if drift.measures == "rho":
        return min(reach(bound, m, risk, track) + rho, diameter)
    if drift.measures == "distance":
        grown = drift.age * (rho + reach(bound, m, risk, track)) if drift.age else 0.0
        return min(rho + grown, diameter)
    raise ParameterError(f"a rule's drift must measure 'rho' or 'distance'; got {drift.measures!r}.")


_ROUNDING = 1.0 + 1e-12  # sqrt and square do not cancel to the last bit


def meets(risk: float, epsilon: float) -> bool:
    """Whether a risk is within the target, up to the rounding of a square root and its square."""
    return risk <= epsilon * _ROUNDING


def smallest(bound: RiskBound, distance: float, epsilon: float, cap: int) -> Sizing:
    """Return the smallest number of samples that :func:`meets` the target."""
    return smallest_samples(bound, distance, epsilon * _ROUNDING, cap)


def risk_at(bound: RiskBound, distance: float, samples: int) -> float:
    """Return b(distance, samples); from an infinite distance that is infinite, unless the bound forgets its start."""
    if math.isfinite(distance):
        return bound(distance, samples)
    factors = bound.factors(samples)
    return factors.beta if factors is not None and factors.alpha == 0.0 else math.inf


def only_diameter_known(drift: DriftEstimate | None, period: int) -> bool:
    """Whether only the diameter bounds the start: period 1, and 2 while the drift is being learnt (A.4, theory I19)."""
    return drift is None or period <= (2 if drift.steps > 0 else 1)


def proven_start(context: RuleContext, risk: float | None, *, period: int, track: Track) -> float:
    """Return how far the start of a period may be, given the risk promised for the previous model it (None: there is none).

    In the first periods only the diameter is known (A.4); where the set has none, the drift must do as soon as there is one.
    """
    if context.bound is None:
        return math.inf
    widest = min(context.diameter, context.first_distance)
    if context.drift is None or risk is None or (only_diameter_known(context.drift, period) and math.isfinite(widest)):
        return widest
    return start_distance(
        context.bound, context.m, risk, context.drift, rho=context.drift.upper, diameter=context.diameter, track=track
    )


def decide(
    context: RuleContext, risk: float | None, *, first_samples: tuple[int, ...], assumed_risk: float, track: Track
) -> RuleDecision:
    """Return the decision of a period.

    ``risk`` is what is promised for the last model; from it zero samples is judged (theory I22). ``assumed_risk`` is what
    the rule assumes when it sizes: eps for do-not-update, max(eps_{n-1}, eps) for update-past.
    """
    bound, drift = context.bound, context.drift
    start = proven_start(context, risk, period=context.period, track=track)
    if bound is None:
        return _pilot(context, first_samples, start, "the constants of the problem are not known yet")
    if context.period <= len(first_samples):
        return _pilot(context, first_samples, start, "the size of the first periods is fixed")
    blind = drift is None or only_diameter_known(drift, context.period)
    if blind and not math.isfinite(start):
        return _pilot(context, first_samples, start, "nothing limits the start yet; a set of finite diameter would")
    if drift is None or blind:
        sizing = smallest(bound, start, context.epsilon, context.cap)
        return _decision(bound, sizing, start, least=sizing.samples)

    stale = risk_at(bound, start, 0)
    if meets(stale, context.epsilon):
        otherwise = _sized(context, bound, drift, assumed_risk, drift.upper, track)
        return _decision(bound, _enough(stale, context.epsilon, otherwise, bound), start, least=0)
    most = _sized(context, bound, drift, assumed_risk, drift.upper, track)
    least = _sized(context, bound, drift, assumed_risk, drift.value, track)
    if most is not None and most.samples == 0:  # a model that just met the target would do, but the last one does not
        most = least = smallest(bound, start, context.epsilon, context.cap) if math.isfinite(start) else None
    if most is None or least is None:
        return _pilot(context, first_samples, start, "nothing limits the start yet; a set of finite diameter would")
    return _decision(bound, most, start, least=least.samples)


def _sized(
    context: RuleContext, bound: RiskBound, drift: DriftEstimate, risk: float, rho: float, track: Track
) -> Sizing | None:
    distance = start_distance(bound, context.m, risk, drift, rho=rho, diameter=context.diameter, track=track)
    return smallest(bound, distance, context.epsilon, context.cap) if math.isfinite(distance) else None


def _decision(bound: RiskBound, sizing: Sizing, start: float, *, least: int) -> RuleDecision:
    return RuleDecision(
        sizing=sizing,
        distance=start,
        risk=risk_at(bound, start, sizing.samples),
        interval=(min(least, sizing.samples), sizing.samples),
    )


def _enough(stale: float, epsilon: float, otherwise: Sizing | None, bound: RiskBound) -> Sizing:
    aside = "" if otherwise is None else f"; re-fitting by the rule would take {otherwise.samples} samples"
    return Sizing(
        samples=0,
        risk=stale,
        risk_one_fewer=math.inf,
        outcome=Outcome.ENOUGH,
        reason=f"the last model is still within {stale:.3g} of the best possible loss, inside the target {epsilon:.3g}{aside}",
        decided_by=bound.name,
    )


def _pilot(context: RuleContext, first_samples: tuple[int, ...], start: float, reason: str) -> RuleDecision:
    samples = first_samples[min(context.period, len(first_samples)) - 1] if first_samples else 1
    risk = math.inf if context.bound is None else risk_at(context.bound, start, samples)
    sizing = Sizing(
        samples=samples,
        risk=risk,
        risk_one_fewer=math.inf,
        outcome=Outcome.MET if meets(risk, context.epsilon) else Outcome.PILOT,
        reason=reason,
        decided_by="first periods",
    )
    return RuleDecision(sizing=sizing, distance=start, risk=risk, interval=(samples, samples))
