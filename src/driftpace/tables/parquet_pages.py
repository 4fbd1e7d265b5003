"""What the pages of a Parquet file say they unpack to, read from their headers without unpacking any.

The sizes in the footer are the writer's word; a reader allocates what each page header says. So the headers are walked: each is
a small record in Thrift's compact protocol, of which only whole numbers, flags, bytes, lists and nested records occur.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from driftpace.errors import DataError

_HEADERS = {5: "data", 7: "dictionary", 8: "data"}
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_DEEPEST = 8


class _OddError(ValueError):
    """The bytes are no page header."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What one page says of itself: values in it, its bytes packed and unpacked, and the number of its encoding."""

    kind: str
    values: int
    packed: int
    unpacked: int
    encoding: int


def walk(data: memoryview, start: int, length: int, values: int, what: str) -> Iterator[Page]:
    """Return the pages of a column chunk until so many ``values`` were seen, or refuse the file in a sentence."""
    at, end, seen = start, min(start + length, len(data)), 0
    if start < 4 or start >= end:
        raise DataError(f"{what} must be a whole Parquet file; it is damaged or cut short.")
    while seen < values and at < end:
        try:
            page, at = _header(data, at)
        except (_OddError, IndexError):
            raise DataError(f"{what} must be a whole Parquet file; a page of it is damaged.") from None
        at += page.packed
        if at > end:
            raise DataError(f"{what} must be a whole Parquet file; a page of it is cut short.")
        seen += page.values if page.kind == "data" else 0
        yield page


def _header(data: memoryview, at: int) -> tuple[Page, int]:
    fields, at = _record(data, at, 0)
    unpacked, packed = fields.get(2), fields.get(3)
    if not isinstance(unpacked, int) or not isinstance(packed, int) or unpacked < 0 or packed < 0:
        raise _OddError
    for place, kind in _HEADERS.items():
        inner = fields.get(place)
        if isinstance(inner, dict):
            count, encoding = inner.get(1, 0), inner.get(4 if place == 8 else 2, 0)
            if not isinstance(count, int) or not isinstance(encoding, int) or count < 0:
                raise _OddError
            return Page(kind=kind, values=count, packed=packed, unpacked=unpacked, encoding=encoding), at
    return Page(kind="index", values=0, packed=packed, unpacked=unpacked, encoding=0), at


def _record(data: memoryview, at: int, depth: int) -> tuple[dict[int, object], int]:
    if depth > _DEEPEST:
        raise _OddError
    fields: dict[int, object] = {}
    number = 0
    while (first := data[at]) != _STOP:
        at += 1
        step, kind = first >> 4, first & 15
        if step:
            number += step
        else:
            number, at = _whole(data, at)
        fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: memoryview, at: int, kind: int, depth: int) -> tuple[object, int]:
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind < _DOUBLE:
        return _whole(data, at)
    if kind == _DOUBLE:
        return None, at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        return None, at + length
    if kind in (_LIST, _SET):
        head, at = data[at], at + 1
        count = head >> 4
        if count == 15:
            count, at = _varint(data, at)
        for _ in range(count):
            item, before = head & 15, at
            _, at = (None, at + 1) if item in (_TRUE, _FALSE) else _value(data, at, item, depth + 1)
            if at <= before:
                raise _OddError
        return None, at
    if kind == _STRUCT:
        return _record(data, at, depth + 1)
    raise _OddError


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        byte = data[at + place]
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value, at + place + 1
    raise _OddError


def _whole(data: memoryview, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
