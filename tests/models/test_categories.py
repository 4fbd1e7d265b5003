"""Categories of frames: those of the model, whatever each delivery has, and periods that close in any case."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingRegressor

from driftpace import Tracker
from driftpace.errors import DataError
from driftpace.models import adapt
from driftpace.models.rows import join
from driftpace.records import Assumption, StepReport, Verdict


def frame(rows: int, rng: np.random.Generator, words: str = "abc") -> tuple[pd.DataFrame, Any]:
    """Return rows whose category column has the words of this delivery alone, as a file of its own gives them."""
    x, word = rng.uniform(-2.0, 2.0, rows), rng.choice(list(words), rows)
    y = np.sin(2.0 * x) + (word == "a") + 0.3 * rng.standard_normal(rows)
    X = pd.DataFrame({"x": x, "place": pd.Series(word).astype("category"), "size": rng.integers(0, 4, rows)})
    return X, y + 0.5 * (X["size"] == 2).to_numpy()


def trees(kind: str, rng: np.random.Generator) -> Any:
    X, y = frame(800, rng)
    if kind == "lightgbm":
        return lightgbm.LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1).fit(X, y)
    if kind == "xgboost":
        return xgboost.XGBRegressor(n_estimators=20, enable_categorical=True, n_jobs=1).fit(X, y)
    return HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype").fit(X, y)


def check_of(report: StepReport) -> Assumption | None:
    return next((check for check in report.assumptions if check.name == "categories"), None)


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost", "sklearn"])
def test_deliveries_with_other_sets_of_categories(kind: str, rng: np.random.Generator, tmp_path: Path) -> None:
    tracker = Tracker.for_model(trees(kind, rng), epsilon=0.1, rng=0)
    for words in ("abc", "ab", "cb", "a"):
        tracker.ask()
        report = tracker.tell(*frame(60, rng, words))
        assert report is not None
        assert check_of(report) is None
        assert report.retrain is not None
        assert report.retrain.gain is not None
        assert report.retrain.problem is None
    if kind == "sklearn":  # whose columns of categories are chosen by a type that skops does not trust
        return
    tracker.save(tmp_path / "state.json")
    again = Tracker.load(tmp_path / "state.json")
    X, _ = frame(50, rng, "ab")
    np.testing.assert_array_equal(tracker.predict(X), again.predict(X))


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_categories_that_the_model_does_not_know_are_missing_and_counted(
    kind: str, rng: np.random.Generator, tmp_path: Path
) -> None:
    tracker = Tracker.for_model(trees(kind, rng), epsilon=0.1, rng=0)
    tracker.ask()
    X, y = frame(60, rng, "abz")
    tracker.tell(X, y, final=False)
    tracker.save(tmp_path / "open.json")
    for each in (tracker, Tracker.load(tmp_path / "open.json")):
        each.ask()
        report = each.tell(X[:30], y[:30])
        assert report is not None
        check = check_of(report)
        count = int((X["place"] == "z").sum() + (X["place"] == "z")[:30].sum())
        assert check is not None
        assert check.verdict is Verdict.WARN
        assert check.sentence.startswith(f"{count} cells have categories that the model was not trained on")
        assert "with an unlisted place (z) count as missing" in check.sentence
        assert report.retrain is not None
        assert report.retrain.gain is not None
    tracker.ask()
    report = tracker.tell(*frame(60, rng, "abc"))
    assert report is not None
    assert check_of(report) is None
    unknown = X.assign(place=X["place"].astype(object).where(X["place"] != "z", None).astype("category"))
    np.testing.assert_array_equal(tracker.predict(X), tracker.predict(unknown))


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_words_and_categories_are_the_same(kind: str, rng: np.random.Generator) -> None:
    base = adapt(trees(kind, rng))
    X, _ = frame(50, rng, "ab")
    expected = base.scores(base.rows(X, "t"))
    words = X.assign(place=X["place"].astype(str))
    np.testing.assert_array_equal(base.scores(base.rows(words, "t")), expected)
    by_library = base.model.predict(X if kind == "lightgbm" else xgboost.DMatrix(X, enable_categorical=True))
    np.testing.assert_allclose(expected, by_library, rtol=1e-6)


def test_frames_of_polars_have_the_categories_of_the_model(rng: np.random.Generator) -> None:
    base = adapt(trees("xgboost", rng))
    X, _ = frame(50, rng, "abz")
    words = pl.from_pandas(X.assign(place=X["place"].astype(str)))
    np.testing.assert_array_equal(base.scores(base.rows(words, "t")), base.scores(base.rows(X, "t")))


def test_columns_that_are_split_by_category_stay_so_when_trained_again(rng: np.random.Generator) -> None:
    X, y = frame(800, rng)
    given = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    base = adapt(given.fit(X, y, categorical_feature=["size"]))
    again = base.refit(base.rows(X, "t"), y)
    kinds = [line for line in again.model.model_to_string().splitlines() if line.startswith("[categorical_feature")]
    assert kinds == ["[categorical_feature: 2]"]


def test_parts_of_frames_have_the_categories_of_all(rng: np.random.Generator) -> None:
    whole = join([frame(5, rng, words)[0] for words in ("ab", "bz")])
    assert whole["place"].dtype == "category"
    assert set(whole["place"].cat.categories) >= set(whole["place"].astype(str))


def no_training(*_: Any, **__: Any) -> None:
    raise KeyError("no such thing")


def test_a_period_closes_whatever_the_library_raises(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker.for_model(trees("lightgbm", rng), epsilon=0.1, rng=0)
    tracker.ask()
    tracker.tell(*frame(60, rng), final=False)
    with monkeypatch.context() as patch:
        patch.setattr(lightgbm, "train", no_training)
        report = tracker.tell()
    assert report is not None
    assert report.retrain is not None
    assert not report.retrain
    assert report.retrain.gain is None
    assert "it is not known whether the base should be trained again" in report.retrain.sentence
    assert "no such thing" in report.retrain.sentence
    assert tracker.period == 2


def test_what_xgboost_says_has_no_stack_trace(rng: np.random.Generator) -> None:
    base = adapt(trees("xgboost", rng))
    X, _ = frame(50, rng, "abz")
    with pytest.raises(DataError) as caught:
        base.checked_scores(X, 50, "Tracker.tell")
    assert "Found a category not in the training set" in str(caught.value)
    for left in ("Stack trace", "/workspace", "[bt]"):
        assert left not in str(caught.value)
