"""How cells written as text are interpreted, wherever they are read.

A column is numbers where every cell is one, and flags where every cell is true or false; empty cells and the marks ``NA``,
``N/A``, ``NaN``, ``null``, ``None`` and a lone point are missing there, and among numbers also ``-``, ``--``, ``?`` and the like.
Any other column is text as written, and only an empty cell is missing: ``None`` may be a kind of garage and ``NA`` a country.
Whole numbers with leading zeros or too large to be exact are codes, such as postcodes and account numbers, and stay text too.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from driftpace.tables.columns import LARGEST_WHOLE, Column
from driftpace.typing import BoolArray, FloatArray

_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", ".", "<na>", "#n/a", "#na"})
_NO_NUMBER = _MISSING | {"-", "--", "?", "n.a.", "nil"}
_FLAGS = {"true": 1.0, "false": 0.0}
_PADDED = re.compile(r"^[^\S\n]*[+-]?0\d+[^\S\n]*$", re.MULTILINE)
_WHOLE = re.compile(r"([+-]?(?:0|[1-9]\d*))\.0+")
_LONG = re.compile(r"^[^\S\n]*[+-]?(\d{16,})[^\S\n]*$", re.MULTILINE)


def is_mark(text: object) -> bool:
    """Return whether a text marks a missing value.

    >>> is_mark("NA"), is_mark(" "), is_mark("no")
    (True, True, False)
    """
    return isinstance(text, str) and text.strip().lower() in _MISSING


def numbers_of(cells: Sequence[str]) -> FloatArray | None:
    """Return cells as numbers, NaN where one is missing; None where any is not a number.

    >>> numbers_of(["1", "2.50", "NA"])
    array([1. , 2.5, nan])
    >>> numbers_of(["1_000"]) is None, numbers_of(["\uff11"]) is None
    (True, True)
    >>> numbers_of(["4", "-"]).tolist(), numbers_of(["-", ""]) is None
    ([4.0, nan], True)
    """
    try:
        numbers = np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        try:
            numbers = np.array([np.nan if is_no_number(cell) else float(cell) for cell in cells], dtype=np.float64)
        except ValueError:
            return None
        if np.isnan(numbers).all() and not all(map(is_mark, cells)):
            return None
    return None if _has_python_number("".join(cells)) else numbers


def _has_python_number(text: str) -> bool:
    """Return whether a text has signs that Python reads as part of a number, and files do not: 1_000, or digits of other scripts.

    >>> _has_python_number("1_000"), _has_python_number("\uff11\uff12"), _has_python_number("1\u00a05")
    (True, True, False)
    """
    return "_" in text or (not text.isascii() and any(sign.isdecimal() and not sign.isascii() for sign in set(text)))


def is_no_number(text: str) -> bool:
    """Return whether a text marks a missing number.

    >>> is_no_number("-"), is_no_number("NA"), is_no_number("0")
    (True, True, False)
    """
    return text.strip().lower() in _NO_NUMBER


def flags_of(cells: Sequence[str]) -> FloatArray | None:
    """Return 1 for true and 0 for false, NaN where a cell is missing; None where any is not a flag.

    >>> flags_of(["TRUE", "false", "NA"]).tolist(), flags_of(["yes"])
    ([1.0, 0.0, nan], None)
    """
    plain = [cell.strip().lower() for cell in cells]
    if not all(cell in _FLAGS or cell in _MISSING for cell in set(plain)):
        return None
    return np.array([_FLAGS.get(cell, np.nan) for cell in plain], dtype=np.float64)


def words_of(cells: Sequence[str]) -> list[str | None]:
    """Return cells as text, None where they are empty.

    >>> words_of([" Oslo ", "NA", ""])
    ['Oslo', 'NA', None]
    """
    return [cell.strip() or None for cell in cells]


def are_codes(cells: Sequence[str], numbers: FloatArray) -> bool:
    """Return whether whole numbers are codes: padded with zeros, or too large to be exact as floats.

    >>> are_codes(["007", "12"], np.array([7.0, 12.0])), are_codes(["0.7", "12"], np.array([0.7, 12.0]))
    (True, False)
    """
    there = numbers[~np.isnan(numbers)]
    with np.errstate(invalid="ignore"):
        if not there.size or not np.all(there == np.trunc(there)):
            return False
    joined = "\n".join(set(cells))
    if _PADDED.search(joined) is not None:
        return True
    large = bool(np.abs(there).max() >= LARGEST_WHOLE)
    return large and any((len(digits), digits) > (16, str(LARGEST_WHOLE)) for digits in _LONG.findall(joined))


def column_of(cells: Sequence[str], *, exact: bool = False) -> Column:
    """Return cells as a column; with ``exact`` it keeps the original text of numbers and flags.

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
    """Return cells as a text column, missing where they are empty."""
    texts = words_of(cells)
    values = np.array([None, *texts], dtype=object)[1:]
    return Column(kind="text", values=values, missing=np.array([text is None for text in texts], dtype=np.bool_))


def as_numbers(column: Column) -> Column | None:
    """Return a column as numbers, whether stored as numbers or as text; None where it is not numeric.

    >>> texts = Column(kind="text", values=np.array(["4.0", "n/a"], dtype=object), missing=np.array([False, False]))
    >>> numbers = as_numbers(texts)
    >>> numbers.values.tolist(), numbers.missing.tolist()
    ([4.0, nan], [False, True])
    """
    if column.kind in ("number", "flag"):
        return column
    if column.kind == "time":
        return None
    values = numbers_of(["" if gone else _text(cell) for cell, gone in zip(column.values, column.missing, strict=True)])
    return None if values is None else Column(kind="number", values=values, missing=np.isnan(values))


def numbers_each(column: Column) -> FloatArray:
    """Return each cell as a number, NaN where it is missing or not a number.

    >>> numbers_each(column_of(["4", "purple", ""])).tolist()
    [4.0, nan, nan]
    """
    return numbers_and_texts(column)[0]


def numbers_and_texts(column: Column) -> tuple[FloatArray, list[str | None] | None]:
    """Return each cell as a number, NaN where it is none, and the texts that are neither numbers nor marks of missing values.

    >>> numbers_and_texts(column_of(["4", "purple", "NA", ""]))[1]
    [None, 'purple', None, None]
    """
    if column.kind in ("number", "flag"):
        return column.values, None
    if column.kind == "time":
        moments = [None if gone else str(cell) for cell, gone in zip(column.values, column.missing, strict=True)]
        return np.full(column.values.size, np.nan), moments
    cells = ["" if gone else _text(cell) for cell, gone in zip(column.values.tolist(), column.missing, strict=True)]
    numbers: dict[str, float] = {}
    texts: dict[str, str | None] = {}
    for cell in set(cells):
        one = numbers_of([cell])
        numbers[cell] = float("nan") if one is None else float(one[0])
        texts[cell] = cell if one is None and not is_no_number(cell) else None
    words = None if not any(texts.values()) else [texts[cell] for cell in cells]
    return np.array([numbers[cell] for cell in cells], dtype=np.float64), words


def flags_and_texts(numbers: FloatArray, texts: list[str | None]) -> tuple[FloatArray, list[str | None] | None]:
    """Return numbers and texts of a column where true and false are 1 and 0, if it has more of these than of numbers.

    >>> flags_and_texts(np.array([np.nan, np.nan, 3.0]), ["True", "FALSE", None])
    (array([ 1.,  0., nan]), [None, None, '3'])
    >>> flags_and_texts(np.array([np.nan, 2.0, 3.0]), ["True", None, None])[1]
    ['True', None, None]
    """
    flags = np.array([np.nan if text is None else _FLAGS.get(text.lower(), np.nan) for text in texts])
    if not (~np.isnan(flags)).sum() > (~np.isnan(numbers)).sum():
        return numbers, texts
    flags = np.where(np.isin(numbers, (0.0, 1.0)), numbers, flags)
    left = [
        None if flag == flag else f"{number:g}" if number == number else text
        for text, flag, number in zip(texts, flags.tolist(), numbers.tolist(), strict=True)
    ]
    return flags, left if any(left) else None


def as_ids(texts: Sequence[str]) -> list[str]:
    """Return texts as ids: 7.0 is 7, as spreadsheets and frames write whole numbers in columns with missing values.

    >>> as_ids(["7.0", "007", "7.5", "v1.0"])
    ['7', '007', '7.5', 'v1.0']
    """
    if ".0" not in "\n".join(texts):
        return list(texts)
    return [match[1] if (match := _WHOLE.fullmatch(text)) else text for text in texts]


def repeated_marks(column: Column) -> BoolArray:
    """Return which cells hold a mark such as NA that several rows have: as an id it is missing, while one may be Namibia's.

    >>> repeated_marks(column_of(["NA", "x", "NA", "?"])).tolist()
    [True, False, True, False]
    """
    if column.kind != "text":
        return np.zeros(column.missing.size, dtype=np.bool_)
    counts = Counter(column.values[~column.missing].tolist())
    marks = {cell for cell, count in counts.items() if count > 1 and is_mark(cell)}
    return np.array([cell in marks for cell in column.values.tolist()], dtype=np.bool_)


def without_marks(column: Column, words: Collection[str]) -> Column:
    """Return a text column in which marks such as NA are missing, unless they are among ``words``.

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
