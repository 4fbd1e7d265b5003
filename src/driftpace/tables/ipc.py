"""Arrow's own format, file or stream: its messages are looked at before any buffer is unpacked.

A message is a small flatbuffer and a body. Where the body is compressed, each buffer begins with the length it unpacks to, and
a reader allocates that much; so these lengths are added up first.
"""

import struct
from collections.abc import Collection, Iterator
from typing import Any

from driftpace.errors import DataError
from driftpace.tables.arrow import Gathered, check_schema, errors_of_arrow, need_pyarrow
from driftpace.tables.columns import Column
from driftpace.tables.limits import Limits, refuse_size, refuse_unpacked

MAGIC = b"ARROW1"
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_CONTINUED = 0xFFFFFFFF
_MESSAGES = 100_000
_BUFFERS = 2_000_000


def read_ipc(data: bytes, limits: Limits, what: str, *, as_text: Collection[str], owner: str) -> dict[str, Column]:
    """Return the columns of an Arrow IPC file or stream."""
    pa = need_pyarrow(owner)
    from pyarrow import ipc

    with errors_of_arrow(what, "an Arrow IPC file or stream"):
        whole_file = data[:6] == MAGIC
        _check_messages(memoryview(data), limits, what, _file_blocks(data) if whole_file else None)
        options = ipc.IpcReadOptions(use_threads=False)
        source = pa.BufferReader(data)
        with (
            ipc.open_file(source, options=options) if whole_file else ipc.open_stream(source, options=options) as reader
        ):
            check_schema(reader.schema, what)
            refuse_size(limits, 0, len(reader.schema.names), what)
            gathered = Gathered(reader.schema, limits, what, as_text=as_text)
            for batch in _batches(reader, whole_file):
                gathered.add(batch)
    return gathered.columns()


def _batches(reader: Any, whole_file: bool) -> Iterator[Any]:
    if whole_file:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
    else:
        yield from reader


def _check_messages(data: memoryview, limits: Limits, what: str, blocks: list[int] | None) -> None:
    """Refuse messages whose buffers unpack to more than is allowed, or that say they hold more rows than allowed."""
    if blocks is not None and len(set(blocks)) < len(blocks):
        raise DataError(f"{what} must be a whole Arrow IPC file; one batch of it is listed twice.")
    unpacked = rows = seen = 0
    for number, start in enumerate(_stream_starts(data) if blocks is None else blocks):
        if number == _MESSAGES:
            raise DataError(f"{what} must have at most {_MESSAGES:,} batches; got more.")
        try:
            kind, length, buffers = _message(data, start)
            seen += len(buffers)
            if seen > _BUFFERS:
                raise DataError(f"{what} must have at most {_BUFFERS:,} buffers; got more.")
        except (struct.error, IndexError, ValueError):
            raise DataError(f"{what} must be a whole Arrow IPC file or stream; a message of it is damaged.") from None
        if kind == _RECORD_BATCH:
            rows += length
            refuse_size(limits, rows, 1, what)
        unpacked += sum(buffers)
        refuse_unpacked(limits, unpacked, what)


def _stream_starts(data: memoryview) -> Iterator[int]:
    at = 0
    while at + 8 <= len(data):
        flatbuffer, size = _frame(data, at)
        if size <= 0:
            return
        yield at
        at = flatbuffer + size + _body_length(data, flatbuffer)


def _frame(data: memoryview, at: int) -> tuple[int, int]:
    """Return where the flatbuffer of a message begins, and its length; older messages have no continuation mark."""
    (first,) = struct.unpack_from("<I", data, at)
    if first != _CONTINUED:
        return at + 4, first if first < 2**31 else 0
    (size,) = struct.unpack_from("<i", data, at + 4)
    return at + 8, size


def _body_length(data: memoryview, flatbuffer: int) -> int:
    try:
        table = flatbuffer + struct.unpack_from("<I", data, flatbuffer)[0]
        place = _field(data, table, 3)
        length = struct.unpack_from("<q", data, place)[0] if place else 0
    except (struct.error, IndexError):
        return len(data)
    return length if 0 <= length <= len(data) else len(data)


def _field(data: memoryview, table: int, index: int) -> int:
    """Return where a field of a flatbuffer table is, 0 where it has none."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if vtable < 0:
        raise ValueError
    (size,) = struct.unpack_from("<H", data, vtable)
    if 4 + 2 * index + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", data, vtable + 4 + 2 * index)
    return table + offset if offset else 0


def _message(data: memoryview, start: int) -> tuple[int, int, list[int]]:
    """Return the kind of a message, the rows it says it has, and the bytes each of its packed buffers unpacks to."""
    if start < 0:
        raise ValueError
    flatbuffer, size = _frame(data, start)
    table = flatbuffer + struct.unpack_from("<I", data, flatbuffer)[0]
    kind_at, header_at = _field(data, table, 1), _field(data, table, 2)
    kind = data[kind_at] if kind_at else 0
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH) or not header_at:
        return kind, 0, []
    batch = header_at + struct.unpack_from("<I", data, header_at)[0]
    if kind == _DICTIONARY_BATCH:
        inner = _field(data, batch, 1)
        if not inner:
            return kind, 0, []
        batch = inner + struct.unpack_from("<I", data, inner)[0]
    length_at, buffers_at, packed_at = _field(data, batch, 0), _field(data, batch, 2), _field(data, batch, 3)
    length = struct.unpack_from("<q", data, length_at)[0] if length_at else 0
    if length < 0:
        raise ValueError
    if not packed_at or not buffers_at:
        return kind, length, []
    return kind, length, _unpacked(data, buffers_at, flatbuffer + size)


def _unpacked(data: memoryview, buffers_at: int, body: int) -> list[int]:
    vector = buffers_at + struct.unpack_from("<I", data, buffers_at)[0]
    (count,) = struct.unpack_from("<I", data, vector)
    if count > _BUFFERS:
        raise ValueError
    places = struct.iter_unpack("<qq", data[vector + 4 : vector + 4 + 16 * count])
    return [max(struct.unpack_from("<q", data, body + at)[0], 0) for at, length in places if length >= 8]


def _file_blocks(data: bytes) -> list[int]:
    """Return where the batches of an IPC file begin, dictionaries first, as its footer says."""
    view = memoryview(data)
    try:
        (size,) = struct.unpack_from("<i", view, len(data) - 10)
        footer = len(data) - 10 - size
        if size <= 0 or footer < 8 or data[-6:] != MAGIC:
            raise ValueError
        table = footer + struct.unpack_from("<I", view, footer)[0]
        starts = []
        for index in (2, 3):
            place = _field(view, table, index)
            if not place:
                continue
            vector = place + struct.unpack_from("<I", view, place)[0]
            (count,) = struct.unpack_from("<I", view, vector)
            starts += [
                offset for offset, _, _ in struct.iter_unpack("<qqq", view[vector + 4 : vector + 4 + 24 * count])
            ]
    except (struct.error, IndexError):
        raise ValueError("its footer is damaged") from None
    return starts
