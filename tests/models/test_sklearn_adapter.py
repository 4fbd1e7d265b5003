"""Estimators of scikit-learn: pipelines in pipelines, weights, sparse rows, searches, counts, and what is refused."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge, TweedieRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from driftpace import Tracker
from driftpace.errors import ParameterError
from driftpace.models import FunctionAdapter, adapt, artefact_of
from driftpace.models.sklearn import SklearnAdapter
from tests.models.libraries import draw


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_last_step_of_pipelines_in_pipelines(routing: bool, rng: np.random.Generator) -> None:
    X, y = draw("regression", 80, rng)
    weights = rng.integers(1, 4, 80)
    with config_context(enable_metadata_routing=routing):
        model = make_pipeline(FunctionTransformer(), make_pipeline(FunctionTransformer(), Ridge(0.1))).fit(X, y)
        weighted = adapt(model).refit(X, y, sample_weight=weights.astype(np.float64))
    repeated = Ridge(0.1).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.scores(X), repeated.predict(X), rtol=1e-9)
    assert not np.allclose(weighted.scores(X), model.predict(X))


def test_a_model_without_weights_is_trained_without(rng: np.random.Generator) -> None:
    X, y = draw("regression", 80, rng)
    adapter = adapt(KNeighborsRegressor().fit(X, y))
    np.testing.assert_array_equal(adapter.refit(X, y, sample_weight=np.arange(80.0)).scores(X), adapter.scores(X))


def test_a_search_is_its_best_estimator(rng: np.random.Generator) -> None:
    X, y = draw("regression", 80, rng)
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    assert adapt(search).model is search.best_estimator_


@pytest.mark.parametrize(
    "model",
    [
        PoissonRegressor(),
        TweedieRegressor(power=1),
        HistGradientBoostingRegressor(loss="poisson", max_iter=5),
        RandomForestRegressor(5, criterion="poisson"),
    ],
)
def test_regressors_of_counts_are_known(model: Any, rng: np.random.Generator) -> None:
    X, y = draw("counts", 200, rng)
    adapter = adapt(model.fit(X, y))
    assert adapter.task == "counts"
    np.testing.assert_allclose(np.exp(adapter.scores(X)), np.maximum(model.predict(X), 1e-12))


def test_any_regressor_may_be_said_to_predict_counts(rng: np.random.Generator) -> None:
    X, y = draw("counts", 200, rng)
    model = RandomForestRegressor(5).fit(X, y)
    assert adapt(model).task == "regression"
    assert adapt(model, task="counts").task == "counts"


def test_sparse_rows_of_many_columns(rng: np.random.Generator) -> None:
    X: Any = sparse.random(300, 400, density=0.05, rng=rng, format="csr")
    y = np.where(np.asarray(X[:, :60].sum(axis=1)).ravel() > 1.4, "yes", "no")
    model = LogisticRegression().fit(X[:200], y[:200])
    tracker = Tracker.for_model(model, epsilon=0.3, rng=0)
    tracker.ask()
    tracker.tell(X[200:], y[200:])
    assert tracker.head_features == ("score",)
    assert set(tracker.predict(X)) == {"no", "yes"}


def test_a_fold_without_a_class_is_trained_on(rng: np.random.Generator) -> None:
    X, y = draw("multiclass", 300, rng)
    adapter = adapt(RandomForestClassifier(5, random_state=0).fit(X, y))
    part = adapter.refit(X[:50], np.where(np.arange(50) % 2, 0.0, 2.0))
    assert part.labels == adapter.labels
    scores = part.checked_scores(X, 300, "test")
    assert scores.shape == (300, 3)
    assert (scores[:, 1] < -13.0).all()


def test_periods_of_one_class_do_not_stop_a_tracker(rng: np.random.Generator) -> None:
    X, y = draw("classification", 400, rng)
    tracker = Tracker.for_model(LogisticRegression().fit(X, y), epsilon=0.3, rng=0)
    for period in range(3):
        tracker.ask()
        at = np.flatnonzero(y == ("no" if period < 2 else "yes"))[:60]
        report = tracker.tell(X[at], y[at])
    assert report is not None
    assert report.period == 3


class Wrong(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two classes whose probabilities are given."""

    def __init__(self, shares: tuple[float, ...] = (-0.5, 1.5)) -> None:
        self.shares = shares

    def fit(self, X: Any, y: Any) -> "Wrong":
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile(self.shares, (len(X), 1))


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        ((-0.5, 1.5), r"must give probabilities between 0 and 1; got -0\.5"),
        ((np.nan, np.nan), "must give probabilities between 0 and 1; got nan"),
        ((0.9, 0.9), r"must give probabilities that sum to 1; those of row 0 sum to 1\.8"),
        ((1.0,), r"must give a probability for each of 2 classes; got an array of shape \(3, 1\)"),
    ],
)
def test_numbers_that_are_no_probabilities_are_refused(shares: tuple[float, ...], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        adapt(Wrong(shares).fit(None, None)).checked_scores(np.zeros((3, 2)), 3, "test")


def test_rounded_probabilities_are_taken() -> None:
    scores = adapt(Wrong((0.333, 0.666)).fit(None, None)).checked_scores(np.zeros((3, 2)), 3, "test")
    np.testing.assert_allclose(scores[:, 0], np.log(0.666 / 0.334))


class Elsewhere(Wrong):
    """A classifier that needs a package which is not installed."""

    def predict_proba(self, X: Any) -> Any:
        return __import__("not_installed_here").predict(X)


def test_a_package_that_a_model_needs_is_named() -> None:
    with pytest.raises(ParameterError, match="must be usable here: it needs the package 'not_installed_here'"):
        adapt(Elsewhere().fit(None, None)).checked_scores(np.zeros((3, 2)), 3, "test")


def test_models_that_cannot_be_used_are_refused(rng: np.random.Generator) -> None:
    X, y = draw("regression", 60, rng)
    two = np.column_stack([y, -y])
    for model, sentence in (
        (LinearRegression().fit(X, two), "must have one target; got a regressor of several"),
        (RandomForestRegressor(2).fit(X, two), "must have one target; got a regressor of several"),
        (RandomForestClassifier(2).fit(X, two > 0), "must have one target; got a classifier of several"),
        (StandardScaler().fit(X), "must be a classifier or a regressor"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            adapt(model)
    assert adapt(LinearRegression().fit(X, y[:, None])).checked_scores(X, 60, "test").shape == (60, 1)
    assert adapt(PLSRegression(2).fit(X, y)).checked_scores(X, 60, "test").shape == (60, 1)


@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingClassifier, LogisticRegression])
def test_a_model_has_the_same_bytes_whenever_they_are_written(kind: Any, rng: np.random.Generator) -> None:
    X = rng.standard_normal((80, 3))
    model = make_pipeline(StandardScaler(), kind()).fit(X, X[:, 0] > 0.0)
    first = adapt(model).dump()
    again = SklearnAdapter.restore(first)
    assert adapt(model).dump() == first
    assert again.dump() == SklearnAdapter.restore(first).dump() == first
    np.testing.assert_array_equal(again.scores(X), adapt(model).scores(X))


def test_regressors_of_several_targets_are_refused(rng: np.random.Generator) -> None:
    X = rng.standard_normal((40, 2))
    for model in (MultiOutputRegressor(Ridge()), RegressorChain(Ridge())):
        with pytest.raises(ParameterError, match="must have one target; got a regressor of several"):
            adapt(model.fit(X, X))
    assert adapt(MultiOutputRegressor(Ridge()).fit(X, X[:, :1])).scores(X).shape == (40,)


def test_arrays_have_the_columns_that_a_pipeline_selects_by_name(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(rng.standard_normal((80, 2)), columns=["area", "age"])
    scaled = make_column_transformer((StandardScaler(), ["age"]), remainder="passthrough")
    base = adapt(make_pipeline(scaled, RandomForestRegressor(5, random_state=0)).fit(frame, frame["area"]))
    X = frame.to_numpy()
    np.testing.assert_array_equal(base.scores(X), base.scores(frame))
    np.testing.assert_array_equal(base.leaves(X), base.leaves(frame))
    again = base.refit(X, X[:, 0])
    assert again.columns == ("area", "age")
    np.testing.assert_array_equal(again.scores(X), base.scores(frame))


def test_nearest_neighbours_say_how_they_can_be_saved(rng: np.random.Generator) -> None:
    X = rng.standard_normal((40, 2))
    with pytest.raises(ParameterError, match=r"Tracker\.save.*algorithm='brute'"):
        adapt(KNeighborsRegressor().fit(X, X[:, 0])).dump()
    base = adapt(KNeighborsRegressor(algorithm="brute").fit(X, X[:, 0]))
    np.testing.assert_array_equal(SklearnAdapter.restore(base.dump()).scores(X), base.scores(X))


def test_functions_say_whether_they_return_probabilities(rng: np.random.Generator) -> None:
    X = rng.standard_normal((50, 2))

    def two(X: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-X[:, 0]))

    def three(X: Any) -> Any:
        return np.column_stack([two(X), 0.5 * (1.0 - two(X)), 0.5 * (1.0 - two(X))])

    for function, given in (
        (two, {"task": "classification"}),
        (three, {"task": "multiclass", "labels": ("a", "b", "c")}),
    ):
        with pytest.raises(ParameterError, match=r"look like probabilities.*output='probabilities'"):
            Tracker.for_model(function, epsilon=0.1, **given).fit_pool(X)
        base = FunctionAdapter(function, output="probabilities", **given)
        tracker = Tracker.for_model(base, epsilon=0.1, rng=0)
        shares = tracker.predict_proba(X)
        np.testing.assert_allclose(
            shares[:, 1:] if base.outputs == 1 else shares, function(X).reshape(50, -1), atol=1e-9
        )
        Tracker.for_model(FunctionAdapter(function, output="scores", **given), epsilon=0.1).fit_pool(X)
    Tracker.for_model(lambda X: 3.0 * X[:, 0], task="classification", epsilon=0.1).fit_pool(X)
    Tracker.for_model(two, task="regression", epsilon=0.1).fit_pool(X)
    with pytest.raises(ParameterError, match=r"output=.*must be"):
        FunctionAdapter(two, task="regression", output="probabilities")  # numbers have none
    with pytest.raises(ParameterError, match="sum to 1"):
        FunctionAdapter(lambda X: np.ones((len(X), 3)), task="multiclass", labels="abc", output="probabilities").scores(
            X
        )


def test_a_model_of_types_that_are_not_trusted_is_not_saved(rng: np.random.Generator) -> None:
    X, y = draw("regression", 60, rng)
    model = make_pipeline(FunctionTransformer(partial(np.clip, a_min=-1.0, a_max=1.0)), Ridge()).fit(X, y)
    with pytest.raises(ParameterError, match=r"got functools\.partial\. Wrap the model in an adapter of your own"):
        artefact_of(SklearnAdapter(model))
