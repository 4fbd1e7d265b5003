"""Columns that identify rows or only follow time: they predict nothing that lasts."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from driftpace.tables.columns import Column
from driftpace.tables.dates import Dates, find_dates
from driftpace.typing import BoolArray, IntArray

FEWEST_ROWS = 20
"""Fewer numbers than this may be consecutive or in order by chance."""
MOST_DISTINCT = 0.99
"""A column with another code in so many of the rows may be an id with mistakes."""
MOST_CATEGORIES = 20
"""Texts of no more distinct values are categories, whatever the name of their column."""
DIGITS = 0.9
"""The share of texts with a digit from which they are ids: K-10017 is one, and the name of a species is not."""
FEWEST_OF_PERIOD = 5
"""Two periods must have so many cells of a column for it to be the same in all rows of a period."""
RETURNING, ONCE = 0.5, 0.95
"""So many of the rows of units have one in the next period, and so many are the only ones of their unit in a period. Amounts that
are as rarely twice in a period are in the next by chance only, in about a tenth of the rows."""
NAMED, NUMBERED, CLOCK = "named like an id", "numbers the rows", "follows time"
SAME = "is the same in all rows of a period"

_ID_NAME = re.compile(
    r"(?:.*[^a-z])?(?:id|uuid|guid|key|row|rownum|row_?(?:number|index)|row_?names?)|index|unnamed: ?\d+|",
    re.IGNORECASE,
)
_NUMBER_NAME = re.compile(r".*(?:[^a-z](?:nr|no|num|number)|nummer)\W*", re.IGNORECASE)
_ID_PART = re.compile(r"id.*|.*id", re.IGNORECASE)


def named_like_id(name: str) -> bool:
    """Whether a column has the name of an id.

    >>> [named_like_id(name) for name in ("id", "customer_id", "plotID", "Index", "Unnamed: 0", "paid", "monkey", "heat_index")]
    [True, True, True, True, True, False, False, False]
    """
    plain = re.sub(r"([a-z])([A-Z])", r"\1_\2", name)
    return _ID_NAME.fullmatch(plain) is not None


def repeated_code(column: Column) -> int | None:
    """Return the first row whose code was there before, of texts without spaces that nearly all differ; None of any other column.

    Such a column is an id with mistakes, or a time.

    >>> from driftpace.tables.cells import column_of
    >>> codes = [f"INV-{number:04d}" for number in range(200)]
    >>> repeated_code(column_of([*codes, "INV-0007"])), repeated_code(column_of(codes)), repeated_code(column_of(["a", "a"]))
    (200, None, None)
    """
    if column.kind != "text" or column.missing.mean() > 1.0 - MOST_DISTINCT:
        return None
    there = np.flatnonzero(~column.missing).tolist()
    first: dict[str, int] = {}
    again = [row for row in there if first.setdefault(str(column.values[row]), row) != row]
    if not again or len(again) > (1.0 - MOST_DISTINCT) * len(there) or any(" " in text.strip() for text in first):
        return None
    return again[0]


def find_ids(
    columns: Mapping[str, Column],
    names: Sequence[str],
    keep: BoolArray,
    order: IntArray | None = None,
    sizes: Sequence[int] = (),
) -> dict[str, str]:
    """Return the columns that identify rows or only follow time, and why.

    Parameters
    ----------
    columns : mapping of str to Column
        The table.
    names : sequence of str
        The columns to look at.
    keep : array of bool
        The rows to look at.
    order : array of int, optional
        The kept rows in the order of time.
    sizes : sequence of int
        How many of these rows each period has; by default periods are not known.

    Returns
    -------
    dict of str to str
        Reasons by column: whole numbers named like an id or that number the rows, many texts with digits named like an id,
        whole numbers such as ``countyid`` with part of such a name that return in the next period and are hardly ever twice in
        one, and numbers that never fall, or never rise, in the order of time, such as a year: every period has values that were
        not there before. And columns of any kind that are the same in all rows of a period, such as the month of a monthly
        table: they are no more than the level of the period.

    Examples
    --------
    >>> rows = np.arange(30)
    >>> table = {"nr": Column(kind="number", values=1.0 + rows, missing=rows < 0)}
    >>> find_ids(table, ["nr"], rows >= 0)
    {'nr': 'numbers the rows'}
    """
    found = {}
    for name in names:
        column = columns[name]
        if column.kind == "number":
            reason = _reason(name, column, keep, order)
        else:
            reason = NAMED if holds_text_ids(name, column) else None
        if reason is None and order is not None and _ID_PART.fullmatch(name) and _is_unit(column, keep, order, sizes):
            reason = NAMED
        if reason is None and order is not None and _is_same(column, keep, order, sizes):
            reason = None if isinstance(find_dates(column, name), Dates) else SAME
        if reason is not None:
            found[name] = reason
    return found


def holds_text_ids(name: str, column: Column) -> bool:
    """Whether a column has the name of an id or a number, and holds many texts, nearly all with a digit.

    >>> numbers = np.array([f"K-{10017 + row}" for row in range(30)], dtype=object)
    >>> column = Column(kind="text", values=numbers, missing=np.zeros(30, dtype=bool))
    >>> [holds_text_ids(name, column) for name in ("customer_id", "Kunden-Nr.", "orderNumber", "town")]
    [True, True, True, False]
    """
    plain = re.sub(r"([a-z])([A-Z])", r"\1_\2", name)
    if column.kind != "text" or not (named_like_id(name) or _NUMBER_NAME.fullmatch(plain)):
        return False
    texts = {str(value) for value in column.values[~column.missing]}
    with_digit = sum(any(sign.isdigit() for sign in text) for text in texts)
    return len(texts) > MOST_CATEGORIES and with_digit >= DIGITS * len(texts)


def _reason(name: str, column: Column, keep: BoolArray, order: IntArray | None) -> str | None:
    values = column.values[keep]
    there = values[~np.isnan(values)]
    if not there.size or not np.isfinite(there).all():
        return None
    whole = bool(np.all(there == np.trunc(there)))
    if whole and named_like_id(name):
        return NAMED
    if values.size < FEWEST_ROWS or there.size < values.size:
        return None
    steps = np.diff(values)
    if whole and (np.all(steps > 0.0) or np.all(steps < 0.0) or np.all(np.diff(np.sort(values)) == 1.0)):
        return NUMBERED
    if order is not None:
        steps = np.diff(values[order])
        if (np.all(steps >= 0.0) or np.all(steps <= 0.0)) and np.count_nonzero(steps) >= 2:
            return CLOCK
    return None


def _is_same(column: Column, keep: BoolArray, order: IntArray, sizes: Sequence[int]) -> bool:
    """Whether a column has one value in each period, and not the same in all; missing cells do not count."""
    if column.kind not in ("number", "flag", "text") or len(sizes) < 2:
        return False
    there = ~column.missing[keep][order]
    periods = np.repeat(np.arange(len(sizes)), sizes)[there]
    if np.count_nonzero(np.bincount(periods) >= FEWEST_OF_PERIOD) < 2:
        return False
    values = column.values[keep][order][there]
    codes = np.unique(values.astype(np.str_) if column.kind == "text" else values, return_inverse=True)[1]
    changes = np.flatnonzero(np.diff(codes))
    return changes.size > 0 and bool(np.all(np.diff(periods)[changes] > 0))


def _is_unit(column: Column, keep: BoolArray, order: IntArray, sizes: Sequence[int]) -> bool:
    """Whether a column has whole numbers that return in the next period and are hardly ever twice in one, as those of units do."""
    if column.kind != "number" or len(sizes) < 2 or column.missing[keep].any():
        return False
    values = column.values[keep][order]
    if not np.all(values == np.trunc(values)):
        return False
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    units = int(codes.max(initial=0)) + 1
    if units <= FEWEST_ROWS:
        return False
    pairs = np.unique(codes + units * np.repeat(np.arange(len(sizes)), sizes))
    before = pairs[pairs < units * (len(sizes) - 1)]
    returning = np.count_nonzero(np.isin(before + units, pairs))
    return pairs.size > ONCE * values.size and bool(returning > RETURNING * before.size)
