"""The smallest number of samples that a bound says is enough, with the reason."""

from typing import Protocol, runtime_checkable

from driftpace import require
from driftpace.bounds.protocol import RiskBound
from driftpace.records import Outcome, Sizing


@runtime_checkable
class LevelsOff(Protocol):
    """A bound that knows a value it never falls under (0 when there is none)."""

    def floor(self, distance: float) -> float:
        """Return the value."""
        ...


@runtime_checkable
class OneOfSeveral(Protocol):
    """A bound that is the least of several and knows which of them decided."""

    def decided_by(self, distance: float, samples: int) -> str:
        """Return the name of the bound that decided."""
        ...


def smallest_samples(bound: RiskBound, distance: float, epsilon: float, cap: int = 10**9) -> Sizing:
    """Return K* = min{K <= cap : bound(distance, K) <= epsilon} and an account of it (theory 0 and 1.10).

    The outcome is MET, ENOUGH when no sample is needed, CAPPED when the cap came first, and INFEASIBLE when the bound is
    known to level off above ``epsilon``
    (a bound with a method ``floor(distance)`` says so).

    >>> from driftpace.bounds import ClosedForm, NoiseModel
    >>> bound = ClosedForm(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0))
    >>> answer = smallest_samples(bound, distance=1.5, epsilon=0.1)
    >>> answer.samples, answer.outcome.name, answer.risk <= 0.1 < answer.risk_one_fewer
    (19, 'MET', True)
    """
    require.nonnegative("smallest_samples", distance=distance)
    require.positive("smallest_samples", epsilon=epsilon)
    require.count("smallest_samples", cap=cap)
    samples = bound.smallest(distance, epsilon, cap)
    if samples is None:
        outcome, reason = _why_not(bound, distance, epsilon, cap)
        samples = cap
    elif samples == 0:
        outcome, reason = Outcome.ENOUGH, f"a start {distance:.4g} from the minimiser already has risk <= {epsilon:.4g}"
    else:
        outcome, reason = (
            Outcome.MET,
            f"{samples} samples bring the bound from a start {distance:.4g} away to {epsilon:.4g}",
        )
    return Sizing(
        samples=samples,
        risk=bound(distance, samples),
        risk_one_fewer=bound(distance, samples - 1) if samples > 0 else float("inf"),
        outcome=outcome,
        reason=f"{reason} ({_decider(bound, distance, samples)})",
        decided_by=_decider(bound, distance, samples),
    )


def _decider(bound: RiskBound, distance: float, samples: int) -> str:
    return bound.decided_by(distance, samples) if isinstance(bound, OneOfSeveral) else bound.name


def _why_not(bound: RiskBound, distance: float, epsilon: float, cap: int) -> tuple[Outcome, str]:
    floor = bound.floor(distance) if isinstance(bound, LevelsOff) else 0.0
    if floor > epsilon:
        return Outcome.INFEASIBLE, f"the bound levels off at {floor:.4g}, above epsilon={epsilon:.4g}"
    return Outcome.CAPPED, f"{cap} samples bring the bound to {bound(distance, cap):.4g}, above epsilon={epsilon:.4g}"
