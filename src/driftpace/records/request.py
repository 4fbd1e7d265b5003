"""What ``ask`` answers."""

from dataclasses import dataclass

from driftpace.records.assumption import Assumption
from driftpace.records.outcome import Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """How many fresh samples to bring this period, and why.

    ``samples`` is what is still to come: it shrinks as parts of the period are told, and 0 means enough.
    ``samples_theory`` is what the proven bound asks for the whole period. ``interval`` is the range of answers for the
    whole period between the drift as estimated and the drift at its upper end. ``status`` says whether the rows that came so
    far agree with what was foretold: "stable", "warning" or "drift" (None where nothing judges that).
    """

    period: int
    samples: int
    samples_theory: int
    interval: tuple[int, int]
    epsilon: float
    risk_bound: float
    outcome: Outcome
    reason: str
    assumptions: tuple[Assumption, ...]
    status: str | None = None
