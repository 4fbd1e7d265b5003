"""Estimators and pipelines of scikit-learn."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from driftpace.errors import ParameterError
from driftpace.models.adapter import (
    LEAST_PROBABILITY,
    ModelAdapter,
    Task,
    check_shares,
    check_task,
    class_labels,
    library_errors,
    log_odds,
    plain,
)
from driftpace.models.archive import canonical
from driftpace.models.packing import pack, unpack
from driftpace.typing import FloatArray, IntArray

TRUSTED = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils._bunch.Bunch",
)
"""The types that are read from skops files besides those that skops trusts by itself."""

_LOG_MEANS = {
    "PoissonRegressor": (),
    "HistGradientBoostingRegressor": (("loss", "poisson"),),
    "TweedieRegressor": (("power", 1),),
}
"""The regressors of counts, by name and parameters."""


class SklearnAdapter(ModelAdapter):
    """A fitted estimator or pipeline: its log-odds, decision function or predictions, and its leaves.

    A classifier with neither probabilities nor a decision function is ``hard``.

    Regressors are trained from given scores by their residuals. Classifiers cannot be: they are trained from nothing. A search
    over parameters is taken for the best estimator that it found.

    Parameters
    ----------
    model : estimator
        Fitted.
    task : str, optional
        "counts" for a regressor whose predictions are means of counts, or left out.
    labels : sequence, optional
        Left out, or the labels of its classes.
    """

    format = "skops"

    def __init__(self, model: Any, *, task: str | None = None, labels: Any = None) -> None:
        from sklearn.base import is_classifier, is_regressor
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(model)
        except NotFittedError:
            raise ParameterError("must be fitted; call its fit() first.", owner="adapt", name="model") from None
        model = getattr(model, "best_estimator_", model)
        super().__init__(model)
        self._last = _last_step(model)
        if is_classifier(model):
            self._set_classes(model, labels)
        elif is_regressor(model):
            self.task: Task = "counts" if task == "counts" or self._says_counts() else "regression"
            if _targets(self._last) > 1:
                raise ParameterError("must have one target; got a regressor of several.", owner="adapt", name="model")
        else:
            raise ParameterError(
                f"must be a classifier or a regressor; got {type(model).__name__}.", owner="adapt", name="model"
            )
        check_task(self.task, task)
        names = getattr(model, "feature_names_in_", None)
        self.columns = None if names is None else tuple(str(name) for name in names)
        self.features = getattr(model, "n_features_in_", None)

    def _set_classes(self, model: Any, labels: Any) -> None:
        if isinstance(model.classes_, list):
            raise ParameterError("must have one target; got a classifier of several.", owner="adapt", name="model")
        self.hard = not hasattr(model, "predict_proba") and not hasattr(model, "decision_function")
        self.labels = class_labels(len(model.classes_), labels, model.classes_)
        self.task = "classification" if len(self.labels) == 2 else "multiclass"

    def _says_counts(self) -> bool:
        wanted = _LOG_MEANS.get(type(self._last).__name__)
        if wanted is None:
            return getattr(self._last, "criterion", None) == "poisson"
        return all(getattr(self._last, name) == value for name, value in wanted)

    def scores(self, X: Any) -> FloatArray:
        """Return log-odds where the estimator has probabilities, else its decision function or predictions."""
        model, X = self.model, self._named(X)
        if self.task in ("regression", "counts"):
            found = np.asarray(model.predict(X), dtype=np.float64)
            found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
            return found if self.task == "regression" else np.asarray(np.log(np.maximum(found, 1e-12)))
        if self.hard:
            return self._of_labels(np.asarray(model.predict(X)))
        if hasattr(model, "predict_proba"):
            given = check_shares(np.asarray(model.predict_proba(X), dtype=np.float64), len(model.classes_))
            shares = self._of_all_classes(given)
            return log_odds(shares[:, 1] if self.task == "classification" else shares)
        return np.asarray(model.decision_function(X), dtype=np.float64)

    def _named(self, X: Any) -> Any:
        """Return an array with the names of the columns that the estimator was trained with, which parts of it may select by."""
        if self.columns is None or not isinstance(X, np.ndarray) or find_spec("pandas") is None:
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=list(self.columns))

    def _of_labels(self, predicted: Any) -> FloatArray:
        """Return 1 for the class that is predicted and 0 for the others, or 1 and -1 where there are two."""
        assert self.labels is not None
        places = {label: place for place, label in enumerate(self.labels)}
        chosen = np.array([places.get(plain(label), -1) for label in predicted], dtype=np.int64)
        if (chosen < 0).any():
            wrong = plain(predicted[int(np.argmin(chosen))])
            raise ParameterError(
                f"must predict its classes, {', '.join(map(str, self.labels[:10]))}; got {wrong!r}.",
                owner="adapt",
                name="model",
            )
        return np.asarray(np.eye(len(self.labels))[chosen] if len(self.labels) > 2 else 2.0 * chosen - 1.0)

    def _of_all_classes(self, shares: FloatArray) -> FloatArray:
        """Return probabilities with a column for each class, those of classes that were not trained on next to 0."""
        assert self.labels is not None
        if shares.shape[1] == len(self.labels):
            return shares
        every = np.full((len(shares), len(self.labels)), LEAST_PROBABILITY)
        every[:, [self.labels.index(label) for label in self.model.classes_.tolist()]] = shares
        return every

    @property
    def takes_offset(self) -> bool:  # type: ignore[override]
        """Whether training can start from given scores: that of regressors, by residuals."""
        return self.task == "regression"

    def leaves(self, X: Any) -> IntArray | None:
        """Return the leaf of each tree of an ensemble."""
        if not hasattr(self._last, "apply"):
            return None
        found = np.asarray(self._last.apply(_before_last(self.model, self._named(X))))
        return found.reshape(len(found), -1).astype(np.int64)

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> ModelAdapter:
        """Return an estimator with the same settings, trained on these rows alone."""
        from sklearn.base import clone

        model = clone(self.model)
        targets: Any = y
        if self.task == "regression" and offset is not None:
            targets = y - np.asarray(offset).reshape(-1)
        elif self.labels is not None:
            targets = np.asarray(self.labels)[y.astype(np.int64)]
        with library_errors("be trained on", None):
            fit_weighted(model, self._named(X), targets, sample_weight)
        made = SklearnAdapter(model, task="counts" if self.task == "counts" else None)
        made.task, made.labels = self.task, self.labels  # some classes may have no rows
        return made

    def dump(self) -> bytes:
        """Return the estimator as skops writes it, and refuse types that would not be read again."""
        from skops.io import dumps

        data = dumps(self.model)
        _check_types(
            data, "Tracker.save", "Wrap the model in an adapter of your own, and give it again to Tracker.load."
        )
        return pack(canonical(data), task=self.task, labels=self.labels)

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "SklearnAdapter":  # noqa: ARG003
        """Return the estimator of such bytes."""
        raw, facts = unpack(data)
        made = cls(load_skops(raw, owner="Tracker.load"), task="counts" if facts["task"] == "counts" else None)
        made.task, made.labels = facts["task"], None if facts["labels"] is None else tuple(facts["labels"])
        return made


def fit_weighted(model: Any, X: Any, y: Any, sample_weight: FloatArray | None) -> Any:
    """Fit an estimator, with weights where it takes them; the last step of a pipeline gets them."""
    from sklearn import config_context

    weights = {} if sample_weight is None else _routed(model, sample_weight)
    with config_context(enable_metadata_routing=False):  # which would ask every step whether it wants them
        return model.fit(X, y, **weights)


def load_skops(data: bytes, *, owner: str = "read_model") -> Any:
    """Return the estimator of a skops file of trusted types; refuse any other before anything is read of it."""
    from skops.io import loads

    _check_types(data, owner, "Nothing was read of it.")
    return loads(data, trusted=list(TRUSTED))


def _check_types(data: bytes, owner: str, advice: str) -> None:
    from skops.io import get_untrusted_types

    unknown = sorted(set(get_untrusted_types(data=data)) - set(TRUSTED))
    if unknown:
        if unknown[0].startswith(("sklearn.neighbors", "sklearn.metrics._dist_metrics")) and "save" in owner:
            advice = f"Fit nearest neighbours with algorithm='brute', which keeps rows and no tree of them. {advice}"
        raise ParameterError(
            f"must be of types that skops trusts, or trees and other parts of scikit-learn; got {unknown[0]}. {advice}",
            owner=owner,
            name="model",
        )


def _targets(regressor: Any) -> int:
    if type(regressor).__name__ in ("MultiOutputRegressor", "RegressorChain"):
        return len(regressor.estimators_)
    coef = np.asarray(getattr(regressor, "coef_", np.zeros(1)))
    return int(getattr(regressor, "n_outputs_", coef.shape[0] if coef.ndim == 2 else 1))


def _last_step(model: Any) -> Any:
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def _before_last(model: Any, X: Any) -> Any:
    while hasattr(model, "steps"):
        X = model[:-1].transform(X) if len(model.steps) > 1 else X
        model = model.steps[-1][1]
    return X


def _routed(model: Any, sample_weight: FloatArray) -> dict[str, FloatArray]:
    """Return the weights under the name by which they reach the last step, or nothing where it takes none."""
    from sklearn.utils.validation import has_fit_parameter

    prefix = ""
    while hasattr(model, "steps"):
        prefix += f"{model.steps[-1][0]}__"
        model = model.steps[-1][1]
    return {f"{prefix}sample_weight": sample_weight} if has_fit_parameter(model, "sample_weight") else {}
