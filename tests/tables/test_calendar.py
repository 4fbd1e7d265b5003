"""Units of the calendar, and features made of dates."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.tables import Column, read_columns
from driftpace.tables.calendar import (
    UNITS,
    calendar_column,
    calendar_levels,
    calendar_names,
    calendar_source,
    end_dates,
    floor_dates,
    label_dates,
)
from driftpace.tables.encoding import find_column

DAYS = np.arange("2007-12-01", "2012-03-01", dtype="datetime64[D]")


def test_units_are_those_of_the_calendar() -> None:
    for unit, name in zip(UNITS, ("%Y-%m-%d", "%G-W%V", "%Y-%m", None, "%Y"), strict=True):
        labels = label_dates(floor_dates(DAYS, unit), unit)
        expected = [
            f"{day.year}Q{(day.month + 2) // 3}" if name is None else day.strftime(name) for day in DAYS.tolist()
        ]
        assert labels == expected
        ends = end_dates(floor_dates(DAYS, unit), unit)
        assert ((floor_dates(DAYS, unit) <= DAYS) & (ends > DAYS)).all()
        assert (floor_dates(ends, unit) == ends).all()


def _table(**columns: Any) -> dict[str, Column]:
    return read_columns(columns)


def test_months_and_weekdays_are_categories_and_hours_are_waves() -> None:
    table = _table(date=["2010-03-15 06:00", "2010-08-01 18:00", None])
    month = calendar_column("date:month", table, owner="test")
    weekday = calendar_column("date:weekday", table, owner="test")
    assert month is not None
    assert weekday is not None
    assert month.values.tolist() == ["Mar", "Aug", None]
    assert weekday.values.tolist() == ["Mon", "Sun", None]
    assert calendar_levels("date:month") == tuple(
        (date(2010, 1, 15) + timedelta(30 * k)).strftime("%b") for k in range(12)
    )
    waves = [calendar_column(f"date:hour:{wave}", table, owner="test") for wave in ("sin1", "cos1", "sin2", "cos2")]
    values = np.array([wave.values for wave in waves if wave is not None])
    assert values[:, :2] == pytest.approx(np.array([[1.0, -1.0], [0.0, 0.0], [0.0, 0.0], [-1.0, -1.0]]))
    assert np.isnan(values[:, 2]).all()


def test_a_column_of_that_name_wins() -> None:
    table = _table(**{"date": ["2010-03-15"], "date:month": [7]})
    assert calendar_source("date:month", table) is None
    assert calendar_column("date:month", table, owner="test") is None
    assert calendar_column("price", table, owner="test") is None


def test_parts_are_made_of_the_only_dates_or_of_those_of_the_period() -> None:
    table = _table(sold=["2010-03-15"], due=["2010-04-15"], price=[3])
    assert calendar_names(["month", "due:weekday"], table, dated="sold", owner="test") == ["sold:month", "due:weekday"]
    with pytest.raises(
        ParameterError, match=r"such as sold:month; got 'month', and 2 columns are dates \(sold, due\)\."
    ):
        calendar_names(["month"], table, dated=None, owner="test")
    with pytest.raises(ParameterError, match="such as date:month; got 'month', and no column is dates"):
        calendar_names("month", _table(price=[3]), dated=None, owner="test")
    with pytest.raises(ParameterError, match="got 'weekdays': did you mean 'weekday'"):
        calendar_names(["weekdays"], table, dated="sold", owner="test")
    with pytest.raises(ParameterError, match="got 'dew:month': did you mean 'due'"):
        calendar_names(["dew:month"], table, dated="sold", owner="test")


def test_parts_finer_than_the_dates_are_refused() -> None:
    with pytest.raises(DataError, match="date:hour needs dates with a time; column 'date' has days only"):
        calendar_column("date:hour:sin1", _table(date=["2010-03-15"]), owner="test")
    with pytest.raises(DataError, match="date:weekday needs dates with a day; column 'date' has months only"):
        calendar_column("date:weekday", _table(date=["Mar 2010"]), owner="test")


def test_messages_name_the_setting_only_where_there_is_one() -> None:
    table = _table(date=["03/04/2010"])
    with pytest.raises(DataError, match=r"row 1 has '03/04/2010'.*\(--dayfirst or --monthfirst\), or write 2010-04-03"):
        calendar_column("date:month", table, owner="test")
    with pytest.raises(DataError, match="whether day or month is first: write 2010-04-03"):
        find_column(table, "date:month", "test")
