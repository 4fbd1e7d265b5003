"""The smallest number of samples that a bound says is enough, with the reason."""

import math

from driftpace import validation
from driftpace.bounds.protocol import RiskBound
from driftpace.records import Outcome, Sizing


def smallest_samples(bound: RiskBound, distance: float, epsilon: float, cap: int = 10**9) -> Sizing:
    """Return K* = min{K <= cap : bound(distance, K) <= epsilon} and an account of it (theory 0 and 1.10).

    The outcome is MET; ENOUGH when no sample is needed; CAPPED when the cap came first; INFEASIBLE when the bound is known to
    stay above ``epsilon``: a bound with a method ``floor(distance)`` says so, and why in ``floor_reason``. Where a bound is the
    least of several, its method ``decided_by(distance, samples)`` names the one that decided.

    >>> from driftpace.bounds import ClosedForm, NoiseModel
    >>> bound = ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> answer = smallest_samples(bound, distance=1.5, epsilon=0.1)
    >>> answer.samples, answer.outcome.name, answer.risk <= 0.1 < answer.risk_one_fewer
    (19, 'MET', True)
    """
    validation.distance("smallest_samples", distance=distance)
    validation.positive("smallest_samples", epsilon=epsilon)
    validation.count("smallest_samples", cap=cap)
    met = bound.smallest(distance, epsilon, cap)
    samples = cap if met is None else met
    decider = getattr(bound, "decided_by", None)
    decided_by = bound.name if decider is None else str(decider(distance, samples))
    risk = bound(distance, samples)
    if met is None:
        outcome, sentence = _why_not(bound, distance, epsilon, cap, risk)
    elif met == 0:
        outcome, sentence = (
            Outcome.ENOUGH,
            f"a start {distance:.4g} from the minimiser has a risk of {risk:.4g} at most",
        )
    else:
        outcome, sentence = (
            Outcome.MET,
            f"{met} samples take the risk of a start {distance:.4g} away to {risk:.4g} at most",
        )
    return Sizing(
        samples=samples,
        risk=risk,
        risk_one_fewer=bound(distance, samples - 1) if samples > 0 else math.inf,
        outcome=outcome,
        reason=f"{sentence}, by {decided_by}",
        decided_by=decided_by,
    )


def _why_not(bound: RiskBound, distance: float, epsilon: float, cap: int, risk: float) -> tuple[Outcome, str]:
    floor = getattr(bound, "floor", None)
    level = 0.0 if floor is None else float(floor(distance))
    if level >= epsilon:
        why = getattr(bound, "floor_reason", "the bound levels off")
        return Outcome.INFEASIBLE, f"{why} at {level:.4g}, not under epsilon={epsilon:.4g}"
    return Outcome.CAPPED, f"{cap} samples take the risk to {risk:.4g} only, above epsilon={epsilon:.4g}"
