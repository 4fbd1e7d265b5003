"""Both trackers on the same worlds: one run, and all of them side by side."""

from dataclasses import dataclass

import numpy as np

from driftpace import Ball, SquaredLoss, Tracker
from driftpace.synthetic import DriftingRegression
from driftpace.typing import FloatArray
from paper.asked import Asked, key, mapped
from paper.montecarlo import Courses
from paper.regression.settings import STUDY

LOSS = SquaredLoss()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Followed:
    """The same worlds followed as in the paper, and by the practical default."""

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
    """Return the practical default, which is told the target and nothing else."""
    return Tracker(LOSS, epsilon=STUDY.epsilon, fit_intercept=False, rng=run)


def follow(tracker: Tracker, run: int, seed: int) -> Courses:
    """Return what a tracker does in the world of a run; the first rows of a period are the same for every tracker."""
    world = DriftingRegression(
        features=STUDY.features, rho=STUDY.rho, noise=STUDY.noise, covariance=STUDY.variance, rng=key(seed, run)
    )
    risk, samples, rho, coef = [], [], [], []
    truth = world.path(STUDY.periods)
    for n in range(1, STUDY.periods + 1):
        now, rows = world.period(n), np.random.default_rng((seed, run, n))
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


def followed(asked: Asked) -> Followed:
    """Return all the runs that were asked for."""
    items = [(run, asked.seed) for run in range(asked.runs)]
    found = mapped(asked, both, items, "regression: runs of both trackers")
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
