"""Tables of several classes, replayed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftpace import SoftmaxLoss, SquaredLoss, Tracker
from driftpace.backtest import Panel, backtest, from_json, promise, render, replay, to_json
from driftpace.backtest.anchored import STRENGTHS, fit_anchored, fit_shrunk
from driftpace.backtest.check import check_table
from driftpace.backtest.job import TrackerConfig, prepare
from driftpace.backtest.population import find_population, mean_losses
from driftpace.backtest.run import replay_run
from driftpace.backtest.table import read_table
from driftpace.backtest.tracker_run import RowSource
from driftpace.errors import DataError, ParameterError
from driftpace.metrics import auc, macro_f1
from driftpace.report import backtest_report
from driftpace.tables import read_columns
from driftpace.tables.leakage import find_leaks
from driftpace.typing import FloatArray

from .panels import panel_of

WORDS = ("cat", "dog", "owl")


def _draw(rng: np.random.Generator, rows: int, turn: float, absent: int | None = None) -> tuple[FloatArray, FloatArray]:
    X = rng.normal(size=(rows, 2))
    angles = turn + np.array([0.0, 2.1, 4.2])
    scores = 2.0 * X @ np.array([np.cos(angles), np.sin(angles)])
    if absent is not None:
        scores[:, absent] = -np.inf
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1).astype(float)


def _panel(rng: np.random.Generator, *, periods: int = 8, rows: int = 250, step: float = 0.15) -> Panel:
    drawn = [_draw(rng, rows, step * period) for period in range(periods)]
    return replace(panel_of([X for X, _ in drawn], [y for _, y in drawn]), classes=WORDS)


def _table(rng: np.random.Generator, rows: int = 900) -> dict[str, Any]:
    X, y = _draw(rng, rows, 0.0)
    words = np.array(WORDS, dtype=object)[y.astype(int)]
    return {"week": np.repeat(np.arange(6), rows // 6), "x": X[:, 0], "z": X[:, 1], "animal": words}


def test_a_target_of_several_texts_is_understood_and_said(rng: np.random.Generator) -> None:
    panel = read_table(_table(rng), period="week", target="animal")
    assert (panel.task, panel.classes) == ("multiclass", WORDS)
    assert "Target animal has 3 classes: cat, dog and owl." in panel.notes
    assert set(np.concatenate(panel.y).tolist()) == {0.0, 1.0, 2.0}


def test_codes_are_classes_and_the_note_says_how_to_change_it(rng: np.random.Generator) -> None:
    table = _table(rng)
    codes = np.searchsorted(WORDS, table["animal"].astype(str))
    panel = read_table({**table, "animal": codes}, period="week", target="animal")
    assert (panel.task, panel.classes) == ("multiclass", ("0", "1", "2"))
    note = "the codes 0, 1 and 2. --loss squared, or loss=SquaredLoss(), treats them as a number."
    assert any(note in one for one in panel.notes)
    given: dict[str, Any] = {"period": "week", "target": "animal", "epsilon": 0.2, "runs": 1, "baselines": []}
    assert backtest({**table, "animal": codes}, loss=SquaredLoss(), **given).classes == ()
    rated = backtest({**table, "animal": codes + 3}, loss=SoftmaxLoss(l2=1e-3), **given)
    assert rated.classes == ("3", "4", "5")


def test_targets_that_are_not_classes_are_refused(rng: np.random.Generator) -> None:
    table = _table(rng)
    with pytest.raises(
        DataError, match=r"target 'animal' must be two classes for this loss; its 3 texts, such as 'cat'"
    ):
        read_table(table, period="week", target="animal", task="classification")
    with pytest.raises(DataError, match=r"must be numbers or at most 100 classes; got 900 texts, such as 'row 0'"):
        read_table({**table, "animal": [f"row {row}" for row in range(900)]}, period="week", target="animal")
    with pytest.raises(
        DataError, match=r"'x' must be 2 to 100 texts or whole numbers for a loss of classes; got 900 numb"
    ):
        read_table(table, period="week", target="x", task="multiclass")
    with pytest.raises(ParameterError, match=r"task=\.\.\.\) must be one of 'regression'"):
        read_table(table, period="week", target="x", task="multi")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"must have at least the 3 classes of target 'animal'; got classes=2\."):
        backtest(table, period="week", target="animal", loss=SoftmaxLoss(l2=0.1, classes=2), epsilon=0.1, runs=1)


def test_the_best_model_of_a_period_without_a_class_is_finite(rng: np.random.Generator) -> None:
    X, y = _draw(rng, 300, 0.3, absent=1)
    population = find_population("n", SoftmaxLoss(l2=1e-3, classes=3), X, y)
    loss = population.loss
    assert np.isfinite(population.best).all()
    assert np.abs(population.best).max() < 50.0
    shares = loss.probabilities(loss.scores(population.best, population.X))  # type: ignore[attr-defined]
    assert shares[:, 1].max() < 1e-5
    two = find_population("n", SoftmaxLoss(l2=1e-3, classes=2), X, np.where(y == 2.0, 1.0, 0.0))
    assert population.least == pytest.approx(two.least, abs=2e-3)  # the penalty of the contrasts is not quite the same
    assert np.isfinite(population.noise)


def test_the_best_model_is_a_minimum_also_with_weights(rng: np.random.Generator) -> None:
    X, y = _draw(rng, 200, 0.0)
    weights = rng.uniform(0.2, 3.0, 200)
    loss = SoftmaxLoss(l2=1e-3, classes=3)
    for given in (None, weights):
        population = find_population("n", loss, X, y, None, given)
        around = population.best + 0.05 * rng.normal(size=(50, population.best.size))
        assert (
            mean_losses(population.loss, around, population.X, population.y, population.weights).min()
            > population.least
        )
        assert population.excess_risk(population.best)[0] == pytest.approx(0.0, abs=1e-12)


def test_anchored_fits_lie_between_the_anchor_and_the_fresh_fit(rng: np.random.Generator) -> None:
    X, y = _draw(rng, 150, 0.0)
    population = find_population("n", SoftmaxLoss(l2=1e-3, classes=3), X, y)
    anchors = np.zeros((STRENGTHS.size, 6))
    models = fit_anchored(population.loss, population.X, population.y, anchors, STRENGTHS, np.ones(6))
    np.testing.assert_allclose(models[0], population.best, atol=1e-5)
    assert (np.diff(np.linalg.norm(models, axis=1)) < 1e-9).all()
    few = fit_shrunk(population.loss, population.X[:3], population.y[:3], STRENGTHS, np.ones(6))
    assert np.isfinite(few).all()


def test_metrics_of_several_classes() -> None:
    rng = np.random.default_rng(3)
    shares, y = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60).astype(float)
    areas = []
    for one in range(3):
        pairs = shares[y == one, one][:, None] - shares[y != one, one][None, :]
        areas.append(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    assert auc(y, shares) == pytest.approx(np.mean(areas))
    assert np.isnan(auc(np.zeros(60), shares))
    assert macro_f1(y, y) == 1.0
    assert macro_f1(np.array([0.0, 0.0, 1.0, 2.0]), np.zeros(4)) == pytest.approx((4.0 / 6.0) / 3.0)


def test_risks_are_those_of_the_probabilities_that_the_tracker_gives(rng: np.random.Generator) -> None:
    panel = _panel(rng, periods=3)
    job = prepare(panel, loss=None, asked=TrackerConfig(epsilon=0.05), test_fraction=0.2, seed=0)
    assert job.loss == SoftmaxLoss(l2=1e-3, classes=3)
    assert (job.coefficients, len(job.features)) == (9 - 3, 2)
    measured = replay_run(job, 0).measured["driftpace"]
    tracker = job.asked.tracker(job.loss, 2, job.tracker_seed(0))
    for period, now in enumerate(job.rows(0)):
        source = RowSource(now)
        tracker.step(source, pool=now.pool)
        X, y = now.test()
        shares = tracker.predict_proba(X[:, :-1])
        assert measured.test_loss[period] == pytest.approx(-np.mean(np.log(shares[np.arange(len(y)), y.astype(int)])))
        assert measured.metrics["accuracy"][period] == np.mean(tracker.predict(X[:, :-1]) == y)


def test_the_promise_is_kept_where_an_old_model_breaks_it(rng: np.random.Generator) -> None:
    result = replay(_panel(rng), epsilon=0.06, runs=3, workers=1, progress=False, baselines=["first_model", "paper"])
    epsilon = np.array(result.epsilon)
    own, first = result.strategies
    assert promise(own.excess_risk, epsilon).kept
    assert not promise(first.excess_risk, epsilon).kept
    assert own.samples[:, 1:].mean() < 120
    assert np.nanmean(own.metrics["accuracy"]) > np.nanmean(first.metrics["accuracy"])
    assert result.movement is not None
    assert result.movement.shape == (8, 3)
    assert [one.name for one in result.skipped] == ["paper"]
    assert "one score" in result.skipped[0].reason
    text = render(result)
    assert "accuracy" in text
    assert "macro F1" in text
    page = backtest_report(result)
    assert "cat, dog, owl" in page
    assert "macro F1" in page
    again = from_json(to_json(result))
    assert again.classes == WORDS
    np.testing.assert_array_equal(again.strategies[0].metrics["macro_f1"], own.metrics["macro_f1"])


def test_every_baseline_runs(rng: np.random.Generator) -> None:
    result = replay(_panel(rng, periods=5, rows=120), tolerance=0.2, runs=1, workers=1, progress=False)
    assert {one.name for one in result.strategies} >= {
        "up_front",
        "even",
        "from_scratch",
        "first_model",
        "best_constant",
    }
    for one in result.strategies:
        assert np.isfinite(one.excess_risk).all()


def test_a_class_that_appears_late_is_followed(rng: np.random.Generator) -> None:
    drawn = [_draw(rng, 400, 0.1 * period, absent=2 if period < 5 else None) for period in range(9)]
    panel = replace(panel_of([X for X, _ in drawn], [y for _, y in drawn]), classes=WORDS)
    result = replay(panel, epsilon=0.1, runs=2, workers=1, progress=False, baselines=["first_model"])
    own, first = result.strategies
    assert own.excess_risk.max() < 0.5  # found in the period in which it appears
    assert own.excess_risk[:, 7:].mean() < 0.1
    assert first.excess_risk[:, 5:].min() > 1.0


def test_custom_trackers_get_the_classes(rng: np.random.Generator) -> None:
    def make(loss: Any, features: int, seed: int) -> Tracker:
        assert loss.classes == 3
        return Tracker(loss, epsilon=0.3, features=features, rng=seed)

    result = replay(_panel(rng, periods=2), epsilon=0.3, runs=1, workers=1, progress=False, baselines=[], tracker=make)
    assert np.isfinite(result.strategies[0].excess_risk).all()


def test_a_check_describes_the_classes_and_gives_labels(rng: np.random.Generator) -> None:
    check = check_table(_table(rng), target="animal")
    assert check.problems == ()
    assert check.target_detail is not None
    assert check.target_detail.startswith("3 classes: cat, dog and owl; ")
    assert check.drift is not None
    assert check.drift.constant > check.drift.fresh > 0.0
    assert check.labels
    assert "animal" in check_table(_table(rng)).candidates


def test_a_copy_of_the_classes_is_a_leak_and_a_strong_feature_is_not(rng: np.random.Generator) -> None:
    table = _table(rng)
    y = np.searchsorted(WORDS, table["animal"].astype(str)).astype(float)
    code = (y * 2 + 1) % 3
    columns = read_columns({**table, "code": code})
    keep = np.ones(y.size, dtype=np.bool_)
    leaks = find_leaks(columns, ["x", "z", "code"], "animal", y, keep, classes=True)
    assert [(leak.feature, leak.measure) for leak in leaks] == [("code", "AUC")]
    assert find_leaks(columns, ["x", "z"], "animal", y, keep, classes=True) == []


def test_a_number_whose_ranges_are_the_classes_is_a_leak(rng: np.random.Generator) -> None:
    minutes = np.where(rng.random(2000) < 0.05, np.nan, rng.exponential(30.0, 2000))
    y = np.where(np.isnan(minutes), 3.0, np.digitize(np.nan_to_num(minutes), [15.0, 60.0]))
    table = read_columns({"minutes": minutes, "x": rng.normal(size=2000), "y": y})
    keep = np.ones(2000, dtype=np.bool_)
    assert [leak.feature for leak in find_leaks(table, ["minutes", "x"], "y", y, keep, classes=True)] == ["minutes"]
    noisy = read_columns({"minutes": minutes + rng.normal(0.0, 20.0, 2000), "x": rng.normal(size=2000), "y": y})
    found = find_leaks(noisy, ["minutes", "x"], "y", y, keep, classes=True)
    assert [(leak.feature, leak.kind, leak.level) for leak in found] == [
        ("minutes", "after", "3")
    ]  # empty for one class
    known = np.where(np.isnan(minutes), rng.exponential(30.0, 2000), minutes) + rng.normal(0.0, 20.0, 2000)
    near = read_columns({"minutes": known, "x": rng.normal(size=2000), "y": y})
    assert find_leaks(near, ["minutes", "x"], "y", y, keep, classes=True) == []
