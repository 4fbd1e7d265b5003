"""What the default tracker does over many periods, by Monte Carlo: tolerance, confidence, jumps, stationary worlds."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from driftpace.synthetic import Shape, ShapedRegression
from tests.reference.practical import follow

EPSILON = 0.05

pytestmark = pytest.mark.statistical


def world(shape: Shape, cost: float, seed: int, **changes: Any) -> Callable[[int], ShapedRegression]:
    """Worlds of three features in which a step costs ``cost`` targets."""
    return lambda run: ShapedRegression(
        features=3, cost=cost * EPSILON, shape=shape, rng=1_000_003 * seed + run, **changes
    )


def test_a_tolerance_is_followed(seed: int) -> None:
    """Within 5 % of the best loss: the target is 0.05 x 2.0 within a fifth, in every period, and is kept in the mean."""
    study = follow(
        world("walk", 0.3, seed, noise=4.0), features=3, runs=20, periods=8, seed=seed, epsilon=None, tolerance=0.05
    )
    true = 0.05 * 2.0
    assert (np.abs(study.epsilon.mean(axis=0) / true - 1.0) < 0.2).all()
    means = study.risk.mean(axis=1)
    assert means.mean() <= true + 3.0 * means.std(ddof=1) / math.sqrt(len(means))


@pytest.mark.parametrize(("shape", "cost"), [pytest.param("still", 0.0, marks=pytest.mark.slow), ("walk", 0.5)])
def test_a_confidence_holds_in_each_period(shape: Shape, cost: float, seed: int) -> None:
    """Nine periods in ten are within the target, runs as clusters; that costs more than the mean, which gives less."""
    runs, periods, level = 20, 10, 0.9
    held = follow(world(shape, cost, seed), features=3, runs=runs, periods=periods, seed=seed, confidence=level)
    mean = follow(world(shape, cost, seed), features=3, runs=runs, periods=periods, seed=seed)
    within = (held.risk <= EPSILON).mean(axis=1)
    error = max(float(within.std(ddof=1)), math.sqrt(level * (1.0 - level) / periods)) / math.sqrt(runs)
    assert within.mean() >= level - 3.0 * error
    assert held.samples.mean() > 1.2 * mean.samples.mean()
    if shape == "walk":  # the control: the mean is not a confidence
        assert (mean.risk <= EPSILON).mean() < level - 3.0 * error


@pytest.mark.parametrize("runs", [8, pytest.param(20, marks=pytest.mark.slow)])
def test_a_certificate_has_the_level_that_was_asked_for(runs: int, seed: int) -> None:
    """The same rows certified at 0.6, 0.9 and 0.99: larger with the level, and true at least so often.

    Error budget: three comparisons at three standard errors over runs, at most 3 x 0.01 with 8 runs and 3 x 0.004 with 20
    (Student t), if coverage were exactly the level; it is larger.
    """
    periods = 8
    before = None
    for level in (0.6, 0.9, 0.99):
        study = follow(
            world("walk", 0.3, seed), features=3, runs=runs, periods=periods, seed=seed, certificate_level=level
        )
        if before is not None:
            np.testing.assert_array_equal(study.samples, before.samples)
            assert (study.certificate > before.certificate).all()
        before = study
        each = study.covered.mean(axis=1)
        error = max(float(each.std(ddof=1)), math.sqrt(level * (1.0 - level) / periods)) / math.sqrt(runs)
        assert each.mean() >= level - 3.0 * error


def test_a_jump_is_detected_reported_and_compensated(seed: int) -> None:
    """One jump that costs a stale model forty targets: called a drift, and the period ends within two targets."""
    runs, jump_at = 25, 7
    study = follow(world("jump", 40.0, seed, jump_at=jump_at), features=3, runs=runs, periods=jump_at + 1, seed=seed)
    at = jump_at - 1
    assert np.count_nonzero(study.status[:, at] == "drift") >= binom.ppf(1e-6, runs, 0.95)
    before = study.status[:, 1:at]
    assert np.mean(before == "stable") >= 0.9
    assert np.count_nonzero(before == "drift") <= binom.ppf(1.0 - 1e-6, before.size, 0.01)
    risk = study.risk[:, at]
    assert risk.mean() <= 2.0 * EPSILON + 3.0 * risk.std(ddof=1) / math.sqrt(runs)
    assert study.samples[:, at].mean() > 1.5 * study.samples[:, at - 1].mean()
    covered = np.count_nonzero(study.covered[:, at])
    assert covered >= binom.ppf(1e-6, runs, 0.95)


@pytest.mark.parametrize("runs", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_stationary_world_is_left_alone(runs: int, seed: int) -> None:
    """After a hundred periods less than a tenth of the first is asked, and it goes on falling; the target is met."""
    study = follow(world("still", 0.0, seed), features=3, runs=runs, periods=120, seed=seed)
    first, early, late = (study.samples[:, part].mean() for part in (slice(0, 1), slice(30, 60), slice(99, 120)))
    assert late < 0.1 * first
    assert late < 0.8 * early < 0.8 * first
    assert study.risk.mean() <= EPSILON
    assert (study.samples == 0.0).any()
