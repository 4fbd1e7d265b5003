"""How many samples: a bound and a drift estimate in, the smallest number that meets the target out."""

from driftpace.rules.deciding import meets
from driftpace.rules.do_not_update import DoNotUpdate
from driftpace.rules.known import KnownSizes, risk_sequence, sizes_when_known
from driftpace.rules.protocol import Decision, Rule, Terms, Trained
from driftpace.rules.update_past import UpdatePast

__all__ = [
    "Decision",
    "DoNotUpdate",
    "KnownSizes",
    "Rule",
    "Terms",
    "Trained",
    "UpdatePast",
    "meets",
    "risk_sequence",
    "sizes_when_known",
]
