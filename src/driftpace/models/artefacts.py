"""Models as JSON values with a hash: the format names the reader, and no format can hold code."""

import base64
import hashlib
from importlib import import_module
from typing import Any

from driftpace.errors import ParameterError, StateFileError
from driftpace.models.adapter import ModelAdapter

_READERS = {
    "lightgbm": "lightgbm:LightGBMAdapter",
    "corrected": "corrected:CorrectedAdapter",
}
"""The adapter that reads each format, as "module:class" below this package."""


def artefact_of(adapter: ModelAdapter) -> dict[str, str]:
    """Return a model with its format and hash, or refuse one that cannot be saved."""
    data = adapter.dump()
    assert adapter.format is not None
    return {
        "format": adapter.format,
        "sha256": hashlib.sha256(data).hexdigest(),
        "data": base64.b64encode(data).decode(),
    }


def adapter_of_artefact(artefact: Any) -> ModelAdapter:
    """Return the model of an artefact; StateFileError where it is damaged or of an unknown format."""
    try:
        form, digest, data = artefact["format"], artefact["sha256"], base64.b64decode(artefact["data"], validate=True)
        place = _READERS[form]
    except (KeyError, TypeError, ValueError) as error:
        raise StateFileError(f"the model in the state has no known format: {error}.") from None
    if hashlib.sha256(data).hexdigest() != digest:
        raise StateFileError("the model in the state was edited or damaged: its hash does not match.")
    module, _, name = place.partition(":")
    try:
        made: ModelAdapter = getattr(import_module(f"driftpace.models.{module}"), name).restore(data)
    except ModuleNotFoundError as error:
        raise ParameterError(
            f"must be readable here: the model of the state needs the package {error.name!r}; install it.",
            owner="Tracker.load",
            name="model",
        ) from None
    return made
