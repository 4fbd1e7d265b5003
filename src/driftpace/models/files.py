"""Models in files, read by what the file holds; a pickle is refused, since reading one can run code."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftpace.errors import DataError, DriftpaceError
from driftpace.models.adapter import ModelAdapter, one_line

OWNER = "read_model"

FORMATS = (
    "LightGBM text, XGBoost JSON or UBJ, CatBoost cbm, ONNX, or skops with an estimator or pipeline of scikit-learn"
)
"""The formats that :func:`read_model` reads, in words."""

_PACKAGES = {
    "lightgbm": "lightgbm",
    "xgboost": "xgboost",
    "catboost": "catboost",
    "onnx": "onnxruntime",
    "skops": "skops",
}


def read_model(path: str | os.PathLike[str], *, task: str | None = None, labels: Any = None) -> ModelAdapter:
    """Return the model in a file, known by what the file holds; nothing in it is executed.

    Parameters
    ----------
    path : str or path-like
        A model as LightGBM text, XGBoost JSON or UBJ, CatBoost cbm, ONNX or skops.
    task : {"regression", "classification", "multiclass", "counts"}, optional
        What an ONNX model of scores predicts; other models say it themselves.
    labels : sequence, optional
        The labels of the classes of a model that does not know them; by default 0, 1, ...

    Returns
    -------
    ModelAdapter

    Raises
    ------
    DataError
        If there is no such file, it is no model of these formats, or the package that reads it is missing.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
    except (OSError, ValueError) as error:  # a name may hold what no file system takes
        said = error.strerror if isinstance(error, OSError) else one_line(error)
        raise DataError(
            f"must be a file that can be read; got {str(file)!r}: {said}.", owner=OWNER, name="path"
        ) from None
    form = _format_of(data, file.suffix.lower())
    try:
        return _READERS[form](data, task, labels)
    except DriftpaceError:
        raise
    except ModuleNotFoundError:
        raise DataError(
            f"must be readable here: {file.name} needs the package {_PACKAGES[form]!r}; install it.",
            owner=OWNER,
            name="path",
        ) from None
    except Exception as error:  # whatever the library of the model raises
        raise _none(f"{file.name}, which looks like {form} but is damaged: {one_line(error).rstrip('.')}") from error


def _format_of(data: bytes, ending: str) -> str:
    """Return the format of a file by its first bytes, and by its ending where they leave it open."""
    start = data[:64].lstrip()
    if data.startswith((b"tree\n", b"tree\r\n")):
        return "lightgbm"
    if data.startswith(b"CBM1"):
        return "catboost"
    if start.startswith(b"{") and b"learner" in data[:200]:
        return "xgboost"
    if data.startswith(b"PK\x03\x04"):
        if b"schema.json" in data:
            return "skops"
        raise _none("an archive without the schema of skops; torch modules are given as modules, not as files")
    if data.startswith(b"\x80") or ending in (".pkl", ".pickle", ".joblib"):
        raise _none("a pickle, which can run code when it is read; save the model in its library's own format")
    if data[8:9] == b"{" and int.from_bytes(data[:8], "little") < len(data):
        raise _none("safetensors, which are weights without a model; pass TorchAdapter(module) itself")
    if start.startswith(b"{"):
        raise _none("JSON that is not of XGBoost; LightGBM and CatBoost models are read as text and cbm")
    if ending == ".onnx" or data.startswith(b"\x08"):
        return "onnx"
    raise _none("something else" if data else "an empty file")


def _none(got: str) -> DataError:
    return DataError(f"must be a model as {FORMATS}; got {got}.", owner=OWNER, name="path")


def _lightgbm(data: bytes, task: str | None, labels: Any) -> ModelAdapter:
    from driftpace.models.lightgbm import LightGBMAdapter, load_text

    return LightGBMAdapter(load_text(data.decode()), task=task, labels=labels)


def _xgboost(data: bytes, task: str | None, labels: Any) -> ModelAdapter:
    from driftpace.models.xgboost import XGBoostAdapter, load_bytes

    return XGBoostAdapter(load_bytes(data), task=task, labels=labels)


def _catboost(data: bytes, task: str | None, labels: Any) -> ModelAdapter:
    from driftpace.models.catboost import CatBoostAdapter, load_bytes

    return CatBoostAdapter(load_bytes(data), task=task, labels=labels)


def _onnx(data: bytes, task: str | None, labels: Any) -> ModelAdapter:
    from driftpace.models.onnx import OnnxAdapter

    return OnnxAdapter(data, task=task, labels=labels)


def _skops(data: bytes, task: str | None, labels: Any) -> ModelAdapter:
    from driftpace.models.sklearn import SklearnAdapter, load_skops

    return SklearnAdapter(load_skops(data), task=task, labels=labels)


_READERS: dict[str, Callable[[bytes, str | None, Any], ModelAdapter]] = {
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "catboost": _catboost,
    "onnx": _onnx,
    "skops": _skops,
}
