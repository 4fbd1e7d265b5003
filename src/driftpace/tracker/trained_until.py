"""When the last row is from that a model was trained on, and which rows are not later."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Self

import numpy as np

from driftpace.errors import DataError, ParameterError
from driftpace.tables import read_columns
from driftpace.tables.columns import Column
from driftpace.tables.date_text import Precision
from driftpace.tables.dates import Dates, parse_dates

_MONTHS: dict[Precision, int] = {"month": 1, "quarter": 3, "year": 12}
_DAYS: dict[Precision, int] = {"day": 1, "week": 7}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedUntil:
    """The moment from which on rows are new to a model: the end of the day, month or other unit that was given.

    ``given`` is what was given, as text. ``number`` is a number that is compared with numbers, such as that of a period, and
    ``new_from`` the moment, with microseconds; None where the number is no date.

    Examples
    --------
    >>> until = TrainedUntil.of("2026-01-31")
    >>> until.new_from, TrainedUntil.of("Jan 2026").new_from, TrainedUntil.of(12).new_from
    ('2026-02-01T00:00:00.000000', '2026-02-01T00:00:00.000000', None)
    >>> until.check(["2026-02-01", "31.12.2025"], 2, owner="example")
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: example(times=...) must be after 2026-01-31, until when the model was trained; row 1 is from
    '31.12.2025', and its score may be too good.
    """

    given: str
    number: float | None
    new_from: str | None

    @classmethod
    def of(cls, value: Any, *, owner: str = "Tracker.for_model") -> Self:
        """Return what a date, a text of one or a number says, or refuse it."""
        number = float(value) if _is_number(value) else None
        given = value.isoformat() if isinstance(value, date) else str(value)
        try:
            dates = _dates([value], "trained_until", owner)
        except DataError:
            if number is None or not np.isfinite(number):
                raise ParameterError(
                    f"must be a date, such as 2026-01-31, or a number such as that of a period; got {value!r:.80}.",
                    owner=owner,
                    name="trained_until",
                ) from None
            return cls(given=given, number=number, new_from=None)
        return cls(given=given, number=number, new_from=str(_end(dates)))

    def check(self, times: Any, rows: int, *, owner: str, name: str = "times") -> None:
        """Refuse rows that are not later, by their times."""
        if times is None:
            if rows:
                raise DataError("must be given for each row, since trained_until is; got None.", owner=owner, name=name)
            return
        values = list(times)
        if len(values) != rows:
            raise DataError(
                f"must have one entry for each of the {rows} rows of X; got {len(values)}.", owner=owner, name=name
            )
        if rows == 0:
            return
        if self.number is not None and all(map(_is_number, values)):
            early = ~(np.asarray(values, dtype=np.float64) > self.number)
        else:
            early = self.early(self._moments(values, owner, name).values)
        if early.any():
            row = int(np.argmax(early))
            raise self.refusal(row, values[row], owner=owner, name=name)

    def early(self, moments: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which moments are not later."""
        return np.asarray(~(moments >= np.datetime64(self.new_from)))

    def refusal(self, row: int, cell: Any, *, owner: str, name: str | None) -> DataError:
        """Return the error for a row that is not later."""
        shown = cell if isinstance(cell, str) else _text_of(cell)
        return DataError(
            f"must be after {self.given}, until when the model was trained; row {row} is from {shown!r:.60}, and its score may "
            "be too good.",
            owner=owner,
            name=name,
        )

    def _moments(self, values: list[Any], owner: str, name: str) -> Dates:
        if self.new_from is None:
            wrong = next(value for value in values if not _is_number(value))
            raise DataError(
                f"must be numbers, as trained_until is {self.given}; got {wrong!r:.60}.", owner=owner, name=name
            )
        try:
            found = _dates(values, name, owner)
        except DataError as error:
            raise DataError(
                f"must be dates that compare with trained_until, {self.given}; {error.problem.partition('; ')[2] or error.problem}",
                owner=owner,
                name=name,
            ) from None
        missing = np.flatnonzero(np.isnat(found.values))
        if len(missing):
            raise DataError(f"must be a date in each row; row {missing[0]} has none.", owner=owner, name=name)
        return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _dates(values: list[Any], name: str, owner: str) -> Dates:
    """Return values as moments, those of any kind as texts where they are mixed."""
    kinds = {type(value) for value in values if value is not None}
    cells = values if len(kinds) < 2 else [each if each is None else _text_of(each) for each in values]
    column: Column = read_columns({name: cells}, owner=owner)[name]
    return parse_dates(column, name, owner=owner, settings=False)


def _text_of(value: Any) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return "" if isinstance(value, float) and np.isnan(value) else str(value)


def _end(dates: Dates) -> np.datetime64:
    """Return the first moment after a date: the next one where it has a time of day, else the end of its unit."""
    moment = dates.values[0]
    if dates.precision in _MONTHS:
        month = moment.astype("datetime64[M]") + _MONTHS[dates.precision]
        return np.datetime64(month, "us")
    if dates.precision in _DAYS:
        return np.datetime64(moment + np.timedelta64(timedelta(days=_DAYS[dates.precision])), "us")
    return np.datetime64(moment + np.timedelta64(1, "us"), "us")
