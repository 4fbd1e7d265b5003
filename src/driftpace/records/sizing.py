"""The answer to: how many samples?"""

from dataclasses import dataclass

from driftpace.records.outcome import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizing:
    """How many samples a bound asks for, and why.

    ``risk`` is the bound at ``samples`` and ``risk_one_fewer`` the bound at one sample less (infinite at zero samples), so
    a reader can see that the number is the smallest. When the target cannot be met, ``samples`` is the cap.
    """

    samples: int
    risk: float
    risk_one_fewer: float
    outcome: Outcome
    reason: str
    decided_by: str
