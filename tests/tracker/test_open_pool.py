"""A tracker that was shown its pool: the check of a period, and rows that are balanced to it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError
from driftpace.records import Verdict
from driftpace.typing import FloatArray

Rows = tuple[FloatArray, FloatArray]


def make_rows(rng: np.random.Generator, count: int = 3000) -> Rows:
    X = rng.standard_normal((count, 3))
    return X, X @ np.array([1.0, 0.5, -0.5]) + 0.5 * X[:, 0] ** 2 + rng.standard_normal(count)


def selected(rng: np.random.Generator, X: FloatArray, count: int) -> Any:
    rates = 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))
    return rng.choice(len(X), count, replace=False, p=rates / rates.sum())


def verdict(report: Any) -> Verdict | None:
    return next((check.verdict for check in report.assumptions if check.name == "like the pool"), None)


def test_the_report_says_whether_rows_look_like_the_pool() -> None:
    rng = np.random.default_rng(0)
    X, y = make_rows(rng)
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    tracker.fit_pool(X)
    tracker.ask()
    tracker.tell(X[:40], y[:40], final=False)
    assert verdict(tracker.tell(X[40:100], y[40:100])) is Verdict.PASS
    tracker.fit_pool(X)
    tracker.ask()
    places = selected(rng, X, 100)
    report = tracker.tell(X[places], y[places])
    assert report is not None
    assert verdict(report) is Verdict.WARN
    assert "column 0: the pool's median is " in report.assumptions[-1].sentence
    tracker.ask()
    assert verdict(tracker.tell(X[places], y[places])) is None  # the pool was that of the period before


def test_informative_rows_count_by_their_weights() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((4000, 2))
    y = np.where(X[:, 0] + rng.logistic(size=4000) > 3.0, 1, -1)
    tracker = Tracker(LogisticLoss(l2=0.001), epsilon=0.01, rng=0)
    for _ in range(2):
        tracker.fit_pool(X)
        rest = np.arange(len(X))
        while tracker.ask().samples:
            places, weights = tracker.choose(X[rest], drawn=len(X) - len(rest))
            tracker.tell(X[rest[places]], y[rest[places]], sample_weight=weights, final=False)
            rest = np.delete(rest, places)
        report = tracker.tell()
        assert report is not None
        assert report.effective_samples is not None
        assert verdict(report) is Verdict.PASS


def test_balanced_rows_have_the_means_of_the_pool(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    X, y = make_rows(rng)
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    tracker.fit_pool(X)
    tracker.ask()
    places = selected(rng, X, 120)
    tracker.tell(X[places[:50]], y[places[:50]], final=False)
    tracker.save(tmp_path / "state")
    loaded = Tracker.load(tmp_path / "state")
    reports = [one.tell(X[places[50:]], y[places[50:]], balance=True) for one in (tracker, loaded)]
    assert all(report is not None and verdict(report) is Verdict.WARN for report in reports)
    assert reports[0] is not None
    assert reports[0].effective_samples is not None
    assert 30.0 < reports[0].effective_samples < 115.0
    assert tracker.coef.tolist() == loaded.coef.tolist()


def test_what_cannot_be_balanced_is_refused() -> None:
    rng = np.random.default_rng(3)
    X, y = make_rows(rng)
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    tracker.ask()
    with pytest.raises(ParameterError, match=r"Tracker.tell\(balance=.*pool is not known; call fit_pool"):
        tracker.tell(X[:50], y[:50], balance=True)
    tracker.fit_pool(X)
    high = np.flatnonzero(X[:, 0] > 0.2)[:50]
    with pytest.raises(DataError, match=r"all rows have column 0 above"):
        tracker.tell(X[high], y[high], balance=True)
    assert tracker.period == 1
    tracker.tell(X[:50], y[:50], final=False)
    tracker.forget()
    assert verdict(tracker.tell(X[50:100], y[50:100])) is Verdict.PASS
