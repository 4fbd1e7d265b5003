"""Frozen facts that cross the borders between packages."""

from typing import TYPE_CHECKING

from driftpace.lazy import lazy

if TYPE_CHECKING:
    from driftpace.records.assumption import Assumption, Verdict
    from driftpace.records.constants import Constants
    from driftpace.records.drift import DriftEstimate
    from driftpace.records.estimate import Estimate
    from driftpace.records.fit import Fit
    from driftpace.records.money import Money
    from driftpace.records.outcome import Outcome
    from driftpace.records.plan import Plan
    from driftpace.records.report import StepReport
    from driftpace.records.request import Request
    from driftpace.records.seen import Seen
    from driftpace.records.selected import Selected
    from driftpace.records.sizing import Sizing

__all__ = [
    "Assumption",
    "Constants",
    "DriftEstimate",
    "Estimate",
    "Fit",
    "Money",
    "Outcome",
    "Plan",
    "Request",
    "Seen",
    "Selected",
    "Sizing",
    "StepReport",
    "Verdict",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and is to refuse any other
    __getattr__ = lazy(
        __name__,
        {
            "Assumption": "assumption",
            "Constants": "constants",
            "DriftEstimate": "drift",
            "Estimate": "estimate",
            "Fit": "fit",
            "Money": "money",
            "Outcome": "outcome",
            "Plan": "plan",
            "Request": "request",
            "Seen": "seen",
            "Selected": "selected",
            "Sizing": "sizing",
            "StepReport": "report",
            "Verdict": "assumption",
        },
    )
