"""Settings, runs and measurements of the regression experiment."""

from dataclasses import dataclass, replace

import numpy as np

from driftpace import Ball, SquaredLoss, Tracker
from driftpace.bounds import OrdinaryLeastSquares
from driftpace.synthetic import DriftingRegression
from driftpace.typing import FloatArray
from paper.montecarlo import Courses, RegressionStudy
from paper.runs import RunSettings, map_runs, run_seed, standard_errors

STUDY = RegressionStudy()
"""d = 2, rho = 1, epsilon = 0.1 and direct estimates as in the paper; the rest as in theory 6.1."""

MANY = 1_000
"""Runs of the compiled engine, for curves without noise and for the tables."""

PAPER_RISK, PAPER_SPREAD = 0.02797, 0.01071
"""What the paper reports for the mean excess risk, and what follows its plus-minus sign."""

BAND = (0.017, 0.039)
"""Where a mean over 20 runs must lie to count as the paper's number (theory 6.1)."""

PAPER_RUNS = 20


LOSS = SquaredLoss()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """Runs of the paper's method and of the default method on the same data."""

    paper: Courses
    practical: Courses


def paper_tracker(run: int) -> Tracker:
    """Return the tracker as in the paper, with the constants of theory 6.1; the ball is too wide to be reached."""
    return Tracker.as_in_paper(
        LOSS,
        epsilon=STUDY.epsilon,
        domain=Ball(radius=0.5 * STUDY.diameter),
        constants=STUDY.constants,
        first_samples=STUDY.first_samples,
        features=STUDY.features,
        rng=run,
    )


def practical_tracker(run: int) -> Tracker:
    """Return the default method, which is given the target and nothing else."""
    return Tracker(LOSS, epsilon=STUDY.epsilon, fit_intercept=False, rng=run)


def follow(tracker: Tracker, run: int, seed: int) -> Courses:
    """Return what a tracker does on the data of a run; the first rows of a period are the same for every tracker."""
    population = DriftingRegression(
        features=STUDY.features, rho=STUDY.rho, noise=STUDY.noise, covariance=STUDY.variance, rng=run_seed(seed, run)
    )
    risk, samples, rho, coef = [], [], [], []
    truth = population.path(STUDY.periods)
    for n in range(1, STUDY.periods + 1):
        now, rows = population.period(n), np.random.default_rng((seed, run, n))
        report = tracker.step(lambda count, now=now, rows=rows: now.draw(count, rng=rows))  # type: ignore[misc]
        risk.append(now.excess_risk(LOSS, tracker.coef))
        samples.append(report.samples)
        rho.append(np.nan if report.rho is None else report.rho)
        coef.append(tracker.coef)
    return Courses(
        risk=np.array([risk]),
        samples=np.array([samples]),
        rho=np.array([rho]),
        coef=np.array([coef]),
        truth=truth[None],
    )


def both(item: tuple[int, int]) -> tuple[Courses, Courses]:
    """Return what both trackers do in one run of a seed."""
    run, seed = item
    return follow(paper_tracker(run), run, seed), follow(practical_tracker(run), run, seed)


def followed(asked: RunSettings) -> Followed:
    """Return all runs."""
    items = [(run, asked.seed) for run in range(asked.runs)]
    found = map_runs(asked, both, items, "regression: runs of both trackers")
    return Followed(paper=joined([one for one, _ in found]), practical=joined([one for _, one in found]))


def joined(courses: list[Courses]) -> Courses:
    """Return the runs of many as one."""

    def all_of(name: str) -> FloatArray:
        return np.concatenate([getattr(one, name) for one in courses])

    return Courses(
        risk=all_of("risk"),
        samples=np.concatenate([one.samples for one in courses]),
        rho=all_of("rho"),
        coef=all_of("coef"),
        truth=all_of("truth"),
    )


def best_constant_sgd(seed: int, threads: int | None) -> tuple[int, float]:
    """Return the least K in every period for which the mean excess risk of the paper's SGD is at most epsilon, and that mean."""
    for samples in range(1, 1_000):
        study = replace(STUDY, first_samples=(samples,) * STUDY.periods)
        risk = study.run(MANY, seed=seed, threads=threads).mean_risk
        if risk <= STUDY.epsilon:
            return samples, risk
    raise AssertionError("a thousand rows per period are far more than enough")


def best_constant_squares() -> tuple[int, float]:
    """Return the same for a least squares fit from scratch: its mean excess risk is known exactly (theory 1.5a).

    >>> best_constant_squares()
    (4, 0.08)
    """
    bound = OrdinaryLeastSquares(noise=STUDY.noise, features=STUDY.features)
    samples = bound.smallest(STUDY.diameter, STUDY.epsilon, cap=1_000)
    assert samples is not None
    return samples, bound(STUDY.diameter, samples)


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """Averages over groups of twenty runs, as the paper has one: 10 %, median and 90 % of their mean risk and spread over n."""

    risk: tuple[float, float, float]
    spread: tuple[float, float, float]


def groups(courses: Courses) -> Groups:
    """Return what averages over twenty runs look like, from many such groups."""
    whole = courses.runs // PAPER_RUNS
    by_period = courses.risk[: whole * PAPER_RUNS].reshape(whole, PAPER_RUNS, -1).mean(axis=1)
    return Groups(risk=_three(by_period.mean(axis=1)), spread=_three(by_period.std(axis=1, ddof=1)))


def _three(values: FloatArray) -> tuple[float, float, float]:
    low, middle, high = (float(number) for number in np.quantile(values, (0.1, 0.5, 0.9)))
    return low, middle, high


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """How stable the sample sizes are in the last five periods, the run average: mean step, slope per period and its error."""

    samples: float
    step: float
    slope: float
    slope_error: float

    @property
    def holds(self) -> bool:
        """Whether sizes move by less than 5 % from one period to the next, and by less than 1 % per period in one direction."""
        return self.step < 0.05 * self.samples and abs(self.slope) < 0.01 * self.samples


def settled(courses: Courses, last: int = 5) -> Settled:
    """Return how stable the sample sizes are in the last periods."""
    sizes = courses.samples[:, -last - 1 :].astype(np.float64)
    average = sizes.mean(axis=0)
    time = np.arange(last) - 0.5 * (last - 1)
    slopes = sizes[:, 1:] @ time / float(time @ time)
    return Settled(
        samples=float(average[-1]),
        step=float(abs(np.diff(average)).mean()),
        slope=float(slopes.mean()),
        slope_error=float(standard_errors(slopes)),
    )
