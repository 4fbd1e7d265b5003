"""Settings and runs of the cost experiment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftpace.constraints import Ball
from driftpace.losses import SquaredLoss
from driftpace.planning import Budget, LinearCost, MeanGap, Problem, affordable
from driftpace.records import Constants, Money
from driftpace.synthetic import DriftingRegression
from driftpace.tracker import Tracker
from driftpace.typing import FloatArray, IntArray
from paper.runs import run_seed

LOSS = SquaredLoss()
RHO, NOISE, EPSILON = 1.0, 0.08, 0.1
PERIODS, EVERY = 25, 5
TOTAL = 250
COST = LinearCost(fixed=5, per_sample=1)
FIRST = (20, 20)
KNOWN = Constants.given(m=1.0, M=1.0, A=2 * NOISE, B=4.0)  # isotropic Gaussian rows in two dimensions (theory 1.1g)


def population_of(number: int) -> DriftingRegression:
    """Return the synthetic regression of section V-A.

    >>> population_of(0).period(1).coef
    array([0., 0.])
    """
    return DriftingRegression(features=2, rho=RHO, noise=NOISE, rng=number)


def rows_of(number: int) -> np.random.Generator:
    """Return the stream that the rows of a run are drawn from."""
    return np.random.default_rng([number, 1])


def paper_tracker(number: int, budget: Budget | None = None) -> Tracker:
    """Return the paper's tracker; the sizes of its first two periods are fixed, as there."""
    return Tracker.as_in_paper(
        LOSS,
        epsilon=EPSILON,
        domain=Ball(radius=50.0),
        constants=KNOWN,
        first_samples=FIRST,
        features=2,
        rng=number,
        budget=budget,
    )


def default_tracker(number: int, budget: Budget | None = None) -> Tracker:
    """Return the default method, which is given the target and nothing else."""
    return Tracker(LOSS, epsilon=EPSILON, fit_intercept=False, features=2, rng=number, budget=budget)


def money(total: int, gap: str = "mean") -> Budget:
    """Return ``total`` for all periods, at the prices of the experiment."""
    return Budget(total=total, horizon=PERIODS, cost=COST, gap=gap)


Method = Literal["plan", "run plan", "relaxed plan", "up front", "every five", "rule", "default", "default, no budget"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A run: a way to spend ``total``, in one run of a seed."""

    method: Method
    run: int
    seed: int = 0
    total: int = TOTAL


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Course:
    """True excess risk, samples and price of each period of one run."""

    risks: FloatArray
    samples: IntArray
    prices: IntArray

    @property
    def spent(self) -> int:
        """What all periods cost together."""
        return int(self.prices.sum())


def follow(job: Job) -> Course:
    """Return what one run of a method does, on the rows of this run.

    >>> course = follow(Job(method="every five", run=0))
    >>> course.samples[:7], course.spent
    (array([45,  0,  0,  0,  0, 45,  0]), 250)
    """
    number = run_seed(job.seed, job.run)
    population, rows = population_of(number), rows_of(number)
    tracker = _tracker(job, number)
    size = _SIZES.get(job.method)
    risks, samples = np.empty(PERIODS), np.empty(PERIODS, dtype=np.int64)
    for index in range(PERIODS):
        now = population.period(index + 1)
        if size is not None:
            wanted = size(tracker, job.total)
            tracker.ask()
            report = tracker.tell(*now.draw(wanted, rng=rows)) if wanted else tracker.tell()
        else:
            report = tracker.step(lambda wanted, now=now: now.draw(wanted, rng=rows))  # type: ignore[misc]
        assert report is not None
        risks[index] = now.excess_risk(LOSS, tracker.coef)
        samples[index] = report.samples
    return Course(risks=risks, samples=samples, prices=COST.units(samples))


def _tracker(job: Job, number: int) -> Tracker:
    if job.method == "default":
        return default_tracker(number, money(job.total))
    if job.method == "default, no budget":
        return default_tracker(number)
    if job.method in ("plan", "run plan"):
        return paper_tracker(number, money(job.total, "mean" if job.method == "plan" else "run"))
    return paper_tracker(number)


def relaxed_size(tracker: Tracker, total: int) -> int:
    """Return K_n of the paper's relaxation over the periods left, with the money left (eq. rhoUnknownRelaxation)."""
    from driftpace.planning.relaxed import plan_relaxed

    period = tracker.period
    if period <= len(FIRST):
        return FIRST[period - 1]
    spent = sum(int(COST.units([report.samples])[0]) for report in tracker.history)
    problem = Problem(
        outlook=tracker.outlook(),
        epsilon=EPSILON,
        budget=Money.of(total - spent),
        horizon=PERIODS - period + 1,
        cost=COST,
        gap=MeanGap(),
        adjacent=True,
        bought_before=tracker.history[-1].samples > 0,
        first_period=period,
    )
    return plan_relaxed(problem, starts=1, rows="corrected").samples[0]


def up_front_size(tracker: Tracker, total: int) -> int:
    """Return everything in the first period (eq. costUpFront)."""
    return affordable(COST, Money.of(total)) if tracker.period == 1 else 0


def periodic_size(tracker: Tracker, total: int) -> int:
    """Return an even share of the money every five periods (eq. costPeriodic, theory I17)."""
    share = total // -(-PERIODS // EVERY)
    return affordable(COST, Money.of(share)) if (tracker.period - 1) % EVERY == 0 else 0


_SIZES: dict[str, Callable[[Tracker, int], int]] = {
    "relaxed plan": relaxed_size,
    "up front": up_front_size,
    "every five": periodic_size,
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Taken:
    """Excess risk, samples and prices of every run and period, (runs, periods)."""

    risks: FloatArray
    samples: FloatArray
    prices: FloatArray

    @classmethod
    def of(cls, courses: Sequence[Course]) -> "Taken":
        """Return the courses, stacked."""
        return cls(
            risks=np.array([course.risks for course in courses]),
            samples=np.array([course.samples for course in courses], dtype=np.float64),
            prices=np.array([course.prices for course in courses], dtype=np.float64),
        )

    def first(self, runs: int) -> "Taken":
        """Return the first runs alone."""
        return Taken(risks=self.risks[:runs], samples=self.samples[:runs], prices=self.prices[:runs])

    @property
    def losses(self) -> FloatArray:
        """The expected loss on a fresh row, in every run and period."""
        return self.risks + 0.5 * NOISE

    @property
    def loss(self) -> FloatArray:
        """The test loss of each run, its mean over the periods."""
        return np.asarray(self.losses.mean(axis=1))

    @property
    def risk(self) -> FloatArray:
        """The excess risk of each run, its mean over the periods."""
        return np.asarray(self.risks.mean(axis=1))

    @property
    def spent(self) -> FloatArray:
        """What each run cost."""
        return np.asarray(self.prices.sum(axis=1))

    @property
    def bought(self) -> FloatArray:
        """The samples of each run, a period."""
        return np.asarray(self.samples.mean(axis=1))

    @property
    def empty(self) -> FloatArray:
        """The share of periods of each run in which nothing is bought."""
        return np.asarray((self.samples == 0).mean(axis=1))
