"""Small models of every library that has an adapter, each with what the library itself says of rows."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from driftpace.typing import FloatArray, IntArray

COLUMNS = 4
CLASSES = ("high", "low", "mid")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model with the answers of its library: scores, leaves, scores after training from an offset, and after some rounds."""

    model: Any
    scores: Callable[[Any], FloatArray]
    task: str
    given: dict[str, Any]
    labels: tuple[Any, ...] | None
    leaves: Callable[[Any], IntArray] | None = None
    offset: Callable[..., FloatArray] | None = None
    rounds: Callable[[Any, int], FloatArray] | None = None
    unfitted: Any = None
    again: Any = None
    """What is given again when a tracker of it is loaded."""


def draw(task: str, rows: int, rng: np.random.Generator) -> tuple[FloatArray, Any]:
    """Return rows and targets; classes as words."""
    X = rng.standard_normal((rows, COLUMNS))
    signal = X[:, 0] + np.where(X[:, 1] > 0.0, X[:, 2], 0.0)
    if task == "counts":
        return X, rng.poisson(np.exp(0.5 * signal)).astype(np.float64)
    noisy = signal + 0.5 * rng.standard_normal(rows)
    if task == "classification":
        return X, np.where(noisy > 0.0, "yes", "no")
    if task == "multiclass":
        return X, np.array(["low", "mid", "high"])[np.digitize(noisy, [-0.6, 0.6])]
    return X, noisy


def codes(y: Any, labels: tuple[Any, ...] | None) -> FloatArray:
    """Return classes by number, numbers as they are."""
    if labels is None:
        return np.asarray(y, dtype=np.float64)
    return np.array([labels.index(label) for label in y], dtype=np.float64)


def names(task: str) -> tuple[str, ...] | None:
    """Return the classes of a task, sorted."""
    return {"classification": ("no", "yes"), "multiclass": CLASSES}.get(task)


def lightgbm_case(task: str, X: FloatArray, y: Any) -> Case:
    import lightgbm

    kind: Any = lightgbm.LGBMClassifier if names(task) else lightgbm.LGBMRegressor
    more: dict[str, Any] = {"objective": "poisson"} if task == "counts" else {}
    settings: dict[str, Any] = {
        "n_estimators": 20,
        "num_leaves": 7,
        "verbose": -1,
        "n_jobs": 1,
        "deterministic": True,
        **more,
    }
    model = kind(**settings).fit(X, y)

    def offset(X: Any, y: Any, weights: FloatArray, start: FloatArray) -> FloatArray:
        other = kind(**settings, random_state=0).fit(X, y, sample_weight=weights, init_score=start)
        return np.asarray(other.predict(X, raw_score=True)) + start

    return Case(
        model=model,
        scores=lambda X: np.asarray(model.predict(X, raw_score=True)),
        task=task,
        given={},
        labels=names(task),
        leaves=lambda X: np.asarray(model.predict(X, pred_leaf=True)),
        offset=offset,
        rounds=lambda X, rounds: np.asarray(model.predict(X, raw_score=True, num_iteration=rounds)),
        unfitted=kind(),
    )


def lightgbm_booster(task: str, X: FloatArray, y: Any) -> Case:
    import lightgbm

    data = lightgbm.Dataset(X, codes(y, names(task)), params={"verbosity": -1})
    objective = {"regression": {}, "classification": {"objective": "binary"}}[task]
    model = lightgbm.train({"verbosity": -1, "num_threads": 1, **objective}, data, 20)
    return Case(
        model=model,
        scores=lambda X: np.asarray(model.predict(X, raw_score=True)),
        task=task,
        given={} if names(task) is None else {"labels": names(task)},
        labels=names(task),
        unfitted=lightgbm.Booster(train_set=data),
    )


def xgboost_case(task: str, X: FloatArray, y: Any) -> Case:
    import xgboost

    kind: Any = xgboost.XGBClassifier if names(task) else xgboost.XGBRegressor
    more: dict[str, Any] = {"objective": "count:poisson"} if task == "counts" else {}
    settings: dict[str, Any] = {"n_estimators": 20, "max_depth": 3, "learning_rate": 0.2, "n_jobs": 1, **more}
    given = {} if names(task) is None else {"labels": names(task)}
    model: Any = kind(**settings).fit(X, codes(y, names(task)))
    if names(task) is not None:  # XGBoost knows classes by number only
        model = model.get_booster()

    def margins(of: Any, X: Any, **more: Any) -> FloatArray:
        booster = of.get_booster() if hasattr(of, "get_booster") else of
        return np.asarray(booster.predict(xgboost.DMatrix(X), output_margin=True, **more), dtype=np.float64)

    def offset(X: Any, y: Any, weights: FloatArray, start: FloatArray) -> FloatArray:
        other = kind(**settings, random_state=0).fit(X, codes(y, names(task)), sample_weight=weights, base_margin=start)
        matrix = xgboost.DMatrix(X, base_margin=start)
        return np.asarray(other.get_booster().predict(matrix, output_margin=True), dtype=np.float64)

    return Case(
        model=model,
        scores=lambda X: margins(model, X),
        task=task,
        given=given,
        labels=names(task),
        leaves=lambda X: np.asarray(
            (model if given else model.get_booster()).predict(xgboost.DMatrix(X), pred_leaf=True)
        ),
        offset=offset,
        rounds=lambda X, rounds: margins(model, X, iteration_range=(0, rounds)),
        unfitted=kind(),
    )


def sklearn_trees(task: str, X: FloatArray, y: Any) -> Case:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    forest = RandomForestClassifier if names(task) else RandomForestRegressor
    settings: dict[str, Any] = {"n_estimators": 12, "max_depth": 4, "random_state": 0}
    settings |= {"criterion": "poisson"} if task == "counts" else {}
    model = make_pipeline(StandardScaler(), forest(**settings)).fit(X, y)

    def scores(X: Any) -> FloatArray:
        if task == "classification":
            shares = np.clip(model.predict_proba(X)[:, 1], 1e-6, 1.0 - 1e-6)
            return np.asarray(np.log(shares / (1.0 - shares)))
        if task == "multiclass":
            return np.asarray(np.log(np.clip(model.predict_proba(X), 1e-6, 1.0)))
        found = model.predict(X)
        return np.asarray(found if task == "regression" else np.log(np.maximum(found, 1e-12)))

    def offset(X: Any, y: Any, weights: FloatArray, start: FloatArray) -> FloatArray:
        other = make_pipeline(StandardScaler(), forest(**settings))
        other.fit(X, y - start, randomforestregressor__sample_weight=weights)
        return np.asarray(other.predict(X) + start)

    return Case(
        model=model,
        scores=scores,
        task=task,
        given={},
        labels=names(task),
        leaves=lambda X: np.asarray(model[-1].apply(model[:-1].transform(X))),
        offset=offset if task == "regression" else None,
        unfitted=make_pipeline(StandardScaler(), forest()),
    )


def sklearn_linear(task: str, X: FloatArray, y: Any) -> Case:
    from sklearn.linear_model import PoissonRegressor, Ridge
    from sklearn.svm import LinearSVC

    kind = {"regression": Ridge, "counts": PoissonRegressor}.get(task, LinearSVC)
    model = kind().fit(X, y)

    def scores(X: Any) -> FloatArray:
        if names(task):
            return np.asarray(model.decision_function(X))
        return np.asarray(model.predict(X) if task == "regression" else np.log(model.predict(X)))

    return Case(model=model, scores=scores, task=task, given={}, labels=names(task), unfitted=kind())


def catboost_case(task: str, X: FloatArray, y: Any) -> Case:
    import catboost

    kind: Any = catboost.CatBoostClassifier if names(task) else catboost.CatBoostRegressor
    settings: dict[str, Any] = {"iterations": 20, "depth": 4, "learning_rate": 0.2, "allow_writing_files": False}
    settings |= {"logging_level": "Silent", "thread_count": 1, "random_seed": 3}
    settings |= {"loss_function": "Poisson"} if task == "counts" else {}
    model = kind(**settings).fit(X, y)

    def offset(X: Any, y: Any, weights: FloatArray, start: FloatArray) -> FloatArray:
        baseline = start.reshape(len(X), -1)
        other = kind(**settings).fit(catboost.Pool(X, y, weight=weights, baseline=baseline))
        pool = catboost.Pool(X, baseline=baseline)
        return np.asarray(other.predict(pool, prediction_type="RawFormulaVal"))

    return Case(
        model=model,
        scores=lambda X: np.asarray(model.predict(X, prediction_type="RawFormulaVal")),
        task=task,
        given={},
        labels=names(task),
        leaves=lambda X: np.asarray(model.calc_leaf_indexes(X)),
        offset=offset,
        rounds=lambda X, rounds: np.asarray(model.predict(X, prediction_type="RawFormulaVal", ntree_end=rounds)),
        unfitted=kind(),
    )


def torch_module(task: str) -> Any:
    """Return a small net with its first weights."""
    import torch

    torch.manual_seed(0)
    out = {"multiclass": 3, "classification": 2}.get(task, 1)
    layers = [torch.nn.Linear(COLUMNS, 16), torch.nn.Tanh(), torch.nn.Linear(16, 8), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Dropout(0.2), torch.nn.Linear(8, out))


def torch_case(task: str, X: FloatArray, y: Any) -> Case:
    import torch

    model = torch_module(task)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    inputs = torch.as_tensor(X, dtype=torch.float32)
    targets = torch.as_tensor(codes(y, names(task)), dtype=torch.float32)
    for _ in range(150):
        found = model(inputs)
        if names(task):
            loss = torch.nn.functional.cross_entropy(found, targets.long())
        elif task == "counts":
            loss = torch.nn.functional.poisson_nll_loss(found[:, 0], targets)
        else:
            loss = torch.nn.functional.mse_loss(found[:, 0], targets)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        optimizer.step()

    def scores(X: Any) -> FloatArray:
        training = model.training
        with torch.no_grad():
            found = model.eval()(torch.as_tensor(X, dtype=torch.float32)).numpy().astype(np.float64)
        model.train(training)
        if task == "classification":
            return np.asarray(found[:, 1] - found[:, 0])
        return np.asarray(found if task == "multiclass" else found[:, 0])

    return Case(
        model=model,
        scores=scores,
        task=task,
        given={"task": task} if names(task) is None else {"task": task, "labels": names(task)},
        labels=names(task),
        again=torch_module(task),
    )


def onnx_case(task: str, X: FloatArray, y: Any) -> Case:
    import onnx
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression, LogisticRegression

    fitted = (LogisticRegression() if names(task) else LinearRegression()).fit(
        X, y if names(task) else np.log1p(y + 9.0)
    )
    options = {"zipmap": task == "multiclass"} if names(task) else None
    model = to_onnx(fitted, X[:1].astype(np.float32), options=None if options is None else {id(fitted): options})
    assert isinstance(model, onnx.ModelProto)

    def scores(X: Any) -> FloatArray:
        if task == "classification":
            return np.asarray(fitted.decision_function(X))
        return np.asarray(
            np.log(np.maximum(fitted.predict_proba(X), 1e-6)) if task == "multiclass" else fitted.predict(X)
        )

    given: dict[str, Any] = {"task": task} if task == "counts" else {}
    given |= {"labels": names(task)} if task == "classification" else {}
    return Case(model=model, scores=scores, task=task, given=given, labels=names(task))


def function_case(task: str, X: FloatArray, y: Any) -> Case:
    def model(X: Any) -> FloatArray:
        return np.asarray(np.asarray(X)[:, :3] if task == "multiclass" else np.asarray(X)[:, 0])

    given = {"task": task, "labels": names(task)}
    return Case(model=model, scores=model, task=task, given=given, labels=names(task), again=model)


ALL = ("regression", "classification", "multiclass", "counts")
_BUILDERS: dict[str, tuple[Callable[[str, FloatArray, Any], Case], tuple[str, ...], tuple[str, ...]]] = {
    "lightgbm": (lightgbm_case, ALL, ("lightgbm",)),
    "lightgbm booster": (lightgbm_booster, ALL[:2], ("lightgbm",)),
    "xgboost": (xgboost_case, ALL, ("xgboost",)),
    "sklearn trees": (sklearn_trees, ALL, ("sklearn",)),
    "sklearn linear": (sklearn_linear, ALL, ("sklearn",)),
    "catboost": (catboost_case, ALL, ("catboost",)),
    "torch": (torch_case, ALL, ("torch", "safetensors")),
    "onnx": (onnx_case, ALL, ("onnxruntime", "onnx", "skl2onnx")),
    "function": (function_case, ALL, ()),
}
_OF_THEIR_OWN = ("catboost", "torch", "onnx")
"""Libraries that are tested in an environment of their own (make adapters)."""

PARAMETERS = [
    pytest.param((library, task), id=f"{library} {task}", marks=[pytest.mark.slow] if library in _OF_THEIR_OWN else [])
    for library, (_, tasks, _) in _BUILDERS.items()
    for task in tasks
]


def build(library: str, task: str) -> Case:
    """Return a small model of a library, or skip the test where the library is not installed."""
    builder, _, packages = _BUILDERS[library]
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed; make adapters runs this")
    return builder(task, *draw(task, 400, np.random.default_rng(5)))
