"""Combinations of one-step estimates: a mean over all periods, over recent periods, or over windows."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from driftpace import validation
from driftpace.constants.concentration import RunningMoments
from driftpace.drift.one_step.base import Step
from driftpace.errors import ParameterError


@dataclass(frozen=True, kw_only=True, slots=True)
class Combined:
    """Result of combining one-step estimates.

    Parameters
    ----------
    mean : float
        Average of ``count`` values, squares of lengths when ``squared``.
    count : int
        Number of values averaged.
    steps : int
        Number of one-step estimates behind them (n - 1 in the paper).
    squared : bool
        Whether the values are squares of lengths.
    window : int
        One-step estimates in each value.
    weights : float
        sum_j b_j (B.5).
    stretch : float
        Largest factor by which a value can exceed the largest of its one-step estimates.
    autocovariances : tuple[float, ...]
        Autocovariances of the values.
    step_error : float | None
        Standard error of the mean according to the one-step estimates themselves; None when they have none.
    """

    mean: float
    count: int
    steps: int
    squared: bool
    window: int
    weights: float
    stretch: float
    autocovariances: tuple[float, ...]
    step_error: float | None

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
    """Protocol of combinations of one-step estimates; the state does not grow with their number."""

    @property
    def account(self) -> str:
        """Short description for reports."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanState:
    """Running sums of the estimates, and the root of the sum of their variances (None when one is unknown)."""

    values: RunningMoments
    step_error: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanChange:
    """Mean of all one-step estimates, for a constant drift.

    (1/(n-1)) sum_{i=2}^n of the one-step estimates; for squares, the root of their mean. Uses O(1) memory.

    Examples
    --------
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
        return MeanState(values=RunningMoments.of_lags(1), step_error=0.0)

    def add(self, state: MeanState, step: Step, *, squared: bool) -> MeanState:
        """Return the state with one more estimate."""
        del squared
        known = state.step_error is not None and step.error is not None
        step_error = math.hypot(state.step_error or 0.0, step.error or 0.0) if known else None
        return MeanState(values=state.values.add(step.value), step_error=step_error)

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
            step_error=None if state.step_error is None else state.step_error / count,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentState:
    """The latest estimates, the newest last."""

    recent: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentChange:
    """Mean of the latest one-step estimates, for a drift that changes (theory 3.3 P, 5.5).

    For squares, the root of their mean. Also suited to estimates that depend on how accurate past models were.

    Parameters
    ----------
    window : int
        Number of latest estimates averaged.

    Examples
    --------
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
        """Short description for reports."""
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
        values = RunningMoments.of_lags(1)
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
            step_error=math.hypot(*errors) / count if len(errors) == count else None,
        )


Window = Callable[[tuple[float, ...]], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowedState:
    """The latest one-step values (newest last), running sums of h over full windows, the number of values seen."""

    recent: tuple[float, ...]
    values: RunningMoments
    steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowedChange:
    """Average of windows of one-step estimates, for a drift that is bounded rather than constant (theory 3.2, I20).

    (1/(n-W)) sum_{i=W+1}^n h_W(latest W one-step estimates), over full windows only (Theorem 2). h_W must turn W changes into an
    estimate of the largest possible one, E h_W >= rho: that is a model of how changes arise, and no h_W suits all of them. For
    changes distributed uniformly over [0, rho]:

    ========  ========================================  ================================  ===============
    ``h``     of lengths                                of squares                        sum of b_j
    ========  ========================================  ================================  ===============
    "max"     (W+1)/W times the largest                 (W+2)/W times the largest         W + 1
    "mean"    2 times the mean                          3 times the mean                  2
    ========  ========================================  ================================  ===============

    The largest of noisy values grows with W: keep W at 3 to 5, and prefer one-step estimates without a floor.

    Parameters
    ----------
    window : int
        Number W of estimates in a window.
    h : {'max', 'mean'} or callable, default 'max'
        Function of a window. A callable receives the W latest values, oldest first (lengths, or squares where the one-step
        estimate gives squares).
    weights : tuple[float, ...], optional
        Lipschitz weights b_1 .. b_W of a callable ``h`` (B.5).

    Examples
    --------
    >>> windowed = WindowedChange(window=2)
    >>> state = windowed.init()
    >>> for value in (1.0, 3.0, 2.0):
    ...     state = windowed.add(state, Step(value=value), squared=False)
    >>> windowed.combined(state, squared=False).value
    4.5
    """

    window: int
    h: str | Window = "max"
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        validation.count("WindowedChange", least=1, window=self.window)
        if isinstance(self.h, str):
            validation.choice("WindowedChange", ("max", "mean"), h=self.h)
            if self.weights is not None:
                raise ParameterError(
                    f"must be None with h={self.h!r}; got {self.weights!r}.",
                    owner="WindowedChange",
                    name="weights",
                )
        else:
            validation.vector("WindowedChange", length=self.window, weights=self.weights)

    @property
    def account(self) -> str:
        """Short description for reports."""
        name = self.h if isinstance(self.h, str) else getattr(self.h, "__name__", "h")
        return f"{name} over windows of {self.window} periods, averaged"

    def init(self) -> WindowedState:
        """Return the state before the first estimate."""
        return WindowedState(recent=(), values=RunningMoments.of_lags(self.window), steps=0)

    def add(self, state: WindowedState, step: Step, *, squared: bool) -> WindowedState:
        """Return the state with one more estimate."""
        recent = (*state.recent, step.value)[-self.window :]
        values = state.values.add(self._h(recent, squared)) if len(recent) == self.window else state.values
        return WindowedState(recent=recent, values=values, steps=state.steps + 1)

    def combined(self, state: WindowedState, *, squared: bool) -> Combined | None:
        """Return the average of h over full windows, or None before the first full window."""
        if state.values.count == 0:
            return None
        return Combined(
            mean=state.values.mean,
            count=state.values.count,
            steps=state.steps,
            squared=squared,
            window=self.window,
            weights=self._sum_of_weights(),
            stretch=self._stretch(squared),
            autocovariances=state.values.autocovariances(),
            step_error=None,
        )

    def _h(self, recent: tuple[float, ...], squared: bool) -> float:
        if self.h == "max":
            return self._stretch(squared) * max(recent)
        if self.h == "mean":
            return self._stretch(squared) * (sum(recent) / self.window)
        assert not isinstance(self.h, str)
        return float(self.h(recent))

    def _stretch(self, squared: bool) -> float:
        if self.h == "max":
            return (self.window + (2.0 if squared else 1.0)) / self.window
        if self.h == "mean":
            return 3.0 if squared else 2.0
        return self._sum_of_weights()

    def _sum_of_weights(self) -> float:
        if self.weights is not None:
            return float(sum(self.weights))
        return self.window + 1.0 if self.h == "max" else 2.0
