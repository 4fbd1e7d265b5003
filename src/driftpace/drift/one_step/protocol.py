"""What a one-step estimate of drift must be able to do."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftpace.losses.protocol import Loss
from driftpace.records import Seen


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One estimate of one change: a length, or the square of one; ``error`` is its own standard error where it has one."""

    value: float
    error: float | None = None


@runtime_checkable
class OneStep(Protocol):
    """Estimates the change from one period to the next.

    A value is a length, or a square when ``squared``: a square may come out negative, because its noise has been subtracted
    rather than cut off, and squares are averaged before a root is taken. A value that needs a neighbouring period is not
    formed when that period had no rows; the state remembers the last period that had some.
    """

    @property
    def squared(self) -> bool:
        """Whether values are squares of lengths."""
        ...

    @property
    def measures(self) -> str:
        """What the length is: "rho", "distance", or "monitor" for a number that bounds neither."""
        ...

    @property
    def correctable(self) -> bool:
        """Whether the correction D_n of Theorem 1 is about this estimate."""
        ...

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be kept apart from training."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """The constants of the problem it reads."""
        ...

    def least_rows(self, features: int) -> int:
        """Return the fewest rows of a period from which an estimate can be formed."""
        ...

    @property
    def account(self) -> str:
        """A few words for people."""
        ...

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        ...

    def measure(self, state: Any, seen: Seen, loss: Loss) -> tuple[Any, Step | None]:
        """Return the state after one more period, and the estimate if one could be made."""
        ...
