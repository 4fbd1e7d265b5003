"""What Arrow holds in memory, as columns: checked to be whole before it is touched, each distinct text made once."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftpace.datasets.cells import LARGEST_WHOLE
from driftpace.errors import DataError, DriftpaceError, MissingExtraError
from driftpace.tables.columns import Column, from_objects
from driftpace.tables.limits import Limits, clip, refuse_size, refuse_twin_names, refuse_unpacked
from driftpace.tables.textfile import number_text

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


def need_pyarrow(owner: str) -> Any:
    """Return pyarrow, or say which extra has it."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise MissingExtraError(f'{owner}() needs pyarrow for this file: pip install "driftpace[tables]".') from None
    return pa


@contextmanager
def errors_of_arrow(what: str, kind: str) -> Iterator[None]:
    """Say what Arrow cannot read in one sentence."""
    try:
        yield
    except DriftpaceError:
        raise
    except MemoryError:
        raise DataError(f"{what} must fit into memory; it does not.") from None
    except Exception as error:  # Arrow's own tree, OSError, and what damaged names and dates raise in Python
        why = clip(" ".join(str(error).split()) or type(error).__name__, 120).rstrip(".")
        raise DataError(f"{what} must be {kind}; it cannot be read: {why}.") from None


def check_schema(schema: Any, what: str) -> None:
    """Refuse twins, and columns whose cells are not single values."""
    refuse_twin_names(schema.names, what)
    for field in schema:
        kind = field.type.value_type if _is_dictionary(field.type) else field.type
        if str(kind) not in _PLAIN and not str(kind).startswith(_BEGINNINGS):
            raise DataError(
                f"{what} must have columns of numbers, texts, flags or times; {clip(field.name)!r} is {clip(str(kind))}."
            )


def _is_dictionary(kind: Any) -> bool:
    return str(kind).startswith("dictionary<")


class Gathered:
    """Columns put together from batches; what is gathered stays within the limits, or a sentence says what does not."""

    def __init__(self, schema: Any, limits: Limits, what: str, *, as_text: Collection[str]) -> None:
        self._names = [str(name) for name in schema.names]
        self._limits, self._what = limits, what
        self._as_text = frozenset(as_text)
        self._pieces: list[list[Any]] = [[] for _ in self._names]
        self._known: list[dict[Any, Any]] = [{} for _ in self._names]
        self._rows = self._kept = self._stood_for = 0

    def add(self, batch: Any) -> None:
        """Take the rows of one batch."""
        self._rows += batch.num_rows
        refuse_size(self._limits, self._rows, len(self._names), self._what)
        batch.validate()
        self._stood_for += sum(_text_bytes(array) for array in batch.columns)
        refuse_unpacked(
            self._limits, self._stood_for, self._what
        )  # before each text is looked at, to see that it is one
        batch.validate(full=True)
        for place, array in enumerate(batch.columns):
            self._pieces[place].append(self._plain(array, place))

    def columns(self) -> dict[str, Column]:
        """Return what was gathered."""
        if not self._rows or not self._names:
            raise DataError(f"{self._what} must have at least one row; got none.")
        return {name: _joined(pieces) for name, pieces in zip(self._names, self._pieces, strict=True)}

    def _values(self, array: Any, place: int, as_text: bool) -> list[Any]:
        """Return plain Python values, as texts where asked; each distinct text of a column is kept once and counted once."""
        import pyarrow as pa

        if as_text and str(array.type) not in (*TEXTS, *_VIEWS):
            array = array.cast(pa.string())
        refuse_unpacked(self._limits, _text_bytes(array), self._what)
        return self._shared(array.to_pylist(), place)

    def _taken(self, distinct: Any, used: Any) -> Any:
        """Return some of the texts of a dictionary; of views, as Arrow can pick them."""
        if str(distinct.type) in _VIEWS:
            refuse_unpacked(self._limits, _text_bytes(distinct), self._what)
            distinct = distinct.cast("large_string" if str(distinct.type) == "string_view" else "large_binary")
        return distinct.take(used)

    def _shared(self, items: list[Any], place: int) -> list[Any]:
        known = self._known[place]
        before = len(known)
        shared = [known.setdefault(item, item) for item in items]
        if len(known) > before:
            self._kept += sum(len(item) for item in list(known)[before:] if isinstance(item, str | bytes))
            refuse_unpacked(self._limits, self._kept, self._what)
        return shared

    def _plain(self, array: Any, place: int) -> Any:
        """Return float64 numbers, datetime64 times, or a list of plain values, of one array."""
        import pyarrow as pa

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
            return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        if kind.startswith(("timestamp[", "date")):
            fine = kind.startswith("timestamp[ns")
            times = array.cast(pa.timestamp("us", tz=getattr(array.type, "tz", None)), safe=not fine)
            return times.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        return self._values(array, place, as_text)


def _text_bytes(array: Any) -> int:
    """Return how many bytes of text an array stands for; what several cells share counts for each."""
    kind = str(array.type)
    if kind in _VIEWS:
        views = np.frombuffer(array.buffers()[1], dtype=np.int32).reshape(-1, 4)
        lengths = views[array.offset : array.offset + len(array), 0].astype(np.int64)
        return int(np.maximum(lengths, 0).sum())
    if kind in TEXTS:
        import pyarrow.compute as pc

        return int(pc.sum(pc.cast(pc.binary_length(array), "int64")).as_py() or 0)
    return 0


def _beyond(array: Any) -> bool:
    import pyarrow.compute as pc

    least, most = (pc.min_max(array)[end].as_py() for end in ("min", "max"))
    return most is not None and max(abs(least), abs(most)) > LARGEST_WHOLE


def _joined(pieces: list[Any]) -> Column:
    """Return one column from its pieces: numbers, times, or whatever values make."""
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
