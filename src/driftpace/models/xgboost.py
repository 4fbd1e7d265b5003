"""XGBoost: boosters of trees, and estimators with the interface of scikit-learn."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from driftpace.errors import ParameterError
from driftpace.models.adapter import ModelAdapter, Task, check_task, class_labels, library_errors
from driftpace.models.packing import pack, stages_of, unpack
from driftpace.models.rows import count_rows, is_matrix
from driftpace.models.ubj import check_whole
from driftpace.typing import FloatArray, IntArray

_TASKS: dict[str, Task] = {
    **dict.fromkeys(("reg:squarederror", "reg:pseudohubererror", "reg:absoluteerror"), "regression"),
    "reg:quantileerror": "regression",
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "counts"),
    **dict.fromkeys(("binary:logistic", "binary:logitraw"), "classification"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "multiclass"),
}
_NEUTRAL = {"classification": 0.5, "counts": 1.0, "regression": 0.0, "multiclass": 0.0}
"""The base score of each task that adds nothing to a margin; binary:logitraw takes margins."""

_KEPT = (
    *(
        "eta",
        "max_depth",
        "max_leaves",
        "max_bin",
        "grow_policy",
        "gamma",
        "min_child_weight",
        "max_delta_step",
        "lambda",
    ),
    *("alpha", "subsample", "sampling_method", "colsample_bytree", "colsample_bylevel", "colsample_bynode"),
    *("max_cat_to_onehot", "max_cat_threshold", "monotone_constraints", "interaction_constraints"),
)
"""The settings of trees that a model trained again keeps."""


class XGBoostAdapter(ModelAdapter):
    """An XGBoost booster of trees: its margins, its leaves, and training from ``base_margin``.

    Parameters
    ----------
    model : xgboost.Booster
        A trained booster.
    task : str, optional
        Left out, or what it predicts.
    labels : sequence, optional
        The labels of its classes; by default 0, 1, ...
    """

    format = "xgboost"
    takes_offset = True
    _given: tuple[Any, Any] | None = None

    def __init__(self, model: Any, *, task: str | None = None, labels: Any = None) -> None:
        config = json.loads(model.save_config())["learner"]
        if config["learner_train_param"]["booster"] not in ("gbtree", "dart"):
            raise ParameterError(
                f"must be of trees (gbtree or dart); got {config['learner_train_param']['booster']}.",
                owner="adapt",
                name="model",
            )
        if model.num_boosted_rounds() == 0:
            raise ParameterError("must be trained; got a booster without trees.", owner="adapt", name="model")
        super().__init__(model.copy())
        self.objective = config["objective"]["name"]
        if self.objective not in _TASKS:
            raise ParameterError(
                f"must have one of the objectives {', '.join(_TASKS)}; got {self.objective!r}.",
                owner="adapt",
                name="model",
            )
        self._objective_settings, self.loss_name = _loss_of(config["objective"])
        if int(config["learner_model_param"].get("num_target", "1")) > 1:
            raise ParameterError("must have one target; got a booster of several.", owner="adapt", name="model")
        self.task = _TASKS[self.objective]
        check_task(self.task, task)
        self.features = model.num_features()
        self.columns = None if model.feature_names is None else tuple(model.feature_names)
        if self.task in ("classification", "multiclass"):
            self.labels = class_labels(max(int(config["learner_model_param"]["num_class"]), 2), labels)

    def _matrix(self, X: Any, **targets: Any) -> Any:
        import xgboost

        named = {"feature_names": self.columns, "feature_types": self.model.feature_types} if is_matrix(X) else {}
        return xgboost.DMatrix(X, enable_categorical=True, nthread=1, **named, **targets)

    def categories(self, X: Any) -> Mapping[str, Sequence[Any]]:  # noqa: ARG002
        """Return the categories that the booster was trained on, which its file has too."""
        if self.columns is None or not hasattr(self.model, "get_categories"):  # which boosters have since XGBoost 3.1
            return {}
        found = self.model.get_categories(export_to_arrow=True).to_arrow()
        return {name: words.to_pylist() for name, words in found if words is not None}

    def changed(self) -> bool:
        """Return whether the estimator that was given has another booster since."""
        return self._given is not None and self._given[0].get_booster() is not self._given[1]

    def scores(self, X: Any) -> FloatArray:
        """Return the margins."""
        return self._margins(self._matrix(X), self._rounds)

    def _margins(self, matrix: Any, rounds: int) -> FloatArray:
        found = self.model.predict(matrix, output_margin=True, iteration_range=(0, rounds))
        return np.asarray(found, dtype=np.float64)

    @property
    def _rounds(self) -> int:
        return int(self.model.num_boosted_rounds())

    def staged_scores(self, X: Any) -> FloatArray:
        """Return the margins after shares of the rounds."""
        matrix = self._matrix(X)
        return np.array([self._margins(matrix, rounds) for rounds in stages_of(self._rounds)])

    def stage(self, number: int) -> Self:
        """Return the model of the first rounds."""
        rounds = stages_of(self._rounds)[number]
        return self if rounds == self._rounds else type(self)(self.model[:rounds], labels=self.labels)

    def leaves(self, X: Any) -> IntArray:
        """Return the leaf of each tree."""
        found = np.asarray(self.model.predict(self._matrix(X), pred_leaf=True), dtype=np.int64)
        return found.reshape(count_rows(X), -1)

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> "XGBoostAdapter":
        """Return a booster with the same settings and number of rounds, trained on these rows alone."""
        import xgboost

        config = json.loads(self.model.save_config())["learner"]
        trees = config["gradient_booster"]
        trees = trees.get("gbtree", trees)  # dart has its trees inside
        params = {name: value for name, value in trees["tree_train_param"].items() if name in _KEPT and value != ""}
        params |= {name: trees["gbtree_model_param"][name] for name in ("num_parallel_tree",)}
        params |= {"objective": self.objective, **self._objective_settings, "nthread": 1, "seed": 0, "verbosity": 0}
        if self.task == "multiclass":
            assert self.labels is not None
            params["num_class"] = len(self.labels)
        margin = None
        if offset is not None:
            margin = np.asarray(offset).reshape(len(y), -1).squeeze(axis=1) if self.outputs == 1 else offset
            params["base_score"] = 0.0 if self.objective == "binary:logitraw" else _NEUTRAL[self.task]
        with library_errors("be trained on", None):
            data = self._matrix(X, label=y, weight=sample_weight, base_margin=margin)
            booster = xgboost.train(params, data, num_boost_round=self._rounds)
        return XGBoostAdapter(booster, labels=self.labels)

    def dump(self) -> bytes:
        """Return the booster as binary JSON, its settings and its labels."""
        return pack(bytes(self.model.save_raw("ubj")), labels=self.labels, config=self.model.save_config())

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "XGBoostAdapter":  # noqa: ARG003
        """Return the booster of such a file."""
        raw, facts = unpack(data)
        booster = load_bytes(raw)
        booster.load_config(facts["config"])
        return cls(booster, labels=facts["labels"])


def _loss_of(objective: Any) -> tuple[dict[str, float], str | None]:
    """Return the settings of an objective and the loss of that name; refuse several quantiles at once."""
    if objective["name"] == "reg:quantileerror":
        quantiles = json.loads(objective["quantile_loss_param"]["quantile_alpha"])
        if len(quantiles) != 1:
            raise ParameterError(
                f"must be of one quantile; got a booster of {len(quantiles)}.", owner="adapt", name="model"
            )
        return {"quantile_alpha": quantiles[0]}, f"quantile({quantiles[0]:g})"
    if objective["name"] == "reg:tweedie":
        power = float(objective["tweedie_regression_param"]["tweedie_variance_power"])
        return {"tweedie_variance_power": power}, f"tweedie({power:.6g})"
    return {}, "gamma" if objective["name"] == "reg:gamma" else None


def from_estimator(model: Any, *, task: str | None = None, labels: Any = None) -> XGBoostAdapter:
    """Return the adapter of a fitted XGBRegressor, XGBClassifier or the like; of its best rounds where training stopped early."""
    if not model.__sklearn_is_fitted__():
        raise ParameterError("must be fitted; call its fit() first.", owner="adapt", name="model")
    booster = model.get_booster()
    best = booster.attributes().get("best_iteration")
    if best is not None and int(best) + 1 < booster.num_boosted_rounds():
        booster = booster[: int(best) + 1]
    own = getattr(model, "classes_", None)
    if own is not None:
        labels = class_labels(len(own), labels, own)
    adapter = XGBoostAdapter(booster, task=task, labels=labels)
    adapter._given = model, model.get_booster()
    return adapter


def load_bytes(data: bytes) -> Any:
    """Return the booster of JSON or binary JSON; ValueError where it was cut off, which XGBoost itself may not survive."""
    import xgboost

    if data[1:2] in (b'"', b"\n", b" ", b"\r", b"\t"):
        json.loads(data)
    else:
        check_whole(data)
    booster = xgboost.Booster()
    booster.load_model(bytearray(data))
    return booster
