"""What the cost experiment is played with: the world of theory 6.1, prices, periods, and the two trackers that play."""

import numpy as np

from driftpace.constraints import Ball
from driftpace.losses import SquaredLoss
from driftpace.planning import Budget, LinearCost
from driftpace.records import Constants
from driftpace.synthetic import DriftingRegression
from driftpace.tracker import Tracker

LOSS = SquaredLoss()
RHO, NOISE, EPSILON = 1.0, 0.08, 0.1
PERIODS, EVERY = 25, 5
TOTAL = 250
COST = LinearCost(fixed=5, per_sample=1)
FIRST = (20, 20)
KNOWN = Constants.given(m=1.0, M=1.0, A=2 * NOISE, B=4.0)  # isotropic Gaussian rows in two dimensions (theory 1.1g)


def world_of(number: int) -> DriftingRegression:
    """Return the synthetic regression of section V-A.

    >>> world_of(0).period(1).coef
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
    """Return the practical default, which is told the target and nothing else."""
    return Tracker(LOSS, epsilon=EPSILON, fit_intercept=False, features=2, rng=number, budget=budget)


def money(total: int, gap: str = "mean") -> Budget:
    """Return ``total`` for all periods, at the prices of the experiment."""
    return Budget(total=total, horizon=PERIODS, cost=COST, gap=gap)
