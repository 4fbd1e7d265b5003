"""Units of the calendar: the day, week, month, quarter or year of dates, and features made of dates.

A feature ``date:month`` is made of the column ``date``: the name of the month, a category. ``date:weekday`` is the name of the
day of the week. The hour is circular, so ``date:hour`` is two waves a day and two of half a day, four numbers.
"""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.tables.columns import Column
from driftpace.tables.date_text import MONTHS, PRECISIONS, WEEKDAYS
from driftpace.tables.dates import Dates, find_dates, parse_dates

Unit = Literal["day", "week", "month", "quarter", "year"]
UNITS: tuple[Unit, ...] = get_args(Unit)
CALENDAR_PARTS = ("month", "weekday", "hour")
_WAVES = ("sin1", "cos1", "sin2", "cos2")
_NEEDS = {"month": "month", "weekday": "day", "hour": "time"}
_MONDAY = np.datetime64("1970-01-05", "D")


def floor_dates(values: np.ndarray[Any, Any], unit: Unit) -> np.ndarray[Any, Any]:
    """Return the first day of the unit that each moment lies in; weeks begin on Monday.

    >>> floor_dates(np.array(["2010-02-07T10:00"], dtype="datetime64[us]"), "week").astype(str).tolist()
    ['2010-02-01']
    """
    days = values.astype("datetime64[D]")
    if unit == "day":
        return days
    if unit == "week":
        return np.asarray(days - (days - _MONDAY) % np.timedelta64(7, "D"))
    if unit == "quarter":
        months = days.astype("datetime64[M]")
        return np.asarray((months - months.astype(np.int64) % 3).astype("datetime64[D]"))
    return days.astype("datetime64[M]" if unit == "month" else "datetime64[Y]").astype("datetime64[D]")


def label_dates(starts: np.ndarray[Any, Any], unit: Unit) -> list[str]:
    """Return the names of units that begin on these days.

    >>> [label_dates(np.array(["2010-01-04"], dtype="datetime64[D]"), unit)[0] for unit in UNITS]
    ['2010-01-04', '2010-W01', '2010-01', '2010Q1', '2010']
    """
    days = starts.astype("datetime64[D]").tolist()
    if unit == "day":
        return [day.isoformat() for day in days]
    if unit == "week":
        return ["{}-W{:02}".format(*day.isocalendar()) for day in days]
    if unit == "month":
        return [f"{day.year:04}-{day.month:02}" for day in days]
    if unit == "quarter":
        return [f"{day.year:04}Q{(day.month + 2) // 3}" for day in days]
    return [f"{day.year:04}" for day in days]


def end_dates(starts: np.ndarray[Any, Any], unit: Unit) -> np.ndarray[Any, Any]:
    """Return the first day after units that begin on these days."""
    if unit in ("day", "week"):
        return starts + np.timedelta64(1 if unit == "day" else 7, "D")
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    return (starts.astype("datetime64[M]") + months).astype("datetime64[D]")


def check_precision(dates: Dates, name: str, unit: str, *, owner: str) -> None:
    """Refuse a unit finer than the dates: years have no months."""
    needed = _NEEDS.get(unit, unit)
    if PRECISIONS.index(dates.precision) > PRECISIONS.index(needed):
        what = "days" if dates.precision == "day" else f"{dates.precision}s"
        raise DataError(f"{name}:{unit} needs dates with a {needed}; column {name!r} has {what} only.", owner=owner)


def calendar_levels(name: str) -> tuple[str, ...] | None:
    """Return the categories of a calendar feature, None where it is a number.

    >>> calendar_levels("date:weekday")
    ('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')
    """
    part = name.rpartition(":")[2]
    return {"month": MONTHS, "weekday": WEEKDAYS}.get(part)


def calendar_names(
    calendar: str | Sequence[str],
    columns: Mapping[str, Column],
    *,
    dated: str | None,
    owner: str,
) -> list[str]:
    """Return the names of the features that ``calendar`` asks for.

    Parameters
    ----------
    calendar : str or sequence of str
        Parts such as ``"month"``, or ``"date:month"`` where the column is to be named.
    columns : mapping of str to Column
        The table.
    dated : str, optional
        The column of dates that parts without a column are made of; by default the only column of dates.
    owner : str
        The function that messages name.

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"day": ["2010-03-15 10:00", "2010-03-16 11:00"], "y": [1, 2]})
    >>> calendar_names(["month", "hour"], table, dated=None, owner="example")
    ['day:month', 'day:hour:sin1', 'day:hour:cos1', 'day:hour:sin2', 'day:hour:cos2']
    """
    names = []
    for item in [calendar] if isinstance(calendar, str) else calendar:
        column, _, part = item.rpartition(":")
        if part not in CALENDAR_PARTS:
            near = get_close_matches(part, CALENDAR_PARTS, n=1)
            hint = f": did you mean {near[0]!r}?" if near else "."
            raise ParameterError(
                f"must be of {', '.join(CALENDAR_PARTS)}, or such as date:month; got {item!r}{hint}",
                owner=owner,
                name="calendar",
            )
        if column and column not in columns:
            near = get_close_matches(column, columns, n=1)
            hint = f": did you mean {near[0]!r}?" if near else f": it has {', '.join(columns)}."
            raise ParameterError(f"must be of a column of the table; got {item!r}{hint}", owner=owner, name="calendar")
        column = column or dated or _only_dates(columns, item, owner)
        names += [f"{column}:hour:{wave}" for wave in _WAVES] if part == "hour" else [f"{column}:{part}"]
    return list(dict.fromkeys(names))


def _only_dates(columns: Mapping[str, Column], item: str, owner: str) -> str:
    dates = [name for name, column in columns.items() if isinstance(find_dates(column, name), Dates)]
    if len(dates) == 1:
        return dates[0]
    got = f"{len(dates)} columns are dates ({', '.join(dates)})" if dates else "no column is dates"
    raise ParameterError(
        f"must name the column of dates, such as {(dates or ['date'])[0]}:{item}; got {item!r}, and {got}.",
        owner=owner,
        name="calendar",
    )


def calendar_source(name: str, columns: Collection[str]) -> tuple[str, str] | None:
    """Return the column and the part that a calendar feature is made of; None where a name is not one, or is a column.

    >>> calendar_source("date:hour:sin1", ["date"]), calendar_source("date:month", ["date:month", "date"])
    (('date', 'hour:sin1'), None)
    """
    if name in columns:
        return None
    column, _, part = name.rpartition(":")
    if part in _WAVES and column.endswith(":hour"):
        column, part = column.removesuffix(":hour"), f"hour:{part}"
    elif part not in ("month", "weekday"):
        return None
    return (column, part) if column in columns else None


def calendar_column(
    name: str, columns: Mapping[str, Column], *, owner: str, dayfirst: bool | None = None, settings: bool = True
) -> Column | None:
    """Return a calendar feature; None where the name is not that of one.

    ``settings`` is whether the caller has the setting ``dayfirst``, which messages then name.

    >>> from driftpace.tables import read_columns
    >>> table = read_columns({"date": ["2010-03-15", "2010-03-16", None]})
    >>> calendar_column("date:weekday", table, owner="example").values.tolist()
    ['Mon', 'Tue', None]
    """
    source = calendar_source(name, columns)
    if source is None:
        return None
    column, part = source
    dates = parse_dates(columns[column], column, owner=owner, dayfirst=dayfirst, settings=settings)
    check_precision(dates, column, part.partition(":")[0], owner=owner)
    missing = np.isnat(dates.values)
    days = dates.values.astype("datetime64[D]")
    if part in ("month", "weekday"):
        levels: tuple[str, ...] = MONTHS if part == "month" else WEEKDAYS
        codes = (
            days.astype("datetime64[M]").astype(np.int64) % 12
            if part == "month"
            else (days - _MONDAY).astype(np.int64) % 7
        )
        words = np.array(levels, dtype=object)[np.where(missing, 0, codes)]
        words[missing] = None
        return Column(kind="text", values=words, missing=missing)
    hours = (dates.values - days) / np.timedelta64(1, "h")
    wave = part.removeprefix("hour:")
    angle = 2.0 * np.pi * int(wave[-1]) * hours / 24.0
    values = np.where(missing, np.nan, np.sin(angle) if wave.startswith("sin") else np.cos(angle))
    return Column(kind="number", values=values, missing=missing)
