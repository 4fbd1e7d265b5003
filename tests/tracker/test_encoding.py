"""A tracker takes frames with texts and missing cells, and arrays with NaN, as they are."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from driftpace import LogisticLoss, PoissonLoss, SoftmaxLoss, SquaredLoss, Tracker
from driftpace.errors import DataError, ProtocolError


def _frame(rng: np.random.Generator, rows: int) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    age = rng.normal(40.0, 10.0, rows)
    city = rng.choice(["Oslo", "Rome", "Bari"], rows)
    y = 0.1 * age + 2.0 * (city == "Rome") + rng.normal(size=rows)
    frame = pd.DataFrame({"age": np.where(rng.random(rows) < 0.1, np.nan, age), "city": city})
    return frame, y


@pytest.mark.parametrize(
    "kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pyarrow"]
)
def test_frames_are_taken_as_they_are(rng: np.random.Generator, kind: Any) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    tracker.ask()
    frame, y = _frame(rng, 200)
    tracker.tell(kind(frame), y)
    assert tracker.columns is not None
    assert tracker.columns[:2] == ("age", "age=missing")
    assert len(tracker.columns) == len(tracker.coef) == 4
    later = pd.DataFrame({"city": ["Rome", "Lima", None], "age": [30.0, None, 20.0]})
    assert np.isfinite(tracker.predict(kind(later))).all()
    with pytest.raises(DataError, match="must have the columns of the first rows; got missing 'city'; unknown 'town'"):
        tracker.predict(kind(later.rename(columns={"city": "town"})))


def test_the_pool_shows_the_encoding(rng: np.random.Generator) -> None:
    frame, y = _frame(rng, 400)
    tracker = Tracker(SquaredLoss(), epsilon=0.1, rng=0)
    notes = tracker.fit_pool(frame)
    assert len(notes) == 2
    tracker.ask()
    few = frame.dropna().head(20)
    tracker.tell(few, y[few.index])
    assert tracker.encoding is not None
    assert tracker.columns == tracker.encoding.names
    assert "age=missing" in tracker.encoding.names  # the first rows had none, the pool had
    assert tracker.fit_pool(frame) == ()  # a later pool changes nothing in the encoding
    assert tracker.columns == tracker.encoding.names
    tracker.ask()
    tracker.tell(few, y[few.index], final=False)
    with pytest.raises(ProtocolError, match="before the first rows of a period"):
        tracker.fit_pool(frame)


@pytest.mark.parametrize("missing", ["impute", "drop", "refuse"])
def test_arrays_with_nan(rng: np.random.Generator, missing: Any) -> None:
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=60)
    X[::6, 0] = np.nan
    tracker = Tracker(SquaredLoss(), epsilon=0.5, missing=missing, rng=0)
    tracker.ask()
    if missing == "refuse":
        with pytest.raises(DataError, match="must be finite; column 0 has nan in row 0"):
            tracker.tell(X, y)
        assert tracker.encoding is None
        return
    report = tracker.tell(X, y, groups=list(range(60)))
    assert report is not None
    assert report.samples == (60 if missing == "impute" else 50)
    assert len(tracker.coef) == (3 if missing == "impute" else 2)
    assert np.isfinite(tracker.predict(X)).all()
    assert len(tracker.predict(X)) == 60


def test_a_column_that_was_complete_is_filled_with_its_mean(rng: np.random.Generator) -> None:
    X = rng.normal(1.0, 1.0, size=(60, 2))
    tracker = Tracker(SquaredLoss(), epsilon=0.5, rng=0)
    tracker.ask()
    tracker.tell(X, X @ [1.0, 2.0] + rng.normal(size=60))
    assert tracker.columns is None
    filled = X[:1].copy()
    filled[0, 1] = X[:, 1].mean()
    hole = X[:1].copy()
    hole[0, 1] = np.nan
    np.testing.assert_allclose(tracker.predict(hole), tracker.predict(filled), rtol=1e-12)


def test_the_encoding_is_saved_and_forgotten_with_its_rows(rng: np.random.Generator, tmp_path: Path) -> None:
    frame, y = _frame(rng, 100)
    tracker = Tracker(LogisticLoss(l2=0.01), epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(frame, np.sign(y - y.mean()), final=False)
    tracker.forget()
    assert tracker.encoding is None
    tracker.tell(frame[["city"]], np.sign(y - y.mean()))
    tracker.save(tmp_path / "tracker.json")
    loaded = Tracker.load(tmp_path / "tracker.json")
    assert loaded.encoding == tracker.encoding
    np.testing.assert_array_equal(loaded.predict_proba(frame[["city"]]), tracker.predict_proba(frame[["city"]]))


@pytest.mark.parametrize(
    "names", [range(4), pd.MultiIndex.from_product([["a", "b"], [1, 2]])], ids=["numbers", "pairs"]
)
@pytest.mark.parametrize(
    ("loss", "y"),
    [
        pytest.param(SquaredLoss(), [0.5, -1.0, 2.0], id="squared"),
        pytest.param(PoissonLoss(), [0.0, 1.0, 3.0], id="counts"),
        pytest.param(SoftmaxLoss(), ["a", "b", "c"], id="classes"),
    ],
)
def test_names_of_columns_need_not_be_texts(loss: Any, y: list[Any], names: Any, rng: np.random.Generator) -> None:
    X, targets = rng.standard_normal((60, 4)), np.array(y * 20)
    frame = pd.DataFrame(X, columns=names)
    tracker, plain = Tracker(loss, epsilon=0.5, rng=0), Tracker(loss, epsilon=0.5, rng=0)
    tracker.fit_pool(frame)
    for one, rows in ((tracker, frame), (plain, X)):
        one.ask()
        one.tell(rows, targets)
    assert tracker.columns == tuple(str(name) for name in names)
    np.testing.assert_array_equal(tracker.predict(frame[names[::-1]]), plain.predict(X))


def test_lists_and_texts_under_numbers_and_names_that_are_alike(rng: np.random.Generator) -> None:
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    tracker = Tracker(SquaredLoss(), epsilon=0.5, rng=0)
    tracker.ask()
    frame = pd.DataFrame({0: [list(row) for row in X], 7: y})
    tracker.tell(frame, y)
    assert tracker.predict(frame[:2]).shape == (2,)
    twice = Tracker(SquaredLoss(), epsilon=0.5, rng=0)
    twice.ask()
    with pytest.raises(DataError, match="must have columns of different names; got '1' twice"):
        twice.tell(pd.DataFrame(X, columns=[1, "1", 2]), y)
