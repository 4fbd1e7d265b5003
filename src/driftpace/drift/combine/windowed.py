"""Windows of one-step estimates: for a change that is bounded rather than constant."""

from collections.abc import Callable
from dataclasses import dataclass

from driftpace import validation
from driftpace.constants.concentration import Running
from driftpace.drift.combine.protocol import Combined
from driftpace.drift.one_step.protocol import Step
from driftpace.errors import ParameterError

Window = Callable[[tuple[float, ...]], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowedState:
    """The latest one-step values (newest last), running sums of h over full windows, the number of values seen."""

    recent: tuple[float, ...]
    values: Running
    steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowedChange:
    """(1/(n-W)) sum_{i=W+1}^n h_W(latest W one-step estimates): Theorem 2, full windows only (theory 3.2, I20).

    h_W must turn W changes into an estimate of the largest possible one, E h_W >= rho: that is a model of how changes come
    about, and no h_W serves all of them. For changes spread evenly over [0, rho]:

    ========  ========================================  ================================  ===============
    ``h``     of lengths                                of squares                        sum of b_j
    ========  ========================================  ================================  ===============
    "max"     (W+1)/W times the largest                 (W+2)/W times the largest         W + 1
    "mean"    2 times the mean                          3 times the mean                  2
    ========  ========================================  ================================  ===============

    A callable gets the W latest values (lengths, or squares where the one-step estimate gives squares), the oldest
    first; ``weights`` are then its Lipschitz weights b_1..b_W (B.5). The largest of noisy values grows with W: keep W at 3 to
    5, and prefer one-step estimates without a floor.

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
        """A few words for people."""
        name = self.h if isinstance(self.h, str) else getattr(self.h, "__name__", "h")
        return f"{name} over windows of {self.window} periods, averaged"

    def init(self) -> WindowedState:
        """Return the state before the first estimate."""
        return WindowedState(recent=(), values=Running.of_lags(self.window), steps=0)

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
            own_error=None,
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
