"""A model that lags behind a line: one step of gradient descent a period, on so many rows that it has hardly any scatter."""

import math

import numpy as np

from driftpace.constraints import WholeSpace
from driftpace.drift import Drift, NoMargin
from driftpace.learners import GradientPasses
from driftpace.records import Constants, PeriodData
from driftpace.synthetic import DriftingRegression
from paper.beyond.followed import Followed
from paper.cost.setting import LOSS, NOISE

LAG_RHO, LAG_ROWS = 0.2, 4000


def share(epsilon: float) -> float:
    """Return the step a with which a model on a line settles at risk epsilon: delta = (1 - a)(delta + rho), epsilon = delta^2/2.

    >>> delta = (1.0 - share(0.02)) / share(0.02) * LAG_RHO
    >>> 0.5 * delta**2
    0.02
    """
    return LAG_RHO / (LAG_RHO + math.sqrt(2.0 * epsilon))


def lag(epsilon: float, periods: int, number: int) -> Followed:
    """Return how the direct estimate sees a model that lags behind a line by sqrt(2 epsilon), started there."""
    world = DriftingRegression(features=2, rho=LAG_RHO, noise=NOISE, rng=number, shape="line")
    path, rows = world.path(periods), np.random.default_rng([number, 1])
    ahead = (path[1] - path[0]) / LAG_RHO
    coef = path[0] - (math.sqrt(2.0 * epsilon) + LAG_RHO) * ahead
    learner, constants = GradientPasses(1), Constants.given(m=1.0, M=1.0, L=1.0 / share(epsilon))
    drift = Drift(margin=NoMargin())
    state, none = drift.init(2), (np.empty((0, 2)), np.empty(0))
    risks, drifts = np.empty(periods), np.full(periods, math.nan)
    for index in range(periods):
        now = world.period(index + 1)
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
    return Followed(
        risks=risks, samples=np.full(periods, float(LAG_ROWS)), drifts=drifts, promised=np.full(periods, math.nan)
    )
