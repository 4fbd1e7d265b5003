"""LightGBM: boosters, and estimators with the interface of scikit-learn."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from driftpace.errors import ParameterError
from driftpace.models.adapter import ModelAdapter, Task, check_task, class_labels, library_errors
from driftpace.models.packing import stages_of
from driftpace.models.rows import category_columns
from driftpace.typing import FloatArray, IntArray

_TASKS: dict[str, Task] = {
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "mape", "mean_squared_error"), "regression"),
    "quantile": "regression",
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "counts"),
    "binary": "classification",
    "multiclass": "multiclass",
}
_KEPT = (
    *("learning_rate", "num_leaves", "max_depth", "min_data_in_leaf", "min_sum_hessian_in_leaf", "bagging_fraction"),
    *("bagging_freq", "feature_fraction", "lambda_l1", "lambda_l2", "min_gain_to_split", "max_bin", "boosting"),
    *("extra_trees", "cat_smooth", "cat_l2", "max_cat_threshold", "linear_tree", "seed"),
    *("alpha", "fair_c", "tweedie_variance_power"),  # of objectives
)
"""The settings of a model that one trained again keeps."""


class LightGBMAdapter(ModelAdapter):
    """A LightGBM booster: its raw scores, its leaves, and training from ``init_score``.

    Parameters
    ----------
    model : lightgbm.Booster
        A trained booster.
    task : str, optional
        Left out, or what it predicts.
    labels : sequence, optional
        The labels of its classes; by default 0, 1, ...
    """

    format = "lightgbm"
    takes_offset = True

    _given: tuple[Any, Any] | None = None

    def __init__(self, model: Any, *, task: str | None = None, labels: Any = None) -> None:
        if model.num_trees() == 0:
            raise ParameterError("must be trained; got a booster without trees.", owner="adapt", name="model")
        model = type(model)(model_str=model.model_to_string())  # a copy, with all its settings
        super().__init__(model)
        objective = model.dump_model(num_iteration=1).get("objective", "").split()
        if not objective or objective[0] not in _TASKS:
            raise ParameterError(
                f"must have one of the objectives {', '.join(_TASKS)}; got {objective[0] if objective else None!r}.",
                owner="adapt",
                name="model",
            )
        self.objective = objective[0]
        self.task = _TASKS[self.objective]
        check_task(self.task, task)
        self.loss_name = self._loss_name()
        self._each = model.num_model_per_iteration()
        self.features = model.num_feature()
        names = tuple(model.feature_name())
        self.columns = None if names == tuple(f"Column_{place}" for place in range(self.features)) else names
        if self.task in ("classification", "multiclass"):
            self.labels = class_labels(max(self._each, 2), labels)

    def _loss_name(self) -> str | None:
        if self.objective == "quantile":
            return f"quantile({float(self.model.params.get('alpha', 0.9)):g})"
        if self.objective == "tweedie":
            return f"tweedie({float(self.model.params.get('tweedie_variance_power', 1.5)):g})"
        return "gamma" if self.objective == "gamma" else None

    def categories(self, X: Any) -> Mapping[str, Sequence[Any]]:
        """Return the categories of pandas that the booster was trained on, in the order of the columns that have some.

        LightGBM keeps no names of these columns: they are those of the rows, or those that it splits by category.
        """
        known = self.model.pandas_categorical or []
        names = category_columns(X)
        if self.columns is not None and len(names) != len(known):
            names = tuple(self.columns[place] for place in self._categorical)
        return dict(zip(names, known, strict=True)) if len(names) == len(known) else {}

    @property
    def _categorical(self) -> list[int]:
        """The columns that are split by category."""
        given = self.model.params.get("categorical_feature", self.model.params.get("categorical_column", []))
        return sorted(int(place) for place in (given if isinstance(given, list) else [given]) if str(place).isdigit())

    def changed(self) -> bool:
        """Return whether the estimator that was given has another booster since."""
        return self._given is not None and self._given[0].booster_ is not self._given[1]

    def scores(self, X: Any) -> FloatArray:
        """Return the raw scores."""
        return np.asarray(self.model.predict(X, raw_score=True), dtype=np.float64)

    def staged_scores(self, X: Any) -> FloatArray:
        """Return the raw scores after shares of the trees."""
        return np.array([self.model.predict(X, raw_score=True, num_iteration=trees) for trees in self._stages])

    def stage(self, number: int) -> Self:
        """Return the model of the first trees."""
        if self._stages[number] == self.model.num_trees() // self._each:
            return self
        part = type(self.model)(model_str=self.model.model_to_string(num_iteration=self._stages[number]))
        return type(self)(part, labels=self.labels)

    @property
    def _stages(self) -> list[int]:
        return stages_of(self.model.num_trees() // self._each)

    def leaves(self, X: Any) -> IntArray:
        """Return the leaf of each tree."""
        return np.asarray(self.model.predict(X, pred_leaf=True), dtype=np.int64).reshape(X.shape[0], -1)

    def refit(
        self, X: Any, y: FloatArray, *, sample_weight: FloatArray | None = None, offset: FloatArray | None = None
    ) -> "LightGBMAdapter":
        """Return a booster with the same settings and number of trees, trained on these rows alone."""
        import lightgbm

        params = {name: value for name, value in self.model.params.items() if name in _KEPT}
        params |= {"objective": self.objective, "verbosity": -1, "num_threads": 1, "deterministic": True, "seed": 0}
        if self.task == "multiclass":
            params["num_class"] = self._each
        data = lightgbm.Dataset(
            X,
            label=y,
            weight=sample_weight,
            init_score=None if offset is None else np.asarray(offset).reshape((len(y), -1) if self._each > 1 else -1),
            categorical_feature=self._categorical,
            params={"verbosity": -1},
        )
        rounds = max(self.model.num_trees() // self._each, 1)
        with library_errors("be trained on", None):
            booster = lightgbm.train(params, data, num_boost_round=rounds)
        return LightGBMAdapter(booster, labels=self.labels)

    def dump(self) -> bytes:
        """Return the text of the booster, and its labels."""
        return json.dumps({"labels": self.labels, "text": self.model.model_to_string()}).encode()

    @classmethod
    def restore(cls, data: bytes, *, model: Any = None) -> "LightGBMAdapter":  # noqa: ARG003
        """Return the booster of a text."""
        body = json.loads(data)
        return cls(load_text(body["text"]), labels=body["labels"])


def from_estimator(model: Any, *, task: str | None = None, labels: Any = None) -> LightGBMAdapter:
    """Return the adapter of a fitted LGBMRegressor or LGBMClassifier."""
    if not model.__sklearn_is_fitted__():
        raise ParameterError("must be fitted; call its fit() first.", owner="adapt", name="model")
    own = getattr(model, "classes_", None)
    if own is not None:
        labels = class_labels(len(own), labels, own)
    adapter = LightGBMAdapter(model.booster_, task=task, labels=labels)
    adapter._given = model, model.booster_
    return adapter


def load_text(text: str) -> Any:
    """Return the booster of a text; ValueError where it is damaged, which LightGBM itself would not survive."""
    import lightgbm

    head, _, rest = text.partition("\n\n")
    facts = dict(line.partition("=")[::2] for line in head.splitlines())
    trees, end, tail = rest.partition("end of trees")
    blocks = [block for block in trees.split("\n\n") if block.strip()]
    if not end or len(blocks) != len(facts.get("tree_sizes", "").split()):
        raise ValueError(f"{len(blocks)} trees of {len(facts.get('tree_sizes', '').split())}")
    for place, block in enumerate(blocks):
        _check_tree(block, place, int(facts["max_feature_idx"]))
    _, settings, tail = tail.partition("\nparameters:")
    _, closed, tail = tail.partition("\nend of parameters")
    if not settings or not closed:
        raise ValueError("its settings are cut off")
    if tail.strip():
        json.loads(tail.strip().removeprefix("pandas_categorical:"))
    return lightgbm.Booster(model_str=text)


def _check_tree(block: str, place: int, most: int) -> None:
    tree = dict(line.partition("=")[::2] for line in block.strip().splitlines())
    leaves = int(tree["num_leaves"])
    children = sorted(int(child) for side in ("left_child", "right_child") for child in tree[side].split())
    features = [int(feature) for feature in tree["split_feature"].split()]
    whole = children == [*range(-leaves, 0), *range(1, leaves - 1)] if leaves > 1 else not children
    sizes = len(features) == len(tree["threshold"].split()) == len(tree["decision_type"].split()) == leaves - 1
    if not whole or not sizes or len(tree["leaf_value"].split()) != leaves:
        raise ValueError(f"tree {place} has not the nodes of {leaves} leaves")
    if features and not 0 <= min(features) <= max(features) <= most:
        raise ValueError(f"tree {place} splits a column that is not there")
