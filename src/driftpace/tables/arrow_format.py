"""Arrow data as columns, and Arrow's own file and stream formats.

An IPC message is a small flatbuffer and a body. Where the body is compressed, each buffer begins with its decompressed length,
and a reader allocates that much: so these lengths are added up before any buffer is decompressed.
"""

import struct
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftpace.errors import DataError, DriftpaceError, MissingExtraError
from driftpace.tables.columns import LARGEST_WHOLE, Column, from_objects, spread, uneven_vectors
from driftpace.tables.csv_format import number_text
from driftpace.tables.limits import TableLimits, check_size, check_text_length, check_unique_names, check_unpacked, clip
from driftpace.typing import FloatArray

_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_BROKEN = ("halffloat", "float", "double")
TEXTS = ("string", "large_string", "binary", "large_binary")
_VIEWS = ("string_view", "binary_view")
_PLAIN = frozenset(("null", "bool", "date32[day]", "date64[ms]", *_WHOLE, *_BROKEN, *TEXTS, *_VIEWS))
_BEGINNINGS = (
    "timestamp[",
    "decimal32(",
    "decimal64(",
    "decimal128(",
    "decimal256(",
    "time32[",
    "time64[",
    "duration[",
)


MAGIC = b"ARROW1"
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_CONTINUED = 0xFFFFFFFF
_OLD_END = bytes(4)  # of streams without continuation marks, whose last four bytes it may be
_MESSAGES = 100_000
_BUFFERS = 2_000_000


def require_pyarrow(owner: str) -> Any:
    """Return pyarrow, or raise MissingExtraError."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise MissingExtraError(f'{owner}() needs pyarrow for this file: pip install "driftpace[tables]".') from None
    return pa


@contextmanager
def arrow_errors(what: str, kind: str) -> Iterator[None]:
    """Turn the errors of Arrow into DataError."""
    try:
        yield
    except DriftpaceError:
        raise
    except MemoryError:
        raise DataError(f"{what} must fit into memory; it does not.") from None
    except Exception as error:  # Arrow's own tree, OSError, and what damaged names and dates raise in Python
        said = clip(" ".join(str(error).split()), 120).rstrip(".")
        why = f"it cannot be read: {said}" if said else "it is damaged or cut short"
        raise DataError(f"{what} must be {kind}; {why}.") from None


def check_schema(schema: Any, what: str) -> None:
    """Refuse duplicate names, and columns whose cells are neither single values nor lists of numbers."""
    check_unique_names(schema.names, what)
    for field in schema:
        if _is_list(field.type) and str(field.type.value_type) in (*_WHOLE, *_BROKEN):
            continue
        kind = field.type.value_type if _is_dictionary(field.type) else field.type
        if str(kind) not in _PLAIN and not str(kind).startswith(_BEGINNINGS):
            raise DataError(
                f"{what} must have columns of numbers, texts, flags or times; {clip(field.name)!r} is {clip(str(kind))}."
            )


def _is_dictionary(kind: Any) -> bool:
    return str(kind).startswith("dictionary<")


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


class BatchCollector:
    """Collect columns from batches within the limits."""

    def __init__(self, schema: Any, limits: TableLimits, what: str, *, as_text: Collection[str]) -> None:
        self._names = [str(name) for name in schema.names]
        self._limits, self._what = limits, what
        self._as_text = frozenset(as_text)
        self._pieces: list[list[Any]] = [[] for _ in self._names]
        self._known: list[dict[Any, Any]] = [{} for _ in self._names]
        self._rows = self._kept = self._stood_for = 0
        self._widths: dict[int, int] = {}
        """The length of the lists of each column of lists, once a list was seen."""

    def add(self, batch: Any) -> None:
        """Add the rows of a batch."""
        self._rows += batch.num_rows
        check_size(self._limits, self._rows, len(self._names), self._what)
        batch.validate()
        for place, array in enumerate(batch.columns):
            if _is_list(array.type):
                self._check_lists(array, place)
        self._stood_for += sum(_text_bytes(array) for array in batch.columns)
        check_unpacked(
            self._limits, self._stood_for, self._what
        )  # before each text is looked at, to see that it is one
        for name, array in zip(self._names, batch.columns, strict=True):
            check_text_length(_longest_text(array), name, self._what)
        batch.validate(full=True)
        for place, array in enumerate(batch.columns):
            self._pieces[place].append(self._plain(array, place))

    def columns(self) -> dict[str, Column]:
        """Return the collected columns."""
        if not self._rows or not self._names:
            raise DataError(f"{self._what} must have at least one row; got none.")
        columns = {
            name: self._vectors(place) if place in self._widths else _joined(self._pieces[place])
            for place, name in enumerate(self._names)
        }
        return spread(columns, self._what)

    def _check_lists(self, array: Any, place: int) -> None:
        """Refuse lists that are not as long as those before, and more cells than are allowed."""
        import pyarrow.compute as pc

        lengths = pc.list_value_length(array).fill_null(-1).to_numpy(zero_copy_only=False)
        known = lengths[lengths >= 0]
        width = self._widths.setdefault(place, 0) or int(known[0] if known.size else 0)
        if known.size and (not width or (known != width).any()):
            row = int(np.argmax((lengths >= 0) & ((lengths != width) | (width == 0))))
            raise uneven_vectors(
                self._what, self._names[place], width, int(lengths[row]), self._rows - len(array) + row
            )
        self._widths[place] = width
        check_size(
            self._limits,
            self._rows,
            len(self._names) + sum(max(one - 1, 0) for one in self._widths.values()),
            self._what,
        )

    def _vectors(self, place: int) -> FloatArray:
        """Return the lists of a column as a matrix, with missing numbers where a list is missing."""
        width = self._widths[place]
        rows = np.full((self._rows, max(width, 1)), np.nan)
        at = 0
        for there, values in self._pieces[place]:
            if width:
                rows[at : at + there.size][there] = values.reshape(-1, width)
            at += there.size
        return rows

    def _values(self, array: Any, place: int, as_text: bool) -> list[Any]:
        """Return plain Python values, as texts where asked; each distinct text of a column is kept once and counted once."""
        import pyarrow as pa

        if as_text and str(array.type) not in (*TEXTS, *_VIEWS):
            array = array.cast(pa.string())
        check_unpacked(self._limits, _text_bytes(array), self._what)
        return self._shared(array.to_pylist(), place)

    def _taken(self, distinct: Any, used: Any) -> Any:
        """Return some of the texts of a dictionary; of views, as Arrow can pick them."""
        if str(distinct.type) in _VIEWS:
            check_unpacked(self._limits, _text_bytes(distinct), self._what)
            distinct = distinct.cast("large_string" if str(distinct.type) == "string_view" else "large_binary")
        return distinct.take(used)

    def _shared(self, items: list[Any], place: int) -> list[Any]:
        known = self._known[place]
        before = len(known)
        shared = [known.setdefault(item, item) for item in items]
        if len(known) > before:
            self._kept += sum(len(item) for item in list(known)[before:] if isinstance(item, str | bytes))
            check_unpacked(self._limits, self._kept, self._what)
        return shared

    def _plain(self, array: Any, place: int) -> Any:
        """Return float64 numbers, datetime64 times, or a list of plain values; of lists, which are there and their numbers."""
        import pyarrow as pa

        if _is_list(array.type):
            return array.is_valid().to_numpy(zero_copy_only=False), _numbers(array.flatten())
        kind, as_text = str(array.type), self._names[place] in self._as_text
        if _is_dictionary(array.type):
            codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
            used, places = np.unique(codes, return_inverse=True)
            missing = used.size > 0 and used[0] < 0
            distinct = self._values(self._taken(array.dictionary, pa.array(used[int(missing) :])), place, as_text)
            items = [None, *distinct] if missing else distinct
            return [items[at] for at in places.tolist()]
        if as_text or kind == "bool" or (kind in ("int64", "uint64") and _beyond(array)):
            return self._values(array, place, as_text or kind != "bool")
        if kind in _WHOLE or kind in _BROKEN or kind.startswith("decimal"):
            return _numbers(array)
        if kind.startswith(("timestamp[", "date")):
            fine = kind.startswith("timestamp[ns")
            times = array.cast(pa.timestamp("us", tz=getattr(array.type, "tz", None)), safe=not fine)
            return times.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        return self._values(array, place, as_text)


def _numbers(array: Any) -> Any:
    import pyarrow as pa

    return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _text_bytes(array: Any) -> int:
    """Return the bytes of text of an array; shared text counts for each cell."""
    kind = str(array.type)
    if kind in _VIEWS:
        return int(_view_lengths(array).sum())
    if kind in TEXTS:
        import pyarrow.compute as pc

        return int(pc.sum(pc.cast(pc.binary_length(array), "int64")).as_py() or 0)
    return 0


def _longest_text(array: Any) -> int:
    """Return the bytes of the longest text of an array."""
    array = array.dictionary if _is_dictionary(array.type) else array
    kind = str(array.type)
    if kind in _VIEWS:
        return int(_view_lengths(array).max(initial=0))
    if kind in TEXTS:
        import pyarrow.compute as pc

        return int(pc.max(pc.binary_length(array)).as_py() or 0)
    return 0


def _view_lengths(array: Any) -> Any:
    """Return the lengths of views of texts."""
    views = np.frombuffer(array.buffers()[1], dtype=np.int32).reshape(-1, 4)
    return np.maximum(views[array.offset : array.offset + len(array), 0].astype(np.int64), 0)


def _beyond(array: Any) -> bool:
    import pyarrow.compute as pc

    least, most = (pc.min_max(array)[end].as_py() for end in ("min", "max"))
    return most is not None and max(abs(least), abs(most)) > LARGEST_WHOLE


def _joined(pieces: list[Any]) -> Column:
    """Return one column from its pieces."""
    if all(isinstance(piece, np.ndarray) for piece in pieces):
        values = np.concatenate(pieces)
        if values.dtype.kind == "M":
            return Column(kind="time", values=values, missing=np.isnat(values))
        numbers = np.array(values, dtype=np.float64)
        return Column(kind="number", values=numbers, missing=np.isnan(numbers))
    texts = any(
        isinstance(piece, np.ndarray) for piece in pieces
    )  # whole numbers too large to be exact, in some batches
    items: list[Any] = []
    for piece in pieces:
        plain = piece if isinstance(piece, list) else [None if item != item else number_text(item) for item in piece]
        items.extend(plain)
    return from_objects([None if item is None else str(item) for item in items] if texts else items)


def read_ipc(data: bytes, limits: TableLimits, what: str, *, as_text: Collection[str], owner: str) -> dict[str, Column]:
    """Return the columns of an Arrow IPC file or stream."""
    pa = require_pyarrow(owner)
    from pyarrow import ipc

    with arrow_errors(what, "an Arrow IPC file or stream"):
        whole_file = data[:6] == MAGIC
        _check_messages(memoryview(data), limits, what, _file_blocks(data) if whole_file else None)
        options = ipc.IpcReadOptions(use_threads=False)
        source = pa.BufferReader(data)
        with (
            ipc.open_file(source, options=options) if whole_file else ipc.open_stream(source, options=options) as reader
        ):
            check_schema(reader.schema, what)
            check_size(limits, 0, len(reader.schema.names), what)
            gathered = BatchCollector(reader.schema, limits, what, as_text=as_text)
            for batch in _batches(reader, whole_file):
                gathered.add(batch)
    return gathered.columns()


def _batches(reader: Any, whole_file: bool) -> Iterator[Any]:
    if whole_file:
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)
    else:
        yield from reader


def _check_messages(data: memoryview, limits: TableLimits, what: str, blocks: list[int] | None) -> None:
    """Refuse messages whose buffers decompress to more than is allowed, or that have too many rows."""
    if blocks is not None and len(set(blocks)) < len(blocks):
        raise DataError(f"{what} must be a whole Arrow IPC file; one batch of it is listed twice.")
    unpacked = rows = buffer_count = 0
    for number, start in enumerate(_stream_starts(data, what) if blocks is None else blocks):
        if number == _MESSAGES:
            raise DataError(f"{what} must have at most {_MESSAGES:,} batches; got more.")
        try:
            kind, length, buffers = _message(data, start)
            buffer_count += len(buffers)
            if buffer_count > _BUFFERS:
                raise DataError(f"{what} must have at most {_BUFFERS:,} buffers; got more.")
        except (struct.error, IndexError, ValueError):
            raise DataError(f"{what} must be a whole Arrow IPC file or stream; a message of it is damaged.") from None
        if kind == _RECORD_BATCH:
            rows += length
            check_size(limits, rows, 1, what)
        unpacked += sum(buffers)
        check_unpacked(limits, unpacked, what)


def _stream_starts(data: memoryview, what: str) -> Iterator[int]:
    """Yield where messages begin, up to the end mark; DataError without one: a stream cut between batches would lose rows."""
    at = 0
    while at + 8 <= len(data):
        flatbuffer, size = _frame(data, at)
        if size <= 0:
            return
        yield at
        at = flatbuffer + size + _body_length(data, flatbuffer)
    if bytes(data[at : at + 4]) != _OLD_END:
        raise DataError(f"{what} must be a whole Arrow IPC stream; it has no end mark, so it was cut short.")


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
