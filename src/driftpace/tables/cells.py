"""Columns of cells that are written as text, as :mod:`driftpace.datasets.cells` says what each stands for."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from driftpace.datasets.cells import are_codes, flags_of, is_mark, numbers_of, numbers_with_commas, words_of
from driftpace.tables.columns import Column
from driftpace.typing import FloatArray

_WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d*))\.0+")


def column_of(cells: Sequence[str], *, exact: bool = False) -> Column:
    """Return the column that cells make; with ``exact`` it keeps how numbers and flags were written.

    >>> [column_of(cells).kind for cells in (["1", "NA"], ["TRUE", ""], ["1", "two"], ["007", "12"])]
    ['number', 'flag', 'text', 'text']
    >>> column_of(["None", "Carport", ""]).missing.tolist()
    [False, False, True]
    """
    values, kind = numbers_of(cells), "number"
    if values is not None and are_codes(cells, values):
        return text_column(cells)
    if values is None:
        values, kind = flags_of(cells), "flag"
    if values is None:
        return text_column(cells)
    written = np.array([None, *cells], dtype=object)[1:] if exact else None
    return Column(
        kind="number" if kind == "number" else "flag", values=values, missing=np.isnan(values), written=written
    )


def text_column(cells: Sequence[str]) -> Column:
    """Return cells as words, missing where they are empty."""
    texts = words_of(cells)
    values = np.array([None, *texts], dtype=object)[1:]
    return Column(kind="text", values=values, missing=np.array([text is None for text in texts], dtype=np.bool_))


def as_numbers(column: Column) -> Column | None:
    """Return a column as numbers where its cells are numbers, whether its file had them as such or as text; None elsewhere.

    >>> texts = Column(kind="text", values=np.array(["4.0", "n/a"], dtype=object), missing=np.array([False, False]))
    >>> found = as_numbers(texts)
    >>> found.values.tolist(), found.missing.tolist()
    ([4.0, nan], [False, True])
    """
    if column.kind in ("number", "flag"):
        return column
    if column.kind == "time":
        return None
    values = numbers_of(["" if gone else _text(cell) for cell, gone in zip(column.values, column.missing, strict=True)])
    return None if values is None else Column(kind="number", values=values, missing=np.isnan(values))


def numbers_each(column: Column) -> FloatArray:
    """Return each cell as a number, NaN where it is missing or none; a column of something else may hold some.

    >>> numbers_each(column_of(["4", "purple", ""])).tolist()
    [4.0, nan, nan]
    """
    if column.kind in ("number", "flag"):
        return column.values
    if column.kind == "time":
        return np.full(column.values.size, np.nan)
    texts = ["" if gone else _text(cell) for cell, gone in zip(column.values, column.missing, strict=True)]
    known = {text: numbers_of([text]) for text in set(texts)}
    return np.array([np.nan if (one := known[text]) is None else one[0] for text in texts], dtype=np.float64)


def with_commas(cells: Sequence[str]) -> Column | None:
    """Return cells as numbers where all of them are and some have a decimal comma; None elsewhere.

    >>> with_commas(["31,7", "-2", "NA"]).values.tolist(), with_commas(["1.234,5"])
    ([31.7, -2.0, nan], None)
    """
    values = numbers_with_commas(cells)
    return None if values is None else Column(kind="number", values=values, missing=np.isnan(values))


def as_ids(texts: Sequence[str]) -> list[str]:
    """Return texts as the ids they stand for: 7.0 is 7, as spreadsheets and frames write it where some are missing.

    >>> as_ids(["7.0", "007", "7.5", "v1.0"])
    ['7', '007', '7.5', 'v1.0']
    """
    if ".0" not in "\n".join(texts):
        return list(texts)
    return [found[1] if (found := _WHOLE.fullmatch(text)) else text for text in texts]


def without_marks(column: Column, words: Collection[str]) -> Column:
    """Return a column of words in which marks such as NA are missing, where they are none of ``words``.

    >>> given = column_of(["no", "yes", "NA"])
    >>> without_marks(given, ["no", "yes"]).missing.tolist(), without_marks(given, ["yes", "NA"]).missing.tolist()
    ([False, False, True], [False, False, False])
    """
    if column.kind not in ("text", "other"):
        return column
    there = {cell for cell in column.values[~column.missing].tolist() if isinstance(cell, str)}
    marks = {cell for cell in there if is_mark(cell) and cell.strip() not in words}
    if not marks:
        return column
    gone = np.array([isinstance(cell, str) and cell in marks for cell in column.values.tolist()], dtype=np.bool_)
    return Column(kind=column.kind, values=column.values, missing=column.missing | gone)


def _text(cell: Any) -> str:
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    return cell if isinstance(cell, str) else str(cell)
