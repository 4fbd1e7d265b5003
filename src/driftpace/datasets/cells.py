"""What cells stand for that are written as text: numbers, flags or words, by one rule wherever they are read.

A column is numbers where every cell is one, and flags where every cell is true or false; empty cells and the marks ``NA``,
``N/A``, ``NaN``, ``null``, ``None`` and a lone point are missing there. Any other column is words, as they are written, and
there only an empty cell is missing: ``None`` may be a kind of garage and ``NA`` a country. Whole numbers with leading zeros or
too large to be exact are codes, such as postcodes and account numbers, and stay words too.
"""

import re
from collections.abc import Sequence

import numpy as np

from driftpace.typing import FloatArray

LARGEST_WHOLE = 2**53
"""Whole numbers beyond this are not exact as floats."""
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "."})
_FLAGS = {"true": 1.0, "false": 0.0}
_COMMA = re.compile(r"[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?")
_PADDED = re.compile(r"^\s*[+-]?0\d+\s*$", re.MULTILINE)
_LONG = re.compile(r"^\s*[+-]?(\d{16,})\s*$", re.MULTILINE)


def is_mark(text: object) -> bool:
    """Whether a text is how people write that nothing is there.

    >>> is_mark("NA"), is_mark(" "), is_mark("no")
    (True, True, False)
    """
    return isinstance(text, str) and text.strip().lower() in _MISSING


def numbers_of(cells: Sequence[str]) -> FloatArray | None:
    """Return the numbers that cells are, NaN where one is missing; None where any is something else.

    >>> numbers_of(["1", "2.50", "NA"])
    array([1. , 2.5, nan])
    >>> numbers_of(["1_000"]) is None
    True
    """
    try:
        found = np.array(list(map(float, cells)), dtype=np.float64)
    except ValueError:
        try:
            found = np.array([np.nan if is_mark(cell) else float(cell) for cell in cells], dtype=np.float64)
        except ValueError:
            return None
    return None if "_" in "".join(cells) else found  # Python's own way to write thousands, and nobody else's


def numbers_with_commas(cells: Sequence[str]) -> FloatArray | None:
    """Return the numbers that cells are where some have a decimal comma; None elsewhere.

    >>> numbers_with_commas(["31,7", "-2", "NA"]).tolist(), numbers_with_commas(["1.234,5"])
    ([31.7, -2.0, nan], None)
    """
    if "," not in "".join(cells) or not all(_COMMA.fullmatch(cell.strip()) or is_mark(cell) for cell in cells):
        return None
    return numbers_of([cell.replace(",", ".") for cell in cells])


def flags_of(cells: Sequence[str]) -> FloatArray | None:
    """Return 1 for true and 0 for false, NaN where a cell is missing; None where any is something else.

    >>> flags_of(["TRUE", "false", "NA"]).tolist(), flags_of(["yes"])
    ([1.0, 0.0, nan], None)
    """
    plain = [cell.strip().lower() for cell in cells]
    if not all(cell in _FLAGS or cell in _MISSING for cell in set(plain)):
        return None
    return np.array([_FLAGS.get(cell, np.nan) for cell in plain], dtype=np.float64)


def words_of(cells: Sequence[str]) -> list[str | None]:
    """Return cells as words; None where they are empty.

    >>> words_of([" Oslo ", "NA", ""])
    ['Oslo', 'NA', None]
    """
    return [cell.strip() or None for cell in cells]


def are_codes(cells: Sequence[str], numbers: FloatArray) -> bool:
    """Whether whole numbers are rather names: padded with zeros, or so large that a float would lose digits.

    >>> are_codes(["007", "12"], np.array([7.0, 12.0])), are_codes(["0.7", "12"], np.array([0.7, 12.0]))
    (True, False)
    """
    there = numbers[~np.isnan(numbers)]
    with np.errstate(invalid="ignore"):
        if not there.size or not np.all(there == np.trunc(there)):
            return False
    joined = "\n".join(cells)
    if _PADDED.search(joined) is not None:
        return True
    large = bool(np.abs(there).max() >= LARGEST_WHOLE)
    return large and any((len(one), one) > (16, str(LARGEST_WHOLE)) for one in _LONG.findall(joined))
