"""Estimators and pipelines of scikit-learn."""

from typing import Any

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.models.adapter import ModelAdapter, Task, log_odds
from driftpace.typing import FloatArray, IntArray


class SklearnAdapter(ModelAdapter):
    """A fitted estimator or pipeline: its log-odds, decision function or predictions, and its leaves.

    Regressors are trained from given scores by their residuals. Classifiers cannot be: they are trained from nothing.

    Parameters
    ----------
    model : estimator
        Fitted.
    """

    def __init__(self, model: Any) -> None:
        from sklearn.base import is_classifier, is_regressor
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        super().__init__(model)
        try:
            check_is_fitted(model)
        except NotFittedError:
            raise ParameterError("must be fitted; call its fit() first.", owner="adapt", name="model") from None
        self._last = model.steps[-1][1] if hasattr(model, "steps") else model
        if is_classifier(model):
            self.labels = tuple(model.classes_.tolist())
            self.task: Task = "classification" if len(self.labels) == 2 else "multiclass"
        elif is_regressor(model):
            self.task = "counts" if type(self._last).__name__ == "PoissonRegressor" else "regression"
        else:
            raise ParameterError(
                f"must be a classifier or a regressor; got {type(model).__name__}.", owner="adapt", name="model"
            )
        names = getattr(model, "feature_names_in_", None)
        self.columns = None if names is None else tuple(str(name) for name in names)
        self.features = getattr(model, "n_features_in_", None)

    def scores(self, X: Any) -> FloatArray:
        """Return log-odds where the estimator has probabilities, else its decision function or predictions."""
        model = self.model
        if self.task == "regression":
            return np.asarray(model.predict(X), dtype=np.float64).reshape(-1)
        if self.task == "counts":
            return np.asarray(np.log(np.maximum(model.predict(X), 1e-12)))
        if hasattr(model, "predict_proba"):
            shares = np.asarray(model.predict_proba(X))
            return log_odds(shares[:, 1] if self.task == "classification" else shares)
        return np.asarray(model.decision_function(X), dtype=np.float64)

    @property
    def takes_offset(self) -> bool:  # type: ignore[override]
        """Whether training can start from given scores: that of regressors, by residuals."""
        return self.task == "regression"

    def leaves(self, X: Any) -> IntArray | None:
        """Return the leaf of each tree of an ensemble."""
        if not hasattr(self._last, "apply"):
            return None
        found = np.asarray(self._last.apply(self._transformed(X)))
        return found.reshape(len(found), -1).astype(np.int64)

    def _transformed(self, X: Any) -> Any:
        return self.model[:-1].transform(X) if hasattr(self.model, "steps") and len(self.model.steps) > 1 else X

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
        try:
            fit_weighted(model, X, targets, sample_weight)
        except ValueError as error:
            raise DataError(f"must be rows that the model can be trained on; it said: {error}", name="X") from error
        return SklearnAdapter(model)


def fit_weighted(model: Any, X: Any, y: Any, sample_weight: FloatArray | None) -> Any:
    """Fit an estimator, with weights where it takes them; the last step of a pipeline gets them."""
    from sklearn import config_context
    from sklearn.utils.validation import has_fit_parameter

    last = model.steps[-1] if hasattr(model, "steps") else ("", model)
    weights = {}
    if sample_weight is not None and has_fit_parameter(last[1], "sample_weight"):
        weights = {f"{last[0]}__sample_weight" if last[0] else "sample_weight": sample_weight}
    with config_context(enable_metadata_routing=False):  # which would ask every step whether it wants them
        return model.fit(X, y, **weights)
