"""Do not update past excess risk bounds (section II-E2 of the paper)."""

import math
from dataclasses import dataclass

from driftpace import validation
from driftpace.rules.decision import Track, decide, proven_start, risk_at
from driftpace.rules.protocol import RuleContext, RuleDecision, TrainedPeriod


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRisk:
    """State: the risk promised for the last model, or None before the first period."""

    risk: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DoNotUpdate:
    """K_n = min{K : b(sqrt(2 eps/m) + rho_upper, K) <= eps}: size as if the last model just met the target.

    The printed formula passes a squared distance to b; the distance is meant (theory I1). ``first_samples`` fixes the sizes
    of the first periods (K_1, K_2 in the paper); without it they are sized from the diameter. Zero samples is chosen when
    the last model still meets the target (theory I22). ``track`` is how a risk becomes a distance: "risk" as in the paper,
    "distance" without its loss of M/m (theory S1).

    The size assumes eps of the last model; what is promised does not: it is eps_n = b(reach(eps_{n-1}) + rho_upper, K_n).

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

    def size(self, state: LastRisk, terms: RuleContext) -> RuleDecision:
        """Return how many samples this period needs."""
        return decide(terms, state.risk, first_samples=self.first_samples, assumed_risk=terms.epsilon, track=self.track)

    def start(self, state: LastRisk, terms: RuleContext) -> float:
        """Return how far the last model may be from this period's minimiser."""
        return proven_start(terms, state.risk, period=terms.period, track=self.track)

    def close(self, state: LastRisk, terms: RuleContext, trained: TrainedPeriod) -> tuple[LastRisk, float]:
        """Return the state after the period, and the risk now promised: eps_n from eps_{n-1} as it was, not revised."""
        del state
        risk = math.inf if terms.bound is None else risk_at(terms.bound, trained.distance, trained.samples)
        return LastRisk(risk=risk), risk
