"""CSV files, with the standard library alone; what a cell stands for is in :mod:`driftpace.datasets.cells`."""

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftpace.datasets.cells import are_codes, flags_of, numbers_of, numbers_with_commas, words_of
from driftpace.errors import DataError

_SEPARATORS = (",", ";", "\t")


def read_csv(path: Path, *, owner: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns of a CSV file (gzipped or not), by name; a DataError that names the line where it cannot be read.

    The separator is the comma, semicolon or tab that the first line has most of. A column of numbers becomes int64 where all
    are whole, else float64 with NaN where a cell is missing; true and false become bool, or objects with None where a cell is
    missing; there NA, N/A, NaN, null, None and a lone point are missing too. Anything else stays text (objects), and only an empty
    cell is None. Where the separator is no comma and no number has a point, columns of numbers with decimal commas are numbers.
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
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    typed = {name: typed_cells(cells) for name, cells in columns.items()}
    return typed if separator == "," else typed | _with_commas(columns, typed)


def _with_commas(
    columns: Mapping[str, Sequence[str]], typed: Mapping[str, np.ndarray[Any, Any]]
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the columns whose numbers have decimal commas; none where any number has a point, for a comma may be other things."""
    if any(array.dtype.kind in "if" and "." in "".join(columns[name]) for name, array in typed.items()):
        return {}
    found = {name: numbers_with_commas(columns[name]) for name, array in typed.items() if array.dtype.kind == "O"}
    return {name: numbers for name, numbers in found.items() if numbers is not None}


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

    >>> typed_cells(["1", "NA", "2.5"]), typed_cells(["Carport", "NA", ""])
    (array([1. , nan, 2.5]), array(['Carport', 'NA', None], dtype=object))
    """
    numbers = numbers_of(cells)
    if numbers is not None:
        return np.array(words_of(cells), dtype=object) if are_codes(cells, numbers) else _whole_if_all_are(numbers)
    flags = flags_of(cells)
    if flags is None:
        return np.array(words_of(cells), dtype=object)
    if not np.isnan(flags).any():
        return flags.astype(np.bool_)
    return np.array([None if flag != flag else bool(flag) for flag in flags.tolist()], dtype=object)


def _whole_if_all_are(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore"):
        whole = (
            np.isfinite(numbers).all() and (np.abs(numbers) < 2.0**53).all() and (numbers == np.trunc(numbers)).all()
        )
    return numbers.astype(np.int64) if whole else numbers
