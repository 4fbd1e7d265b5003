"""A drift that the user knows."""

from dataclasses import dataclass
from typing import ClassVar

from driftpace import validation
from driftpace.losses.protocol import Loss
from driftpace.records import DriftEstimate, Seen


@dataclass(frozen=True, kw_only=True, slots=True)
class NothingToRemember:
    """The state of an estimator that does not estimate."""


@dataclass(frozen=True, slots=True)
class KnownDrift:
    """rho as the user gave it: the best model moves at most that far in one period (section II-B of the paper).

    >>> drift = KnownDrift(0.5)
    >>> drift.estimate(drift.init(2)).upper
    0.5
    """

    rho: float

    held_out: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        validation.nonnegative("KnownDrift", rho=self.rho)

    def init(self, features: int) -> NothingToRemember:
        """Return the empty state."""
        del features
        return NothingToRemember()

    def update(self, state: NothingToRemember, seen: Seen, loss: Loss) -> NothingToRemember:
        """Return the state as it was."""
        del seen, loss
        return state

    def estimate(self, state: NothingToRemember) -> DriftEstimate:
        """Return what the user gave."""
        del state
        rho = float(self.rho)
        return DriftEstimate(value=rho, upper=rho, steps=0, measures="rho", account="given")
