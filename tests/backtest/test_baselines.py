"""The other ways of buying labels, one by one."""

import numpy as np
import pytest

from driftpace import SmoothedHinge
from driftpace.backtest.anchored import STRENGTHS
from driftpace.backtest.baselines import (
    even,
    even_sizes,
    from_scratch,
    generous_constants,
    paper_rule,
    textbook_sizes,
    up_front,
)
from driftpace.backtest.job import Job, TrackerConfig, prepare
from driftpace.backtest.tracker_run import RowSource
from driftpace.losses import Loss
from tests.backtest.panels import classes_panel, drifting_panel


def job_of(epsilon: float = 0.05, loss: Loss | None = None, rows: int = 60) -> Job:
    panel = drifting_panel(rows=rows) if loss is None else classes_panel(rows=rows)
    return prepare(panel, loss=loss, asked=TrackerConfig(epsilon=epsilon), test_fraction=0.2, seed=1)


def test_up_front_is_least_squares_of_the_first_rows() -> None:
    job = job_of()
    rows = job.rows(0)
    X, y = rows[0].bought(0, 20)
    coef = np.linalg.lstsq(X, y, rcond=None)[0].astype(np.float64)
    measured = up_front(job, rows, 20)
    expected = [float(now.population.excess_risk(coef)[0]) for now in rows]
    np.testing.assert_allclose(measured.excess_risk, expected, rtol=1e-6)
    assert measured.samples.tolist() == [20, 0, 0, 0, 0, 0]


def test_up_front_stops_where_the_pool_does() -> None:
    job = job_of()
    assert up_front(job, job.rows(0), 10_000).samples.tolist() == [48, 0, 0, 0, 0, 0]


def test_the_textbook_size_by_hand() -> None:
    job = job_of(epsilon=0.05, rows=400)
    noise = np.array([now.noise for now in job.populations])
    assert textbook_sizes(job).tolist() == np.ceil(3 + 1 + noise / 0.1).astype(int).tolist()
    np.testing.assert_allclose(noise, 3 * 0.25, rtol=0.35)  # three coefficients, noise variance 0.25, 400 rows
    assert textbook_sizes(job_of(epsilon=1e-9)).tolist() == [48] * 6


@pytest.mark.statistical
def test_the_textbook_size_holds_its_target_in_the_mean_where_rows_are_gaussian() -> None:
    job = job_of(epsilon=0.02, rows=1000)
    risks = np.array([from_scratch(job, job.rows(run)).excess_risk for run in range(40)])
    assert risks.mean() == pytest.approx(0.02, rel=0.25)  # 240 fits of about 20: standard error under 6 %


def test_an_even_share_is_whole_and_adds_up() -> None:
    assert even_sizes(20, np.array([50, 50, 50])).tolist() == [7, 7, 6]
    assert even_sizes(0, np.array([5, 5])).tolist() == [0, 0]


def test_even_tries_every_strength() -> None:
    job = job_of()
    tried = even(job, job.rows(0), 90)
    assert len(tried) == len(STRENGTHS)
    kept = tried[-1].excess_risk  # infinitely strong: the mean of the first rows, kept
    rows = job.rows(0)
    mean = np.array([0.0, 0.0, rows[0].bought(0, 15)[1].mean()])
    np.testing.assert_allclose(kept, [float(now.population.excess_risk(mean)[0]) for now in rows], rtol=1e-3)
    assert min(one.excess_risk.mean() for one in tried) < kept.mean()


@pytest.mark.parametrize("loss", [None, SmoothedHinge(l2=0.1)])
def test_the_paper_gets_constants_that_hold_at_the_minimiser(loss: Loss | None) -> None:
    job = job_of(loss=loss)
    constants = generous_constants(job)
    for now in job.populations:
        values = np.linalg.eigvalsh(now.hessian)
        assert constants.safe("m") <= values[0] + 1e-12
        assert constants.safe("M") >= values[-1] - 1e-12
        squares = np.square(now.loss.row_gradients(now.best, now.X, now.y)).sum(axis=1)
        assert constants.safe("A") >= squares.mean() - 1e-12
        assert constants.safe("B") >= values[-1] ** 2 - 1e-9  # Jensen: E H_z^2 >= (E H_z)^2


@pytest.mark.parametrize("loss", [None, SmoothedHinge(l2=0.1)])
def test_the_paper_asks_for_more_than_there_is(loss: Loss | None) -> None:
    job = job_of(epsilon=0.01, loss=loss)
    measured = paper_rule(job, job.rows(0), 0)
    assert (measured.samples == job.pools).all()
    assert np.isfinite(measured.excess_risk).all()


def test_a_draw_hands_out_each_row_once() -> None:
    now = job_of().rows(1)[2]
    draw = RowSource(now)
    parts = [draw(size) for size in (10, 0, 30, 30, 5)]
    assert [len(y) for _, y in parts] == [10, 0, 30, 8, 0]
    X, y = now.bought(0, 48)
    np.testing.assert_array_equal(np.concatenate([part for part, _ in parts]), X[:, :-1])
    np.testing.assert_array_equal(np.concatenate([part for _, part in parts]), y)
    assert RowSource(now, ones=True)(3)[0].shape == (3, 3)
