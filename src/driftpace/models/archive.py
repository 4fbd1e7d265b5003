"""Files of skops with the same bytes for the same model: as skops writes them, they hold times and places in memory."""

import io
import json
import zipfile
from itertools import count
from pathlib import PurePosixPath
from typing import Any

import numpy as np

_SCHEMA = "schema.json"
_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can have."""


def canonical(data: bytes) -> bytes:
    """Return a file of skops with numbers in place of addresses, in the order in which its schema names them, without times.

    >>> from sklearn.linear_model import Ridge
    >>> from skops.io import dumps, loads
    >>> model = Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> canonical(dumps(model)) == canonical(dumps(loads(canonical(dumps(model)))))
    True
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    names = _Names(held)
    schema = names.of(json.loads(held[_SCHEMA]))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, new in names.files.items():
            archive.writestr(zipfile.ZipInfo(new, _TIME), _without_padding(name, held[name]))
        archive.writestr(zipfile.ZipInfo(_SCHEMA, _TIME), json.dumps(schema))
    return out.getvalue()


def _without_padding(name: str, data: bytes) -> bytes:
    """Return an array with zeros between the fields of records, such as nodes of trees, where otherwise is whatever was there."""
    if not name.endswith(".npy"):
        return data
    array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    if array.dtype.names is None:
        return data
    clean = np.zeros(array.shape, array.dtype)
    for field in array.dtype.names:
        clean[field] = array[field]
    out = io.BytesIO()
    np.lib.format.write_array(out, clean, allow_pickle=False)
    return out.getvalue()


class _Names:
    """New numbers of objects and names of files; ``files`` maps old names to new ones, in the order of the schema."""

    def __init__(self, held: dict[str, bytes]) -> None:
        self.files: dict[str, str] = {}
        self._held, self._next, self._numbers = held, count(1), dict[int, int]()

    def of(self, node: Any) -> Any:
        """Return a node of the schema with new numbers and names."""
        if isinstance(node, list):
            return [self.of(each) for each in node]
        if not isinstance(node, dict):
            return node
        made: dict[str, Any] = {}
        for key, value in node.items():
            if key == "__id__" and isinstance(value, int):
                # texts and numbers are one object or several as Python likes, and no other node shares theirs
                plain = node.get("__loader__") == "JsonNode"
                made[key] = next(self._next) if plain else self._number(value)
            elif key == "file" and isinstance(value, str) and value in self._held:
                made[key] = self.files.setdefault(value, f"{len(self.files) + 1}{PurePosixPath(value).suffix}")
            else:
                made[key] = self.of(value)
        return made

    def _number(self, address: int) -> int:
        if address not in self._numbers:
            self._numbers[address] = next(self._next)
        return self._numbers[address]
