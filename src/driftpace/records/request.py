"""What ``ask`` answers."""

from dataclasses import dataclass

from driftpace.records.assumption import Assumption
from driftpace.records.money import Money
from driftpace.records.outcome import Outcome
from driftpace.records.plan import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """How many fresh samples to bring this period, and why.

    ``samples`` is what is still to come: it shrinks as parts of the period are told, and 0 means enough.
    ``samples_theory`` is what the proven bound asks for the whole period. ``interval`` is the range of answers for the
    whole period between the drift as estimated and the drift at its upper end. ``status`` says whether the rows that came so
    far agree with what was foretold: "stable", "warning" or "drift" (None where nothing judges that).

    With a budget, ``cost`` is what ``samples`` add to the price of the period, ``money_left`` what is left of the budget before
    they are paid, and ``plan`` the plan from this period on, whose first entry is the whole period; it is None while too little is
    known to plan. Both ends of ``interval`` are then what the plan says.
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
    cost: Money | None = None
    money_left: Money | None = None
    plan: Plan | None = None
