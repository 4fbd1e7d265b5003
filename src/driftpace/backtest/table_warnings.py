"""What looks wrong in a table itself: columns that are almost dates, repeated rows and repeated ids."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from driftpace.formatting import number, plural
from driftpace.tables import Column
from driftpace.tables.dates import Dates, Misfit, find_dates
from driftpace.tables.identity import named_like_id, repeated_code
from driftpace.typing import IntArray

ALMOST = 0.5
"""A column is almost dates where so many of its distinct values are, and an id where so many of the rows have another value."""

SEVERAL = 1.5
"""Rows of an id in a period, on average, from which they are worth a warning."""


def table_warnings(columns: Mapping[str, Column], *, dayfirst: bool | None = None) -> tuple[str, ...]:
    r"""Return what looks wrong in a table, one sentence each.

    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"id": [1, 2, 3, 3], "day": ["2024-01-05", "2024-01-06", "soon", "soon"]})
    >>> print(*table_warnings(table), sep="\n")
    day has dates but is not used as dates: row 3 has 'soon': correct it, or write it as 2010-03-15.
    1 row repeats an earlier one in every cell, such as row 4: remove it if it is the same one, or it is learned from and tested on.
    """
    texts = {name: column for name, column in columns.items() if column.kind in ("text", "other")}
    read = {name: find_dates(column, name, dayfirst=dayfirst) for name, column in texts.items()}
    dates = [name for name, values in read.items() if isinstance(values, Dates)]
    sentences = [
        f"{name} has dates but is not used as dates: {misfit.problem}: "
        f"{f'{misfit.setting}, or ' if misfit.setting else ''}{misfit.fix}."
        for name, misfit in read.items()
        if isinstance(misfit, Misfit) and misfit.share >= ALMOST
    ]
    codes = {name: _codes(column) for name, column in columns.items()}
    rows = len(next(iter(codes.values()))) if codes else 0
    distinct = {name: int(values.max(initial=-1)) + 1 for name, values in codes.items()}
    if not any(count > ALMOST * rows for count in distinct.values()):
        return tuple(sentences)  # rows of few categories are alike by chance
    repeats = _repeats(_mixed(codes.values()))
    if repeats.size:
        one = repeats.size == 1
        sentences.append(
            f"{plural(repeats.size, 'row')} {'repeats' if one else 'repeat'} an earlier one in every cell, such as row "
            f"{repeats[0] + 1:,}: remove {'it' if one else 'them'} if {'it is' if one else 'they are'} the same "
            f"{'one' if one else 'ones'}, or {'it is' if one else 'they are'} learned from and tested on."
        )
    for name, values in codes.items():
        named = named_like_id(name) and ALMOST * rows < distinct[name] < rows
        if not named and (name in dates or repeated_code(columns[name]) is None):
            continue
        again = np.setdiff1d(_repeats(values), repeats)
        again = again[~columns[name].missing[again]]
        if again.size:
            row = int(again[0])
            sentences.append(
                f"{name or 'the column without a name'} has {plural(again.size, 'value')} again in other rows, such as "
                f"{_shown(columns[name].values[row])} in row {row + 1:,}: a campaign takes an id once in a period."
            )
    return tuple(sentences)


def group_warnings(
    columns: Mapping[str, Column], names: Sequence[str], rows: Sequence[IntArray], *, by_file: bool
) -> tuple[str, ...]:
    """Return which ids have several rows in a period, one sentence each.

    Parameters
    ----------
    columns : mapping of str to Column
        The table.
    names : sequence of str
        Columns of ids.
    rows : sequence of array of int
        The rows of each period.
    by_file : bool
        Whether periods are rows in the order of the file.

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"person": [1.0, 1.0, 2.0, 2.0, 2.0, 3.0] * 10})
    >>> print(*group_warnings(table, ["person"], np.split(np.arange(60), 10), by_file=False))
    person has about 2 rows of each value in a period: where they are alike, --groups person counts them together.
    """
    sentences = []
    for name in names:
        there = [part[~columns[name].missing[part]] for part in rows]
        codes = _codes(columns[name])
        units = [np.unique(codes[part]).size for part in there]
        several = sum(part.size for part in there) / max(sum(units), 1)
        if several < SEVERAL or min(units, default=0) < 2:
            continue
        sentences.append(
            f"{name} has about {number(several)} rows of each value in a period: where they are alike, --groups {name} counts "
            "them together."
        )
        runs = 1 + np.count_nonzero(np.diff(codes))
        if by_file and runs < SEVERAL * np.unique(codes).size:
            sentences.append(
                f"Rows of one {name} stand together in the file: periods in its order differ in {name}, not in time."
            )
    return tuple(sentences)


def _codes(column: Column) -> IntArray:
    """Return a whole number for each distinct cell, from 0 in the order of first appearance or of size."""
    if column.kind in ("text", "other"):
        order: dict[str, int] = {}
        return np.array([order.setdefault(str(cell), len(order)) for cell in column.values.tolist()], dtype=np.int64)
    return np.unique(column.values, return_inverse=True, equal_nan=True)[1].astype(np.int64)


def _mixed(columns: Iterable[IntArray]) -> IntArray:
    """Return one number for each row, the same for the same codes: 64 bits of a random linear form of mixed codes."""
    rng = np.random.default_rng(0)
    total: IntArray = np.zeros(1, dtype=np.int64)
    for codes in columns:
        odd = rng.integers(1, 2**62, size=2) * 2 + 1
        mixed = codes * odd[0]
        total = total + (mixed ^ (mixed >> 29)) * odd[1]
    return total


def _repeats(codes: IntArray) -> IntArray:
    """Return the rows whose code is that of an earlier one."""
    first = np.unique(codes, return_index=True)[1]
    return np.setdiff1d(np.arange(codes.size), first)


def _shown(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return f"{str(value)!r:.60}"
