"""Trackers that keep to a budget, and worlds that they follow."""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftpace import Ball, Budget, Constants, LinearCost, SquaredLoss, Tracker
from driftpace.synthetic import DriftingRegression
from driftpace.typing import FloatArray

COST = LinearCost(fixed=20, per_sample=1, currency="EUR")
KNOWN = Constants.given(m=1.0, M=1.0, A=0.16, B=4.0)


def practical(total: object = 300, horizon: int = 5, *, epsilon: float = 0.1, **budget: Any) -> Tracker:
    """A default tracker."""
    limit = Budget(**{"total": total, "horizon": horizon, "cost": COST, **budget})
    return Tracker(SquaredLoss(), epsilon=epsilon, budget=limit, rng=0)


def in_paper(total: object = 400, horizon: int = 6, *, made: dict[str, Any] | None = None, **budget: Any) -> Tracker:
    """The paper's method; the drift is known, and nothing is fixed beforehand, unless said otherwise."""
    limit = Budget(**{"total": total, "horizon": horizon, "cost": COST, **budget})
    parts: dict[str, Any] = {"epsilon": 0.1, "domain": Ball(radius=10.0), "constants": KNOWN, "features": 2, "rho": 0.3}
    return Tracker.as_in_paper(SquaredLoss(), **{**parts, **(made or {})}, budget=limit, rng=0)


def learning(total: object = 400, horizon: int = 6, **budget: Any) -> Tracker:
    """The paper's method where the drift is to be learnt."""
    return in_paper(total, horizon, made={"rho": None, "first_samples": (30, 30)}, **budget)


def draws(
    seed: int = 0, *, rho: float = 0.3, noise: float = 0.08
) -> Callable[[int], Callable[[int], tuple[FloatArray, FloatArray]]]:
    """Return draw(period)(count), the rows of a drifting regression."""
    world, rng = DriftingRegression(features=2, rho=rho, noise=noise, rng=seed), np.random.default_rng((seed, 1))

    def of_period(period: int) -> Callable[[int], tuple[FloatArray, FloatArray]]:
        return lambda count: world.period(period).draw(count, rng=rng)

    return of_period
