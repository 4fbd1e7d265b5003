"""Write rows to a CSV, JSON lines or Parquet file, atomically."""

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.errors import ParameterError, StorageError
from driftpace.tables.arrow_format import require_pyarrow
from driftpace.tables.columns import Column
from driftpace.tables.json_format import as_written
from driftpace.tables.label_studio import ROW_ID
from driftpace.tables.sample import DrawnRows, cell_values

_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


def rows_of(
    columns: Mapping[str, Column], drawn: DrawnRows, *, id_column: str | None = None, as_text: bool = False
) -> dict[str, list[Any]]:
    """Return the drawn rows as plain values by column, with ``driftpace_id`` first where they have no id column.

    With ``as_text``, for text files, cells are as originally written where that is known: 27.50, TRUE and NA are kept.
    """
    picked = {name: _pick(column, drawn, as_text) for name, column in columns.items() if name != ROW_ID}
    if id_column is not None and id_column != ROW_ID:
        return picked
    return {ROW_ID: list(drawn.ids), **picked}


def _pick(column: Column, drawn: DrawnRows, as_text: bool) -> list[Any]:
    if as_text and column.written is not None:
        return list(column.written[drawn.places].tolist())
    return cell_values(
        Column(kind=column.kind, values=column.values[drawn.places], missing=column.missing[drawn.places])
    )


def write_rows(
    path: str | PathLike[str],
    rows: Mapping[str, Sequence[Any]],
    *,
    empty: Sequence[str] = (),
    overwrite: bool = False,
    owner: str = "write_rows",
) -> None:
    r"""Write rows to a .csv, .tsv, .jsonl, .ndjson or .parquet file.

    CSV follows RFC 4180, in UTF-8. Cells are written unchanged: a text that begins with ``=`` is data, though a spreadsheet may
    take it for a formula.

    Parameters
    ----------
    path : str or path-like
        The file; its ending gives the format.
    rows : mapping of str to sequence
        Values by column; dates and times are written in ISO format.
    empty : sequence of str
        Columns to be filled in, added after the others where they are missing.
    overwrite : bool
        Replace an existing file.
    owner : str
        The function that error messages name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rows(pathlib.Path(folder, "tasks.csv"), {"id": ["7"], "city": ["Rome, Italy"]}, empty=["churned"])
    ...     pathlib.Path(folder, "tasks.csv").read_bytes()
    b'id,city,churned\r\n7,"Rome, Italy",\r\n'
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in _ENDINGS:
        raise ParameterError(
            f"must end in {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}; got {target.name!r}.",
            owner=owner,
            name="path",
        )
    table = {name: [_plain(value) for value in values] for name, values in rows.items()}
    count = max((len(values) for values in table.values()), default=0)
    for name in empty:
        table.setdefault(name, [None] * count)
    if any(len(values) != count for values in table.values()):
        raise ParameterError(
            f"must have columns of one length; got {sorted({*map(len, table.values())})}.",
            owner=owner,
            name="rows",
        )
    if ending in (".csv", ".tsv"):
        content = _csv(table, "\t" if ending == ".tsv" else ",")
    elif ending == ".parquet":
        content = _parquet(table, owner)
    else:
        content = _lines(table)
    _put(target, content, overwrite, owner)


def _plain(value: Any) -> Any:
    """Return dates, times and decimals as text, and NumPy scalars as Python values; everything else is kept."""
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, Decimal):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _csv(table: Mapping[str, list[Any]], separator: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    writer.writerow(table)
    for row in zip(*table.values(), strict=True):
        writer.writerow(["" if value is None else as_written(value) for value in row])
    return text.getvalue().encode("utf-8", "replace")


def _lines(table: Mapping[str, list[Any]]) -> bytes:
    names = list(table)
    made = (dict(zip(names, map(finite, row), strict=True)) for row in zip(*table.values(), strict=True))
    return "".join(f"{json.dumps(row, default=str)}\n" for row in made).encode()


def finite(value: Any) -> Any:
    """Return a value that JSON can hold: None for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _parquet(table: Mapping[str, list[Any]], owner: str) -> bytes:
    pa = require_pyarrow(owner)
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({name: _arrow(values, pa) for name, values in table.items()}), sink)
    return sink.getvalue()


def _arrow(values: list[Any], pa: Any) -> Any:
    there = [value for value in values if value is not None]
    if there and all(type(value) in (int, float) for value in there) and any(type(value) is float for value in there):
        return pa.array([None if value is None else float(value) for value in values])
    if all(type(value) is int for value in there) or all(isinstance(value, bool | str) for value in there):
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass
    return pa.array([None if value is None else as_written(value) for value in values])


def _put(target: Path, content: bytes, overwrite: bool, owner: str) -> None:
    """Write a temporary file and move it into place, so that readers see the whole file or none."""
    if not target.parent.is_dir():
        raise ParameterError(f"must be in a folder that exists; got {str(target)!r}.", owner=owner, name="path")
    if target.is_dir() or (target.exists() and not overwrite):
        raise _exists(owner, target)
    name: str | None = None
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.chmod(name, 0o666 & ~_mask())
            os.fsync(file.fileno())
        _place(name, target, overwrite)
    except FileExistsError:
        raise _exists(owner, target) from None
    except OSError as error:
        raise StorageError(
            f"{owner}: {str(target)!r} must be a file that can be written; {error.strerror or error}."
        ) from None
    finally:
        if name is not None:
            Path(name).unlink(missing_ok=True)


def _place(name: str, target: Path, overwrite: bool) -> None:
    """Move the file into place; a link, unlike a rename, does not replace a file created in the meantime."""
    if not overwrite:
        try:
            os.link(name, target)
            return
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if target.exists():
                raise FileExistsError from None
    os.replace(name, target)


def _exists(owner: str, target: Path) -> ParameterError:
    kind = "a folder" if target.is_dir() else "there already; choose another name or allow it to be replaced"
    return ParameterError(f"must be a new file; {str(target)!r} is {kind}.", owner=owner, name="path")


def _mask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
