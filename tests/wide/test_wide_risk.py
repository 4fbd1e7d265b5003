"""The stated risk of the wide method against the truth of exactly what it promises, with controls that must fail."""

import numpy as np
import pytest

from benchmarks.wide import WideWorld, first_looks, penalised_excess, run
from driftpace import LogisticLoss, Tracker
from driftpace.wide import fit, prior
from driftpace.wide.prior import power_laws
from driftpace.wide.spectrum import spectrum_of


def ratio(found: np.ndarray) -> float:
    stated, true = found.mean(axis=0)
    return float(stated / true)


@pytest.mark.parametrize(("columns", "rows", "runs"), [(50, 200, 20), (1000, 300, 5)])
def test_the_stated_risk_of_a_first_period_is_the_true_one(columns: int, rows: int, runs: int) -> None:
    # the mean of 20 (5) runs is exact to about 5 % (6 %)
    assert 0.8 <= ratio(first_looks(columns, rows, pool=3000, runs=runs)) <= 1.25


def test_without_a_pool_rows_left_out_correct_what_components_of_the_same_rows_hide(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert 0.8 <= ratio(first_looks(300, 300, pool=0, runs=8)) <= 1.35
    monkeypatch.setattr(
        fit, "_beyond_design", lambda *_: 1.0
    )  # the control: whitened by themselves, rows look independent
    assert ratio(first_looks(300, 300, pool=0, runs=8)) < 0.8


def test_the_rows_show_the_power_law() -> None:
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 0.3, 0.1])
    sizes = np.array([5.0, 20.0, 60.0])
    Z = rng.standard_normal((400, 85))
    coef = np.sqrt(np.repeat(scale**1.5, [5, 20, 60])) * rng.standard_normal(85)
    response = 3.0 + Z @ coef + rng.standard_normal(400)
    laws = power_laws(Z, response[:, None], scale, sizes, total=None, level=True)
    mean = laws.weights @ laws.variances
    assert mean[0] > 3.0 * mean[1] > 6.0 * mean[2]
    assert 0.8 < laws.mean_noise < 1.25


def signal_of_classes(variance: float, runs: int = 8) -> float:
    """Return the mean variance of scores that the rows of two classes show, over the true one."""
    scale, sizes, found = np.array([1.0, 0.3, 0.1]), np.array([5.0, 20.0, 60.0]), []
    each = np.repeat(scale, [5, 20, 60])
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        Z = rng.standard_normal((400, 85))
        coef = np.sqrt(variance * each / each.sum()) * rng.choice([-1.0, 1.0], 85)
        response = np.where(rng.random(400) < 1.0 / (1.0 + np.exp(-Z @ coef)), 2.0, -2.0)
        laws = power_laws(Z, response[:, None], scale, sizes, total=np.array([4.0]), level=True)
        found.append(float(laws.weights @ laws.variances @ sizes))
    return float(np.mean(found)) / variance


@pytest.mark.parametrize("variance", [0.7, 4.0])
def test_classes_show_how_much_the_columns_explain(variance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # the means of 8 worlds are exact to about 15 %
    assert 0.7 <= signal_of_classes(variance) <= 1.35
    if variance > 1.0:
        monkeypatch.setattr(prior, "_of_scores", lambda _: 1.0)  # the control: responses taken for scores
        assert signal_of_classes(variance) < 0.6


def first_looks_of_classes(columns: int, rows: int, runs: int) -> np.ndarray:
    found = []
    for seed in range(runs):
        world = WideWorld(columns=columns, classes=True, signal=4.0, rng=np.random.default_rng((11, seed)))
        tracker = Tracker(LogisticLoss(), epsilon=0.1, method="wide", rng=seed)
        tracker.fit_pool(world.rows(2000))
        tracker.ask()
        report = tracker.tell(*world.draw(rows))
        assert report is not None
        found.append((report.risk_bound, penalised_excess(tracker, world, tested=6000)))
    return np.array(found)


def test_few_rows_of_two_classes_state_their_risk() -> None:
    # 0.55 with a thousand columns when the variance of responses was taken for noise alone
    assert 0.75 <= ratio(first_looks_of_classes(200, 90, runs=12)) <= 1.3


def test_components_of_a_pool_have_variance_one_in_rows_not_seen() -> None:
    world = WideWorld(columns=300, rng=np.random.default_rng(1))
    spectrum = spectrum_of(world.rows(1500), intercept=True, rng=np.random.default_rng(0))
    fresh = np.square(spectrum.scores(world.rows(4000))).mean(axis=0)
    assert abs(fresh[:50].mean() - 1.0) < 0.1
    assert abs(fresh.mean() - 1.0) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "pool"), [(50, 4000), (50, 0), (1000, 4000), (1000, 0)])
def test_trackers_keep_their_target(columns: int, pool: int) -> None:
    found = np.array(
        [
            run(
                WideWorld(columns=columns, rng=np.random.default_rng((3, seed))),
                pool=pool,
                epsilon=0.1,
                periods=5,
                seed=seed,
            )
            for seed in range(8)
        ]
    )
    assert found[:, :, 1].mean() <= 0.1
    assert 0.7 <= found[:, 1:, 0].mean() / found[:, 1:, 1].mean() <= 1.35
