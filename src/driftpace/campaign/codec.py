"""Rows of a delivery as bytes and back, exact to the bit: a line of JSON that says what follows, then the arrays, compressed."""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.errors import StateFileError
from driftpace.tracker.method import TellEvent

_ARRAYS = ("X", "y", "groups")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PackedRows:
    """Rows as they were let in, and what tells them apart, where anything does."""

    told: TellEvent
    ids: tuple[str, ...] | None = None


def pack(packed: PackedRows) -> bytes:
    """Return the bytes of a delivery.

    >>> rows = PackedRows(told=TellEvent(X=np.ones((2, 1)), y=np.zeros(2)), ids=("a", "b"))
    >>> unpack(pack(rows)).ids, unpack(pack(rows)).told.X.tolist()
    (('a', 'b'), [[1.0], [1.0]])
    """
    return zlib.compress(content(packed), 1)


def content(packed: PackedRows) -> bytes:
    """Return the bytes of a delivery as they are before they are compressed, which every machine does in its own way."""
    told = packed.told
    there = [name for name in _ARRAYS if getattr(told, name) is not None]
    head = {
        "rows": int(told.X.shape[0]),
        "features": int(told.X.shape[1]),
        "columns": told.columns,
        "ids": packed.ids,
        "arrays": there,
    }
    arrays = [getattr(told, name).astype("<i8" if name == "groups" else "<f8") for name in there]
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return json.dumps(head).encode() + b"\n" + body


def unpack(data: bytes) -> PackedRows:
    """Return the delivery that bytes stand for."""
    try:
        line, _, body = zlib.decompress(data).partition(b"\n")
        head: dict[str, Any] = json.loads(line)
        rows, features = head["rows"], head["features"]
        arrays, at = {}, 0
        for name in head["arrays"]:
            size = rows * (features if name == "X" else 1)
            kind = np.dtype("<i8" if name == "groups" else "<f8")
            array = np.frombuffer(body, dtype=kind, count=size, offset=at).astype(kind.newbyteorder("="))
            arrays[name] = array.reshape(rows, features) if name == "X" else array
            at += 8 * size
        columns, ids = head["columns"], head["ids"]
        told = TellEvent(columns=None if columns is None else tuple(columns), **arrays)
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StateFileError(f"the rows of a delivery are damaged: {error}.") from None
    return PackedRows(told=told, ids=None if ids is None else tuple(ids))


def pack_ids(ids: Sequence[str]) -> bytes:
    """Return the bytes of a list of ids."""
    return zlib.compress(json.dumps(list(ids)).encode(), 1)


def unpack_ids(data: bytes) -> tuple[str, ...]:
    """Return the ids that bytes stand for; none where there are no bytes.

    >>> unpack_ids(pack_ids(["a", "b"])), unpack_ids(b"")
    (('a', 'b'), ())
    """
    try:
        return tuple(json.loads(zlib.decompress(data))) if data else ()
    except (zlib.error, ValueError, TypeError) as error:
        raise StateFileError(f"the list of rows that were drawn is damaged: {error}.") from None
