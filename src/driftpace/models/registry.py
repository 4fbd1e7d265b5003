"""The registry of adapters: a model's class, or that of a base class, says which adapter it gets.

Libraries are named by module and never imported: a model of theirs is there only where they were imported before.
"""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from driftpace.errors import ParameterError
from driftpace.models.adapter import ModelAdapter

_BUILT_IN = {
    "lightgbm.sklearn.LGBMModel": "lightgbm:from_estimator",
    "lightgbm.basic.Booster": "lightgbm:LightGBMAdapter",
    "xgboost.sklearn.XGBModel": "xgboost:from_estimator",
    "xgboost.core.Booster": "xgboost:XGBoostAdapter",
    "catboost.core.CatBoost": "catboost:CatBoostAdapter",
    "torch.nn.modules.module.Module": "torch:TorchAdapter",
    "onnxruntime.capi.onnxruntime_inference_collection.InferenceSession": "onnx:OnnxAdapter",
    "onnx.onnx_ml_pb2.ModelProto": "onnx:OnnxAdapter",
    "sklearn.base.BaseEstimator": "sklearn:SklearnAdapter",
}
"""The adapter of each class by module and name, as "module:callable" below this package; the first class in the order of a
model's bases counts."""

_registered: dict[type, Callable[[Any], ModelAdapter]] = {}


def register_adapter(kind: type, adapter: Callable[[Any], ModelAdapter]) -> None:
    """Make :meth:`Tracker.for_model` take models of a class, and of classes derived from it.

    Parameters
    ----------
    kind : type
        The class of the models.
    adapter : callable
        A subclass of :class:`ModelAdapter`, or a function that returns one for a model.
    """
    if not isinstance(kind, type):
        raise ParameterError(f"must be a class; got {kind!r:.80}.", owner="register_adapter", name="kind")
    if not callable(adapter):
        raise ParameterError(f"must be callable; got {adapter!r:.80}.", owner="register_adapter", name="adapter")
    _registered[kind] = adapter


def adapt(model: Any, *, task: str | None = None, labels: Any = None) -> ModelAdapter:
    """Return the adapter of a model.

    Parameters
    ----------
    model : object
        A fitted model of a known or registered class, the path of a file that :func:`read_model` reads, an adapter, or a
        function X -> scores.
    task : {"regression", "classification", "multiclass", "counts"}, optional
        What a function, a torch module or an ONNX model of scores predicts; other models say it themselves.
    labels : sequence, optional
        The labels of the classes of a model that does not know them; by default 0, 1, ...

    Raises
    ------
    ParameterError
        If nothing is known of the model's class, or the model is not fitted.
    """
    if isinstance(model, ModelAdapter):
        return model
    if isinstance(model, type):
        raise ParameterError(f"must be a fitted model; got the class {model.__name__}.", owner="adapt", name="model")
    if isinstance(model, str | os.PathLike):
        from driftpace.models.files import read_model

        return read_model(model, task=task, labels=labels)
    for base in type(model).__mro__:
        if base in _registered:
            return _registered[base](model)
        place = _BUILT_IN.get(f"{base.__module__}.{base.__qualname__}")
        if place is not None:
            module, _, name = place.partition(":")
            made: ModelAdapter = getattr(import_module(f"driftpace.models.{module}"), name)(
                model, task=task, labels=labels
            )
            return made
    if callable(model):
        from driftpace.models.function import FunctionAdapter

        return FunctionAdapter(model, task=task, labels=labels)
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    raise ParameterError(
        f"must be a fitted model of a known kind (LightGBM, XGBoost, CatBoost, scikit-learn, torch, ONNX, a file of one, a "
        f"function X -> scores, or one that register_adapter() was told of); got {kind}.",
        owner="adapt",
        name="model",
    )
