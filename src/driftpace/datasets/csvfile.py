"""CSV files, with the standard library alone: what is a number becomes a number, what is empty is missing."""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.errors import DataError

_SEPARATORS = (",", ";", "\t")
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "."})
_FLAGS = {"true": True, "false": False}


def read_csv(path: Path, *, owner: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of a CSV file (gzipped or not), by name; a DataError that names the line where it cannot be read.

    The separator is the comma, semicolon or tab that the first line has most of. A column of numbers becomes int64 where all
    are whole, else float64 with NaN where a cell is missing; true and false become bool, or objects with None where a cell is
    missing; anything else stays text (objects, None where missing). Missing is an empty cell or one of NA, N/A, NaN, null, None
    and a lone point.
    """
    try:
        text = _text(path)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{owner}: {path.name} must be a CSV file in UTF-8; it cannot be read: {error}.") from None
    first = text.split("\n", 1)[0]
    separator = max(_SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[list[str]] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        for row in reader:
            if len(row) != len(header):
                if not row:
                    continue  # an empty line
                raise DataError(
                    f"{owner}: {path.name} must have {len(header)} cells on every line; "
                    f"line {reader.line_num} has {len(row)}."
                )
            rows.append(row)
    except csv.Error as error:
        raise DataError(f"{owner}: {path.name} must be a CSV file; line {reader.line_num}: {error}.") from None
    if not header or not rows:
        raise DataError(f"{owner}: {path.name} must have a line of names and at least one row; got none.")
    refuse_twins(header, f"{owner}: {path.name}")
    return {name: typed_cells(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)}


def refuse_twins(names: Sequence[str], what: str) -> None:
    """Refuse a table that has two columns of one name."""
    twins = [name for name, count in Counter(names).items() if count > 1]
    if twins:
        raise DataError(f"{what} must have columns of different names; got {twins[0]!r} twice.")


def _text(path: Path) -> str:
    packed = path.read_bytes()
    return (gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed).decode("utf-8-sig")


def typed_cells(cells: Sequence[str]) -> np.ndarray[Any, Any]:
    """Return the cells of one column as what they all are: numbers, flags or texts, as :func:`read_csv` says.

    >>> typed_cells(["1", "NA", "2.5"])
    array([1. , nan, 2.5])
    """
    try:
        return _whole_if_all_are(np.array(list(map(float, cells))))
    except ValueError:
        pass
    plain: list[str | None] = [None if cell.strip().lower() in _MISSING else cell.strip() for cell in cells]
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in plain])
    except ValueError:
        pass
    if all(cell is None or cell.lower() in _FLAGS for cell in plain):
        flags = [None if cell is None else _FLAGS[cell.lower()] for cell in plain]
        return np.array(flags, dtype=object if None in flags else np.bool_)
    return np.array(plain, dtype=object)


def _whole_if_all_are(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore"):
        whole = (
            np.isfinite(numbers).all() and (np.abs(numbers) < 2.0**53).all() and (numbers == np.trunc(numbers)).all()
        )
    return numbers.astype(np.int64) if whole else numbers
