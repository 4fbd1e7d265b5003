"""One date written as text: which day, week, month or quarter it is, and the time of day that follows it."""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

Precision = Literal["time", "day", "week", "month", "quarter", "year"]
PRECISIONS: tuple[Precision, ...] = ("time", "day", "week", "month", "quarter", "year")
"""From the finest to the coarsest."""

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAME = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY_NAME = r"(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
_WEEKDAY = rf"(?:{_DAY_NAME.replace('(mon', '(?:mon')}[, ]+)?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)? ?(am|pm)? ?(z|utc|gmt|[+-]\d{2}(?::?\d{2})?)?")
_TWO_DIGIT_PIVOT = 69  # as in POSIX: 69 is 1969, 68 is 2068


class DayCell(NamedTuple):
    """A text that is a date: its first day; or the numbers of 03/04/2010, whose order the column decides."""

    day: date | None
    precision: Precision
    parts: tuple[int, int, int] | None = None
    points: bool = False

    def resolve(self, dayfirst: bool) -> date | None:
        """Return the day, None where there is no such day."""
        if self.parts is None:
            return self.day
        first, second, year = self.parts
        try:
            return date(year, second, first) if dayfirst else date(year, first, second)
        except ValueError:
            return None


class Clock(NamedTuple):
    """A time of day, and how far its zone is from UTC; None without a zone."""

    time: timedelta
    zone: timedelta | None


def split_clock(text: str) -> tuple[str, str]:
    """Return the date and the time of day of a text.

    >>> split_clock("2010-03-15T14:30Z"), split_clock("Mar 15, 2010 2:30 PM"), split_clock("2010-03")
    (('2010-03-15', '14:30Z'), ('Mar 15, 2010', '2:30 PM'), ('2010-03', ''))
    """
    colon = text.find(":")
    if colon < 1:
        return text, ""
    start = colon - 2 if text[colon - 2 : colon].isdigit() and colon > 1 else colon - 1
    return text[:start].rstrip(" ,Tt"), text[start:]


def read_clock(text: str) -> Clock | None:
    """Return a time of day, None where a text is none.

    >>> read_clock("2:30 PM"), read_clock("25:00")
    (Clock(time=datetime.timedelta(seconds=52200), zone=None), None)
    """
    match = _CLOCK.fullmatch(text.lower().strip())
    if match is None:
        return None
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    if match[5] is not None:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (match[5] == "pm")
    if hour > 23 or minute > 59 or second > 60:  # a leap second counts as the next one
        return None
    micro = int((match[4] or "0").ljust(6, "0")[:6])
    time = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micro)
    zone = match[6]
    if zone is None:
        return Clock(time, None)
    if zone[0] not in "+-":
        return Clock(time, timedelta(0))
    offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))
    return Clock(time, offset if zone[0] == "+" else -offset)


def read_day(text: str) -> DayCell | None:
    """Return a date without a time of day, None where a text is none.

    >>> [read_day(text).day.isoformat() for text in ("2010-03-15", "Mar 2010", "Mar-10", "2010Q2", "2010-W05", "15th March 2010")]
    ['2010-03-15', '2010-03-01', '2010-03-01', '2010-04-01', '2010-02-01', '2010-03-15']
    >>> read_day("03/04/2010").parts, read_day("week 9")
    ((3, 4, 2010), None)
    """
    plain = " ".join(text.lower().split())
    for pattern, read in _FORMS:
        match = pattern.fullmatch(plain)
        if match is not None:
            try:
                return read(*match.groups())
            except ValueError:
                return None
    return None


def calendar_places(texts: Sequence[str]) -> list[int] | None:
    """Return the places of months, or of days of the week, where all texts are names of them without a year.

    >>> calendar_places(["Mar", "january"]), calendar_places(["Fri", "Tue"]), calendar_places(["Mar", "Fri"])
    ([2, 0], [4, 1], None)
    """
    for name, names in ((_NAME, MONTHS), (_DAY_NAME, WEEKDAYS)):
        matches = [re.fullmatch(name, text.strip().lower()) for text in texts]
        if all(matches):
            return [names.index(match[1][:3].capitalize()) for match in matches if match is not None]
    return None


def _year(text: str) -> int:
    if len(text) == 4:
        return int(text)
    return int(text) + (1900 if int(text) >= _TWO_DIGIT_PIVOT else 2000)


def _month_of(text: str) -> int:
    return int(text) if text.isdigit() else MONTHS.index(text[:3].capitalize()) + 1


def _on(year: str, month: str, day: str) -> DayCell:
    return DayCell(date(_year(year), _month_of(month), int(day)), "day")


def _in_month(year: str, month: str) -> DayCell:
    return DayCell(date(_year(year), _month_of(month), 1), "month")


def _in_quarter(year: str, quarter: str) -> DayCell:
    return DayCell(date(int(year), 3 * int(quarter) - 2, 1), "quarter")


def _in_week(year: str, week: str, day: str | None = None) -> DayCell:
    return DayCell(date.fromisocalendar(int(year), int(week), int(day or 1)), "day" if day else "week")


def _numeric(first: str, separator: str, second: str, year: str) -> DayCell:
    return DayCell(None, "day", (int(first), int(second), _year(year)), points=separator == ".")


_FORMS: tuple[tuple[re.Pattern[str], Callable[..., DayCell]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})", _on),
        (r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})", _numeric),
        (r"(\d{4})[-/.](\d{1,2})", _in_month),
        (r"(\d{4})[-. ]?m(\d{1,2})", _in_month),
        (r"(\d{1,2})[-/.](\d{4})", lambda month, year: _in_month(year, month)),
        (
            rf"{_NAME}(?:[-/., ]*(\d{{4}})|(?:-| ?['’])(\d{{2}}))",
            lambda month, year, short: _in_month(year or short, month),
        ),
        (rf"(\d{{4}})[-/., ]*{_NAME}", _in_month),
        (r"(\d{4})[-/. ]?q([1-4])", _in_quarter),
        (r"q([1-4])[-/., ]*(\d{4})", lambda quarter, year: _in_quarter(year, quarter)),
        (r"([1-4])q[-/., ]*(\d{4})", lambda quarter, year: _in_quarter(year, quarter)),
        (r"(\d{4})-?w(\d{2})-?([1-7])", _in_week),
        (r"(\d{4})[-/., ]*w(?:eek|k)? ?(\d{1,2})", _in_week),
        (r"w(?:eek|k)? ?(\d{1,2})[-/., ]+(\d{4})", lambda week, year: _in_week(year, week)),
        (
            rf"{_WEEKDAY}{_DAY}[-/. ]*(?:of )?{_NAME}[-/., ]*(\d{{4}}|\d{{2}})",
            lambda day, month, year: _on(year, month, day),
        ),
        (rf"{_WEEKDAY}{_NAME}[-/. ]+{_DAY}[, ]+(\d{{4}})", lambda month, day, year: _on(year, month, day)),
        (rf"(\d{{4}})[-/. ]{_NAME}[-/. ]{_DAY}", _on),
    )
)


def find_day_order(
    cells: Sequence[DayCell | None], dayfirst: bool | None
) -> bool | tuple[int, int] | tuple[int, None] | None:
    """Return whether the day is first, None where it does not matter, or the cells that contradict or leave it open.

    With points the day is first, as in 15.03.2010, unless a cell shows that it is not.
    """
    parted = [(index, *cell.parts) for index, cell in enumerate(cells) if cell is not None and cell.parts is not None]
    if not parted:
        return None
    day_first, month_first = _first_shown(cells)
    if dayfirst is not None:
        contrary = month_first if dayfirst else day_first
        return dayfirst if contrary is None else (contrary, contrary)
    if day_first is not None and month_first is not None:
        return day_first, month_first
    if day_first is not None or month_first is not None:
        return month_first is None
    if all(cell.points for cell in cells if cell is not None and cell.parts is not None):
        return True
    unclear = next((index for index, first, second, _ in parted if first != second), None)
    return True if unclear is None else (unclear, None)


def shown_day_order(cells: Sequence[DayCell | None]) -> bool | None:
    """Return whether the day is first where a number above 12 shows it, None where none does.

    >>> shown_day_order([read_day("03/04/2010"), read_day("13/04/2010")]), shown_day_order([read_day("03.03.2010")])
    (True, None)
    """
    day_first, month_first = _first_shown(cells)
    return None if day_first is None and month_first is None else month_first is None


def _first_shown(cells: Sequence[DayCell | None]) -> tuple[int | None, int | None]:
    """Return the first cells that show that the day is first, and that the month is."""
    parted = [(index, *cell.parts) for index, cell in enumerate(cells) if cell is not None and cell.parts is not None]
    return (
        next((index for index, first, _, _ in parted if first > 12), None),
        next((index for index, _, second, _ in parted if second > 12), None),
    )
