"""Parquet files, read in batches after their footer and page headers were checked against the limits.

A reader allocates what each page header says, and the sizes in the footer are only the writer's word: so the headers of all
pages are walked, without decompressing anything. Both are records in Thrift's compact protocol, read here within bounds.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from driftpace.errors import DataError
from driftpace.tables.arrow_format import TEXTS, BatchCollector, arrow_errors, check_schema, require_pyarrow
from driftpace.tables.columns import Column
from driftpace.tables.limits import TableLimits, check_size, check_text_length, check_unpacked, clip

_BATCH = 8_192
_DELTA_BYTE_ARRAY = 7
_CHUNKS = 100_000
_MAGIC = b"PAR1"
_PAGE_KINDS = {5: "data", 7: "dictionary", 8: "data"}
_FOOTER_VALUES = 2_000_000
_PAGE_VALUES = 1_000
_PAGE_LEVELS = 64
"""Bytes of a page besides its values, at most, of a page of one value."""
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_DEEPEST = 16


class ThriftError(ValueError):
    """The bytes are not a valid record."""


class ThriftReader:
    """Read records from ``data``, at most ``values`` values in total.

    >>> ThriftReader(memoryview(bytes([0x15, 0x04, 0x18, 0x02, 0x41, 0x42, 0x00])), values=10).record(0)
    ({1: 2, 2: b'AB'}, 7)
    """

    def __init__(self, data: memoryview, *, values: int) -> None:
        self._data, self._left = data, values

    def record(self, at: int, depth: int = 0) -> tuple[dict[int, Any], int]:
        """Return the record that begins at a place, and the place behind it."""
        if depth > _DEEPEST:
            raise ThriftError("it nests without end")
        fields: dict[int, Any] = {}
        number = 0
        while (first := self._byte(at)) != _STOP:
            at += 1
            step, kind = first >> 4, first & 15
            if step:
                number += step
            else:
                number, at = self._whole(at)
            if kind in (_TRUE, _FALSE):
                fields[number] = kind == _TRUE
            else:
                fields[number], at = self._value(at, kind, depth)
        return fields, at + 1

    def _byte(self, at: int) -> int:
        if not 0 <= at < len(self._data):
            raise ThriftError("it is cut short")
        return self._data[at]

    def _value(self, at: int, kind: int, depth: int) -> tuple[Any, int]:
        self._left -= 1
        if self._left < 0:
            raise ThriftError("it holds too many values")
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte(at), at + 1
        if kind < _DOUBLE:
            return self._whole(at)
        if kind == _DOUBLE:
            return None, at + 8
        if kind == _BINARY:
            length, at = self._varint(at)
            if at + length > len(self._data):
                raise ThriftError("it is cut short")
            return bytes(self._data[at : at + length]), at + length
        if kind in (_LIST, _SET):
            return self._list(at, depth)
        if kind == _STRUCT:
            return self.record(at, depth + 1)
        raise ThriftError("it holds what no Parquet file holds")

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        head = self._byte(at)
        count, kind, at = head >> 4, head & 15, at + 1
        if count == 15:
            count, at = self._varint(at)
        items: list[Any] = []
        for _ in range(count):
            item, at = self._value(at, kind, depth + 1)
            items.append(item)
        return items, at

    def _varint(self, at: int) -> tuple[int, int]:
        value = 0
        for place in range(10):
            byte = self._byte(at + place)
            value |= (byte & 127) << (7 * place)
            if byte < 128:
                return value, at + place + 1
        raise ThriftError("it holds an endless number")

    def _whole(self, at: int) -> tuple[int, int]:
        value, at = self._varint(at)
        return (value >> 1) ^ -(value & 1), at


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnChunk:
    """One column of one row group: its name, how many values it has, and where its pages are; ``nested`` in lists."""

    name: str
    values: int
    start: int
    length: int
    nested: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RowGroup:
    """One row group: its rows, and a chunk for each column."""

    rows: int
    chunks: tuple[ColumnChunk, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """The header of a page: number of values, size compressed and decompressed, and encoding."""

    kind: str
    values: int
    packed: int
    unpacked: int
    encoding: int


def read_footer(data: bytes, what: str) -> tuple[int, tuple[RowGroup, ...]]:
    """Return the number of rows and the row groups of the footer; DataError where it is damaged."""
    length = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - length
    if data[-4:] != _MAGIC or data[:4] != _MAGIC or start < 4:
        raise DataError(f"{what} must be a whole Parquet file; it is cut short, or something else.")
    try:
        footer, _ = ThriftReader(memoryview(data)[start:-8], values=_FOOTER_VALUES).record(0)
        return _whole(footer.get(3)), tuple(_group(group) for group in _list(footer.get(4)))
    except ThriftError as error:
        raise DataError(f"{what} must be a whole Parquet file; its footer is damaged: {error}.") from None


def _whole(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ThriftError("a number is not one")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ThriftError("a list is not one")
    return value


def _record(value: Any) -> dict[int, Any]:
    if not isinstance(value, dict):
        raise ThriftError("a record is not one")
    return value


def _group(value: Any) -> RowGroup:
    group = _record(value)
    return RowGroup(rows=_whole(group.get(3)), chunks=tuple(_chunk(chunk) for chunk in _list(group.get(1))))


def _chunk(value: Any) -> ColumnChunk:
    chunk = _record(value)
    if 1 in chunk:
        raise ThriftError("its columns are in other files")
    facts = _record(chunk.get(3))
    start = _whole(facts.get(9))
    dictionary = facts.get(11)
    if type(dictionary) is int and 0 < dictionary < start:
        start = dictionary
    names = [part.decode("utf-8", "replace") for part in _list(facts.get(3)) if isinstance(part, bytes)]
    return ColumnChunk(
        name=".".join(names),
        values=_whole(facts.get(5)),
        start=start,
        length=_whole(facts.get(7)),
        nested=len(names) > 1,
    )


def walk(data: memoryview, chunk: ColumnChunk, what: str) -> Iterator[Page]:
    """Yield the pages of a column chunk until all its values are covered; DataError where one is damaged."""
    at, end, values_read = chunk.start, min(chunk.start + chunk.length, len(data)), 0
    while values_read < chunk.values:
        try:
            if at >= end:
                raise ThriftError("it is cut short")
            page, at = _page(data, at)
            at += page.packed
            if at > end:
                raise ThriftError("it is cut short")
        except ThriftError as error:
            raise DataError(f"{what} must be a whole Parquet file; a page of it is damaged: {error}.") from None
        values_read += page.values if page.kind == "data" else 0
        yield page


def _page(data: memoryview, at: int) -> tuple[Page, int]:
    header, at = ThriftReader(data, values=_PAGE_VALUES).record(at)
    packed, unpacked = _whole(header.get(3)), _whole(header.get(2))
    for place, kind in _PAGE_KINDS.items():
        if place in header:
            inner = _record(header[place])
            values, encoding = _whole(inner.get(1)), _whole(inner.get(4 if place == 8 else 2))
            return Page(kind=kind, values=values, packed=packed, unpacked=unpacked, encoding=encoding), at
    return Page(kind="index", values=0, packed=packed, unpacked=unpacked, encoding=0), at


def read_parquet(
    data: bytes, limits: TableLimits, what: str, *, as_text: Collection[str], owner: str
) -> dict[str, Column]:
    """Return the columns of a Parquet file."""
    pa = require_pyarrow(owner)
    import pyarrow.parquet as pq

    _check(data, limits, what)
    with arrow_errors(what, "a Parquet file"):
        schema = pq.read_schema(pa.BufferReader(data))
        check_schema(schema, what)
        texts = [field.name for field in schema if str(field.type) in TEXTS]
        with pq.ParquetFile(
            pa.BufferReader(data), read_dictionary=texts, pre_buffer=False, thrift_container_size_limit=_CHUNKS
        ) as file:
            gathered = BatchCollector(file.schema_arrow, limits, what, as_text=as_text)
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                gathered.add(batch)
    return gathered.columns()


def _check(data: bytes, limits: TableLimits, what: str) -> None:
    """Refuse a file that is too large by its headers, or whose parts are inconsistent.

    Arrow's own view of the footer is not asked: where the footer is damaged in some ways, that ends the whole process.
    """
    rows, groups = read_footer(data, what)
    columns = max((len(group.chunks) for group in groups), default=0)
    check_size(limits, rows, columns, what)
    if len(groups) * columns > _CHUNKS:
        raise DataError(
            f"{what} must have at most {_CHUNKS:,} pieces; got {len(groups):,} row groups of {columns:,} columns."
        )
    if sum(group.rows for group in groups) != rows or any(len(group.chunks) != columns for group in groups):
        raise DataError(f"{what} must be a whole Parquet file; its row groups do not make up its {rows:,} rows.")
    if not rows:
        raise DataError(f"{what} must have at least one row; got none.")
    pages, unpacked, view = 0, 0, memoryview(data)
    for group in groups:
        check_size(limits, 1, sum(-(-chunk.values // max(group.rows, 1)) for chunk in group.chunks), what)
        for chunk in group.chunks:
            if chunk.values > limits.cells or (not chunk.nested and chunk.values != group.rows):
                raise DataError(f"{what} must hold one value in each cell; {clip(chunk.name)!r} holds more or fewer.")
            for page in walk(view, chunk, what):
                pages, unpacked = pages + 1, unpacked + page.unpacked
                check_unpacked(limits, unpacked, what)
                if pages > _CHUNKS:
                    raise DataError(f"{what} must have at most {_CHUNKS:,} pages; got more.")
                _check_page(page, chunk, what)


def _check_page(page: Page, chunk: ColumnChunk, what: str) -> None:
    check_text_length(page.unpacked // max(page.values, 1) - _PAGE_LEVELS, chunk.name, what)  # on average
    if page.kind == "data" and page.values > chunk.values:
        raise DataError(f"{what} must hold one value in each cell; a page of {clip(chunk.name)!r} holds more.")
    if page.kind == "data" and page.encoding == _DELTA_BYTE_ARRAY:
        raise DataError(
            f"{what} must not pack texts as differences (DELTA_BYTE_ARRAY), which can grow without limit; "
            f"{clip(chunk.name)!r} does."
        )
