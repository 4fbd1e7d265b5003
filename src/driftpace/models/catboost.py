"""CatBoost: models of trees, and estimators with the interface of scikit-learn."""

import tempfile
from pathlib import Path
from typing import Any, Self

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.models.adapter import ModelAdapter, Task, check_task, class_labels, one_line
from driftpace.models.packing import pack, stages_of, unpack
from driftpace.models.rows import count_rows, is_matrix
from driftpace.typing import FloatArray, IntArray

_TASKS: dict[str, Task] = {
    **dict.fromkeys(("RMSE", "MAE", "Huber", "LogCosh", "MAPE"), "regression"),
    "Poisson": "counts",
    **dict.fromkeys(("Logloss", "CrossEntropy"), "classification"),
    "MultiClass": "multiclass",
}

_KEPT = (
    *("learning_rate", "depth", "l2_leaf_reg", "random_strength", "bagging_temperature", "border_count", "grow_policy"),
    *("min_data_in_leaf", "max_leaves", "rsm", "one_hot_max_size", "nan_mode", "leaf_estimation_iterations"),
    *("leaf_estimation_method", "loss_function", "bootstrap_type", "subsample", "boosting_type", "random_seed"),
)
"""The settings of a model that one trained again keeps."""

_KINDS = ("cat_features", "text_features", "embedding_features")


class CatBoostAdapter(ModelAdapter):
    """A CatBoost model: its raw values, its leaves, and training from a ``baseline``.

    Parameters
    ----------
    model : catboost.CatBoost
        Fitted.
    task : str, optional
        Left out, or what it predicts.
    labels : sequence, optional
        Left out, or the labels of its classes.
    """

    format = "catboost"
    takes_offset = True

    def __init__(self, model: Any, *, task: str | None = None, labels: Any = None) -> None:
        if not model.is_fitted():
            raise ParameterError("must be fitted; call its fit() first.", owner="adapt", name="model")
        super().__init__(model.copy())
        self._given = model, model.get_leaf_values()
        self._params = model.get_all_params()
        self.objective = str(self._params["loss_function"]).partition(":")[0]
        if self.objective not in _TASKS:
            raise ParameterError(
                f"must have one of the losses {', '.join(_TASKS)}; got {self.objective!r}.", owner="adapt", name="model"
            )
        self.task = _TASKS[self.objective]
        check_task(self.task, task)
        names = tuple(model.feature_names_)
        self.features = len(names)
        self.columns = None if names == tuple(str(place) for place in range(len(names))) else names
        if self.task in ("classification", "multiclass"):
            own = np.asarray(model.classes_).tolist()
            own = [int(label) if isinstance(label, float) and label.is_integer() else label for label in own]
            whole = own == list(range(len(own)))  # numbers say as little as none: they may be those of refit()
            self.labels = class_labels(len(own), labels, None if whole else own)

    def changed(self) -> bool:
        """Return whether the model that was given has other leaves since."""
        model, leaves = self._given
        return not (model.is_fitted() and np.array_equal(model.get_leaf_values(), leaves))

    def scores(self, X: Any) -> FloatArray:
        """Return the raw values."""
        return self._raw(X, 0)

    def _raw(self, X: Any, trees: int) -> FloatArray:
        found = self.model.predict(self._rows(X), prediction_type="RawFormulaVal", ntree_end=trees, thread_count=1)
        return np.asarray(found, dtype=np.float64)

    def _rows(self, X: Any) -> Any:
        """Return rows as CatBoost takes them: arrays, sparse matrices and frames of pandas or polars."""
        if is_matrix(X) or not hasattr(X, "to_pandas"):
            return X
        return X.to_pandas()

    def staged_scores(self, X: Any) -> FloatArray:
        """Return the raw values after shares of the trees."""
        return np.array([self._raw(X, trees) for trees in stages_of(self.model.tree_count_)])

    def stage(self, number: int) -> Self:
        """Return the model of the first trees."""
        trees = stages_of(self.model.tree_count_)[number]
        if trees == self.model.tree_count_:
            return self
        part = self.model.copy()
        part.shrink(ntree_end=trees)
        return type(self)(part, labels=self.labels)

    def leaves(self, X: Any) -> IntArray:
        """Return the leaf of each tree."""
        found = np.asarray(self.model.calc_leaf_indexes(self._rows(X), thread_count=1), dtype=np.int64)
        return found.reshape(count_rows(X), -1)

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> "CatBoostAdapter":
        """Return a model with the same settings and number of trees, trained on these rows alone."""
        import catboost

        params = {name: value for name, value in self._params.items() if name in _KEPT}
        params |= {"iterations": self.model.tree_count_, "thread_count": 1, "logging_level": "Silent"}
        params |= {"allow_writing_files": False}
        if self.task == "multiclass":
            params["classes_count"] = self.outputs
        baseline = None if offset is None else np.asarray(offset, dtype=np.float64).reshape(len(y), -1)
        special = self._special()
        try:
            data = catboost.Pool(self._rows(X), y, weight=sample_weight, baseline=baseline, **special)
            model = catboost.CatBoost(params).fit(data)
        except (catboost.CatBoostError, ValueError) as error:
            raise DataError(f"must be rows that CatBoost can train on; it said: {one_line(error)}", name="X") from error
        return CatBoostAdapter(model, labels=self.labels)

    def _special(self) -> dict[str, Any]:
        model = self.model
        places = (
            model.get_cat_feature_indices(),
            model.get_text_feature_indices(),
            model.get_embedding_feature_indices(),
        )
        return {kind: list(at) for kind, at in zip(_KINDS, places, strict=True) if len(at)}

    def dump(self) -> bytes:
        """Return the model in CatBoost's binary format, and its labels."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self.model.save_model(str(path), format="cbm")
            return pack(path.read_bytes(), labels=self.labels)

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "CatBoostAdapter":  # noqa: ARG003
        """Return the model of such a file."""
        raw, facts = unpack(data)
        return cls(load_bytes(raw), labels=facts["labels"])


def load_bytes(data: bytes) -> Any:
    """Return the model of the bytes of a file; through a file, since CatBoost reads beyond the end of bytes in memory."""
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cbm"
        path.write_bytes(data)
        return catboost.CatBoost().load_model(str(path), format="cbm")
