"""What an estimator of drift must be able to do: frozen configuration, state passed in and out."""

from typing import Any, Protocol, runtime_checkable

from driftpace.losses.protocol import Loss
from driftpace.records import DriftEstimate, Seen


@runtime_checkable
class DriftEstimator(Protocol):
    """Estimates how far the best model moves in one period. Replaying a log is a fold of :meth:`update`.

    The state is a frozen dataclass of numbers, arrays, tuples and other such states: it is written to files as it is.
    Its size does not grow with the number of periods.
    """

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be kept apart from training (0 for none)."""
        ...

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        ...

    def update(self, state: Any, seen: Seen, loss: Loss) -> Any:
        """Return the state after one more closed period; a period without rows is passed in too."""
        ...

    def estimate(self, state: Any) -> DriftEstimate | None:
        """Return the estimate so far, or None when too little was seen."""
        ...
