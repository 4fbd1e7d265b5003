"""Rows of a delivery as bytes, exact to the bit: a line of JSON that describes the arrays, then the arrays, compressed."""

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
    """Validated rows with their ids, if they have any."""

    told: TellEvent
    ids: tuple[str, ...] | None = None


def pack(packed: PackedRows) -> bytes:
    """Encode a delivery as bytes.

    >>> rows = PackedRows(told=TellEvent(X=np.ones((2, 1)), y=np.zeros(2)), ids=("a", "b"))
    >>> unpack(pack(rows)).ids, unpack(pack(rows)).told.X.tolist()
    (('a', 'b'), [[1.0], [1.0]])
    """
    return zlib.compress(content(packed), 1)


def content(packed: PackedRows) -> bytes:
    """Return the bytes of a delivery before compression, whose result depends on the machine."""
    rows = packed.told
    names = [name for name in _ARRAYS if getattr(rows, name) is not None]
    head = {
        "rows": int(rows.X.shape[0]),
        "features": int(rows.X.shape[1]),
        "columns": rows.columns,
        "ids": packed.ids,
        "arrays": names,
    }
    arrays = [getattr(rows, name).astype("<i8" if name == "groups" else "<f8") for name in names]
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return json.dumps(head).encode() + b"\n" + body


def unpack(data: bytes) -> PackedRows:
    """Decode a delivery."""
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
    """Encode a list of ids as bytes."""
    return zlib.compress(json.dumps(list(ids)).encode(), 1)


def unpack_ids(data: bytes) -> tuple[str, ...]:
    """Decode a list of ids; no bytes are an empty list.

    >>> unpack_ids(pack_ids(["a", "b"])), unpack_ids(b"")
    (('a', 'b'), ())
    """
    try:
        return tuple(json.loads(zlib.decompress(data))) if data else ()
    except (zlib.error, ValueError, TypeError) as error:
        raise StateFileError(f"the list of drawn rows is damaged: {error}.") from None
