"""The mean of the latest one-step estimates: for a change that itself changes."""

import math
from dataclasses import dataclass

from driftpace import validation
from driftpace.constants.concentration import Running
from driftpace.drift.combine.protocol import Combined
from driftpace.drift.one_step.protocol import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentState:
    """The latest estimates, the newest last."""

    recent: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentChange:
    """The mean of the last ``window`` one-step estimates; of squares, the root of their mean (theory 3.3 P, 5.5).

    For a drift that is not the same for ever, and for estimates that depend on how accurate past models were.

    >>> recent = RecentChange(window=2)
    >>> state = recent.init()
    >>> for value in (100.0, 1.0, 3.0):
    ...     state = recent.add(state, Step(value=value), squared=False)
    >>> recent.combined(state, squared=False).value
    2.0
    """

    window: int

    def __post_init__(self) -> None:
        validation.count("RecentChange", least=1, window=self.window)

    @property
    def account(self) -> str:
        """A few words for people."""
        return f"mean over the last {self.window} periods"

    def init(self) -> RecentState:
        """Return the state before the first estimate."""
        return RecentState(recent=())

    def add(self, state: RecentState, step: Step, *, squared: bool) -> RecentState:
        """Return the state with one more estimate, and without the oldest when there are enough."""
        del squared
        return RecentState(recent=(*state.recent, step)[-self.window :])

    def combined(self, state: RecentState, *, squared: bool) -> Combined | None:
        """Return the mean of the latest, or None before the first estimate."""
        count = len(state.recent)
        if count == 0:
            return None
        values = Running.of_lags(1)
        for step in state.recent:
            values = values.add(step.value)
        errors = [step.error for step in state.recent if step.error is not None]
        return Combined(
            mean=values.mean,
            count=count,
            steps=count,
            squared=squared,
            window=1,
            weights=1.0,
            stretch=1.0,
            autocovariances=values.autocovariances(),
            own_error=math.hypot(*errors) / count if len(errors) == count else None,
        )
