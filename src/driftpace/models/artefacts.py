"""Models as JSON values with a hash: the format names the reader, and no format can hold code."""

import base64
import hashlib
import json
from importlib import import_module
from typing import Any

from driftpace.errors import DriftpaceError, ParameterError, StateFileError
from driftpace.models.adapter import ModelAdapter, one_line
from driftpace.models.packing import unpack

_READERS = {
    "lightgbm": "lightgbm:LightGBMAdapter",
    "xgboost": "xgboost:XGBoostAdapter",
    "catboost": "catboost:CatBoostAdapter",
    "onnx": "onnx:OnnxAdapter",
    "skops": "sklearn:SklearnAdapter",
    "torch": "torch:TorchAdapter",
    "corrected": "corrected:CorrectedAdapter",
}
"""The adapter that reads each format, as "module:class" below this package."""


_NATIVE = {
    "lightgbm": "model.txt",
    "xgboost": "model.ubj",
    "catboost": "model.cbm",
    "onnx": "model.onnx",
    "skops": "model.skops",
    "torch": "model.safetensors",
}
"""The file of each format that the library of a model reads itself."""


def artefact_of(adapter: ModelAdapter) -> dict[str, Any]:
    """Return a model with its format and hash, or refuse one that cannot be saved."""
    try:
        data = adapter.dump()
    except ModuleNotFoundError as error:
        raise _missing(error, "Tracker.save", "savable here: that") from None
    assert adapter.format is not None
    return {
        "format": adapter.format,
        "sha256": hashlib.sha256(data).hexdigest(),
        "data": base64.b64encode(data).decode(),
        "needs_model": adapter.needs_model,
    }


def adapter_of_artefact(artefact: Any, *, model: Any = None) -> ModelAdapter:
    """Return the model of an artefact; StateFileError where it is damaged or of an unknown format.

    Parameters
    ----------
    artefact : dict
        What :func:`artefact_of` returned.
    model : object, optional
        The model again, where only its weights are saved.
    """
    try:
        form, digest, data = artefact["format"], artefact["sha256"], base64.b64decode(artefact["data"], validate=True)
        place = _READERS[form]
    except (KeyError, TypeError, ValueError) as error:
        raise StateFileError(f"the model in the state has no known format: {error}.") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StateFileError("the model in the state was edited or damaged: its hash does not match.")
    if artefact.get("needs_model", False) != (model is not None):
        need = "must be left out, since the file has the model; got one."
        if model is None:
            need = "must be given, since the file has the weights of the model but not its layers; got None."
        raise ParameterError(need, owner="Tracker.load", name="model")
    module, _, name = place.partition(":")
    try:
        made: ModelAdapter = getattr(import_module(f"driftpace.models.{module}"), name).restore(data, model=model)
    except DriftpaceError:
        raise
    except ModuleNotFoundError as error:
        raise _missing(error, "Tracker.load", "readable here: the model of the state") from None
    except Exception as error:  # whatever the library of the model raises
        raise StateFileError(f"the model in the state cannot be read as {form}: {one_line(error)}") from error
    return made


def native_file(adapter: ModelAdapter) -> tuple[str, bytes] | None:
    """Return the name and the content of a file that the library of a model reads itself; None where there is none such."""
    if adapter.format not in _NATIVE:
        return None
    data, name = adapter.dump(), _NATIVE[adapter.format]
    if adapter.format == "lightgbm":
        return name, str(json.loads(data)["text"]).encode()
    return name, unpack(data)[0]


def _missing(error: ModuleNotFoundError, owner: str, what: str) -> ParameterError:
    return ParameterError(f"must be {what} needs the package {error.name!r}; install it.", owner=owner, name="model")
