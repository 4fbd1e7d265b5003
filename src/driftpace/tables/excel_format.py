"""Excel workbooks (.xlsx), read with openpyxl: one sheet, names in its first row, formulas by their last values.

A workbook is a zip archive of XML. Its unpacked size is checked before anything is read, and its elements are counted before a
tree is built of them, because openpyxl keeps far more in memory than a hostile file holds.
"""

import io
import warnings
import zipfile
from collections.abc import Collection, Iterator, Sequence
from datetime import date, time, timedelta
from difflib import get_close_matches
from typing import Any
from xml.parsers import expat

import numpy as np

from driftpace.errors import DataError, DriftpaceError, MissingExtraError, ParameterError
from driftpace.tables.cells import column_of, text_column
from driftpace.tables.columns import Column, from_objects
from driftpace.tables.csv_format import number_text
from driftpace.tables.limits import TableLimits, check_size, check_unique_names, check_unpacked, clip

MAGIC = b"PK\x03\x04"
_ERRORS = frozenset(
    {"#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA"}
)
_MEMBERS = 10_000
_OTHER_ELEMENTS = 200_000
"""Elements of a workbook besides its rows and shared texts: styles, names of sheets, merged cells."""
_INSIDE = frozenset({"c", "v", "is", "t", "f", "r", "rPr"})
"""Elements of a cell or of a shared text."""
_PIECE = 2**16


def is_workbook(raw: bytes) -> bool:
    """Whether bytes are a zip archive with a workbook in it."""
    return raw[:4] == MAGIC and b"xl/workbook" in raw


def read_excel(
    raw: bytes, limits: TableLimits, what: str, *, sheet: str | int | None, as_text: Collection[str], owner: str
) -> dict[str, Column]:
    """Return the columns of a sheet, the first by default; cells with errors are missing."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError(f'{owner}() needs openpyxl for this file: pip install "driftpace[excel]".') from None
    try:
        _check_archive(raw, limits, what)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of features that are not read, such as the validation of input
            book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True, keep_links=False)
            try:
                titles = [page.title for page in book.worksheets]
                page = book.worksheets[_index(book.sheetnames, titles, sheet, owner)]
                page.reset_dimensions()
                others = [title for title in titles if title != page.title]
                header, columns = _gather(page.iter_rows(values_only=True), limits, what, others)
            finally:
                book.close()
    except (DriftpaceError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises whatever a damaged file leads it to
        raise DataError(
            f"{what} must be a whole workbook; it cannot be read: {clip(str(error)).rstrip('.')}."
        ) from None
    check_unique_names(header, what)
    return {name: _column(cells, name in as_text) for name, cells in zip(header, columns, strict=True)}


def _check_archive(raw: bytes, limits: TableLimits, what: str) -> None:
    """Refuse an archive that unpacks to too much, or whose XML would grow in memory."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = archive.infolist()
        if len(parts) > _MEMBERS:
            raise DataError(f"{what} must be a workbook of at most {_MEMBERS:,} parts; got {len(parts):,}.")
        check_unpacked(limits, sum(part.file_size for part in parts), what)
        for part in parts:  # a sheet may have any name
            try:
                _check_part(archive, part, limits, what)
            except expat.ExpatError:
                if part.filename.endswith((".xml", ".rels")):
                    raise


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, limits: TableLimits, what: str) -> None:
    """Count the elements of a part: those of a row stay in memory until its end, others until that of the part."""
    counts = {"row": 0, "si": 0, "inside": 0, "other": 0}
    most = {"row": 2 * limits.rows, "si": 2 * limits.rows, "inside": 8 * limits.columns, "other": _OTHER_ELEMENTS}

    def start(name: str, _: Any) -> None:
        tag = name.rpartition(":")[2]
        if tag in ("row", "si"):
            counts["inside"] = 0
        kind = tag if tag in ("row", "si") else "inside" if tag in _INSIDE else "other"
        counts[kind] += 1
        if counts[kind] > most[kind]:
            raise DataError(
                f"{what} must have at most {limits.rows:,} rows and {limits.columns:,} columns; its part {clip(part.filename)} "
                "has more."
            )

    def refuse(*_: Any) -> None:
        raise DataError(f"{what} must be a plain workbook; it declares a document type.")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    with archive.open(part) as file:
        while piece := file.read(_PIECE):
            parser.Parse(piece, False)
    parser.Parse(b"", True)


def _index(names: list[str], pages: list[str], sheet: str | int | None, owner: str) -> int:
    if isinstance(sheet, int) and not isinstance(sheet, bool) and 0 <= sheet < len(pages):
        return sheet
    if isinstance(sheet, str) and sheet in pages:
        return pages.index(sheet)
    if sheet is None and pages:
        return 0
    near = get_close_matches(str(sheet), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {clip(', '.join(names))}."
    raise ParameterError(f"must be a sheet of the workbook; got {sheet!r}: {hint}", owner=owner, name="sheet")


def _other_sheets(others: Sequence[str]) -> str:
    return f"; the workbook has the sheet{'s' * (len(others) > 1)} {clip(', '.join(others))} too" if others else ""


def _gather(
    rows: Iterator[tuple[Any, ...]], limits: TableLimits, what: str, others: Sequence[str]
) -> tuple[list[str], list[list[Any]]]:
    """Return the names in the first row that is not empty, and the cells of each column; empty rows are left out.

    ``others`` are the names of the other sheets, which an error lists.
    """
    header: list[str] = []
    columns: list[list[Any]] = []
    places: list[int] = []
    count = 0
    for number, row in enumerate(rows, start=1):
        check_size(limits, 0, min(len(row), limits.columns + 1) if not header else 0, what)
        if all(cell is None or cell == "" for cell in row):
            if number > 2 * limits.rows + 1_000:
                raise DataError(f"{what} must have at most {limits.rows:,} rows; got {number:,} or more.")
            continue
        if not header:
            places = [place for place, cell in enumerate(row) if cell is not None]
            header = [_word(row[place]).strip() for place in places]
            columns = [[] for _ in header]
            continue
        count += 1
        if count & 1023 == 0:
            check_size(limits, count, len(header), what)
        stray = next((place for place, cell in enumerate(row) if cell is not None and place not in set(places)), None)
        if stray is not None:
            raise DataError(
                f"{what} must have a name above every column; row {number:,} has {clip(_word(row[stray]))!r} below none"
                f"{_other_sheets(others)}."
            )
        for cells, place in zip(columns, places, strict=True):
            cells.append(row[place] if place < len(row) else None)
    if not count:
        raise DataError(
            f"{what} must have a row of names and at least one more; got {'the names alone' if header else 'nothing'}"
            f"{_other_sheets(others)}."
        )
    check_size(limits, count, len(header), what)
    return header, columns


def _word(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float):
        return number_text(cell)
    return str(cell)


def _column(cells: list[Any], as_text: bool) -> Column:
    """Return cells as a column: dates where all are, otherwise by the rules for cells of text."""
    cells = [None if isinstance(cell, str) and cell.strip() in _ERRORS else cell for cell in cells]
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return Column(kind="number", values=np.full(len(cells), np.nan), missing=np.ones(len(cells), dtype=np.bool_))
    if not as_text and all(issubclass(kind, bool) for kind in kinds):
        return from_objects(cells)
    if not as_text and all(issubclass(kind, int | float) for kind in kinds):
        return from_objects([None if cell is None else float(cell) for cell in cells])
    if not as_text and all(issubclass(kind, date) for kind in kinds):
        return from_objects(cells)
    texts = ["" if cell is None else _word(cell) for cell in cells]
    plain = as_text or any(issubclass(kind, date | time | timedelta) for kind in kinds)
    return text_column(texts) if plain else column_of(texts)
