"""The mean of every one-step estimate: for a constant change."""

import math
from dataclasses import dataclass
from typing import ClassVar

from driftpace.constants.concentration import Running
from driftpace.drift.combine.protocol import Combined
from driftpace.drift.one_step.protocol import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanState:
    """Running sums of the estimates, and the root of the sum of their own variances (None when one has none)."""

    values: Running
    own_error: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanChange:
    """(1/(n-1)) sum_{i=2}^n of the one-step estimates; of squares, the root of their mean. In O(1) memory.

    >>> mean = MeanChange()
    >>> state = mean.init()
    >>> for value in (9.0, 16.0, -1.0):
    ...     state = mean.add(state, Step(value=value), squared=True)
    >>> mean.combined(state, squared=True).value
    2.828427
    """

    account: ClassVar[str] = "mean over all periods"

    def init(self) -> MeanState:
        """Return the state before the first estimate."""
        return MeanState(values=Running.of_lags(1), own_error=0.0)

    def add(self, state: MeanState, step: Step, *, squared: bool) -> MeanState:
        """Return the state with one more estimate."""
        del squared
        known = state.own_error is not None and step.error is not None
        own = math.hypot(state.own_error or 0.0, step.error or 0.0) if known else None
        return MeanState(values=state.values.add(step.value), own_error=own)

    def combined(self, state: MeanState, *, squared: bool) -> Combined | None:
        """Return the mean so far, or None before the first estimate."""
        count = state.values.count
        if count == 0:
            return None
        return Combined(
            mean=state.values.mean,
            count=count,
            steps=count,
            squared=squared,
            window=1,
            weights=1.0,
            stretch=1.0,
            autocovariances=state.values.autocovariances(),
            own_error=None if state.own_error is None else state.own_error / count,
        )
