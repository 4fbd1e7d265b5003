"""Whatever rows come in: frames, columns that say nothing, hard numbers, hard classes."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftpace import HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss, Tracker
from driftpace.errors import DataError
from driftpace.losses import Loss
from driftpace.records import Outcome, StepReport, Verdict
from driftpace.tracker.tracker import Draw
from driftpace.typing import FloatArray
from tests.tracker.test_adaptive_method import TRUTH, after, default, rows


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame, pa.table], ids=["polars", "pandas", "pyarrow"])
def test_frames_are_rows_with_names(frame: Any) -> None:
    plain, framed = default(), default()
    for seed in range(3):
        X, y = rows(40, seed)
        named = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
        for tracker in (plain, framed):
            tracker.ask()
        plain.tell(X, y)
        framed.tell(frame(named), y)
    np.testing.assert_array_equal(plain.coef, framed.coef)
    np.testing.assert_array_equal(plain.predict(X), framed.predict(frame(named)))


def test_without_an_intercept_there_is_none() -> None:
    tracker = default(fit_intercept=False)
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, 3))
        return X, X @ TRUTH + rng.standard_normal(count)

    for _ in range(4):
        assert tracker.step(draw).outcome in (Outcome.MET, Outcome.UNSUPPORTED)
    assert tracker.intercept == 0.0
    np.testing.assert_allclose(tracker.coef, TRUTH, atol=0.7)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_single_column_is_enough(fit_intercept: bool) -> None:
    tracker = default(fit_intercept=fit_intercept)
    rng = np.random.default_rng(0)
    for _ in range(4):
        report = tracker.step(lambda count: ((x := rng.standard_normal((count, 1))), x[:, 0] + rng.normal(size=count)))
        assert report.outcome.promised
    assert tracker.coef.shape == (1,)


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("constant", Verdict.WARN), ("zero", Verdict.WARN), ("copy", Verdict.FAIL), ("sum", Verdict.FAIL)],
)
def test_collinear_columns_are_reported_and_tolerated(kind: str, verdict: Verdict) -> None:
    tracker = default()
    rng = np.random.default_rng(0)

    def draw(count: int) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, 4))
        X[:, 2] = {"constant": np.full(count, 2.0), "zero": np.zeros(count), "copy": X[:, 0], "sum": X[:, 0] + X[:, 1]}[
            kind
        ]
        return X, X[:, 0] + rng.standard_normal(count)

    for _ in range(10):
        report = tracker.step(draw)
    assert any(assumption.name == "curvature" and assumption.verdict is verdict for assumption in report.assumptions)
    X, y = draw(20_000)
    excess = float(np.mean((y - tracker.predict(X)) ** 2) - np.mean((y - X[:, 0]) ** 2)) / 2.0
    assert excess < 0.15  # three times the target, in one run


def test_a_few_rows_may_have_a_constant_column() -> None:
    tracker = after(2)
    X, y = rows(5, seed=3)
    X[:, 1] = 4.0
    tracker.ask()
    report = tracker.tell(X, y)
    assert report is not None
    assert np.isfinite(tracker.coef).all()


REFUSED = {
    "both-huge": "rescale the columns",  # HuberLoss has no curvature so far out
    "huge-y": "rescale the columns",
}


def stepped(tracker: Tracker, draw: Draw, said: str | None) -> StepReport | None:
    """A period; or None where it is refused with a sentence that is expected."""
    try:
        return tracker.step(draw)
    except DataError as refusal:
        sentence = str(refusal)
    if said is None or said not in sentence or "\n" in sentence:
        raise AssertionError(sentence)
    assert tracker._state.gathered == 0  # what was drawn is taken back
    return None


def regression(kind: str, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    X, noise = rng.standard_normal((count, 3)), rng.standard_normal(count)
    y = X @ TRUTH + noise
    match kind:
        case "no-noise":
            return X, X @ TRUTH
        case "zero-targets":
            return X, np.zeros(count)
        case "huge-x":
            return 1e70 * X, y
        case "tiny-x":
            return 1e-12 * X, y
        case "mixed-x":
            return X * [1e12, 1.0, 1e-12], y
        case "huge-y":
            return X, 1e70 * y
        case "tiny-y":
            return X, 1e-12 * y
        case "both-huge":
            return 1e70 * X, 1e70 * y
        case "outliers-y":
            return X, np.where(rng.random(count) < 0.05, 1e6, y)
        case "outliers-x":
            return np.where(rng.random((count, 1)) < 0.05, 1e6, 1.0) * X, y
        case "cauchy":
            return X, X @ TRUTH + rng.standard_cauchy(count)
        case "few-values":
            return np.round(X), np.round(y)
    raise AssertionError(kind)


@pytest.mark.parametrize("loss", [SquaredLoss(), SquaredLoss(l2=0.1), HuberLoss()], ids=["squared", "ridge", "huber"])
@pytest.mark.parametrize(
    "kind",
    [
        "no-noise",
        "zero-targets",
        "huge-x",
        "tiny-x",
        "mixed-x",
        "huge-y",
        "tiny-y",
        "both-huge",
        "outliers-y",
        "outliers-x",
        "cauchy",
        "few-values",
    ],
)
def test_hard_numbers_are_handled(loss: Loss, kind: str) -> None:
    """Never NaN, never an exception: at worst an honest large bound, and never more rows than the cap."""
    tracker = Tracker(loss, epsilon=0.05, cap=600, rng=0)
    rng = np.random.default_rng(1)
    for _ in range(4):
        report = stepped(tracker, lambda count: regression(kind, rng, count), REFUSED.get(kind))
        if report is None:
            return
        assert report.samples <= 600
        assert np.isfinite(tracker.coef).all()
        assert not math.isnan(report.risk_bound)
        assert report.certificate is not None
        assert report.certificate >= 0.0
        assert report.outcome.promised == (report.risk_bound <= 0.05)
        assert np.isfinite(tracker.predict(regression(kind, rng, 3)[0])).all()


def classes(kind: str, batch: int, rng: np.random.Generator, count: int) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, 3))
    y = np.where(rng.random(count) < 1.0 / (1.0 + np.exp(-X.sum(axis=1))), 1.0, -1.0)
    match kind:
        case "ordinary":
            return X, y
        case "one-class-pilot":
            return X, np.ones(count) if batch == 0 else y
        case "one-class":
            return X, np.ones(count)
        case "separable":
            return X, np.where(X[:, 0] > 0.0, 1.0, -1.0)
        case "rare":
            return X, np.where(rng.random(count) < 0.02, 1.0, -1.0)
        case "huge-x":
            return 1e70 * X, y
        case "tiny-x":
            return 1e-12 * X, y
        case "outliers":
            return np.where(rng.random((count, 1)) < 0.05, 1e6, 1.0) * X, y
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), LogisticLoss(l2=0.1), SmoothedHinge(), SmoothedHinge(l2=0.1)], ids=repr
)
@pytest.mark.parametrize(
    "kind", ["ordinary", "one-class-pilot", "one-class", "separable", "rare", "huge-x", "tiny-x", "outliers"]
)
def test_hard_classes_are_handled(loss: Loss, kind: str) -> None:
    tracker = Tracker(loss, epsilon=0.05, cap=400, rng=0)
    rng = np.random.default_rng(1)
    batches = iter(range(10**6))
    for _ in range(4):
        report = stepped(tracker, lambda count: classes(kind, next(batches), rng, count), REFUSED.get(kind))
        if report is None:
            return
        assert report.samples <= 400
        assert np.isfinite(tracker.coef).all()
        assert not math.isnan(report.risk_bound)
        assert report.certificate is not None
        assert report.certificate >= 0.0
        assert report.outcome.promised == (report.risk_bound <= 0.05)
    if kind in ("ordinary", "one-class-pilot"):
        X, y = classes("ordinary", 1, rng, 2000)
        assert np.mean(tracker.predict(X) == y) > 0.6


def test_a_wrong_row_among_those_kept_for_the_audit_does_not_end_a_period(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last row kept from a decision is far off: with all rows in view the period goes on; by the decision alone it ended."""

    def samples() -> int:
        tracker = default()
        for seed in range(6):
            tracker.ask()
            tracker.tell(*rows(60, seed))
        tracker.ask()
        X, y = rows(60, 99)
        y[-1] += 300.0  # rows 2, 5, ..., 59 are kept from decisions
        tracker.tell(X, y, final=False)
        return tracker.ask().samples

    assert samples() > 0
    monkeypatch.setattr("driftpace.tracker.adaptive_method.MOST_RISK", math.inf)
    assert samples() == 0
