"""What a rule must be able to do, and what it is told."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftpace.bounds import RiskBound
from driftpace.records import DriftEstimate, Sizing


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleContext:
    """Everything a rule is told when a period is sized or closed.

    ``bound`` is None while the constants it needs are not known, ``drift`` while too little was seen. ``diameter`` limits
    every distance; ``first_distance`` limits only that of the start to the minimiser of the first period that had rows.
    """

    period: int
    epsilon: float
    bound: RiskBound | None
    m: float
    drift: DriftEstimate | None
    diameter: float
    first_distance: float
    cap: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleDecision:
    """How many samples; what that promises from ``distance``, the proven start distance; and the range of answers.

    ``interval`` goes from the answer for the drift as estimated to the answer for its upper end.
    """

    sizing: Sizing
    distance: float
    risk: float
    interval: tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedPeriod:
    """What a closed period did: the samples it had for training, those of them that were used, and the distance relied on."""

    samples: int
    used: int
    distance: float


@runtime_checkable
class Rule(Protocol):
    """Bound + drift estimate -> the smallest number of samples that meets the target.

    Configuration is frozen and the state is passed: a frozen dataclass of numbers and tuples, of bounded size. The engine
    asks for the start distance that is proven (:meth:`start`) once before a period is fitted; the fit, the samples it
    uses and the risk that is promised all rely on that one number.
    """

    def init(self) -> Any:
        """Return the state before the first period."""
        ...

    def size(self, state: Any, terms: RuleContext) -> RuleDecision:
        """Return how many samples this period needs."""
        ...

    def start(self, state: Any, terms: RuleContext) -> float:
        """Return how far the last model may be from this period's minimiser; infinite when nothing limits it."""
        ...

    def close(self, state: Any, terms: RuleContext, trained: TrainedPeriod) -> tuple[Any, float]:
        """Return the state after a period, and the risk that is now promised."""
        ...
