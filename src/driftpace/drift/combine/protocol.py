"""What a combination of one-step estimates must be able to do."""

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from driftpace.drift.one_step.protocol import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class Combined:
    """One-step estimates, combined.

    ``mean`` is the average of ``count`` values, squares of lengths when ``squared``; ``steps`` one-step estimates are behind
    it (n - 1 in the paper) and each value saw ``window`` of them. ``weights`` is sum_j b_j (B.5) and ``stretch`` the most by
    which a value can exceed the largest of its one-step estimates. ``autocovariances`` are those of the values;
    ``own_error`` is the standard error of the mean by the one-step estimates' own account, None when they have none.
    """

    mean: float
    count: int
    steps: int
    squared: bool
    window: int
    weights: float
    stretch: float
    autocovariances: tuple[float, ...]
    own_error: float | None

    @property
    def value(self) -> float:
        """The length: the mean, or the root of the mean square; never below zero."""
        return self.raised(0.0)

    def raised(self, amount: float) -> float:
        """Return the length when ``amount`` is added to the mean, in the mean's own units."""
        raised = max(0.0, self.mean + amount)
        return math.sqrt(raised) if self.squared else raised

    @property
    def inflation(self) -> float:
        """(n-1)/(n-W) sum_j b_j, by which D_n and t_n grow when windows are combined (Theorem 2)."""
        return self.steps / (self.steps + 1 - self.window) * self.weights


@runtime_checkable
class Combine(Protocol):
    """Combines one-step estimates; its state does not grow with their number."""

    @property
    def account(self) -> str:
        """A few words for people."""
        ...

    def init(self) -> Any:
        """Return the state before the first estimate."""
        ...

    def add(self, state: Any, step: Step, *, squared: bool) -> Any:
        """Return the state with one more estimate."""
        ...

    def combined(self, state: Any, *, squared: bool) -> Combined | None:
        """Return the combination so far, or None before there is one."""
        ...
