"""Runs of trackers on synthetic data of known truth, with random, bounded or lagging changes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from driftpace import validation
from driftpace.constraints import WholeSpace
from driftpace.drift import Combined, Drift, NoMargin
from driftpace.drift.one_step import Step
from driftpace.learners import GradientPasses
from driftpace.records import Constants, PeriodData
from driftpace.synthetic import BoundedRegression, DriftingRegression, SyntheticPopulation
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.cost.study import LOSS, NOISE
from paper.records import Claim, Comparison, Figure, OpenConstant, Sensitivity

SURE = 3.0
"""A difference is called one when it is at least this many standard errors."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Part:
    """Figures, numbers and claims of one study, and its outcome in one sentence."""

    sentence: str
    figures: tuple[Figure, ...]
    comparisons: tuple[Comparison, ...]
    claims: tuple[Claim, ...]
    sensitivity: tuple[Sensitivity, ...] = ()
    constants: tuple[OpenConstant, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunTrace:
    """True excess risk, samples, drift estimate and promised risk of each period of one run; NaN where there was none."""

    risks: FloatArray
    samples: FloatArray
    drifts: FloatArray
    promised: FloatArray


class Job(Protocol):
    """One run of one arm of a study: a record that can be sent to another process."""

    def follow(self) -> RunTrace:
        """Return the result."""
        ...


def run_job(job: Job) -> RunTrace:
    """Return the result of a job."""
    return job.follow()


def lead(tracker: Tracker, population: Callable[[int], SyntheticPopulation], periods: int, number: int) -> RunTrace:
    """Run a tracker in periods 1 .. periods, with rows from the stream of run ``number``."""
    rows = np.random.default_rng([number, 1])
    risks, samples, drifts, promised = (np.full(periods, math.nan) for _ in range(4))
    for index in range(periods):
        now = population(index + 1)
        report = tracker.step(lambda wanted, now=now: now.draw(wanted, rng=rows))  # type: ignore[misc]
        risks[index] = now.excess_risk(LOSS, tracker.coef)
        samples[index] = report.samples
        drifts[index] = math.nan if report.rho is None else report.rho
        promised[index] = report.risk_bound
    return RunTrace(risks=risks, samples=samples, drifts=drifts, promised=promised)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """The runs of one arm, (runs, periods) each."""

    risks: FloatArray
    samples: FloatArray
    drifts: FloatArray
    promised: FloatArray

    @classmethod
    def of(cls, found: Sequence[RunTrace]) -> "Runs":
        """Return the runs, stacked."""
        return cls(
            risks=np.array([one.risks for one in found]),
            samples=np.array([one.samples for one in found]),
            drifts=np.array([one.drifts for one in found]),
            promised=np.array([one.promised for one in found]),
        )

    @property
    def labels(self) -> FloatArray:
        """All samples of each run."""
        return np.asarray(self.samples.sum(axis=1))

    def risk(self, after: int = 0) -> FloatArray:
        """Return the mean excess risk of each run over the periods after the first ``after``."""
        return np.asarray(self.risks[:, after:].mean(axis=1))

    def size(self, after: int = 0) -> FloatArray:
        """Return the mean number of samples of each run over the periods after the first ``after``."""
        return np.asarray(self.samples[:, after:].mean(axis=1))


Law = Literal["even", "rare"]
RARE = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomChanges:
    """Changes rho_n spread evenly over [0, rho] ("even"), or rho in one period of twenty and else none ("rare"), any direction.

    Rows and noise are bounded (:class:`~driftpace.synthetic.BoundedRegression`), so that a largest gradient exists and the
    assumptions of Theorem 2 can hold, which they do not for Gaussian rows (theory I23). The first period is at zero.

    >>> population = RandomChanges(rho=1.0, law="even", noise=0.5, rng=0)
    >>> moved = population.period(7).coef - population.period(6).coef
    >>> bool(abs(np.linalg.norm(moved) - population.changes(7)[-1]) < 1e-12)
    True
    """

    rho: float
    law: Law
    noise: float
    rng: int

    def __post_init__(self) -> None:
        validation.nonnegative("RandomChanges", rho=self.rho, noise=self.noise)
        validation.choice("RandomChanges", ("even", "rare"), law=self.law)
        validation.count("RandomChanges", rng=self.rng)

    def changes(self, periods: int) -> FloatArray:
        """Return rho_2 .. rho_periods, the lengths of the moves into each period."""
        spread = np.random.default_rng([self.rng, 2]).random(periods - 1)
        return self.rho * (spread if self.law == "even" else (spread < RARE).astype(np.float64))

    def period(self, n: int) -> BoundedRegression:
        """Return the population of period n = 1, 2, ..."""
        validation.count("RandomChanges.period", least=1, n=n)
        directions = np.random.default_rng([self.rng, 3]).standard_normal((n - 1, 2))
        moves = directions / np.linalg.norm(directions, axis=1, keepdims=True) * self.changes(n)[:, None]
        return BoundedRegression(coef=moves.sum(axis=0), covariance=1.0, noise=self.noise)


@dataclass(frozen=True, kw_only=True, slots=True)
class LargestChange:
    """The largest one-step estimate so far: the first candidate for a bound, which noise drives up without limit.

    >>> largest = LargestChange()
    >>> state = largest.init()
    >>> for value in (1.0, 3.0, 2.0):
    ...     state = largest.add(state, Step(value=value), squared=False)
    >>> largest.combined(state, squared=False).value
    3.0
    """

    @property
    def account(self) -> str:
        """A short description."""
        return "largest over all periods"

    def init(self) -> tuple[float, ...]:
        """Return the state before the first estimate: nothing; later the largest, and how many there were."""
        return ()

    def add(self, state: Any, step: Step, *, squared: bool) -> tuple[float, ...]:
        """Return the state with one more estimate."""
        del squared
        return (max(state[0], step.value), state[1] + 1.0) if state else (step.value, 1.0)

    def combined(self, state: Any, *, squared: bool) -> Combined | None:
        """Return the largest so far, or None before the first estimate."""
        if not state:
            return None
        return Combined(
            mean=state[0],
            count=1,
            steps=int(state[1]),
            squared=squared,
            window=1,
            weights=1.0,
            stretch=1.0,
            autocovariances=(0.0,),
            step_error=None,
        )


LAG_RHO, LAG_ROWS = 0.2, 4000


def share(epsilon: float) -> float:
    """Return the step a with which a model on a line settles at risk epsilon: delta = (1 - a)(delta + rho), epsilon = delta^2/2.

    >>> delta = (1.0 - share(0.02)) / share(0.02) * LAG_RHO
    >>> 0.5 * delta**2
    0.02
    """
    return LAG_RHO / (LAG_RHO + math.sqrt(2.0 * epsilon))


def lag(epsilon: float, periods: int, number: int) -> RunTrace:
    """Return how the direct estimate sees a model that lags behind a line by sqrt(2 epsilon), started there."""
    population = DriftingRegression(features=2, rho=LAG_RHO, noise=NOISE, rng=number, shape="line")
    path, rows = population.path(periods), np.random.default_rng([number, 1])
    ahead = (path[1] - path[0]) / LAG_RHO
    coef = path[0] - (math.sqrt(2.0 * epsilon) + LAG_RHO) * ahead
    learner, constants = GradientPasses(1), Constants.given(m=1.0, M=1.0, L=1.0 / share(epsilon))
    drift = Drift(margin=NoMargin())
    state, none = drift.init(2), (np.empty((0, 2)), np.empty(0))
    risks, drifts = np.empty(periods), np.full(periods, math.nan)
    for index in range(periods):
        now = population.period(index + 1)
        X, y = now.draw(LAG_ROWS, rng=rows)
        fit = learner.fit(LOSS, WholeSpace(), coef, X, y, constants=constants, distance=math.inf)
        seen = PeriodData(
            period=index + 1,
            X=X,
            y=y,
            X_held=none[0],
            y_held=none[1],
            start=coef,
            coef=fit.coef,
            gradient=fit.gradient,
            scatter=math.inf,
            constants=constants,
        )
        state, coef = drift.update(state, seen, LOSS), fit.coef
        estimate = drift.estimate(state)
        drifts[index] = math.nan if estimate is None else estimate.value
        risks[index] = now.excess_risk(LOSS, coef)
    return RunTrace(
        risks=risks, samples=np.full(periods, float(LAG_ROWS)), drifts=drifts, promised=np.full(periods, math.nan)
    )
