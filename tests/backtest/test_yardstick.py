"""The best constant size in hindsight, against trying every size with every strength."""

import numpy as np
import pytest

from driftpace.backtest.anchored import LEAST, STRENGTHS
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.promise import promise
from driftpace.backtest.yardstick import constant_risks, constant_run, constant_sizes, find_best_constant
from driftpace.constraints import WholeSpace
from driftpace.learners.newton import minimise
from driftpace.typing import FloatArray
from tests.backtest.panels import drifting_panel

RUNS = 6


def job_of(epsilon: float, *, step: float = 0.2, rows: int = 60) -> Job:
    panel = drifting_panel(periods=7, rows=rows, step=step)
    return prepare(panel, loss=None, asked=TrackerConfig(epsilon=epsilon), test_fraction=0.2, seed=3)


def risks_of(job: Job, size: int) -> FloatArray:
    return np.array([constant_risks(job, (run, size)) for run in range(RUNS)]).transpose(1, 0, 2)


def by_brute_force(job: Job, epsilon: float) -> int | None:
    """Return the least size, every size and strength tried, each fit by the general minimiser."""
    for size in range(49):
        for index, strength in enumerate(STRENGTHS):
            risks = np.array([slow_risks(job, run, size, float(strength)) for run in range(RUNS)])
            np.testing.assert_allclose(risks_of(job, size)[index], risks, rtol=1e-5, atol=1e-7)
            if promise(risks[:, 3:], epsilon).kept:
                return size
    return None


def slow_risks(job: Job, run: int, size: int, strength: float) -> list[float]:
    coef, risks = np.zeros(3), []
    for period, now in enumerate(job.rows(run)):
        X, y = now.bought(0, 30 if period < 2 else size)
        if period == 0 or (np.isfinite(strength) and len(y) > 0):
            # scale as in the panel: the columns' variances, which the minimiser knows through scaled columns
            root = np.sqrt(job.scale)
            pull = max(0.0 if period == 0 else strength, LEAST)
            scaled, _, _ = minimise(now.population.loss, WholeSpace(), coef * root, X / root, y, pull)
            coef = scaled / root
        risks.append(float(now.population.excess_risk(coef)[0]))
    return risks


@pytest.mark.parametrize("epsilon", [pytest.param(0.03, marks=pytest.mark.slow), 0.08])
def test_it_is_the_least_size_that_any_search_finds(epsilon: float) -> None:
    job = job_of(epsilon, step=0.6)
    best = find_best_constant(lambda size: risks_of(job, size), job.epsilon, int(job.pools.max()))
    assert best.kept
    assert best.size > 3  # otherwise there was nothing to search
    assert best.size == by_brute_force(job, epsilon)


def test_a_world_that_stands_still_needs_nothing() -> None:
    job = job_of(0.2, step=0.0)
    best = find_best_constant(lambda size: risks_of(job, size), job.epsilon, 48)
    assert (best.size, best.kept) == (0, True)


def test_where_no_size_keeps_the_promise_it_says_so() -> None:
    job = job_of(1e-7)
    best = find_best_constant(lambda size: risks_of(job, size), job.epsilon, 48)
    assert (best.size, best.kept) == (48, False)


@pytest.mark.parametrize("least", [0, 1, 5, 13, 40, 77, 100])
def test_the_search_finds_the_border(least: int) -> None:
    asked = []

    def risks(size: int) -> FloatArray:
        asked.append(size)
        return np.full((len(STRENGTHS), 2, 6), 0.01 if size >= least else 0.03)

    best = find_best_constant(risks, np.full(6, 0.02), 100)
    assert (best.size, best.kept) == (least, True)
    assert len(asked) < 30


def test_the_first_two_periods_buy_ten_rows_a_coefficient_as_far_as_there_are_any() -> None:
    assert constant_sizes(job_of(0.1), 5).tolist() == [30, 30, 5, 5, 5, 5, 5]
    assert constant_sizes(job_of(0.1, rows=30), 25).tolist() == [24, 24, 24, 24, 24, 24, 24]


def test_what_is_measured_is_what_was_searched() -> None:
    job = job_of(0.1)
    measured = constant_run(job, (2, 9, float(STRENGTHS[8])))
    np.testing.assert_allclose(measured.excess_risk, constant_risks(job, (2, 9))[8], rtol=1e-9)
    assert measured.samples.tolist() == [30, 30, 9, 9, 9, 9, 9]
