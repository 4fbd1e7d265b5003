"""Several classes in the wide method: stated risk against the truth, classes that appear, what is saved and what is refused."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.wide_classes import ClassesWorld, first_looks, run
from driftpace import Budget, LinearCost, SoftmaxLoss, Tracker
from driftpace.adaptive.audit import mean_product
from driftpace.adaptive.fit import EQUAL_ROWS
from driftpace.errors import DataError
from driftpace.losses.softmax import helmert
from driftpace.wide import WideRows, fit
from driftpace.wide.mode import mode
from driftpace.wide.quadratic import Quadratic

WORDS = {
    "refund": ["broken", "refund", "late"],
    "praise": ["thanks", "perfect", "quick"],
    "login": ["password", "reset", "account"],
    "invoice": ["invoice", "bill", "price"],
}


def mails(count: int, seed: int, kinds: list[str]) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.choice(kinds, count).tolist()
    every = [word for words in WORDS.values() for word in words]
    texts = [" ".join([*rng.choice(WORDS[label], 3), *rng.choice(every, 2)]) for label in labels]
    return pd.DataFrame({"mail": texts}), labels


def ratio(found: np.ndarray) -> float:
    return float(found[:, 0].mean() / found[:, 1].mean())


@pytest.mark.parametrize(
    ("columns", "classes", "rows", "pool", "runs"),
    [(50, 3, 300, 2500, 8), (50, 8, 600, 2500, 3), (250, 3, 400, 0, 3), (200, 3, 135, 2500, 5)],
)
def test_the_stated_risk_of_a_first_period_is_the_true_one(
    columns: int, classes: int, rows: int, pool: int, runs: int
) -> None:
    # the means are exact to about 4 %
    found = first_looks(columns, classes, rows, pool=pool, runs=runs)
    assert 0.8 <= ratio(found) <= 1.25
    assert np.mean(found[:, 2] >= found[:, 1]) >= 0.75


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "classes", "rows"), [(1000, 3, 400), (1000, 8, 800)])
def test_so_it_is_with_a_thousand_columns(columns: int, classes: int, rows: int) -> None:
    assert 0.75 <= ratio(first_looks(columns, classes, rows, pool=2500, runs=3)) <= 1.25


def test_a_risk_of_one_score_in_seven_is_not_the_true_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit._variances
    monkeypatch.setattr(fit, "_variances", lambda *given: whole(*given) / 7.0)  # the control
    assert ratio(first_looks(50, 8, 600, pool=2500, runs=2)) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "classes", "epsilon"), [(50, 3, 0.15), (50, 8, 0.3), (200, 3, 0.15)])
def test_trackers_keep_their_target(columns: int, classes: int, epsilon: float) -> None:
    worlds = [ClassesWorld(columns=columns, classes=classes, rng=np.random.default_rng((7, seed))) for seed in range(4)]
    found = np.array(
        [run(world, pool=2500, epsilon=epsilon, periods=4, seed=seed) for seed, world in enumerate(worlds)]
    )
    assert found[:, :, 1].mean() <= epsilon
    assert 0.7 <= found[:, 1:, 0].mean() / found[:, 1:, 1].mean() <= 1.35


def test_conjugate_gradients_find_the_mode() -> None:
    rng = np.random.default_rng(0)
    loss = SoftmaxLoss(classes=4)
    prior = np.exp(rng.standard_normal(12))
    anchor = 0.3 * rng.standard_normal(36)
    for count in (8, 60):  # fewer rows than coordinates, and more
        Z = rng.standard_normal((count, 12))
        rows = WideRows(loss=loss, Z=Z, y=rng.integers(0, 4, count).astype(float))
        found = mode(rows, np.zeros(36), anchor, prior, 1.3)
        gradient = Z.T @ rows.slopes(rows.scores(found)) + 1.3 * (found - anchor).reshape(12, 3) / prior[:, None]
        at_anchor = Z.T @ rows.slopes(rows.scores(anchor))
        assert np.abs(gradient).max() < 2e-3 * np.abs(at_anchor).max()


def test_two_classes_by_several_scores_are_those_of_one_score() -> None:
    world = ClassesWorld(columns=30, classes=2, rng=np.random.default_rng(3))
    X, y = world.draw(60)
    Z = np.column_stack([np.ones(60), X])
    rows = WideRows(loss=SoftmaxLoss(classes=2), Z=Z, y=np.array(y, dtype=float))
    scores = rows.scores(np.full(31, 0.1))
    margins = scores[:, 0] * (helmert(2)[0, 0] - helmert(2)[1, 0])
    np.testing.assert_allclose(rows.losses(scores), np.logaddexp(0.0, np.where(rows.y == 0, -1.0, 1.0) * margins))
    assert rows.bends(scores).shape == (60, 1, 1)


def test_texts_of_classes_that_appear_and_vanish_are_followed_and_saved(tmp_path: Path) -> None:
    tracker = Tracker(SoftmaxLoss(), epsilon=0.25, text="mail", rng=0)
    tracker.fit_pool(mails(400, 1, ["refund", "praise", "login"])[0])
    early, late = ["refund", "praise", "login"], ["refund", "praise", "login", "invoice"]
    for period, kinds in enumerate([early, early, late, late, ["login", "invoice"]]):
        report = tracker.step(partial(mails, seed=10 + period, kinds=kinds))
        assert report.risk_bound <= 0.25
        assert (report.certificate or 0.0) > report.risk_bound
    assert set(tracker.classes or ()) == set(late)
    tested, labels = mails(200, 99, late)
    assert np.mean(tracker.predict(tested) == np.array(labels)) > 0.8
    np.testing.assert_allclose(tracker.predict_proba(tested).sum(axis=1), 1.0)
    tracker.ask()
    tracker.tell(*mails(20, 50, late), final=False)
    tracker.save(tmp_path / "state")
    again = Tracker.load(tmp_path / "state")
    np.testing.assert_array_equal(again.predict_proba(tested), tracker.predict_proba(tested))
    assert again.ask() == tracker.ask()
    assert getattr(again.tell(), "risk_bound", 1) == getattr(tracker.tell(), "risk_bound", 2)


def test_a_period_without_rows_and_a_budget() -> None:
    budget = Budget(total=700, horizon=4, cost=LinearCost(per_sample=1))
    tracker = Tracker(SoftmaxLoss(), epsilon=0.3, text="mail", budget=budget, rng=0)
    tracker.fit_pool(mails(300, 1, ["refund", "praise", "login"])[0])
    first = tracker.step(lambda count: mails(count, 2, ["refund", "praise", "login"]))
    tracker.ask()
    empty = tracker.tell()
    assert empty is not None
    assert empty.samples == 0
    assert empty.risk_bound > first.risk_bound
    bought = sum(tracker.step(lambda count: mails(count, 3, ["refund", "login"])).samples for _ in range(2))
    assert first.samples + bought <= 700


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (lambda y: [*y[:-1], None], "None"),
        (lambda y: y[:-1], "as many"),
        (lambda y: [1.5, *y[1:]], "1.5"),
    ],
)
def test_bad_labels_are_refused_and_change_nothing(labels: Any, words: str) -> None:
    tracker = Tracker(SoftmaxLoss(), epsilon=0.3, text="mail", rng=0)
    tracker.fit_pool(mails(100, 1, ["refund", "praise"])[0])
    tracker.ask()
    before = tracker.snapshot()
    X, y = mails(30, 2, ["refund", "praise"])
    with pytest.raises(DataError) as refused:
        tracker.tell(X, labels(y))
    assert str(refused.value).count("\n") == 0, words
    assert tracker.snapshot() == before


def test_products_of_gradients_cost_what_the_smaller_side_costs() -> None:
    gradients = np.random.default_rng(0).standard_normal((6, 9))
    wide, tall = mean_product(gradients, 1.0), mean_product(np.column_stack([gradients[:, :9], np.zeros((6, 0))]), 1.0)
    assert wide == tall
    few = mean_product(np.random.default_rng(0).standard_normal((30, 4)), 1.0)
    padded = mean_product(np.column_stack([np.random.default_rng(0).standard_normal((30, 4)), np.zeros((30, 40))]), 1.0)
    assert few is not None
    assert padded is not None
    np.testing.assert_allclose([few.excess, few.variance], [padded.excess, padded.variance])


def test_quadratics_of_more_rows_than_coordinates_leave_out_as_others_do() -> None:
    from driftpace.wide.quadratic import observed

    rng = np.random.default_rng(0)
    Z, bends, gap, prior = rng.standard_normal((9, 4)), rng.random(9) + 0.1, rng.standard_normal(9), np.ones(4)
    tall: Quadratic = observed(Z, bends, gap, np.zeros(4), prior, 1.0)
    padded = np.column_stack([Z, np.zeros((9, 8))])
    whole: Quadratic = observed(padded, bends, gap, np.zeros(12), np.ones(12), 1.0)
    for one, other in zip(tall.left_out(), whole.left_out(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


@pytest.mark.parametrize(("rows", "spoilt"), [(EQUAL_ROWS, False), (0.0, True)])
def test_a_handful_of_certain_rows_spoils_no_model_of_separable_classes(
    rows: float, spoilt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The curvature of five certain rows is next to nothing; the control, which believes it, shrinks the model."""
    monkeypatch.setattr("driftpace.wide.state.EQUAL_ROWS", rows)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 1300)
    X = 2.0 * np.eye(6)[y] + 0.5 * rng.standard_normal((1300, 6))
    tracker = Tracker(SoftmaxLoss(), method="wide", epsilon=0.2)
    tracker.ask()
    tracker.tell(X[:300], y[:300])
    before = tracker.predict_proba(X[300:])[np.arange(1000), y[300:]]
    tracker.ask()
    certain = 300 + np.argsort(-before)[:5]
    tracker.tell(X[certain], y[certain])
    after = tracker.predict_proba(X[300:])[np.arange(1000), y[300:]]
    assert (np.log(before).mean() - np.log(after).mean() > 0.1) == spoilt
