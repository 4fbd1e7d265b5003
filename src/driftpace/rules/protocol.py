"""What a rule must be able to do, and what it is told."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftpace.bounds import RiskBound
from driftpace.records import DriftEstimate, Sizing


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """Everything a rule is told when a period is sized or closed.

    ``bound`` is None while the constants it needs are not known. ``drift`` is None while too little was seen.
    """

    period: int
    epsilon: float
    bound: RiskBound | None
    m: float
    drift: DriftEstimate | None
    diameter: float
    cap: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """How many samples, from what start distance, and the range of answers the drift's uncertainty leaves open."""

    sizing: Sizing
    distance: float
    interval: tuple[int, int]


@runtime_checkable
class Rule(Protocol):
    """Bound + drift estimate -> the smallest number of samples that meets the target.

    Configuration is frozen and the state is passed: a frozen dataclass of numbers and tuples, of bounded size.
    """

    def init(self) -> Any:
        """Return the state before the first period."""
        ...

    def size(self, state: Any, terms: Terms) -> Decision:
        """Return how many samples this period needs."""
        ...

    def close(self, state: Any, terms: Terms, samples: int) -> tuple[Any, float]:
        """Return the state after a period in which ``samples`` trained the model, and the risk that is now promised."""
        ...
