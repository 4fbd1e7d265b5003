"""Dates as people write them: the texts, numbers or times of a column become moments that sort in time.

Texts are ISO dates and timestamps (``2010-03-15 14:30``, ``2010-03-15T14:30Z``), days (``15.03.2010``, ``15 Mar 2010``,
``Mar 15, 2010``), weeks (``2010-W05``, ``2010W05``), months (``Jan 2010``, ``01/2010``, ``2010-01``, ``2010M01``) and quarters
(``2010Q1``, ``Q1 2010``). Numbers are years, ``201003``, ``20100315``, serial numbers of Excel, and Unix times. Whether
``03/04/2010`` is in March or in April is decided by the other cells of the column. Times with a zone are taken in UTC.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.cells import is_mark, numbers_of
from driftpace.tables.columns import Column
from driftpace.tables.date_text import (
    PRECISIONS,
    DayCell,
    Precision,
    find_day_order,
    read_clock,
    read_day,
    shown_day_order,
    split_clock,
)
from driftpace.typing import BoolArray, FloatArray, IntArray

_DATE_WORDS = re.compile(
    r"(?:^|[^a-z])(?:dates?|day|days|datetime|time|timestamp|ts|month|week|year|yr|quarter|period|when|dt|at|on)(?:$|[^a-z])"
    r"|(?:date|time|month|year)$"
)
_DIGITS = re.compile(r"\d+(?:\.0+)?")
_LOOKED_AT = 50
"""Distinct texts by which a column is taken for no dates at once."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Dates:
    """A column as moments: ``values`` in datetime64[us], NaT where one is missing.

    ``precision`` is that of the least precise cell, and ``dayfirst`` says how cells such as 03/04/2010 were read, None where
    there are none. ``shown`` is the same where a number above 12 shows it, so that it can be used for other files.
    """

    values: np.ndarray[Any, Any]
    precision: Precision
    dayfirst: bool | None = None
    shown: bool | None = None

    @property
    def column(self) -> Column:
        """The dates as a column of times."""
        return Column(kind="time", values=self.values, missing=np.isnat(self.values))


class Misfit(NamedTuple):
    """Why a column is not a column of dates: a predicate such as ``"row 3 has 'soon'"``, and what to do."""

    problem: str
    fix: str
    share: float
    """Share of the distinct cells that are dates."""
    setting: str = ""
    """A setting that is another fix, where the caller has it."""


def parse_dates(column: Column, name: str, *, owner: str, dayfirst: bool | None = None, settings: bool = True) -> Dates:
    """Return a column as moments that sort in time.

    Parameters
    ----------
    column : Column
        Times, texts or numbers.
    name : str
        The name of the column, for messages.
    owner : str
        The function that messages name.
    dayfirst : bool, optional
        Whether 03/04/2010 is 3 April; by default the other cells decide.
    settings : bool
        Whether the caller has the setting ``dayfirst``, which messages then name.

    Returns
    -------
    Dates

    Raises
    ------
    DataError
        If a cell is not a date, or the order of day and month is not known.

    Examples
    --------
    >>> from driftpace.tables import read_columns
    >>> months = read_columns({"month": ["Feb 2010", "2010-01", None]})["month"]
    >>> parse_dates(months, "month", owner="example").values.astype("datetime64[D]").astype(str).tolist()
    ['2010-02-01', '2010-01-01', 'NaT']
    >>> days = read_columns({"day": ["03/04/2010", "05/04/2010"]})["day"]
    >>> parse_dates(days, "day", owner="example")
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: example: column 'day' must hold dates that sort in time; row 1 has '03/04/2010', and no cell shows
    whether day or month is first: set dayfirst to true or false (--dayfirst or --monthfirst), or write 2010-04-03.
    """
    result = _parse(column, dayfirst, serials=True)
    if isinstance(result, Misfit):
        raise not_dates(name, result, owner, settings=settings)
    return result


def not_dates(name: str, misfit: Misfit, owner: str, *, settings: bool = True) -> DataError:
    """Return the error for a column that is not dates."""
    setting = f"{misfit.setting}, or " if settings and misfit.setting else ""
    return DataError(
        f"column {name!r} must hold dates that sort in time; {misfit.problem}: {setting}{misfit.fix}.",
        owner=owner,
    )


def find_dates(column: Column, name: str, *, dayfirst: bool | None = None) -> Dates | Misfit:
    """Return a column as moments where it plainly holds dates; numbers only where the column is named like a date.

    >>> numbers = Column(kind="number", values=np.array([40179.0, 40180.0]), missing=np.zeros(2, dtype=np.bool_))
    >>> isinstance(find_dates(numbers, "sold_on"), Dates), isinstance(find_dates(numbers, "price"), Dates)
    (True, False)
    """
    dated = named_like_date(name)
    if column.kind in ("number", "flag") and not dated:
        return Misfit("it holds numbers", "name it like a date", 0.0)
    if column.kind == "text" and not _begins_with_dates(column, dated):
        return Misfit("it holds other texts", "name another column", 0.0)
    return _parse(column, dayfirst, serials=dated)


def _begins_with_dates(column: Column, dated: bool) -> bool:
    """Whether any of the first texts is a date; digits only where the column is named so."""
    there = column.values[~column.missing][: 20 * _LOOKED_AT].tolist()
    first = [_text(cell) for cell in there if cell is not None]
    looked_at = [text for text in dict.fromkeys(first) if not is_mark(text)][:_LOOKED_AT]
    days = [split_clock(text)[0] for text in looked_at]
    return not days or any(read_day(day) is not None or (dated and _DIGITS.fullmatch(day)) for day in days)


def named_like_date(name: str) -> bool:
    """Whether a column has the name of dates.

    >>> [named_like_date(name) for name in ("Order Date", "created_at", "pickup_datetime", "TIMESTAMP", "candidate", "update")]
    [True, True, True, True, False, False]
    """
    plain = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return _DATE_WORDS.search(plain) is not None and not plain.endswith(("candidate", "update", "lifetime"))


def _parse(column: Column, dayfirst: bool | None, *, serials: bool) -> Dates | Misfit:
    """Return the dates, or why they are none; ``serials`` are serial numbers of Excel."""
    if column.missing.all():
        return Misfit("every cell is empty", "fill them in", 0.0)
    if column.kind == "time":
        return _times(column)
    if column.kind == "flag":
        return Misfit("it holds true and false", "name another column", 0.0)
    if column.kind == "number":
        return _numbers(column.values, column.missing, serials=serials)
    return _texts(column, dayfirst, serials=serials)


def _times(column: Column) -> Dates:
    there = column.values[~column.missing]
    whole = bool((there.astype("datetime64[D]") == there).all())
    return Dates(values=column.values.astype("datetime64[us]"), precision="day" if whole else "time")


def _numbers(values: FloatArray, missing: BoolArray, *, serials: bool) -> Dates | Misfit:
    """Return numbers as dates where one reading fits all of them."""
    there = values[~missing]
    distinct, codes = np.unique(there, return_inverse=True)
    best = np.zeros(distinct.size, dtype=np.bool_)
    for precision, read in _readings(serials):
        moments, fits = read(distinct)
        if fits.all():
            placed = np.full(values.size, np.datetime64("NaT", "us"))
            placed[~missing] = moments[codes]
            return Dates(values=placed, precision=precision)
        best = fits if fits.sum() > best.sum() else best
    worst = distinct[int(np.argmin(best))]
    row = int(np.flatnonzero(~missing)[np.argmax(there == worst)]) + 1
    shown = f"{worst:.0f}" if worst == np.trunc(worst) else repr(float(worst))
    return Misfit(f"row {row:,} has {shown}", "write it as 2010-03-15", float(best.mean()))


_Reading = Callable[[FloatArray], tuple[np.ndarray[Any, Any], BoolArray]]


def _readings(serials: bool) -> list[tuple[Precision, _Reading]]:
    readings: list[tuple[Precision, _Reading]] = [("year", _years), ("month", _months), ("day", _days)]
    if serials:
        readings.append(("time", _serials))
    return [*readings, *((("time", _unix(power))) for power in (0, 3, 6, 9))]


def _years(numbers: FloatArray) -> tuple[np.ndarray[Any, Any], BoolArray]:
    return _calendar(numbers, np.ones_like(numbers), np.ones_like(numbers), numbers == np.trunc(numbers))


def _months(numbers: FloatArray) -> tuple[np.ndarray[Any, Any], BoolArray]:
    return _calendar(numbers // 100, numbers % 100, np.ones_like(numbers), numbers == np.trunc(numbers))


def _days(numbers: FloatArray) -> tuple[np.ndarray[Any, Any], BoolArray]:
    return _calendar(numbers // 10_000, numbers // 100 % 100, numbers % 100, numbers == np.trunc(numbers))


def _calendar(
    year: FloatArray, month: FloatArray, day: FloatArray, whole: BoolArray
) -> tuple[np.ndarray[Any, Any], BoolArray]:
    """Return days of the calendar, and which of them exist in the years 1000 to 2999."""
    fits = whole & (year >= 1000) & (year < 3000) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    years, months, days = (
        np.where(fits, part, 1970 if part is year else 1).astype(np.int64) for part in (year, month, day)
    )
    first = (years - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (months - 1)
    moments = first.astype("datetime64[D]") + (days - 1)
    fits &= moments.astype("datetime64[M]") == first
    return moments.astype("datetime64[us]"), fits


def _serials(numbers: FloatArray) -> tuple[np.ndarray[Any, Any], BoolArray]:
    """Read serial numbers of Excel, from 1982 to 2064."""
    fits = (numbers >= 30_000) & (numbers <= 60_000)
    seconds = np.round(np.where(fits, numbers, 0.0) * 86_400.0).astype(np.int64)
    return (np.datetime64("1899-12-30", "s") + seconds).astype("datetime64[us]"), fits


def _unix(power: int) -> _Reading:
    """Return a reading of Unix times in seconds, or 10**power parts of one, from 1973 to 2103."""

    def read(numbers: FloatArray) -> tuple[np.ndarray[Any, Any], BoolArray]:
        fits = (numbers >= 1e8 * 10.0**power) & (numbers <= 4.2e9 * 10.0**power)
        micro = np.round(np.where(fits, numbers, 0.0) * 10.0 ** (6 - power)).astype(np.int64)
        return np.datetime64(0, "us") + micro, fits

    return read


def _texts(column: Column, dayfirst: bool | None, *, serials: bool) -> Dates | Misfit:
    """Return texts as dates; each distinct day and each distinct time of day is read once."""
    codes, distinct = _distinct(column)
    numbers = numbers_of(distinct)
    if numbers is not None and not np.isnan(numbers).all():
        values = numbers[codes]
        return _numbers(values, np.isnan(values), serials=serials)
    days, clocks, split = _split_texts(distinct)
    places = split[codes]
    if not days:
        return Misfit("every cell is empty", "fill them in", 0.0)
    cells, bad = _read_days(days, serials=serials)
    times = [read_clock(text) if text else None for text in clocks]
    wrong = [index for index, text in enumerate(clocks) if text and times[index] is None]

    def cell_at(where: BoolArray) -> str:
        row = int(np.argmax(where))
        return f"row {row + 1:,} has {_text(column.values[row])!r:.60}"

    misfits = np.isin(places[:, 0], bad) | np.isin(places[:, 1], wrong)
    present = (split >= 0).any(axis=1)
    wrong_texts = np.isin(split[:, 0], bad) | np.isin(split[:, 1], wrong)
    share = 1.0 - float(wrong_texts[present].mean())
    if misfits.any():
        return Misfit(cell_at(misfits), "correct it, or write it as 2010-03-15", share)
    order = find_day_order(cells, dayfirst)
    if isinstance(order, tuple):
        first, second = order
        problem = cell_at(places[:, 0] == first)
        if second is None:
            example = cells[first].resolve(True)
            problem = f"{problem}, and no cell shows whether day or month is first"
            setting = "set dayfirst to true or false (--dayfirst or --monthfirst)"
            return Misfit(problem, f"write {example}", share, setting)
        if first == second:
            day = cells[first].resolve(not dayfirst)
            other = "day" if dayfirst else "month"
            return Misfit(f"{problem}, and the {other} comes first in other dates", f"write {day}", share)
        problem = f"{problem} and {cell_at(places[:, 0] == second)}"
        return Misfit(problem, "write the day first in all cells, or in none", share)
    resolved = [cell.resolve(bool(order)) for cell in cells]
    if None in resolved:
        return Misfit(cell_at(places[:, 0] == resolved.index(None)), "there is no such day; correct it", share)
    zoned = [time.zone is not None for time in times if time is not None]
    if any(zoned) and not all(zoned):
        local = [index for index, time in enumerate(times) if time is not None and time.zone is None]
        problem = f"{cell_at(np.isin(places[:, 1], local))}, without the time zone of others"
        return Misfit(problem, "write the zone in all cells, or in none", share)
    shifts = [timedelta(0) if time is None else time.time - (time.zone or timedelta(0)) for time in times]
    moments = np.array([*resolved, None], dtype="datetime64[us]")[
        places[:, 0]
    ]  # -1, a missing cell, is the None at the end
    values = moments + np.array(shifts, dtype="timedelta64[us]")[places[:, 1]]
    precision = max((cell.precision for cell in cells), key=PRECISIONS.index)
    if precision == "day" and not (places[:, 1] == 0).any():
        precision = "time"
    return Dates(values=values, precision=precision, dayfirst=order, shown=shown_day_order(cells))


def _split_texts(distinct: Sequence[str]) -> tuple[list[str], list[str], IntArray]:
    """Return the distinct days and times of day, and the places of those of each text; -1 where it is missing."""
    days: dict[str, int] = {}
    clocks: dict[str, int] = {"": 0}
    split = np.full((len(distinct), 2), -1)
    for code, text in enumerate(distinct):
        if not is_mark(text):
            day, clock = split_clock(text)
            split[code] = days.setdefault(day, len(days)), clocks.setdefault(clock, len(clocks))
    return list(days), list(clocks), split


def _distinct(column: Column) -> tuple[IntArray, list[str]]:
    """Return the number of each row's cell among the distinct ones, and their texts; a missing cell is empty."""
    cells = column.values.tolist()
    if column.kind == "other" or column.missing.any():
        cells = ["" if gone else _text(cell) for cell, gone in zip(cells, column.missing.tolist(), strict=True)]
    order: dict[Any, int] = {}
    codes = np.array([order.setdefault(cell, len(order)) for cell in cells], dtype=np.int64)
    return codes, [_text(cell) for cell in order]


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell.strip()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _read_days(distinct: Sequence[str], *, serials: bool) -> tuple[list[DayCell], list[int]]:
    """Return each distinct text as a day, and the places of those that are none; digits alone are read as numbers."""
    cells = [read_day(text) for text in distinct]
    digits = [index for index, text in enumerate(distinct) if cells[index] is None and _DIGITS.fullmatch(text)]
    if digits:
        numbers = np.array([float(distinct[index]) for index in digits])
        dates = _numbers(numbers, np.zeros(numbers.size, dtype=np.bool_), serials=serials)
        if isinstance(dates, Dates) and dates.precision != "time":
            for index, day in zip(digits, dates.values.astype("datetime64[D]").tolist(), strict=True):
                cells[index] = DayCell(day, dates.precision)
    bad = [index for index, cell in enumerate(cells) if cell is None]
    return [cell or DayCell(None, "day") for cell in cells], bad
