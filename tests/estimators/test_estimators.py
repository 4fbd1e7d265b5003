"""The estimators of scikit-learn: its own checks, what fit forgets, and what the tracker behind them says."""

import pickle
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from driftpace import SquaredLoss, Tracker
from driftpace.errors import DataError, ParameterError
from driftpace.models import Head
from driftpace.sklearn import DriftpaceClassifier, DriftpaceRegressor, PeriodSplit
from driftpace.typing import FloatArray, IntArray

WEIGHTS = (
    "A weight is how much a row counts, not how many labels it is: labels are evidence, and evidence sizes a period."
)
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}


def expected(estimator: Any) -> dict[str, str]:
    return EXPECTED if estimator.estimator is None else {}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        DriftpaceRegressor(),
        DriftpaceClassifier(),
        DriftpaceRegressor(DecisionTreeRegressor(random_state=0)),
        DriftpaceClassifier(LogisticRegression()),
    ],
    expected_failed_checks=expected,
)
def test_the_checks_of_scikit_learn_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def table(
    rng: np.random.Generator, periods: int = 6, rows: int = 60, step: float = 0.3
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Rows whose first coefficient moves by a step a period."""
    period = np.repeat(np.arange(periods), rows)
    X = rng.standard_normal((len(period), 3))
    y = 1.0 + step * period * X[:, 0] - X[:, 1] + 0.2 * rng.standard_normal(len(period))
    return X, y, period


def classes(rng: np.random.Generator, periods: int = 4, rows: int = 150) -> tuple[FloatArray, Any, IntArray]:
    period = np.repeat(np.arange(periods), rows)
    X = rng.standard_normal((len(period), 2))
    scores = np.column_stack([2.0 * X[:, 0], 2.0 * X[:, 1], 0.3 * period - X.sum(axis=1)])
    return X, np.array(["cat", "dog", "owl"])[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)], period


def test_it_is_the_tracker_told_period_after_period(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    order = rng.permutation(len(y))
    model = DriftpaceRegressor(epsilon=0.02, random_state=3).fit(X[order], y[order], period=period[order])
    tracker = Tracker(SquaredLoss(), epsilon=0.02, orders=1, rng=3)
    for value in range(6):
        tracker.ask()
        at = order[np.flatnonzero(period[order] == value)]
        tracker.tell(X[at], y[at])
    request = tracker.ask()
    np.testing.assert_allclose(model.coef_, tracker.coef, rtol=1e-9)
    np.testing.assert_allclose(model.predict(X), tracker.predict(X), rtol=1e-9)
    assert model.samples_needed_ == request.samples > 0
    assert model.request_.reason == request.reason
    assert [report.samples for report in model.reports_] == [60] * 6
    assert model.periods_ == list(range(6))


def test_the_last_model_follows_the_drift_and_one_period_does_not(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    followed = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(X, y, period=period)
    pooled = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(X, y)
    assert abs(followed.coef_[0] - 1.5) < 0.15
    assert abs(pooled.coef_[0] - 0.75) < 0.15
    assert pooled.periods_ == [1]


def test_one_partial_fit_for_each_period_is_one_fit(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    weights = rng.uniform(0.5, 2.0, len(y))
    whole = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(X, y, weights, period)
    parts = DriftpaceRegressor(epsilon=0.02, random_state=0)
    for value in range(6):
        at = period == value
        parts.partial_fit(X[at], y[at], weights[at], period=value)
    np.testing.assert_array_equal(whole.coef_, parts.coef_)
    assert whole.samples_needed_ == parts.samples_needed_
    assert DriftpaceRegressor(epsilon=0.02, random_state=0).fit(X, y, period=period).coef_[0] != whole.coef_[0]


def test_fit_forgets_everything(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    model = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(X, y, period=period)
    coef = model.coef_
    model.fit(-X, y, period=period).partial_fit(X[:30], y[:30], period=9)
    np.testing.assert_array_equal(model.fit(X, y, period=period).coef_, coef)
    assert model.periods_ == list(range(6))


def test_batches_are_told_to_an_open_period(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    model = DriftpaceRegressor(epsilon=0.02, orders=None, random_state=0).fit(X, y, period=period)
    told = 0
    while rows := model.samples_needed_:
        assert model.tell(X[-rows:], y[-rows:], final=False) is None
        told += rows
    assert model.periods_ == list(range(6))
    report = model.tell(period=6)
    assert report is not None
    assert report.samples == told > 0
    assert model.periods_[-1] == 6


@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (3, 7)])
def test_two_classes_of_any_labels(names: tuple[Any, Any], rng: np.random.Generator) -> None:
    X = rng.standard_normal((400, 2))
    y = np.array(names)[(X[:, 0] + rng.logistic(size=400) > 0.0).astype(int)]
    model = DriftpaceClassifier(epsilon=0.02, random_state=0).fit(X, y, period=np.repeat([1, 2], 200))
    assert model.classes_.tolist() == list(names)
    assert model.coef_.shape == (1, 2)
    assert model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-model.decision_function(X))))
    assert model.score(X, y) > 0.65


def test_several_classes_and_those_that_the_first_period_lacks(rng: np.random.Generator) -> None:
    X, y, period = classes(rng)
    model = DriftpaceClassifier(epsilon=0.05, random_state=0)
    first = (period == 0) & (y != "owl")
    model.partial_fit(X[first], y[first], classes=["owl", "cat", "dog"])
    for value in range(1, 4):
        model.partial_fit(X[period == value], y[period == value])
    assert model.classes_.tolist() == ["cat", "dog", "owl"]
    assert model.coef_.shape == (3, 2)
    assert model.predict_proba(X).shape == (len(X), 3)
    last = period == 3
    assert model.score(X[last], y[last]) > 0.6
    with pytest.raises(DataError, match=r"partial_fit\(classes=...\) must be those of the first call"):
        model.partial_fit(X, y, classes=["cat", "dog"])
    with pytest.raises(DataError, match=r"must be among the classes \['cat', 'dog', 'owl'\]; got 'rat'"):
        model.partial_fit(X[:3], ["cat", "rat", "dog"])
    assert model.periods_ == [1, 2, 3, 4]


def test_hinge_has_no_probabilities(rng: np.random.Generator) -> None:
    X = rng.standard_normal((100, 2))
    model = DriftpaceClassifier(loss="hinge", random_state=0).fit(X, X[:, 0] > 0.0)
    assert not hasattr(model, "predict_proba")
    assert model.score(X, X[:, 0] > 0.0) > 0.9


@pytest.mark.parametrize("loss", ["huber", "quantile(0.9)", "poisson", SquaredLoss(l2=0.01)])
def test_losses_by_name_and_as_objects(loss: Any, rng: np.random.Generator) -> None:
    X = rng.standard_normal((300, 2))
    y = rng.poisson(np.exp(0.5 * X[:, 0] + 1.0)).astype(float)
    model = DriftpaceRegressor(loss=loss, random_state=0).fit(X, y, period=np.repeat([1, 2, 3], 100))
    if loss == "quantile(0.9)":
        assert 0.8 < (model.predict(X) >= y).mean() < 0.97
    else:
        assert model.score(X, y) > 0.2


def test_penalties_to_choose_from(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    model = DriftpaceRegressor(epsilon=0.02, l2=[0.0, 10.0], random_state=0).fit(X, y, period=period)
    assert model.tracker_.selected == "l2=0"
    assert abs(model.coef_[0] - 1.5) < 0.15


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_frames_with_texts_and_missing_cells(kind: Any, rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    columns = {"a": X[:, 0], "b": X[:, 1], "town": np.where(X[:, 2] > 0.0, "north", "south").tolist()}
    columns["b"] = np.where(rng.random(len(y)) < 0.1, np.nan, columns["b"])
    model = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(kind(columns), y, period=period)
    assert model.feature_names_in_.tolist() == ["a", "b", "town"]
    assert [name for name in model.coef_names_ if not name.startswith("town")] == ["a", "b", "b=missing"]
    numbers = {name: columns[name] for name in ("a", "b")}
    plain = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(kind(numbers), y, period=period)
    assert plain.coef_names_ == ("a", "b", "b=missing")
    assert DriftpaceRegressor(random_state=0).fit(X, y).coef_names_ == ("x0", "x1", "x2")
    with pytest.raises(ValueError, match="feature names"):
        plain.predict(kind(columns))


def test_sparse_rows_are_those_of_arrays(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    X = np.where(rng.random(X.shape) < 0.5, 0.0, X)
    dense = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(X, y, period=period)
    few = DriftpaceRegressor(epsilon=0.02, random_state=0).fit(sparse.csr_array(X), y, period=period)
    np.testing.assert_allclose(few.predict(sparse.csr_array(X)), dense.predict(X))
    cells = np.where(rng.random((600, 120)) < 0.2, rng.random((600, 120)), 0.0)
    wide, total = sparse.csr_matrix(cells), cells.sum(axis=1)
    model = DriftpaceRegressor(random_state=0).fit(wide, total, period=np.repeat([1, 2], 300))
    assert model.coef_.shape == (120,)
    assert model.score(wide, total) > 0.8


def test_periods_of_texts_and_dates_and_those_that_come_late(rng: np.random.Generator) -> None:
    X, y, period = table(rng, periods=3)
    days = pd.to_datetime(pd.Series(period).map({0: "2026-01-01", 1: "2026-02-01", 2: "2026-03-01"}))
    model = DriftpaceRegressor(random_state=0).fit(X, y, period=days)
    assert model.periods_[-1] == np.datetime64("2026-03-01")
    model.partial_fit(X, y, period=np.datetime64("2026-04-01"))
    for late in (np.datetime64("2026-04-01"), 7):
        with pytest.raises(DataError, match=r"partial_fit\(period=...\) must be later than"):
            model.partial_fit(X, y, period=late)
    with pytest.raises(DataError, match=r"period=...\) must be given"):
        model.partial_fit(X, y)
    assert len(model.periods_) == 4
    texts = np.array(["c", "a", "b"])[period]
    assert DriftpaceRegressor(random_state=0).fit(X, y, period=texts).periods_ == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("settings", "given", "sentence"),
    [
        ({"epsilon": -1.0}, {}, r"DriftpaceRegressor\(epsilon=...\) must be positive"),
        ({"tolerance": 0.0}, {}, r"DriftpaceRegressor\(tolerance=...\) must be positive"),
        ({"epsilon": 0.1, "tolerance": 0.1}, {}, r"\(tolerance=...\) must be None where epsilon is given"),
        ({"loss": "logistic"}, {}, r"\(loss=...\) must be a loss for regression here; got 'logistic'"),
        ({"l2": "much"}, {}, r"\(l2=...\) must be a number or several"),
        ({"loss": SquaredLoss(), "l2": 0.1}, {}, r"\(l2=...\) must be None where loss is an object"),
        ({"estimator": LinearRegression(), "base_periods": 0}, {}, r"\(base_periods=...\) must be"),
        ({"retrain": "yes"}, {}, r"\(retrain=...\) must be"),
        ({}, {"period": [1, 2]}, r"DriftpaceRegressor.fit\(period=...\) must have one entry for each of the 10 rows"),
        ({}, {"period": [1.0, np.nan] * 5}, r"fit\(period=...\) must have no missing entries; got .*nan.* in row 1"),
        ({}, {"period": np.array([1, "a"] * 5, dtype=object)}, r"fit\(period=...\) must be values of one kind"),
    ],
)
def test_bad_settings_and_periods_are_refused(
    settings: dict[str, Any], given: dict[str, Any], sentence: str, rng: np.random.Generator
) -> None:
    X = rng.standard_normal((10, 2))
    with pytest.raises((ParameterError, DataError), match=sentence):
        DriftpaceRegressor(**settings).fit(X, X[:, 0], **given)


def test_attributes_of_the_wrong_kind_of_model(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    linear = DriftpaceRegressor(random_state=0)
    assert not hasattr(linear, "coef_")
    linear.fit(X, y, period=period)
    assert not hasattr(linear, "estimator_")
    assert not hasattr(DriftpaceRegressor(LinearRegression()).fit(X, y, period=period), "coef_")


def test_an_estimator_is_trained_on_the_first_periods_and_its_head_follows(rng: np.random.Generator) -> None:
    X, y, period = table(rng, periods=8)
    model = DriftpaceRegressor(LinearRegression(), epsilon=0.02, base_periods=2, retrain=False, random_state=0)
    model.fit(X, y, period=period)
    alone = LinearRegression().fit(X[period < 2], y[period < 2])
    np.testing.assert_allclose(model.estimator_.coef_, alone.coef_)
    last = period == 7
    assert model.score(X[last], y[last]) > 0.95 > alone.score(X[last], y[last])
    assert model.periods_ == list(range(8))
    assert len(model.reports_) == 6
    assert model.retrained_ == []
    assert model.samples_needed_ == model.ask().samples


def test_an_estimator_is_trained_again_by_the_alarm(rng: np.random.Generator) -> None:
    """A wave in place of a bend, which no head on the score and the columns reaches."""
    period = np.repeat(np.arange(7), 300)
    X = rng.uniform(-2.0, 2.0, (len(period), 3))
    y = X[:, 0] + np.where(period == 0, 2.0 * np.abs(X[:, 1]), 2.0 * np.sin(3.0 * X[:, 2]))
    y = y + 0.1 * rng.standard_normal(len(y))
    tree = DecisionTreeRegressor(min_samples_leaf=10, random_state=0)
    make = partial(DriftpaceRegressor, tree, epsilon=0.05, head=Head(components=0), random_state=0)
    again, never = make().fit(X, y, period=period), make(retrain=False).fit(X, y, period=period)
    fresh = rng.uniform(-2.0, 2.0, (2000, 3))
    truth = np.sin(3.0 * fresh[:, 2]) * 2.0 + fresh[:, 0]
    assert never.retrained_ == []
    assert again.retrained_
    assert any(report.retrain for report in never.reports_)
    assert again.score(fresh, truth) > never.score(fresh, truth) + 0.1


def test_a_frozen_model_is_taken_as_it_is(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    old = LinearRegression().fit(X[period == 0], y[period == 0])
    model = DriftpaceRegressor(FrozenEstimator(old), epsilon=0.02, random_state=0)
    model.fit(X[period > 0], y[period > 0], period=period[period > 0])
    assert model.estimator_ is old
    assert len(model.reports_) == 5
    assert model.score(X[period == 5], y[period == 5]) > 0.95


def test_an_estimator_of_classes_sees_all_of_them_first(rng: np.random.Generator) -> None:
    X, y, period = classes(rng)
    shown = (period != 0) | (y != "owl")
    tree = DriftpaceClassifier(DecisionTreeClassifier(max_depth=3, random_state=0), epsilon=0.05, random_state=0)
    tree.fit(X[shown], y[shown], period=period[shown])
    assert len(tree.reports_) == 2
    assert tree.estimator_.classes_.tolist() == ["cat", "dog", "owl"]
    assert tree.score(X[period == 3], y[period == 3]) > 0.5
    with pytest.raises(DataError, match="must have rows of every class in the first period of an estimator"):
        clone(tree).partial_fit(X[shown & (period == 0)], y[shown & (period == 0)], classes=["cat", "dog", "owl"])


def test_a_pipeline_inside_reads_frames_and_texts(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "town": np.where(X[:, 2] > 0.0, "north", "south")})
    columns = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    inner = make_pipeline(columns, LinearRegression())
    for routed in (False, True):
        with sklearn.config_context(enable_metadata_routing=routed):
            model = DriftpaceRegressor(inner, epsilon=0.02, random_state=0)
            model.fit(frame, y, sample_weight=rng.uniform(0.5, 1.0, len(y)), period=period)
            assert model.score(frame[period == 5], y[period == 5]) > 0.9
    objects = frame.to_numpy(dtype=object)
    places = make_pipeline(make_column_transformer((OneHotEncoder(), [2]), remainder="passthrough"), LinearRegression())
    model = DriftpaceRegressor(places, epsilon=0.02, random_state=0).fit(objects, y, period=period)
    assert np.isfinite(model.predict(objects)).all()


def test_an_estimator_without_weights_is_trained_without_them(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    model = DriftpaceRegressor(KNeighborsRegressor(), epsilon=0.02, random_state=0)
    assert model.fit(X, y, sample_weight=np.ones(len(y)), period=period).samples_needed_ >= 0


def test_the_period_is_routed_through_pipelines_searches_and_cross_validation(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DriftpaceRegressor(epsilon=0.02, random_state=0).set_fit_request(period=True)
        pipeline = make_pipeline(StandardScaler(), model)
        params = {"period": period, "groups": period}
        followed = cross_val_score(pipeline, X, y, cv=PeriodSplit(2), params=params)
        search = GridSearchCV(pipeline, {"driftpaceregressor__l2": [0.0, 5.0]}, cv=PeriodSplit(2))
        search.fit(X, y, period=period, groups=period)
        assert search.best_params_ == {"driftpaceregressor__l2": 0.0}
        assert search.best_estimator_[-1].periods_ == list(range(6))
    pooled = cross_val_score(make_pipeline(StandardScaler(), DriftpaceRegressor(epsilon=0.02, random_state=0)), X, y)
    assert followed.min() > 0.85 > pooled.mean()
    named = make_pipeline(StandardScaler(), DriftpaceRegressor(epsilon=0.02, random_state=0))
    named.set_output(transform="pandas").fit(X, y, driftpaceregressor__period=period)
    assert named[-1].periods_ == list(range(6))
    assert named[-1].feature_names_in_.tolist() == ["x0", "x1", "x2"]


def test_a_copy_by_pickle_goes_on_as_the_model(rng: np.random.Generator) -> None:
    X, y, period = table(rng)
    for model in (DriftpaceRegressor(random_state=0), DriftpaceRegressor(LinearRegression(), random_state=0)):
        model.fit(X, y, period=period)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.partial_fit(X, y).predict(X), model.partial_fit(X, y).predict(X))


def test_splits_by_period() -> None:
    period = np.array([2, 1, 3, 1, 2])
    found = [(train.tolist(), test.tolist()) for train, test in PeriodSplit(2).split(np.zeros((5, 1)), groups=period)]
    assert found == [([1, 3], [0, 4]), ([0, 1, 3, 4], [2])]
    assert PeriodSplit(2).get_n_splits() == 2
    with pytest.raises(DataError, match=r"must have more than n_splits=3 periods; got 3"):
        next(PeriodSplit(3).split(period, groups=period))
    with pytest.raises(DataError, match="must be the periods of the rows; got None"):
        next(PeriodSplit(3).split(period))


def test_driftpace_itself_does_not_import_scikit_learn() -> None:
    code = "import driftpace, driftpace.tracker, driftpace.models, sys; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_scikit_learn_the_extra_is_named() -> None:
    code = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'sklearn' else find(name, *more)\n"
        "import driftpace.sklearn"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip().endswith('pip install "driftpace[sklearn]".')


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_negative_weights_are_refused_before_anything_is_trained(estimator: Any, rng: np.random.Generator) -> None:
    X = rng.standard_normal((60, 2))
    with pytest.raises(DataError, match=r"fit\(sample_weight=...\) must not be negative; got -1.0 in row 0"):
        DriftpaceRegressor(estimator).fit(X, X[:, 0], sample_weight=-np.ones(60), period=np.repeat([1, 2], 30))
