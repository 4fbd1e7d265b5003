"""Group rows by period: by the values of a column, by the calendar, or by a number of rows."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.calendar import UNITS, Unit, end_dates, floor_dates, label_dates
from driftpace.tables.columns import Column, Kind
from driftpace.tables.date_text import calendar_places
from driftpace.tables.dates import Dates, Misfit, find_dates, not_dates
from driftpace.typing import IntArray

FEWEST_ROWS = 5
"""The least number of rows of a period: fewer cannot be split into training and test rows."""

PARTIAL_SHARE = 0.1
"""A partial first or last period with less than this share of the usual rows is no period: the table begins or ends in it."""

Groups = tuple[tuple[str, ...], tuple[IntArray, ...]]
"""The labels of the periods in order, and the rows of each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PeriodRule:
    """How rows are put into periods: by a column's values, by a ``unit`` of its dates, or ``rows`` rows at a time.

    Without a column, rows are taken in the order of the file.
    """

    column: str | None
    unit: Unit | None = None
    rows: int | None = None

    @property
    def dated(self) -> bool:
        """Whether the column is read as dates, or as numbers where only their order counts."""
        return self.column is not None and (self.unit is not None or self.rows is not None)

    @classmethod
    def of(cls, text: str, columns: Collection[str]) -> "PeriodRule | None":
        """Return the rule that a text states, None where its column is not in the table; a column of that name wins.

        >>> PeriodRule.of("date:month", ["date"])
        PeriodRule(column='date', unit='month', rows=None)
        >>> PeriodRule.of(":500", ["date"]).rows, PeriodRule.of("date:month", ["date:month"]).unit
        (500, None)
        """
        if text in columns:
            return cls(column=text)
        column, colon, how = text.rpartition(":")
        if not colon or (column and column not in columns):
            return None
        if how.isdecimal() and int(how) >= FEWEST_ROWS:
            return cls(column=column or None, rows=int(how))
        return cls(column=column, unit=how) if column and how in UNITS else None


def group_rows(rule: PeriodRule, column: Column | None, rows: int, *, owner: str, notes: list[str]) -> Groups:
    """Return the labels of the periods in order, and the rows of each.

    Parameters
    ----------
    rule : PeriodRule
        How rows are put into periods.
    column : Column or None
        The column of the rule without missing cells, of times where ``rule.dated``.
    rows : int
        The number of rows.
    owner : str
        The function that messages name.
    notes : list of str
        What was done is added to them.

    Examples
    --------
    >>> weeks = Column(kind="text", values=np.array(["week 10", "week 9"] * 5, dtype=object), missing=np.zeros(10, np.bool_))
    >>> group_rows(PeriodRule(column="week"), weeks, 10, owner="read_table", notes=[])[0]
    ('week 9', 'week 10')
    """
    if rule.rows is not None:
        return _by_count(rule, None if column is None else column.values, rows, owner=owner, notes=notes)
    assert column is not None
    if rule.unit is not None:
        return _by_unit(rule, column.values, owner=owner, notes=notes)
    return _by_value(str(rule.column), column.kind, column.values, owner=owner, notes=notes)


def _by_count(
    rule: PeriodRule, moments: np.ndarray[Any, Any] | None, rows: int, *, owner: str, notes: list[str]
) -> Groups:
    assert rule.rows is not None
    if rows < 2 * rule.rows:
        raise DataError(f"{rule.rows:,} rows a period must leave two periods; got {rows:,} rows.", owner=owner)
    order = np.arange(rows) if moments is None else np.argsort(moments, kind="stable")
    groups = np.split(order, np.arange(rule.rows, rows, rule.rows))
    rest = groups[-1].size
    joined = rest < max(FEWEST_ROWS, rule.rows / 2)
    if joined:
        groups[-2:] = [np.concatenate(groups[-2:])]
    labels = [str(number) for number in range(1, len(groups) + 1)]
    sequence = "the file" if moments is None else str(rule.column)
    notes.append(f"Periods are {rule.rows:,} rows each, in the order of {sequence}.")
    if joined:
        notes.append(f"The last period has {groups[-1].size:,} rows.")
    elif rest < rule.rows:
        notes.append(f"The last period is partial: it has {rest:,} rows.")
    if moments is not None and moments.dtype.kind != "M":
        begins = _labels("number", moments[[group[0] for group in groups]])
        labels = begins if len(set(begins)) == len(begins) else labels
    elif moments is not None:
        starts = moments[[group[0] for group in groups]]
        for unit in ("datetime64[D]", "datetime64[m]"):
            begins = np.datetime_as_string(starts.astype(unit)).tolist()
            if len(set(begins)) == len(begins):
                labels = [begin.replace("T", " ") for begin in begins]
                break
    return tuple(labels), tuple(groups)


def _by_unit(rule: PeriodRule, moments: np.ndarray[Any, Any], *, owner: str, notes: list[str]) -> Groups:
    assert rule.unit is not None
    starts, codes = np.unique(floor_dates(moments, rule.unit), return_inverse=True)
    if starts.size == 1:
        raise DataError(
            f"{rule.column}:{rule.unit} must give at least two periods; all rows are in {label_dates(starts, rule.unit)[0]}.",
            owner=owner,
        )
    if starts.size > moments.size / FEWEST_ROWS:
        coarser = UNITS[UNITS.index(rule.unit) + 1 :]
        hint = f": use {rule.column}:{coarser[0]}" if coarser else ""
        raise DataError(
            f"{rule.column}:{rule.unit} must give at least {FEWEST_ROWS} rows a period; got {starts.size:,} periods for "
            f"{moments.size:,} rows{hint}.",
            owner=owner,
        )
    labels = label_dates(starts, rule.unit)
    notes.append(f"Periods are {rule.unit}s, from the column {rule.column!r}: {labels[0]} to {labels[-1]}.")
    partial = _partial(labels, starts, moments, rule.unit)
    notes += partial.values()
    groups = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    few = PARTIAL_SHARE * float(np.median([group.size for group in groups]))
    stubs = {place for place in partial if FEWEST_ROWS <= groups[place].size < few} if len(groups) > 3 else set[int]()
    return _join_small(labels, groups, notes, stubs)


def _join_small(labels: list[str], groups: list[IntArray], notes: list[str], stubs: Collection[int] = ()) -> Groups:
    """Join periods of too few rows, and partial ones, to the one before; the first to the one after, in its name."""
    names: list[str] = []
    joined: list[IntArray] = []
    waiting: list[IntArray] = []
    for place, (label, group) in enumerate(zip(labels, groups, strict=True)):
        if group.size >= FEWEST_ROWS and place not in stubs:
            names.append(label)
            joined.append(np.concatenate([*waiting, group]))
            waiting = []
        elif joined:
            joined[-1] = np.concatenate([joined[-1], group])
        else:
            waiting.append(group)
    small = [label for place, label in enumerate(labels) if label not in names and place not in stubs]
    if small:
        listed = ", ".join(small[:6]) + (", ..." if len(small) > 6 else "")
        notes.append(f"Joined to {_neighbour(small, labels, names)}, because fewer than {FEWEST_ROWS} rows: {listed}.")
    for place in sorted(stubs):
        where = _neighbour([labels[place]], labels, names)
        notes.append(
            f"Joined to {where}, because partial and of few rows: {labels[place]} ({groups[place].size:,} rows)."
        )
    return tuple(names), tuple(joined)


def _neighbour(small: list[str], labels: list[str], names: list[str]) -> str:
    """Return which period others are joined to, in words."""
    first = labels.index(names[0]) if names else 0
    before = [labels.index(label) < first for label in small]
    return "the period after" if all(before) else "a period next to them" if any(before) else "the period before"


def _partial(
    labels: list[str], starts: np.ndarray[Any, Any], moments: np.ndarray[Any, Any], unit: Unit
) -> dict[int, str]:
    """Return notes on a first or last period that does not have all of its days, by its place.

    A day is missed where the gap to the edge is longer than nearly all gaps between the days of the table.
    """
    days = np.unique(moments.astype("datetime64[D]"))
    usual = np.quantile(np.diff(days).astype(np.int64), 0.95)
    notes = dict[int, str]()
    if (days[0] - starts[0]).astype(np.int64) > usual:
        notes[0] = f"The first period, {labels[0]}, is partial: it begins on {days[0]}."
    if (end_dates(starts[-1:], unit)[0] - days[-1]).astype(np.int64) > usual + 1:
        notes[len(labels) - 1] = f"The last period, {labels[-1]}, is partial: it ends on {days[-1]}."
    return notes


def _by_value(name: str, kind: Kind, values: np.ndarray[Any, Any], *, owner: str, notes: list[str]) -> Groups:
    if kind == "other":
        raise DataError(f"period {name!r} must be numbers, dates or texts; it is of another type.", owner=owner)
    if kind in ("number", "flag") and np.isinf(values).any():
        raise DataError(f"period {name!r} must be finite; got {values[np.isinf(values)][0]:g}.", owner=owner)
    distinct, codes = np.unique(values.astype(np.str_) if kind == "text" else values, return_inverse=True)
    rows, count = values.size, distinct.size
    if count == 1:
        raise DataError(
            f"period {name!r} must have at least two distinct values; got only {_labels(kind, distinct)[0]}.",
            owner=owner,
        )
    if count > rows / FEWEST_ROWS:
        raise DataError(
            f"period {name!r} must have at least {FEWEST_ROWS} rows for each value; "
            f"got {count:,} values in {rows:,} rows: {_coarser(name, kind, distinct)}.",
            owner=owner,
        )
    labels = _labels(kind, distinct)
    order: list[int] = _text_order(name, labels, codes, owner=owner) if kind == "text" else list(range(count))
    sizes = np.bincount(codes, minlength=count)
    if kind == "text":
        ordered = [labels[code] for code in order]
        listed = ordered if count <= 6 else [*ordered[:3], "...", *ordered[-2:]]
        notes.append(f"Periods are texts, in this order: {', '.join(listed)}.")
    groups = np.split(np.argsort(codes, kind="stable"), np.cumsum(sizes)[:-1])
    return _join_small([labels[code] for code in order], [groups[code] for code in order], notes)


def _coarser(name: str, kind: Kind, distinct: np.ndarray[Any, Any]) -> str:
    """Return how to get fewer periods from a column of that many values."""
    column = Column(kind=kind, values=distinct, missing=np.zeros(distinct.size, dtype=np.bool_))
    if isinstance(find_dates(column, name), Dates):
        return f"use {name}:month, or day, week, quarter or year"
    return "make a coarser column, such as the month or the year"


def _labels(kind: Kind, distinct: np.ndarray[Any, Any]) -> list[str]:
    if kind == "number":
        return [f"{value:.0f}" if value == np.trunc(value) else repr(value) for value in distinct.tolist()]
    if kind == "flag":
        return [str(bool(value)) for value in distinct]
    if kind == "time":
        for unit in ("datetime64[D]", "datetime64[s]"):  # days where all are days, else down to the second
            if ((coarse := distinct.astype(unit)) == distinct).all():
                return [str(moment) for moment in coarse]
    return [str(value) for value in distinct]


def _text_order(name: str, labels: list[str], codes: IntArray, *, owner: str) -> list[int]:
    """Return the order of texts: by value where all are numbers, in time where all are dates, otherwise natural order.

    Texts that are mostly dates, or whose order of day and month is not known, are refused: natural order would be wrong. Words
    without a number are in the order of the table, whose ``codes`` have each of them in one run of rows.
    """
    places = range(len(labels))
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        numbers = [np.nan]
    if np.isfinite(numbers).all():
        return sorted(places, key=lambda code: (numbers[code], labels[code]))
    column = Column(kind="text", values=np.array(labels, dtype=object), missing=np.zeros(len(labels), dtype=np.bool_))
    dates = find_dates(column, name)
    if isinstance(dates, Dates):
        moments = dates.values.astype(np.int64)
        return sorted(places, key=lambda code: (moments[code], labels[code]))
    if isinstance(dates, Misfit) and dates.share > 0.5:
        raise not_dates(name, dates, owner)
    if not any(char.isdigit() for label in labels for char in label):
        return _word_order(name, labels, codes, owner=owner)
    runs = [re.split(r"(\d+)", label) for label in labels]  # text and digits by turns
    return sorted(
        places, key=lambda code: ([int(run) if at % 2 else run for at, run in enumerate(runs[code])], labels[code])
    )


def _word_order(name: str, labels: list[str], codes: IntArray, *, owner: str) -> list[int]:
    """Return the order of words: that of the table where each has one run of rows, months and days by the calendar, or letters."""
    starts: list[int] = codes[np.flatnonzero(np.diff(codes, prepend=-1))].tolist()
    if len(starts) == len(labels) and starts != list(range(len(labels))):
        return starts
    places = calendar_places(labels)
    if places is not None:
        return sorted(range(len(labels)), key=lambda code: (places[code], labels[code]))
    if len(starts) == len(labels) or len({label[:-1] for label in labels}) == 1:
        return sorted(range(len(labels)), key=labels.__getitem__)
    shown = ", ".join(repr(label) for label in labels[:3])
    raise DataError(
        f"period {name!r} must sort in time; words such as {shown} do not, and the rows are not in the order of their periods: "
        "sort the rows by time, or write periods such as 2010-03.",
        owner=owner,
    )
