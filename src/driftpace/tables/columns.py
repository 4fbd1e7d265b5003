"""What people have on their own disk or in memory: a file, a frame, a table or plain arrays become columns of four kinds.

Numbers (and flags, as 0 and 1), times, texts, and others that cannot be used. CSV files need nothing but the standard
library; Parquet files need polars, pyarrow or pandas.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from driftpace.datasets import Table
from driftpace.datasets.csvfile import read_csv, refuse_twins
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.typing import BoolArray

if TYPE_CHECKING:
    import narwhals as nw

Kind = Literal["number", "flag", "time", "text", "other"]

_CSV = (".csv", ".tsv", ".txt")
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Column:
    """Values of one kind: float64 for numbers and flags, datetime64 for times, else objects; ``missing`` says where none is.

    ``written`` is what a text file has in each cell of numbers or flags, kept where cells are to be copied as they came.
    """

    kind: Kind
    values: np.ndarray[Any, Any]
    missing: BoolArray
    written: np.ndarray[Any, Any] | None = None


def read_columns(source: Any, *, owner: str) -> tuple[str, dict[str, Column]]:
    """Return a name for the table and its columns by name.

    >>> name, columns = read_columns({"city": ["Rome", None], "rain": [1, 2.5]}, owner="read_table")
    >>> {name: (column.kind, column.missing.tolist()) for name, column in columns.items()}
    {'city': ('text', [False, True]), 'rain': ('number', [False, False])}
    """
    if isinstance(source, str | PathLike):
        return _read_file(Path(source), owner)
    if isinstance(source, Table):
        return source.name, from_arrays(source.columns, owner)
    if isinstance(source, Mapping):
        return "table", from_arrays(source, owner)
    return "table", _from_frame(source, owner)


def _read_file(path: Path, owner: str) -> tuple[str, dict[str, Column]]:
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    if path.is_dir():
        raise ParameterError(f"must be a file; {str(path)!r} is a folder.", owner=owner, name="frame")
    if ending not in _CSV + _PARQUET:
        raise ParameterError(f"must be a .csv, .csv.gz or .parquet file; got {path.name!r}.", owner=owner, name="frame")
    if not path.is_file():
        raise ParameterError(f"must be an existing file; got {str(path)!r}.", owner=owner, name="frame")
    name = path.name[: path.name.lower().rindex(ending)]
    if ending in _CSV:
        return name, from_arrays(read_csv(path, owner=owner), owner)
    return name, _from_frame(_read_parquet(path, owner), owner)


def _read_parquet(path: Path, owner: str) -> Any:
    engines: tuple[Literal["polars", "pyarrow"], ...] = ("polars", "pyarrow")
    backend = next((name for name in engines if find_spec(name) is not None), None)
    if backend is None:
        raise MissingExtraError(
            f'{owner}() needs polars or pyarrow for a Parquet file: pip install "driftpace[tables]".'
        )
    import narwhals as nw

    try:
        return nw.read_parquet(str(path), backend=backend).to_native()
    except Exception as error:  # every engine has its own tree of errors
        raise DataError(f"{owner}: {path.name} must be a Parquet file; it cannot be read: {error}.") from None


def _from_frame(source: Any, owner: str) -> dict[str, Column]:
    import narwhals as nw

    try:
        frame = nw.from_native(source)
    except TypeError:
        raise ParameterError(
            f"must be a file, a Table, columns by name, or a pandas, polars or pyarrow frame; "
            f"got {type(source).__name__}.",
            owner=owner,
            name="frame",
        ) from None
    except ValueError as error:
        refuse_twins([str(name) for name in getattr(source, "column_names", source.columns)], f"{owner}: the table")
        raise DataError(f"{owner}: the table cannot be read: {error}.") from None
    eager: nw.DataFrame[Any] = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    names = [str(name) for name in eager.columns]
    refuse_twins(names, f"{owner}: the table")
    return {name: _from_series(eager[:, index]) for index, name in enumerate(names)}


def _from_series(series: "nw.Series[Any]") -> Column:
    import narwhals as nw

    dtype, null = series.dtype, np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    if dtype.is_numeric():
        values = np.array(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        values[null] = np.nan
        return Column(kind="number", values=values, missing=np.isnan(values))
    if dtype in (nw.Categorical, nw.Enum):
        series = series.cast(nw.String)
    return from_objects([None if gone else item for item, gone in zip(series.to_list(), null, strict=True)])


def from_arrays(source: Mapping[str, Any], owner: str) -> dict[str, Column]:
    """Return the columns that arrays or sequences by name make, all of one length."""
    names = [str(name) for name in source]
    refuse_twins(names, f"{owner}: the table")
    columns = {}
    for name, given in zip(names, source.values(), strict=True):
        if isinstance(given, str) or np.ndim(given) != 1:
            raise DataError(f"{owner}: column {name!r} must be one-dimensional; got shape {np.shape(given)}.")
        columns[name] = _from_array(given)
    lengths = {column.values.size for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{owner}: columns must be of one length; got lengths {sorted(lengths)}.")
    return columns


def _from_array(given: Any) -> Column:
    if np.ma.isMaskedArray(given):
        return from_objects(given.tolist())  # None where masked
    array = given if isinstance(given, np.ndarray) else np.array(list(given), dtype=object)
    if array.dtype.kind in "iuf":
        values = array.astype(np.float64)
        return Column(kind="number", values=values, missing=np.isnan(values))
    if array.dtype.kind == "M":
        return Column(kind="time", values=array.astype("datetime64[us]"), missing=np.isnat(array))
    return from_objects(array.tolist())


def from_objects(items: list[Any]) -> Column:
    """Return the column that plain Python values make: of one kind when they all are."""
    items = [str(item) if type(item).__name__ == "Period" else item for item in items]  # pandas: "2020-01", "2020Q1"
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


def _is_missing(item: Any) -> bool:
    if item is None or type(item).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(item, float) and item != item


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
