"""Put the rows of a table into the periods of a campaign by a column of theirs, such as the month of a date."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from driftpace.campaign.definition import Definition
from driftpace.errors import DataError, ParameterError
from driftpace.tables.calendar import UNITS, Unit, calendar_source, check_precision, floor_dates, label_dates
from driftpace.tables.categories import word_of
from driftpace.tables.columns import Column
from driftpace.tables.dates import Dates, find_dates, parse_dates
from driftpace.typing import IntArray

if TYPE_CHECKING:
    Columns = Mapping[str, Column]

UNDATED = "no period"
"""What rows without a cell are counted as."""
MOST_NAMED = 20
"""Other periods that a receipt and the log name."""
_DIGITS = re.compile(r"(\d+)")


def period_source(period: str, columns: Collection[str]) -> tuple[str, Unit | None]:
    """Return the column of a period and the unit of its dates, None where each value is a period; a column of that name wins.

    >>> period_source("date:month", ["date"]), period_source("wave", ["wave"]), period_source("date:month", ["date:month"])
    (('date', 'month'), ('wave', None), ('date:month', None))
    """
    column, colon, unit = period.rpartition(":")
    if period in columns or not colon or unit not in UNITS:
        return period, None
    return column, unit


def read_labels(definition: Definition, columns: "Columns", *, owner: str) -> list[str]:
    """Return the period of each row as keys name it; ``UNDATED`` where the cell is missing.

    >>> from driftpace.tables import read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "epsilon": 0.1, "period": "date:month"})
    >>> read_labels(definition, read_columns({"date": ["15 Mar 2010", None]}), owner="example")
    ['2010-03', 'no period']
    """
    assert definition.period is not None
    name, unit = period_source(definition.period, columns)
    if name not in columns:
        near = get_close_matches(name, columns, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(columns) or 'none'}."
        raise DataError(f"the table must have the column {name!r} of the period; {hint}", owner=owner)
    return column_labels(columns[name], name, unit, owner=owner, dayfirst=definition.dayfirst, settings=False)


def shown_day_order(definition: Definition, features: Collection[str], columns: "Columns") -> bool | None:
    """Return whether the day comes first, as the dates of the period or of calendar features show; None where none does.

    >>> from driftpace.tables import read_columns
    >>> definition = Definition.of({"name": "a", "target": "y", "epsilon": 0.1, "period": "date:month"})
    >>> [shown_day_order(definition, (), read_columns({"date": [day]})) for day in ("15/03/2010", "05/03/2010", "03/15/2010")]
    [True, None, False]
    """
    if definition.dayfirst is not None:
        return None
    sources = {found[0] for name in features if (found := calendar_source(name, columns)) is not None}
    if definition.period is not None:
        name, unit = period_source(definition.period, columns)
        sources |= set() if unit is None or name not in columns else {name}
    dates = [find_dates(columns[name], name) for name in sorted(sources) if columns[name].kind == "text"]
    shown = {one.shown for one in dates if isinstance(one, Dates)} - {None}
    return shown.pop() if len(shown) == 1 else None


def column_labels(
    column: Column, name: str, unit: Unit | None, *, owner: str, dayfirst: bool | None, settings: bool = True
) -> list[str]:
    """Return the period of each cell of a column: its text, or the unit that its date lies in.

    ``settings`` is whether the caller has the setting ``dayfirst``, which messages then name.
    """
    if unit is None:
        words = [word_of(value, column.kind) for value in column.values]
        return [UNDATED if gone else word for word, gone in zip(words, column.missing, strict=True)]
    dates = parse_dates(column, name, owner=owner, dayfirst=dayfirst, settings=settings)
    check_precision(dates, name, unit, owner=owner)
    there = ~np.isnat(dates.values)
    labels = np.full(there.size, UNDATED, dtype=object)
    labels[there] = label_dates(floor_dates(dates.values[there], unit), unit)
    return [str(label) for label in labels]


def time_order(column: Column, name: str, unit: Unit | None, *, owner: str, dayfirst: bool | None) -> IntArray:
    """Return the rows in the order of their periods, those without one last; "week 9" is before "week 10".

    >>> weeks = Column(kind="text", values=np.array(["week 10", "week 9"], dtype=object), missing=np.zeros(2, dtype=np.bool_))
    >>> time_order(weeks, "week", None, owner="example", dayfirst=None).tolist()
    [1, 0]
    """
    moments = column.values
    if unit is not None:
        moments = parse_dates(column, name, owner=owner, dayfirst=dayfirst).values
    elif column.kind in ("text", "other"):
        words, codes = np.unique([word_of(value, column.kind) for value in moments], return_inverse=True)
        runs = [[int(run) if at % 2 else run for at, run in enumerate(_DIGITS.split(word))] for word in words.tolist()]
        ranks = np.empty(words.size, dtype=np.int64)
        ranks[sorted(range(words.size), key=runs.__getitem__)] = np.arange(words.size)
        moments = ranks[codes]
    order: IntArray = np.lexsort((moments, column.missing))
    return order


def rows_by_period(columns: "Columns", period: str, *, owner: str, dayfirst: bool | None) -> tuple[IntArray, list[int]]:
    """Return the rows in the order of their periods, and how many rows each has.

    >>> months = Column(kind="text", values=np.array(["2010-02", "2010-01", "2010-02"]), missing=np.zeros(3, dtype=np.bool_))
    >>> order, sizes = rows_by_period({"month": months}, "month", owner="example", dayfirst=None)
    >>> order.tolist(), sizes
    ([1, 0, 2], [1, 2])
    """
    name, unit = period_source(period, columns)
    order = time_order(columns[name], name, unit, owner=owner, dayfirst=dayfirst)
    labels = column_labels(columns[name], name, unit, owner=owner, dayfirst=dayfirst)
    return order, [len(list(rows)) for _, rows in groupby(labels[row] for row in order)]


def check_period_key(definition: Definition, key: str | None, *, owner: str) -> None:
    """Refuse a key by which no row could be found, such as 2010-3 for the month 2010-03."""
    if definition.period is None:
        return
    if key is None:
        raise ParameterError(
            f"must be given, {_key_hint(definition.period)}, because rows are put into periods by {definition.period}; got none.",
            owner=owner,
            name="key",
        )
    unit = definition.period.rpartition(":")[2]
    if ":" not in definition.period or unit not in UNITS:
        return
    cell = Column(kind="text", values=np.array([key], dtype=object), missing=np.zeros(1, dtype=np.bool_))
    dates = find_dates(cell, "date")
    label = ""
    if isinstance(dates, Dates):
        label = label_dates(floor_dates(dates.values, unit), unit)[0]
    if label != key:
        hint = f": did you mean {label!r}?" if label else "."
        raise ParameterError(
            f"must be a {unit} such as {example_key(definition.period)}, because rows are put into periods by {definition.period}; "
            f"got {key!r:.80}{hint}",
            owner=owner,
            name="key",
        )


def _key_hint(period: str) -> str:
    """Return what a key may be.

    >>> _key_hint("date:quarter"), _key_hint("wave")
    ('such as 2026Q4', 'a value of wave')
    """
    dated = period.rpartition(":")[2] in UNITS
    return f"such as {example_key(period)}" if dated else f"a value of {period}"


def example_key(period: str) -> str:
    """Return a key of a period.

    >>> example_key("date:quarter"), example_key("wave")
    ('2026Q4', 'WAVE')
    """
    unit = period.rpartition(":")[2]
    day = np.array(["2026-11-16"], dtype="datetime64[D]")
    return label_dates(floor_dates(day, unit), unit)[0] if unit in UNITS else period.upper()


def count_labels(labels: Sequence[str]) -> dict[str, int]:
    """Return how many rows each period has, in order; beyond ``MOST_NAMED`` together.

    >>> count_labels(["2010-04", "2010-03", "2010-04"])
    {'2010-03': 1, '2010-04': 2}
    """
    counts = sorted(Counter(labels).items())
    named = dict(counts[:MOST_NAMED])
    rest = sum(rows for _, rows in counts[MOST_NAMED:])
    return {**named, "later": rest} if rest else named


def joined(counts: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two counts."""
    return {name: counts.get(name, 0) + more.get(name, 0) for name in sorted({*counts, *more})}
