"""Estimators of drift: the protocol, a known drift, and the composition of one-step estimate, combination and margin."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from driftpace import validation
from driftpace.drift.combine import Combine, MeanChange
from driftpace.drift.correction import CorrectionState
from driftpace.drift.margins import Margin, StandardErrorMargin, TheoreticalMargin
from driftpace.drift.one_step import Direct, OneStep
from driftpace.errors import ParameterError
from driftpace.losses.protocol import Loss
from driftpace.records import DriftEstimate, PeriodData


@runtime_checkable
class DriftEstimator(Protocol):
    """Protocol of estimators of drift: how far the minimiser moves in one period.

    The configuration is frozen and the state is passed in and out, so a log is replayed by calling :meth:`update` for each
    period. The state is a frozen dataclass of numbers, arrays, tuples and other such states: it is written to files as it is.
    Its size does not grow with the number of periods.
    """

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be held out from training (0 for none)."""
        ...

    def init(self, features: int) -> Any:
        """Return the state before the first period."""
        ...

    def update(self, state: Any, seen: PeriodData, loss: Loss) -> Any:
        """Return the state after one more closed period; a period without rows is passed in too."""
        ...

    def estimate(self, state: Any) -> DriftEstimate | None:
        """Return the estimate so far, or None when there is too little data."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownDriftState:
    """State of :class:`KnownDrift`, which estimates nothing."""


@dataclass(frozen=True, slots=True)
class KnownDrift:
    """Drift given by the user (section II-B of the paper).

    Parameters
    ----------
    rho : float
        The minimiser moves at most this far in one period.

    Examples
    --------
    >>> drift = KnownDrift(0.5)
    >>> drift.estimate(drift.init(2)).upper
    0.5
    """

    rho: float

    held_out: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        validation.nonnegative("KnownDrift", rho=self.rho)

    def init(self, features: int) -> KnownDriftState:
        """Return the empty state."""
        del features
        return KnownDriftState()

    def update(self, state: KnownDriftState, seen: PeriodData, loss: Loss) -> KnownDriftState:
        """Return the state as it was."""
        del seen, loss
        return state

    def estimate(self, state: KnownDriftState) -> DriftEstimate:
        """Return what the user gave."""
        del state
        rho = float(self.rho)
        return DriftEstimate(value=rho, upper=rho, steps=0, measures="rho", account="given")


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftState:
    """State of :class:`Drift`.

    Parameters
    ----------
    one_step : Any
        State of the one-step estimate.
    combined : Any
        State of the combination.
    correction : CorrectionState
        Terms of the correction D_n.
    steps : int
        Periods that gave a one-step estimate.
    skipped : int
        Periods that did not.
    idle : int, default 0
        Periods without an estimate since the last one with.
    """

    one_step: Any
    combined: Any
    correction: CorrectionState
    steps: int
    skipped: int
    idle: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Drift:
    """Estimate of drift composed of a one-step estimate, a combination and a margin.

    The paper's estimate is ``Drift(one_step=Direct(), combine=MeanChange(), margin=RootMargin())``; its theorem also has
    ``correction=True``. A period that gives no one-step estimate (the first; one without rows, and its successor where
    neighbours are compared) is counted in ``skipped`` and changes nothing else.

    Parameters
    ----------
    one_step : OneStep, optional
        Estimate of the change from one period to the next; :class:`Direct` by default.
    combine : Combine, optional
        Combination of the one-step estimates; :class:`MeanChange` by default.
    margin : Margin, optional
        Margin above the combined value; :class:`StandardErrorMargin` by default.
    correction : bool, default False
        Whether to add D_n to the upper end (times (n-1)/(n-W) sum_j b_j for windows). Needs M, sigma and the scatter of the
        learner.

    Examples
    --------
    >>> Drift().estimate(Drift().init(2)) is None
    True
    """

    one_step: OneStep = field(default_factory=Direct)
    combine: Combine = field(default_factory=MeanChange)
    margin: Margin = field(default_factory=StandardErrorMargin)
    correction: bool = False

    def __post_init__(self) -> None:
        name = type(self.one_step).__name__
        if self.correction and not self.one_step.correctable:
            raise ParameterError(
                f"must be False with {name}: D_n is about Direct; got True.",
                owner="Drift",
                name="correction",
            )
        if self.one_step.squared and isinstance(self.margin, TheoreticalMargin):
            raise ParameterError(
                f"must not be TheoreticalMargin with {name}, which measures squares; got {self.margin!r}.",
                owner="Drift",
                name="margin",
            )

    @property
    def held_out(self) -> float:
        """The share of each period's rows that must be held out from training."""
        return self.one_step.held_out

    @property
    def measures(self) -> str:
        """What the estimate is of: "rho", "distance", or "monitor" for a number that bounds neither."""
        return self.one_step.measures

    @property
    def needs(self) -> tuple[str, ...]:
        """The constants of the problem it reads."""
        return (*self.one_step.needs, *(("m", "M", "sigma") if self.correction else ()))

    def least_rows(self, features: int) -> int:
        """Return the fewest rows of a period from which a one-step estimate can be formed."""
        return self.one_step.least_rows(features)

    def init(self, features: int) -> DriftState:
        """Return the state before the first period."""
        return DriftState(
            one_step=self.one_step.init(features),
            combined=self.combine.init(),
            correction=CorrectionState(),
            steps=0,
            skipped=0,
        )

    def update(self, state: DriftState, seen: PeriodData, loss: Loss) -> DriftState:
        """Return the state after one more closed period."""
        one_step, step = self.one_step.measure(state.one_step, seen, loss)
        if step is not None and not math.isfinite(step.value):
            step = None
        correction = state.correction
        if self.correction and len(seen.y) > 0:
            correction = correction.add(seen, counted=step is not None)
        combined = (
            state.combined if step is None else self.combine.add(state.combined, step, squared=self.one_step.squared)
        )
        return DriftState(
            one_step=one_step,
            combined=combined,
            correction=correction,
            steps=state.steps + (step is not None),
            skipped=state.skipped + (step is None),
            idle=state.idle + 1 if step is None else 0,
        )

    def estimate(self, state: DriftState) -> DriftEstimate | None:
        """Return the estimate so far, or None when there is too little data."""
        combined = self.combine.combined(state.combined, squared=self.one_step.squared)
        upper = None if combined is None else self.margin.upper(combined)
        if combined is None or upper is None:
            return None
        if self.correction:
            upper += combined.inflation * state.correction.mean
        parts = [self.one_step.account, self.combine.account, self.margin.account]
        if self.correction:
            parts.append("correction for training rows")
        parts.append(f"{combined.steps} one-step estimate{'s' if combined.steps > 1 else ''}")
        return DriftEstimate(
            value=combined.value,
            upper=max(upper, combined.value),
            steps=combined.steps,
            measures=self.one_step.measures,
            account="; ".join(parts),
            age=state.idle,
        )
