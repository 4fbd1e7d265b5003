"""What training a base again would gain: against the truth, the ways that are tried, and corrections on top of corrections."""

from typing import Any

import lightgbm
import numpy as np
import pytest
from scipy.stats import binom

from driftpace import Tracker
from driftpace.errors import ProtocolError
from driftpace.losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from driftpace.models import (
    CorrectedAdapter,
    HeadFeatures,
    ModelAdapter,
    ScoredRows,
    SmoothCorrection,
    Training,
    adapt,
    adapter_of_artefact,
    artefact_of,
    gain_of_training,
    retraining,
    smooth_correction,
    train,
)
from driftpace.models.corrected import turn_of
from driftpace.models.features import Head
from driftpace.models.smooth import RIDGES
from driftpace.tracker.head_rows import goes_on, head_matrix, trained_again
from driftpace.typing import FloatArray

LOSS = SquaredLoss()
NOISE = 0.5


def truth(X: FloatArray, lost: float = 0.0) -> FloatArray:
    return np.asarray(np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0) + lost * np.cos(2.0 * X[:, 3]))


def draw(rows: int, rng: np.random.Generator, lost: float = 0.0) -> tuple[FloatArray, FloatArray]:
    X = rng.uniform(-2.0, 2.0, (rows, 4))
    return X, truth(X, lost) + NOISE * rng.standard_normal(rows)


@pytest.fixture(scope="module")
def base() -> ModelAdapter:
    X, y = draw(3000, np.random.default_rng(7))
    return adapt(lightgbm.LGBMRegressor(n_estimators=40, num_leaves=15, verbose=-1, n_jobs=1).fit(X, y))


def parts_of(
    base: ModelAdapter, rng: np.random.Generator, *, lost: float, rows: int = 60, periods: int = 4
) -> list[ScoredRows]:
    drawn = [draw(rows, rng, lost) for _ in range(periods)]
    return [
        ScoredRows(period=period, X=X, y=y, scores=np.asarray(base.scores(X))[:, None])
        for period, (X, y) in enumerate(drawn, start=1)
    ]


def columns(X: FloatArray) -> FloatArray:
    return X


def model_of(
    base: ModelAdapter, features: HeadFeatures, parts: list[ScoredRows], gain: retraining.Gain
) -> ModelAdapter:
    return trained_again(base, LOSS, parts, gain, features, features.start, window=8, now=4)


def features_of(base: ModelAdapter, X: FloatArray) -> HeadFeatures:
    return HeadFeatures.learn(Head(components=0), base, X, np.asarray(base.scores(X))[:, None], "test")


@pytest.mark.statistical
def test_the_gain_is_what_following_it_brings(base: ModelAdapter, seed: int) -> None:
    """The estimate has no upward bias beyond noise, is not needlessly low, and following it lowers the true loss.

    Error budget: the mean of 24 differences exceeds three of its standard errors with a chance of 1e-3. The control chooses among
    the ways on the rows that it then reports, of models that saw these rows, and must exceed the truth by more than that.
    """
    rng = np.random.default_rng(seed)
    fresh = rng.uniform(-2.0, 2.0, (4000, 4))
    before = 0.5 * np.square(np.asarray(base.scores(fresh)) - truth(fresh, 1.0)).mean()
    features = features_of(base, fresh)
    differences, brought, greedy = [], [], []
    for _ in range(24):
        parts = parts_of(base, rng, lost=1.0)
        gain = gain_of_training(base, LOSS, parts, now=4, columns=columns)
        assert gain is not None
        fall = 0.0
        if gain.mean > 0.0:
            again = model_of(base, features, parts, gain)
            fall = before - 0.5 * np.square(np.asarray(again.scores(fresh)) - truth(fresh, 1.0)).mean()
        differences.append(max(gain.mean, 0.0) - fall)
        brought.append(fall)
        X, y = parts[-1].X, parts[-1].y
        own = np.asarray(train(base, parts, Training(way="fresh", half_life=8.0), now=4).scores(X))
        greedy.append(0.5 * float((np.square(base.scores(X) - y) - np.square(own - y)).mean()) - fall)
    allowed = 3.0 * np.std(differences) / np.sqrt(24.0)
    assert np.mean(differences) <= allowed
    assert np.mean(brought) > 0.5 * before
    assert np.mean(differences) > -0.5 * before
    assert np.mean(greedy) > 3.0 * np.std(greedy) / np.sqrt(24.0)


def outcomes(task: str, scores: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Labels of rows whose scores are right."""
    if task == "numbers":
        return np.asarray(scores[:, 0] + rng.standard_t(4.0, len(scores)))
    each = scores if task == "three classes" else np.column_stack([np.zeros(len(scores)), scores])
    return np.asarray(np.argmax(each + rng.gumbel(size=each.shape), axis=1), dtype=np.float64)


@pytest.mark.statistical
@pytest.mark.parametrize("task", ["numbers", "two classes", "three classes"])
def test_labels_pull_away_from_scores_that_are_right_by_chance_only(task: str, seed: int) -> None:
    """The lower end is above zero in one case of forty at most, far more often where moves are half right, and the gain is true.

    Error budget: at a rate of 0.025, more than the binomial quantile of 0.9999 of 1,500 cases has a chance of 1e-4; a mean of
    1,500 gains four standard errors from the truth, 1e-4 each. The control moves scores towards the labels of the rows
    themselves, as training on them would, and must exceed the first limit.
    """
    losses: dict[str, Any] = {
        "numbers": SquaredLoss(),
        "two classes": LogisticLoss(l2=0.0),
        "three classes": SoftmaxLoss(classes=3, l2=0.0),
    }
    rng, loss, cases, outputs = (
        np.random.default_rng((seed, len(task))),
        losses[task],
        1500,
        3 if "three" in task else 1,
    )
    found, own, true, gains = 0, 0, 0, []
    for _ in range(cases):
        scores = 0.7 * rng.standard_normal((120, outputs))
        moves = 0.4 * rng.standard_normal((120, outputs)) * (1.0 + np.abs(scores))
        y = outcomes(task, scores, rng)
        parts = [
            ScoredRows(period=period, X=np.zeros((40, 1)), y=y[at : at + 40], scores=scores[at : at + 40])
            for period, at in ((1, 0), (2, 40), (3, 80))
        ]
        judged = retraining._Judged(parts, 3, 8)
        found += retraining._pull(loss, judged, moves)[2] > 0.0
        judged.y = outcomes(task, scores + 0.5 * moves + 0.2 * rng.standard_normal(scores.shape), rng)
        mean, _, lower = retraining._pull(loss, judged, moves)
        gains.append(mean)
        true += lower > 0.0
        towards = np.eye(3)[y.astype(int)] if outputs == 3 else y[:, None] - 0.5 * (task == "two classes")
        judged.y = y
        own += retraining._pull(loss, judged, moves + 0.5 * (towards - 0.2 * scores))[2] > 0.0
    allowed = binom.ppf(0.9999, cases, 0.025)
    assert found <= allowed
    assert own > allowed
    assert true > 2 * allowed
    fall = gain_of_half_the_way(task, loss, seed)
    assert abs(np.mean(gains) - fall) < 4.0 * np.std(gains) / np.sqrt(cases) + 0.1 * fall


def gain_of_half_the_way(task: str, loss: Any, seed: int) -> float:
    """How much going half of the way of moves as above lowers the loss, over many rows; a tenth of it for the second order."""
    rng = np.random.default_rng((seed, 9))
    outputs = 3 if task == "three classes" else 1
    scores = 0.7 * rng.standard_normal((400_000, outputs))
    moves = 0.4 * rng.standard_normal(scores.shape) * (1.0 + np.abs(scores))
    y = outcomes(task, scores + 0.5 * moves + 0.2 * rng.standard_normal(scores.shape), rng)
    falls = retraining.losses_of(loss, scores, y) - retraining.losses_of(loss, scores + 0.5 * moves, y)
    return float(falls.mean())


def test_a_base_that_is_right_is_kept_whatever_is_asked(base: ModelAdapter) -> None:
    rng = np.random.default_rng(3)
    kept = 0
    for _ in range(6):
        parts = parts_of(base, rng, lost=0.0)
        gain = gain_of_training(base, LOSS, parts, now=4, columns=columns)
        assert gain is not None
        assert gain.lower <= 0.0
        if gain.mean <= 0.0:
            kept += 1
            with pytest.raises(ProtocolError, match=r"keeps the base: no training that was tried is better"):
                model_of(base, features_of(base, parts[0].X), parts, gain)
    assert kept > 0


def test_a_tracker_that_is_told_to_train_against_the_evidence_goes_on_as_it_was(base: ModelAdapter) -> None:
    rng = np.random.default_rng(5)
    tracker = Tracker.for_model(base, epsilon=0.05, rng=0)
    tracker.fit_pool(draw(500, rng)[0])
    fresh, _ = draw(100, rng)
    for _ in range(8):
        report = tracker.step(lambda rows: draw(max(rows, 60), rng))
        assert report.retrain is not None
        assert report.retrain.gain is not None
        if report.retrain.gain <= 0.0:
            break
    before = tracker.predict(fresh)
    with pytest.raises(ProtocolError, match="pass model= to replace it"):
        tracker.retrain()
    np.testing.assert_array_equal(tracker.predict(fresh), before)
    assert tracker.base is base or np.array_equal(tracker.base.scores(fresh), base.scores(fresh))


@pytest.mark.parametrize("wide", [False, True])
def test_a_smooth_correction_is_a_base_like_any_other(base: ModelAdapter, wide: bool) -> None:
    rng = np.random.default_rng(11)
    parts = parts_of(base, rng, lost=1.0)
    X, _ = draw(300, rng)
    head = Head(columns=False) if wide else Head(components=3)
    features = HeadFeatures.learn(head, base, X, np.asarray(base.scores(X))[:, None], "test")
    smooth = smooth_correction(
        LOSS,
        parts,
        Training(way="smooth", half_life=1.5, stage=1),
        now=4,
        window=8,
        columns=lambda rows: features.smooth(base, rows),
    )
    assert smooth.weights.shape == (1, 240)
    made = CorrectedAdapter(base, features, features.start[:, None], smooth)
    assert (made.corrections, made.trainable, made.task) == (1, True, "regression")
    moved = np.asarray(made.scores(X)) - np.asarray(base.scores(X))
    np.testing.assert_allclose(moved, smooth.staged_scores(features.smooth(base, X))[0], atol=1e-12)
    np.testing.assert_allclose(made.scores(X[:7]), made.scores(X)[:7], atol=1e-12)  # whatever rows they are with
    again = adapter_of_artefact(artefact_of(made))
    np.testing.assert_allclose(again.scores(X), made.scores(X), atol=1e-9)
    leaves = made.leaves(X)
    assert leaves is not None
    assert leaves.shape == (300, 40)
    refitted = made.refit(X, truth(X))
    assert refitted.corrections == 0


@pytest.mark.parametrize("way", ["correction", "fresh"])
@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_a_base_can_go_a_part_of_the_way(base: ModelAdapter, way: retraining.Way, share: float) -> None:
    rng = np.random.default_rng(11)
    parts, (X, _) = parts_of(base, rng, lost=1.0), draw(300, rng)
    features = features_of(base, X)
    how = Training(way=way, half_life=8.0, stage=2, share=share)
    gain = retraining.Gain(mean=0.1, error=0.01, lower=0.05, rows=240, periods=4, best=how)
    made = model_of(base, features, parts, gain)
    before, trained = np.asarray(base.scores(X)), np.asarray(train(base, parts, how, now=4).stage(2).scores(X))
    moved = trained if way == "correction" else trained - before
    np.testing.assert_allclose(made.scores(X), before + share * moved, atol=1e-9)  # of a head that is the base as it is
    again = adapter_of_artefact(artefact_of(made))
    np.testing.assert_array_equal(again.scores(X), made.scores(X))
    assert made.corrections == 1


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("blend", [False, True])
def test_a_head_that_goes_on_says_what_it_said_and_the_correction(classes: int, blend: bool) -> None:
    rng = np.random.default_rng(4)
    X, y = draw(600, rng)
    kind = lightgbm.LGBMRegressor if classes == 1 else lightgbm.LGBMClassifier
    y = y if classes == 1 else np.digitize(y, [-0.5, 0.5]).astype(np.float64)
    lower, added = (
        adapt(kind(n_estimators=5, verbose=-1, n_jobs=1).fit(X[part], y[part]))
        for part in (slice(300), slice(300, 600))
    )
    scores = lower.checked_scores(X, 600, "test")
    features = HeadFeatures.learn(Head(components=3), lower, X, scores, "test")
    coef = features.start + 0.2 * rng.standard_normal(features.start.shape)
    matrix, turn = head_matrix(coef, lower.outputs), turn_of(coef, lower.outputs)
    assert turn is not None
    made = CorrectedAdapter(lower, features, matrix, added, share=0.5, blend=blend, turn=turn)

    def head_on(base: ModelAdapter) -> FloatArray:
        phi = features.of(base, X, base.checked_scores(X, 600, "test"))
        return np.asarray(np.column_stack([phi, np.ones(600)]) @ matrix)

    before, moves = head_on(lower), added.checked_scores(X, 600, "test")
    moves = moves - before if blend else moves
    moves = moves if classes == 1 else moves - moves.mean(axis=1, keepdims=True)  # which softmax does not see
    np.testing.assert_allclose(head_on(made), before + 0.5 * moves, atol=1e-9)
    np.testing.assert_array_equal(adapter_of_artefact(artefact_of(made)).scores(X), made.scores(X))
    np.testing.assert_array_equal(made.leaves(X), lower.leaves(X))
    assert goes_on(made, features)
    other = HeadFeatures.learn(Head(components=2), lower, X, scores, "test")
    assert not any((goes_on(made, other), goes_on(made, None), goes_on(lower, features)))
    assert turn_of(0.1 * features.start, lower.outputs) is None


def test_a_smooth_correction_is_kernel_ridge_regression(rng: np.random.Generator) -> None:
    X, y = draw(50, rng)
    weights = rng.uniform(0.5, 1.0, 50)
    found = SmoothCorrection.fit(LOSS, X, np.zeros(50), y, weights)
    Z = X / X.std(axis=0)
    apart = np.square(Z[:, None] - Z[None]).sum(axis=2)
    kernel = np.exp(-apart / (2.0 * 0.7**2 * 4))
    for place, ridge in enumerate(RIDGES):
        dual = np.linalg.solve(kernel + ridge * np.diag(1.0 / weights), y)
        np.testing.assert_allclose(found.staged_scores(X)[place], kernel @ dual, rtol=1e-8)
        np.testing.assert_allclose(found.ridge(place).staged_scores(X)[0], kernel @ dual, rtol=1e-8)


def test_corrections_do_not_pile_up(base: ModelAdapter, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    monkeypatch.setattr(retraining, "MOST_CORRECTIONS", 1)
    parts = parts_of(base, rng, lost=1.0)
    features = features_of(base, parts[0].X)
    how = Training(way="correction", half_life=8.0)
    once = CorrectedAdapter(base, features, features.start[:, None], train(base, parts, how, now=4))
    assert {each.way for each in retraining._offers(base)} == {"correction", "fresh"}
    assert {each.way for each in retraining._offers(once)} == {"fresh"}
    gain = gain_of_training(once, LOSS, parts_of(once, rng, lost=0.0), now=4, columns=columns)
    assert gain is not None
    assert gain.best.way == "fresh"


def test_rows_that_cannot_be_compared_give_no_gain(base: ModelAdapter, rng: np.random.Generator) -> None:
    few = parts_of(base, rng, lost=0.0, rows=10, periods=3)
    assert gain_of_training(base, LOSS, few, now=4) is None
    unscored: list[Any] = [
        ScoredRows(period=1, X=part.X, y=part.y, scores=None) for part in parts_of(base, rng, lost=0.0)
    ]
    assert gain_of_training(base, LOSS, unscored, now=4) is None
    one = [ScoredRows(period=1, X=np.zeros((50, 4)), y=np.zeros(50), scores=np.zeros((50, 3)))]
    assert gain_of_training(base, SoftmaxLoss(classes=3), one, now=1) is None
