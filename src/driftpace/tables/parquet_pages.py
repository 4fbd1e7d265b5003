"""What a Parquet file says of itself, in its footer and in the header of every page, read without unpacking anything.

The sizes in the footer are the writer's word; a reader allocates what each page header says. So the headers are walked.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from driftpace.errors import DataError
from driftpace.tables.thrift import OddThriftError, Reader

_MAGIC = b"PAR1"
_PAGE_KINDS = {5: "data", 7: "dictionary", 8: "data"}
_FOOTER_VALUES = 2_000_000
_PAGE_VALUES = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Chunk:
    """One column of one row group: its name, how many values it has, and where its pages are."""

    name: str
    values: int
    start: int
    length: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """One row group: its rows, and a chunk for each column."""

    rows: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """What one page says of itself: values in it, its bytes packed and unpacked, and the number of its encoding."""

    kind: str
    values: int
    packed: int
    unpacked: int
    encoding: int


def read_footer(data: bytes, what: str) -> tuple[int, tuple[Group, ...]]:
    """Return how many rows the file says it has, and its row groups; a sentence where the footer is damaged."""
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    if data[-4:] != _MAGIC or data[:4] != _MAGIC or start < 4:
        raise DataError(f"{what} must be a whole Parquet file; it is cut short, or something else.")
    try:
        footer, _ = Reader(memoryview(data)[start:-8], values=_FOOTER_VALUES).record(0)
        return _whole(footer.get(3)), tuple(_group(group) for group in _list(footer.get(4)))
    except OddThriftError as error:
        raise DataError(f"{what} must be a whole Parquet file; its footer is damaged: {error}.") from None


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise OddThriftError("a number is not one")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise OddThriftError("a list is not one")
    return value


def _record(value: Any) -> dict[int, Any]:
    if not isinstance(value, dict):
        raise OddThriftError("a record is not one")
    return value


def _group(value: Any) -> Group:
    group = _record(value)
    return Group(rows=_whole(group.get(3)), chunks=tuple(_chunk(chunk) for chunk in _list(group.get(1))))


def _chunk(value: Any) -> Chunk:
    chunk = _record(value)
    if 1 in chunk:
        raise OddThriftError("its columns are in other files")
    facts = _record(chunk.get(3))
    start = _whole(facts.get(9))
    dictionary = facts.get(11)
    if type(dictionary) is int and 0 < dictionary < start:
        start = dictionary
    names = [part.decode("utf-8", "replace") for part in _list(facts.get(3)) if isinstance(part, bytes)]
    return Chunk(name=".".join(names), values=_whole(facts.get(5)), start=start, length=_whole(facts.get(7)))


def walk(data: memoryview, chunk: Chunk, what: str) -> Iterator[Page]:
    """Return the pages of a column chunk until all its values were seen, or refuse the file in a sentence."""
    at, end, seen = chunk.start, min(chunk.start + chunk.length, len(data)), 0
    while seen < chunk.values:
        try:
            if at >= end:
                raise OddThriftError("it is cut short")
            page, at = _page(data, at)
            at += page.packed
            if at > end:
                raise OddThriftError("it is cut short")
        except OddThriftError as error:
            raise DataError(f"{what} must be a whole Parquet file; a page of it is damaged: {error}.") from None
        seen += page.values if page.kind == "data" else 0
        yield page


def _page(data: memoryview, at: int) -> tuple[Page, int]:
    header, at = Reader(data, values=_PAGE_VALUES).record(at)
    packed, unpacked = _whole(header.get(3)), _whole(header.get(2))
    for place, kind in _PAGE_KINDS.items():
        if place in header:
            inner = _record(header[place])
            values, encoding = _whole(inner.get(1)), _whole(inner.get(4 if place == 8 else 2))
            return Page(kind=kind, values=values, packed=packed, unpacked=unpacked, encoding=encoding), at
    return Page(kind="index", values=0, packed=packed, unpacked=unpacked, encoding=0), at
