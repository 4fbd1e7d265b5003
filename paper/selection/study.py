"""Settings and runs of the cross-validation experiment."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.constraints import Ball
from driftpace.losses import SquaredLoss
from driftpace.records import Constants
from driftpace.selection import Choosing, Selection
from driftpace.synthetic import DriftingRegression
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray
from paper.runs import run_seed

Method = Literal["paper", "practical"]
LOSS = SquaredLoss()
FEATURES, RHO, NOISE, EPSILON, PERIODS = 10, 0.2, 1.0, 0.2, 25
FIRST = (60, 60)
TWO = (0.1, 1.0)
TEN = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FOLDS = 10
MEMORY = 0.75


def population_of(seed: int, run: int) -> DriftingRegression:
    """Return the population of a run: the coefficients move away from zero, so the best penalty falls with time.

    >>> bool(population_of(0, 0).period(1).coef.any())
    False
    """
    return DriftingRegression(features=FEATURES, rho=RHO, noise=NOISE, rng=run_seed(seed, run))


def constants_of(population: DriftingRegression, l2: float) -> Constants:
    """Return m, M, A and B of a penalised loss that hold in every period; m depends on the penalty (I24).

    >>> constants_of(population_of(0, 0), 1.0).safe("m")
    2.0
    """
    known = [population.period(n).constants(SquaredLoss(l2=l2)) for n in range(1, PERIODS + 1)]
    most = {name: max(one.safe(name) for one in known) for name in ("M", "A", "B")}
    return Constants.given(m=min(one.safe("m") for one in known), **most)


def tracker_of(
    method: Method,
    population: DriftingRegression,
    grid: Sequence[float],
    run: int,
    *,
    folds: int = FOLDS,
    choosing: Choosing = "least",
    memory: float | None = None,
) -> Tracker:
    """Return the tracker that chooses among the penalties of ``grid``; as in the paper it remembers nothing of earlier choices."""
    if method == "practical":
        kept = MEMORY if memory is None else memory
        select = Selection.of_l2(LOSS, grid, folds=folds, choosing=choosing, memory=kept)
        return Tracker(LOSS, epsilon=EPSILON, select=select, fit_intercept=False, features=FEATURES, rng=run)
    constants = [constants_of(population, l2) for l2 in grid]
    kept = 0.0 if memory is None else memory
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=20.0),
        first_samples=FIRST,
        features=FEATURES,
        select=Selection.of_l2(LOSS, grid, folds=folds, choosing=choosing, memory=kept, constants=constants),
        rng=run,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One run: which method, which penalties, and how it chooses."""

    method: Method
    grid: tuple[float, ...]
    run: int
    seed: int
    folds: int = FOLDS
    choosing: Choosing = "least"
    memory: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """Over periods: rows, the place of the chosen penalty, the excess risk of the chosen model and of every candidate.

    Risks are those of the loss without a penalty. ``each`` is (periods, candidates): what each fixed penalty would have had with
    the same rows.
    """

    samples: FloatArray
    chosen: FloatArray
    risk: FloatArray
    each: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Runs:
    """The same over runs, one more axis in front."""

    grid: tuple[float, ...]
    samples: FloatArray
    chosen: FloatArray
    risk: FloatArray
    each: FloatArray

    @classmethod
    def of(cls, grid: tuple[float, ...], found: list[Followed]) -> "Runs":
        """Return runs put together."""
        return cls(
            grid=grid,
            **{name: np.array([getattr(one, name) for one in found]) for name in ("samples", "chosen", "risk", "each")},
        )

    @property
    def best(self) -> int:
        """The place of the best fixed penalty in hindsight: least mean risk over all runs and periods."""
        return int(self.each.mean(axis=(0, 1)).argmin())

    @property
    def chosen_l2(self) -> FloatArray:
        """The chosen penalty, (runs, periods)."""
        return np.array(self.grid)[self.chosen.astype(np.int64)]


def follow(job: Job) -> Followed:
    """Run a tracker on the population of the run; the result depends on the job alone."""
    population = population_of(job.seed, job.run)
    rng = np.random.default_rng([job.seed, job.run, 5])
    tracker = tracker_of(
        job.method, population, job.grid, job.run, folds=job.folds, choosing=job.choosing, memory=job.memory
    )
    samples, chosen, risk, each = [], [], [], []
    for n in range(1, PERIODS + 1):
        now = population.period(n)
        report = tracker.step(lambda count, now=now: now.draw(count, rng=rng))  # type: ignore[misc]
        assert report.selected is not None
        samples.append(report.samples)
        chosen.append(report.selected.index)
        risk.append(now.excess_risk(LOSS, tracker.coef))
        each.append([now.excess_risk(LOSS, model) for model in tracker.models.values()])
    return Followed(
        samples=np.array(samples, dtype=np.float64),
        chosen=np.array(chosen, dtype=np.float64),
        risk=np.array(risk),
        each=np.array(each),
    )
