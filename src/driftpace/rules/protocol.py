"""The protocol of sample-size rules and the records they exchange."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftpace.bounds import RiskBound
from driftpace.records import DriftEstimate, Sizing


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleContext:
    """What a rule knows when a period is sized or closed.

    Parameters
    ----------
    period : int
        Number of the period, from 1.
    epsilon : float
        Target for the excess risk.
    bound : RiskBound | None
        Risk bound; None while a constant it needs is unknown.
    m : float
        Strong convexity of the risk.
    drift : DriftEstimate | None
        Estimate of drift; None while there is too little data.
    diameter : float
        Diameter of the set; limits every distance.
    first_distance : float
        Limits the distance from the start to the minimiser of the first period that has rows.
    cap : int
        Largest sample size considered.
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
    """Sample size of a period and the risk it guarantees.

    Parameters
    ----------
    sizing : Sizing
        Sample size and its reason.
    distance : float
        Proven start distance.
    risk : float
        Bound on the excess risk from ``distance``.
    interval : tuple[int, int]
        Sample sizes for the drift as estimated and for its upper end.
    """

    sizing: Sizing
    distance: float
    risk: float
    interval: tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedPeriod:
    """What a closed period did.

    Parameters
    ----------
    samples : int
        Rows available for training.
    used : int
        Rows that were used.
    distance : float
        Start distance relied on.
    """

    samples: int
    used: int
    distance: float


@runtime_checkable
class Rule(Protocol):
    """Protocol of rules: from a bound and a drift estimate to the smallest sample size that meets the target.

    The configuration is frozen and the state is passed: a frozen dataclass of numbers and tuples, of bounded size. The engine
    asks for the proven start distance (:meth:`start`) once before a period is fitted; the fit, the samples it uses and
    the guaranteed risk all rely on that one number.
    """

    def init(self) -> Any:
        """Return the state before the first period."""
        ...

    def size(self, state: Any, context: RuleContext) -> RuleDecision:
        """Return how many samples this period needs."""
        ...

    def start(self, state: Any, context: RuleContext) -> float:
        """Return how far the last model may be from this period's minimiser; infinite when nothing limits it."""
        ...

    def close(self, state: Any, context: RuleContext, trained: TrainedPeriod) -> tuple[Any, float]:
        """Return the state after a period, and the risk that is now promised."""
        ...
