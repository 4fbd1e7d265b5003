"""Sample-size rules of the paper: from a bound and a drift estimate to the smallest sample size that meets the target."""

from driftpace.rules.decision import meets
from driftpace.rules.do_not_update import DoNotUpdate
from driftpace.rules.known_drift import KnownSizes, risk_sequence, sizes_when_known
from driftpace.rules.protocol import Rule, RuleContext, RuleDecision, TrainedPeriod
from driftpace.rules.update_past import UpdatePast

__all__ = [
    "DoNotUpdate",
    "KnownSizes",
    "Rule",
    "RuleContext",
    "RuleDecision",
    "TrainedPeriod",
    "UpdatePast",
    "meets",
    "risk_sequence",
    "sizes_when_known",
]
