"""Requests and rows as bytes between two processes: a JSON head and the buffers of arrays, nothing that runs code when it is read.

A child process has read a hostile file when it answers, so its answer is checked as one from outside: kinds and lengths of
buffers, and which errors there may be.
"""

import json
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, get_args

import numpy as np

from driftpace.errors import DataError, DriftpaceError, MissingExtraError, ParameterError
from driftpace.service.reading.body import Arrays, Rows, TableRequest
from driftpace.tables.columns import Column, Kind
from driftpace.tables.limits import TableLimits

_LENGTHS = struct.Struct("<QI")
_MOST_HEAD = 2**24
_PART = 4096
_ERRORS: dict[str, type[DriftpaceError]] = {
    error.__name__: error for error in (DataError, ParameterError, MissingExtraError)
}
_NUMBERS = ("X", "y", "sample_weight", "exposure")
_DTYPES = {"number": "<f8", "flag": "<f8", "time": "<M8[us]"}
_PLAIN: dict[str, Callable[[str], Any]] = {
    "bytes": lambda text: text.encode("latin-1"),
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda text: timedelta(microseconds=int(text)),
}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Packed:
    """A JSON value and buffers."""

    head: Any
    buffers: Sequence[bytes | memoryview] = ()

    def pieces(self) -> Iterator[bytes | memoryview]:
        """Yield what is sent: the length of all, the head with the lengths of the buffers, the buffers."""
        head = json.dumps({"head": self.head, "buffers": [len(buffer) for buffer in self.buffers]}).encode()
        yield _LENGTHS.pack(len(head) + sum(len(buffer) for buffer in self.buffers), len(head)) + head
        yield from self.buffers


def receive(wire: socket.socket, most: int) -> Packed | None:
    """Return what was sent, of at most so many bytes; None where it is cut short or is none."""
    lengths = bytes(_read_exactly(wire, _LENGTHS.size))
    if len(lengths) < _LENGTHS.size:
        return None
    total, head_length = _LENGTHS.unpack(lengths)
    if total > most or head_length > min(total, _MOST_HEAD):
        return None
    body = _read_exactly(wire, total)
    if len(body) < total:
        return None
    sent = json.loads(bytes(body[:head_length]))
    buffers, at = [], head_length
    for length in sent["buffers"]:
        buffers.append(body[at : at + length])
        at += length
    return Packed(head=sent["head"], buffers=buffers) if at == total else None


def _read_exactly(wire: socket.socket, count: int) -> memoryview:
    """Return so many bytes, or fewer where the other end closes."""
    buffer = memoryview(bytearray(count))
    at = 0
    while at < count:
        got = wire.recv_into(buffer[at:])
        if not got:
            break
        at += got
    return buffer[:at]


def pack_request(request: TableRequest) -> Packed:
    """Return a request to be sent."""
    values = {name: getattr(request, name) for name in TableRequest.__slots__ if name not in ("data", "limits")}
    return Packed(head={**values, "limits": asdict(request.limits)}, buffers=[request.data])


def unpack_request(packed: Packed) -> TableRequest:
    """Return a request that was sent."""
    head = dict(packed.head)
    limits, as_text = TableLimits(**head.pop("limits")), tuple(head.pop("as_text"))
    return TableRequest(data=bytes(packed.buffers[0]), limits=limits, as_text=as_text, **head)


def pack_error(error: DriftpaceError) -> Packed:
    """Return an error to be sent."""
    kind = next((name for name, known in _ERRORS.items() if isinstance(error, known)), "DataError")
    return Packed(head={"error": kind, "problem": error.problem, "owner": error.owner, "name": error.name})


def pack_rows(rows: Rows) -> Packed:
    r"""Return rows to be sent.

    >>> from driftpace.tables import read_columns
    >>> packed = pack_rows(read_columns(b"id,age\na,41\nb,\n"))
    >>> unpack_rows(packed)["age"].values.tolist()
    [41.0, nan]
    """
    buffers: list[bytes | memoryview] = []
    if isinstance(rows, Arrays):
        given = {name: getattr(rows, name) for name in _NUMBERS if getattr(rows, name) is not None}
        words = {name: getattr(rows, name) for name in ("ids", "groups", "annotators")}
        buffers += [_bytes_of(values, "<f8") for values in given.values()]
        for texts in words.values():
            buffers += _pack_items(texts or [])
        shapes = {name: list(values.shape) for name, values in given.items()}
        return Packed(head={"arrays": shapes, "words": [n for n in words if words[n] is not None]}, buffers=buffers)
    columns = []
    for name, column in rows.items():
        buffers.append(_bytes_of(column.missing, "?"))
        if column.kind in _DTYPES:
            buffers.append(_bytes_of(column.values, _DTYPES[column.kind]))
        else:
            buffers += _pack_items(column.values.tolist())
        columns.append([name, column.kind])
    return Packed(head={"columns": columns}, buffers=buffers)


def unpack_rows(packed: Packed) -> Rows | DriftpaceError:
    """Return the rows that were sent, or the error."""
    head, buffers = packed.head, iter(packed.buffers)
    if "error" in head:
        return _ERRORS[head["error"]](str(head["problem"]), owner=head["owner"], name=head["name"])
    if "arrays" in head:
        numbers = {
            name: np.frombuffer(next(buffers), "<f8").reshape(shape).astype(np.float64)
            for name, shape in head["arrays"].items()
        }
        words = {name: _unpack_items(next(buffers), next(buffers)) for name in ("ids", "groups", "annotators")}
        given = {name: words[name] if name in head["words"] else None for name in words}
        return Arrays(**{name: numbers.get(name) for name in _NUMBERS}, **given)  # type: ignore[arg-type]
    columns: dict[str, Column] = {}
    for name, kind in head["columns"]:
        if kind not in get_args(Kind):
            raise ValueError(kind)
        missing = np.frombuffer(next(buffers), np.uint8) != 0
        if kind in _DTYPES:
            values: Any = np.frombuffer(next(buffers), _DTYPES[kind]).copy()
        else:
            items = _unpack_items(next(buffers), next(buffers))
            values = np.array([None, *items], dtype=object)[1:]  # the None keeps lists of lists from becoming a matrix
        if len(values) != len(missing):
            raise ValueError(name)
        columns[str(name)] = Column(kind=kind, values=values, missing=missing)
    return columns


def _bytes_of(values: np.ndarray[Any, Any], kind: str) -> memoryview:
    return np.ascontiguousarray(values.ravel(), kind).view(np.uint8).data


def _pack_items(items: Sequence[Any]) -> list[bytes | memoryview]:
    """Return the place of each item among the different ones, and these, as lines of JSON.

    There are several lines because one is read without a turn for other threads.
    """
    places: dict[str, int] = {}
    written = (item if type(item) is str and item[:1] != "\0" else "\0" + json.dumps(_tagged(item)) for item in items)
    codes = np.fromiter((places.setdefault(text, len(places)) for text in written), "<u4", len(items))
    lines = (json.dumps(part) for part in _batched(places))
    return [_bytes_of(codes, "<u4"), "\n".join(lines).encode()]


def _unpack_items(codes: bytes | memoryview, distinct: bytes | memoryview) -> list[Any]:
    texts = [text for line in bytes(distinct).splitlines() for text in json.loads(line)]
    items = [_untagged(json.loads(text[1:])) if text[:1] == "\0" else text for text in texts]
    return [items[code] for code in np.frombuffer(codes, "<u4").tolist()]


def _batched(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts, some at a time."""
    left = iter(texts)
    while part := list(islice(left, _PART)):
        yield part


def _tagged(item: Any) -> Any:
    """Return a plain value of any kind as JSON; lists and objects of JSON are themselves."""
    if isinstance(item, bytes):
        return {"bytes": item.decode("latin-1")}
    if isinstance(item, timedelta):
        return {"timedelta": str(item // timedelta(microseconds=1))}
    if isinstance(item, datetime | date | time):
        return {type(item).__name__: item.isoformat()}
    if isinstance(item, Decimal):
        return {"Decimal": str(item)}
    return {"json": item} if isinstance(item, dict) else item


def _untagged(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    ((kind, value),) = item.items()
    return value if kind == "json" else _PLAIN[kind](value)
