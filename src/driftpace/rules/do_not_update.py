"""Do not update past excess risk bounds (section II-E2 of the paper)."""

import math
from dataclasses import dataclass

from driftpace import validation
from driftpace.rules.decision import Track, decide, proven_start, risk_at
from driftpace.rules.protocol import RuleContext, RuleDecision, TrainedPeriod


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRisk:
    """State of :class:`DoNotUpdate`.

    Parameters
    ----------
    risk : float, optional
        Bound on the risk of the last model; None before the first period.
    """

    risk: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DoNotUpdate:
    """Size each period as if the last model just met the target (section II-E2 of the paper).

    K_n = min{K : b(sqrt(2 eps/m) + rho_upper, K) <= eps}. The printed formula passes a squared distance to b; the distance is meant
    (theory I1). Zero samples are chosen when the last model still meets the target (theory I22).

    The size assumes eps of the last model; the guaranteed risk does not: it is eps_n = b(reach(eps_{n-1}) + rho_upper, K_n).

    Parameters
    ----------
    first_samples : tuple[int, ...], default ()
        Sizes of the first periods (K_1, K_2 in the paper); without it they are sized from the diameter.
    track : {'risk', 'distance'}, default 'risk'
        How a risk becomes a distance: ``'risk'`` by strong convexity as in the paper, ``'distance'`` without its loss of
        M/m (theory S1).

    Examples
    --------
    >>> DoNotUpdate(first_samples=(50, 50)).init()
    LastRisk(risk=None)
    """

    first_samples: tuple[int, ...] = ()
    track: Track = "risk"

    def __post_init__(self) -> None:
        validation.choice("DoNotUpdate", ("risk", "distance"), track=self.track)
        object.__setattr__(
            self, "first_samples", validation.counts("DoNotUpdate", least=1, first_samples=self.first_samples)
        )

    def init(self) -> LastRisk:
        """Return the state before the first period."""
        return LastRisk()

    def size(self, state: LastRisk, context: RuleContext) -> RuleDecision:
        """Return how many samples this period needs."""
        return decide(
            context, state.risk, first_samples=self.first_samples, assumed_risk=context.epsilon, track=self.track
        )

    def start(self, state: LastRisk, context: RuleContext) -> float:
        """Return how far the last model may be from this period's minimiser."""
        return proven_start(context, state.risk, period=context.period, track=self.track)

    def close(self, state: LastRisk, context: RuleContext, trained: TrainedPeriod) -> tuple[LastRisk, float]:
        """Return the state after the period, and the risk now promised: eps_n from eps_{n-1} as it was, not revised."""
        del state
        risk = math.inf if context.bound is None else risk_at(context.bound, trained.distance, trained.samples)
        return LastRisk(risk=risk), risk
