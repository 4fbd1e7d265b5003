"""Synthetic classes: costs of steps, shares, and draws against the stated probabilities."""

import numpy as np
import pytest

from driftpace.errors import ParameterError
from driftpace.synthetic import ShapedMulticlass


def test_a_step_costs_what_was_asked(seed: int) -> None:
    world = ShapedMulticlass(features=4, classes=3, cost=0.03, shape="walk", rng=seed)
    costs = [world.period(n + 1).excess_risk(world.period(n).probabilities) for n in range(1, 12)]
    assert np.mean(costs) == pytest.approx(0.03, rel=0.01)
    still = ShapedMulticlass(features=4, classes=3, cost=0.03, shape="still", rng=seed)
    assert still.period(9).excess_risk(still.period(1).probabilities) == 0.0


@pytest.mark.statistical
def test_draws_follow_the_probabilities(rng: np.random.Generator) -> None:
    """Error budget: five standard errors of each share of 40,000 rows."""
    period = ShapedMulticlass(features=2, classes=4, cost=0.0, shape="still", rng=1, shares=[8, 4, 2, 1]).period(1)
    X, y = period.draw(40_000, rng=rng)
    shares, expected = np.bincount(y.astype(int), minlength=4) / len(y), period.probabilities(X).mean(axis=0)
    assert (np.abs(shares - expected) <= 5.0 * np.sqrt(expected / len(y))).all()


def test_impossible_worlds_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"ShapedMulticlass\(cost=\.\.\.\) must be at most"):
        ShapedMulticlass(features=2, classes=3, cost=50.0, shape="walk", rng=0)
    with pytest.raises(ParameterError, match=r"shares=\.\.\.\) must be above 0"):
        ShapedMulticlass(features=2, classes=3, cost=0.0, shape="still", rng=0, shares=[1.0, 0.0, 1.0])
