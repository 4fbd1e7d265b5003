"""Records as plain JSON values and back, exact to the bit, without pickle.

Numbers, words, None, tuples, arrays of numbers, enumerations and driftpace's own frozen dataclasses have a plain form:

=============  =====================================================================
float          itself (JSON's shortest form reads back to the same bits); {"!": "nan" | "inf" | "-inf"}
tuple          {"!": "tuple", "of": [...]}
dict           {"!": "dict", "of": {...}}
array          {"!": "array", "type": "<f8", "shape": [...], "bytes": base64}
enumeration    {"!": "enum", "is": "module:Class", "name": ...}
dataclass      {"!": "record", "is": "module:Class", "with": {field: ...}}
=============  =====================================================================

Only dataclasses and enumerations of driftpace itself are read back, so a file cannot name code to run.
"""

import base64
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np

from driftpace.errors import StateFileError

_TYPES = ("<f8", "<i8", "|b1")


class NotPlainError(TypeError):
    """A value that has no plain form, such as a user's own class or a function."""


def to_plain(value: Any) -> Any:
    """Return the plain form of a value, or raise NotPlainError.

    >>> to_plain((1.5, None))
    {'!': 'tuple', 'of': [1.5, None]}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, Enum):
        return {"!": "enum", "is": _name(type(value)), "name": value.name}
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else {"!": repr(number)}
    if isinstance(value, tuple | list):
        return {"!": "tuple", "of": [to_plain(item) for item in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"!": "dict", "of": {name: to_plain(item) for name, item in value.items()}}
    if isinstance(value, np.ndarray):
        return _array_to_plain(value)
    if is_dataclass(value) and not isinstance(value, type):
        with_ = {field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init}
        return {"!": "record", "is": _name(type(value)), "with": with_}
    raise NotPlainError(f"{type(value).__qualname__} has no plain form")


def from_plain(plain: Any) -> Any:
    """Return the value a plain form stands for.

    >>> from_plain(to_plain((1.5, float("inf"))))
    (1.5, inf)
    """
    if not isinstance(plain, dict):
        return plain
    kind = plain.get("!")
    if kind in ("nan", "inf", "-inf"):
        return float(kind)
    if kind == "tuple":
        return tuple(from_plain(item) for item in plain["of"])
    if kind == "dict":
        return {name: from_plain(item) for name, item in plain["of"].items()}
    if kind == "array":
        return _array_from_plain(plain)
    if kind == "enum":
        return _own(plain["is"], Enum)[plain["name"]]
    if kind == "record":
        return _own(plain["is"], None)(**{name: from_plain(item) for name, item in plain["with"].items()})
    raise StateFileError(f"the state holds {kind!r}, which this version cannot read.")


def _array_to_plain(array: np.ndarray) -> dict[str, Any]:
    little = array.dtype.newbyteorder("<").str.replace(">", "<")
    if little not in _TYPES:
        raise NotPlainError(f"an array of {array.dtype} has no plain form")
    data = base64.b64encode(np.ascontiguousarray(array, dtype=little).tobytes()).decode("ascii")
    return {"!": "array", "type": little, "shape": list(array.shape), "bytes": data}


def _array_from_plain(plain: dict[str, Any]) -> np.ndarray:
    if plain["type"] not in _TYPES:
        raise StateFileError(f"the state holds an array of type {plain['type']!r}, which this version cannot read.")
    data = np.frombuffer(base64.b64decode(plain["bytes"]), dtype=plain["type"])
    return data.reshape(plain["shape"]).astype(data.dtype.newbyteorder("="))


def _name(owner: type) -> str:
    if not owner.__module__.startswith("driftpace."):
        raise NotPlainError(f"{owner.__module__}.{owner.__qualname__} is not driftpace's own")
    return f"{owner.__module__}:{owner.__qualname__}"


def _own(name: str, base: type | None) -> Any:
    module, _, attribute = name.partition(":")
    if module.startswith("driftpace.") and attribute.isidentifier():
        try:
            found = getattr(import_module(module), attribute, None)
        except ImportError:
            found = None
        if isinstance(found, type) and (issubclass(found, base) if base else is_dataclass(found)):
            return found
    raise StateFileError(f"the state names {name!r}, which this version does not have.")
