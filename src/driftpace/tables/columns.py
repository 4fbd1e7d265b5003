"""Columns of numbers, flags, times or texts, made from arrays, plain values or data frames."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.tables.limits import check_unique_names, clip
from driftpace.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    import narwhals as nw

Kind = Literal["number", "flag", "time", "text", "other"]
LARGEST_WHOLE = 2**53
"""Whole numbers beyond this are not exact as floats."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Column:
    """Values of one kind: float64 for numbers and flags, datetime64 for times, otherwise objects.

    ``missing`` marks the cells without a value. ``written`` is the original text of each number or flag, kept where cells are
    to be copied unchanged.
    """

    kind: Kind
    values: np.ndarray[Any, Any]
    missing: BoolArray
    written: np.ndarray[Any, Any] | None = None


def to_arrays(columns: Mapping[str, Column]) -> dict[str, np.ndarray[Any, Any]]:
    """Return one array for each column: int64 where all numbers are whole, float64, bool, datetime64, or objects with None.

    >>> columns = from_arrays({"year": [1976, 1977], "wage": [5.5, None]}, "example")
    >>> {name: array.tolist() for name, array in to_arrays(columns).items()}
    {'year': [1976, 1977], 'wage': [5.5, nan]}
    """
    return {name: _to_array(column) for name, column in columns.items()}


def _to_array(column: Column) -> np.ndarray[Any, Any]:
    values = column.values
    if column.kind == "flag":
        if not column.missing.any():
            return values.astype(np.bool_)
        return np.array([None if value != value else bool(value) for value in values.tolist()], dtype=object)
    if column.kind != "number":
        return values
    with np.errstate(invalid="ignore"):
        exact = np.isfinite(values).all() and bool((np.abs(values) < 2.0**53).all())
        return values.astype(np.int64) if exact and bool((values == np.trunc(values)).all()) else values


def from_frame(source: Any, owner: str, *, as_text: Collection[str] = ()) -> dict[str, Column]:
    """Return the columns of a pandas, polars or pyarrow frame; whole numbers of those in ``as_text`` as texts.

    A column of lists of numbers, such as embeddings, becomes a column for each of their places.
    """
    import narwhals as nw

    try:
        frame = nw.from_native(source)
    except TypeError:
        raise ParameterError(
            "must be a path, bytes, an open binary file, arrays by name, or a pandas, polars or pyarrow frame; "
            f"got {type(source).__name__}.",
            owner=owner,
            name="source",
        ) from None
    except ValueError as error:
        check_unique_names(
            [str(name) for name in getattr(source, "column_names", source.columns)], f"{owner}: the table"
        )
        raise DataError(f"{owner}: the table cannot be read: {error}.") from None
    eager: nw.DataFrame[Any] = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    names = [str(name) for name in eager.columns]
    check_unique_names(names, f"{owner}: the table")
    columns: dict[str, Column | FloatArray] = {}
    for index, name in enumerate(names):
        series = eager[:, index]
        try:
            vectors = _vectors_of(series, name, f"{owner}: the table")
            columns[name] = _from_series(series, name in as_text) if vectors is None else vectors
        except OverflowError:
            raise _too_large(owner, name) from None
    return spread(columns, f"{owner}: the table")


def _too_large(owner: str, name: str) -> DataError:
    return DataError(f"column {name!r} must hold numbers below 1e308; it has a larger one.", owner=owner)


def _vectors_of(series: "nw.Series[Any]", name: str, what: str) -> FloatArray | None:
    """Return a column of lists of numbers as a matrix; None for other columns."""
    import narwhals as nw

    if isinstance(series.dtype, nw.List | nw.Array) or series.dtype == nw.Object:
        return as_vectors(series.to_list(), name, what)
    return None


def as_vectors(items: Sequence[Any], name: str, what: str) -> FloatArray | None:
    """Return cells that are lists of numbers, all of one length, as a matrix; None where there are other cells.

    A missing cell is a vector of missing numbers. ``what`` names the table in messages, its owner first.

    >>> as_vectors([[1, 2], None, [3.5, 4]], "v", "the table").tolist()
    [[1.0, 2.0], [nan, nan], [3.5, 4.0]]
    >>> as_vectors([[1, 2], "x"], "v", "the table") is None
    True
    """
    there = [(row, item) for row, item in enumerate(items) if item is not None]
    if not there or not all(isinstance(item, list | tuple | np.ndarray) for _, item in there):
        return None
    if not all(np.asarray(item).dtype.kind in "iuf" for _, item in there[:1]):
        return None
    width = len(there[0][1])
    for row, item in there:
        if len(item) != width or not width:
            raise uneven_vectors(what, name, width, len(item), row)
    try:
        values = np.array([item for _, item in there], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    rows = np.full((len(items), width), np.nan)
    rows[[row for row, _ in there]] = values
    return rows


def uneven_vectors(what: str, name: str, width: int, length: int, row: int) -> DataError:
    """Return the error of a list whose length is not that of the first one."""
    return DataError(
        f"{what} must have lists of {max(width, 1):,} numbers in column {clip(name)!r}; row {row + 1:,} has {length:,}."
    )


def spread(columns: Mapping[str, Column | FloatArray], what: str) -> dict[str, Column]:
    """Return columns with each matrix, whose rows are vectors, as one column for each of its places: ``name_0``, ``name_1``, ...

    >>> {name: column.values.tolist() for name, column in spread({"v": np.array([[1.0, 2.0], [3.0, 4.0]])}, "").items()}
    {'v_0': [1.0, 3.0], 'v_1': [2.0, 4.0]}
    """
    single: list[tuple[str, Column]] = []
    for name, column in columns.items():
        if isinstance(column, Column):
            single.append((name, column))
            continue
        for place, values in enumerate(np.ascontiguousarray(column.T)):
            single.append((f"{name}_{place}", Column(kind="number", values=values, missing=np.isnan(values))))
    check_unique_names([name for name, _ in single], what)
    return dict(single)


def _from_series(series: "nw.Series[Any]", as_text: bool) -> Column:
    import narwhals as nw

    dtype, null = series.dtype, np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    as_text = as_text or (dtype.is_integer() and _are_large(series.min(), series.max()))
    if dtype.is_numeric() and not (as_text and dtype.is_integer()):
        values = np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        values[null] = np.nan
        return Column(kind="number", values=values, missing=np.isnan(values))
    if dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return from_objects([None if gone else item for item, gone in zip(series.to_list(), null, strict=True)], as_text)


def from_arrays(source: Mapping[str, Any], owner: str, *, as_text: Collection[str] = ()) -> dict[str, Column]:
    """Return columns from arrays or sequences by name, all of one length; whole numbers of those in ``as_text`` as texts.

    An array of vectors, one for each row, becomes a column for each of their places.
    """
    names = [str(name) for name in source]
    check_unique_names(names, f"{owner}: the table")
    columns: dict[str, Column | FloatArray] = {}
    for name, given in zip(names, source.values(), strict=True):
        if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] > 1 and given.dtype.kind in "iuf":
            columns[name] = given.astype(np.float64)
            continue
        if isinstance(given, str) or _dimensions(given) != 1:
            raise DataError(f"{owner}: column {name!r} must be one-dimensional; got {_shape(given)}.")
        try:
            columns[name] = _from_array(given, name in as_text)
        except OverflowError:
            raise _too_large(owner, name) from None
    lengths = {len(column) if isinstance(column, np.ndarray) else column.values.size for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{owner}: columns must be of one length; got lengths {sorted(lengths)}.")
    return spread(columns, f"{owner}: the table")


def _dimensions(given: Any) -> int | None:
    """Return the number of dimensions; None of lists of different lengths."""
    try:
        return np.ndim(given)
    except ValueError:
        return None


def _shape(given: Any) -> str:
    """Return the shape for a message, or the first cell that is a list."""
    if _dimensions(given) is not None:
        return f"shape {np.shape(given)}"
    row, cell = next(
        (row, cell) for row, cell in enumerate(given, 1) if np.iterable(cell) and not isinstance(cell, str)
    )
    return f"{cell!r:.60} in row {row:,}"


def _from_array(given: Any, as_text: bool) -> Column:
    if np.ma.isMaskedArray(given):
        return from_objects(given.tolist(), as_text)  # None where masked
    array = given if isinstance(given, np.ndarray) else np.array(list(given), dtype=object)
    if array.dtype.kind in "iu" and array.size:
        as_text = as_text or _are_large(int(array.min()), int(array.max()))
    if array.dtype.kind in ("f" if as_text else "iuf"):
        values = array.astype(np.float64)
        return Column(kind="number", values=values, missing=np.isnan(values))
    if array.dtype.kind == "M":
        return Column(kind="time", values=array.astype("datetime64[us]"), missing=np.isnat(array))
    return from_objects(array.tolist(), as_text)


def from_objects(items: list[Any], as_text: bool = False) -> Column:
    """Return a column of plain Python values; its kind is "other" where they are of several kinds.

    With ``as_text`` whole numbers become texts: float64 cannot distinguish long ids.
    """
    if as_text and all(_is_missing(item) or _is_whole(item) for item in items):
        items = [None if _is_missing(item) else str(item) for item in items]
    items = [str(item) if type(item).__name__ == "Period" else item for item in items]  # pandas: "2020-01", "2020Q1"
    if all(item is None or type(item) is str for item in items):
        items = [None if item is None else item.strip() or None for item in items]  # as in a text file
    missing = np.array([_is_missing(item) for item in items], dtype=np.bool_)
    there = [item for item, gone in zip(items, missing, strict=True) if not gone]
    kind = _kind(there)
    if kind in ("number", "flag"):
        values = np.full(len(items), np.nan)
        values[~missing] = [float(item) for item in there]
    elif kind == "time":
        values = np.full(len(items), np.datetime64("NaT", "us"))
        values[~missing] = [_moment(item) for item in there]
    else:
        values = np.array([None, *items], dtype=object)[1:]  # the None keeps lists of lists from becoming a matrix
    return Column(kind=kind, values=values, missing=missing)


def _are_large(least: Any, most: Any) -> bool:
    """Whether whole numbers are too large to be exact as floats: they are codes, and stay texts."""
    return any(end is not None and abs(int(end)) > LARGEST_WHOLE for end in (least, most))


def _is_missing(item: Any) -> bool:
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(item, Decimal):
        return item.is_nan()
    return isinstance(item, float | np.floating) and bool(item != item)


def _is_whole(item: Any) -> bool:
    return isinstance(item, int | np.integer) and not isinstance(item, bool)


def _kind(there: list[Any]) -> Kind:
    if not there:
        return "number"
    if all(isinstance(item, bool | np.bool_) for item in there):
        return "flag"
    if all(isinstance(item, int | float | Decimal | np.number | np.bool_) for item in there):
        return "number"
    if all(isinstance(item, str) for item in there):
        return "text"
    if all(isinstance(item, date | np.datetime64) for item in there):  # a datetime is a date
        return "time"
    return "other"


def _moment(item: Any) -> Any:
    if isinstance(item, datetime) and item.tzinfo is not None:
        item = item.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(item, "us")
