"""Combinations of features that were written apart from each other: they work, or are refused in a sentence."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftpace import LogisticLoss, QuantileLoss, SoftmaxLoss, SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError

_WIDE = 130


def _embeddings(rng: np.random.Generator, rows: int, width: int = 3) -> tuple[pd.DataFrame, Any]:
    return pd.DataFrame({"e": [list(row) for row in rng.normal(size=(rows, width))]}), rng.normal(size=rows)


def test_one_class_has_one_probability_and_is_always_predicted() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(SoftmaxLoss(l2=0.1), epsilon=0.3, fit_intercept=False, rng=0)
    tracker.ask()
    tracker.tell(np.abs(rng.normal(size=(50, 1))), ["a"] * 50)
    assert tracker.classes == ("a",)
    assert tracker.predict([[-9.0]]).tolist() == ["a"]
    assert tracker.predict_proba([[-9.0], [2.0]]).tolist() == [[1.0], [1.0]]


def test_a_class_of_the_open_period_has_probability_zero() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(SoftmaxLoss(l2=0.1), epsilon=0.3, rng=0)
    tracker.ask()
    tracker.tell(rng.normal(size=(60, 2)), ["a", "b", "c"] * 20)
    tracker.ask()
    tracker.tell(np.zeros((1, 2)), ["d"], final=False)
    found = tracker.predict_proba([[0.0, 0.0]])
    assert tracker.classes == ("a", "b", "c", "d")
    assert found.shape == (1, 4)
    assert found[0, 3] == 0.0


@pytest.mark.parametrize("wrong", [0.5, np.inf, {"a": 1}, b"a", ("a", "b")])
def test_classes_are_texts_or_whole_numbers(wrong: Any) -> None:
    tracker = Tracker(SoftmaxLoss(l2=0.1), epsilon=0.3, rng=0)
    tracker.ask()
    y = np.empty(3, dtype=object)
    y[:] = [1, 2, wrong]
    with pytest.raises(DataError, match=r"\(y=\.\.\.\) must be classes, texts or whole numbers; got .* in row 2"):
        tracker.tell(np.ones((3, 2)), y)
    assert tracker.classes == ()


def test_a_metric_target_with_many_columns_keeps_the_adaptive_method() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(LogisticLoss(l2=0.01), metric="accuracy", at_least=0.7, rng=0)
    tracker.ask()
    X = rng.normal(size=(300, 110))
    report = tracker.tell(X, np.where(X[:, 0] + rng.logistic(size=300) > 0.0, 1, -1))
    assert report is not None
    assert report.samples == 300


@pytest.mark.parametrize("more", [{"method": "wide"}, {"text": "t"}])
def test_a_metric_target_is_refused_with_the_wide_method(more: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"Tracker\((metric|text)=\.\.\.\) must be None .*wide method"):
        Tracker(LogisticLoss(), metric="accuracy", at_least=0.7, **more)


@pytest.mark.parametrize("text", [5, [1], ["t", "t"], {"t": 1}])
def test_text_must_name_columns(text: Any) -> None:
    with pytest.raises(ParameterError, match=r"Tracker\(text=\.\.\.\) must be the name of a column"):
        Tracker(LogisticLoss(), epsilon=0.1, text=text)


@pytest.mark.parametrize("wrong", ["abc", ["a"] * 3, {"a": 1}, [[1], [1, 2], 3], [np.nan] * 3, [1.0]])
def test_wrong_lists_are_refused_with_their_column_and_row(wrong: Any) -> None:
    frame, y = _embeddings(np.random.default_rng(0), 20)
    frame.at[3, "e"] = wrong
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.ask()
    with pytest.raises(DataError, match=r"column 'e'.* in row 3"):
        tracker.tell(frame, y)


def test_a_missing_number_beside_lists_names_its_column() -> None:
    frame, y = _embeddings(np.random.default_rng(0), 20)
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.ask()
    with pytest.raises(DataError, match="column 'age' has nan in row 0"):
        tracker.tell(frame.assign(age=[np.nan] + [1.0] * 19), y)


def test_frames_of_lists_can_be_late_and_chosen_from() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(SquaredLoss(), epsilon=0.3, delay=2, rng=0)
    for _ in range(2):
        tracker.ask()
        tracker.tell(*_embeddings(rng, 50))
    again = tracker.tell_late(1, *_embeddings(rng, 5))
    assert again[0].samples == 55
    tracker.ask()
    places, _ = tracker.choose(_embeddings(rng, 30)[0], 3)
    assert len(places) == 3


@pytest.mark.parametrize("rows", [1, 20, 320])
def test_equal_first_rows_of_many_columns_wait_for_others(rows: int) -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.ask()
    tracker.tell(np.ones((rows, _WIDE)), np.ones(rows), final=False)
    before = tracker.ask()
    with pytest.raises(DataError, match=r"Tracker\.tell\(X=\.\.\.\) must have rows that differ"):
        tracker.tell()
    assert tracker.ask() == before
    report = tracker.tell(rng.normal(size=(300, _WIDE)), rng.normal(size=300))
    assert report is not None
    assert np.isfinite(report.risk_bound)


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_a_pool_of_equal_rows_is_refused(rows: int) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    with pytest.raises(DataError, match=r"Tracker\.fit_pool\(X=\.\.\.\) must have rows that differ"):
        tracker.fit_pool(np.ones((rows, _WIDE)))


def test_a_step_that_fails_leaves_the_method_as_it_was() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    with pytest.raises(DataError, match="must have rows that differ"):
        tracker.step(lambda rows: (np.ones((rows, _WIDE)), np.ones(rows)))
    assert tracker.step(lambda rows: (rng.normal(size=(rows, 2)), rng.normal(size=rows))).outcome.promised


@pytest.mark.parametrize(("scale", "kind"), [(1e70, np.float64), (1e37, np.float32)])
def test_many_columns_of_any_scale_give_finite_numbers(scale: float, kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, _WIDE))
    tracker = Tracker(SquaredLoss(), epsilon=0.3, rng=0)
    tracker.ask()
    report = tracker.tell((scale * X).astype(kind), X[:, 0] + rng.normal(size=300))
    assert report is not None
    assert report.certificate is not None
    assert np.isfinite(report.certificate)
    assert np.isfinite(tracker.predict(scale * X[:2])).all()


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_a_history_with_a_metric_is_a_table_of_plain_values(backend: str) -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(LogisticLoss(l2=0.01), metric="accuracy", at_least=0.7, rng=0)
    tracker.ask()
    tracker.tell()  # a first period without rows measures nothing
    X = rng.normal(size=(100, 2))
    tracker.ask()
    report = tracker.tell(X, np.where(X[:, 0] + rng.logistic(size=100) > 0.0, 1, -1))
    assert report is not None
    assert report.metric is not None
    columns = tracker.history.columns()
    assert columns["metric"] == [None, "accuracy at least 0.7"]
    assert columns["metric_measured"] == [None, report.metric.measured]
    assert len(tracker.history.to_frame(backend)) == 2


def test_a_quantile_whose_first_row_is_held_out_asks_on() -> None:
    rng = np.random.default_rng(0)
    tracker = Tracker(QuantileLoss(tau=0.5), epsilon=0.5, orders=1, audit=0.1, rng=0)
    tracker.ask()
    tracker.tell(rng.normal(size=(0, 4)), [], final=False)
    tracker.ask()
    tracker.tell(rng.normal(size=(1, 4)), [1.0], final=False)
    assert tracker.ask().samples > 0
    assert tracker.tell() is not None
