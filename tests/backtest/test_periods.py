"""Rows are put into periods by the calendar, by values and by number, and what was done is said."""

from typing import Any

import numpy as np
import pytest

from driftpace.backtest import read_table
from driftpace.backtest.table import Panel
from driftpace.errors import DataError, ParameterError

DAYS = np.arange("2010-01-11", "2010-04-20", dtype="datetime64[D]").repeat(3)


def _read(dates: Any, period: str, **options: Any) -> Panel:
    rows = len(dates)
    table = {"date": dates, "x": np.sin(np.arange(rows)), "y": np.arange(rows) ** 2 + 0.5}
    return read_table(table, period=period, target="y", standardise=False, **options)


def _texts(form: str) -> list[str]:
    return [day.strftime(form) for day in DAYS.tolist()]


@pytest.mark.parametrize("dates", [DAYS, _texts("%Y-%m-%d"), _texts("%d/%m/%Y"), _texts("%b %d, %Y"), _texts("%Y%m%d")])
def test_months(dates: Any) -> None:
    order = np.random.default_rng(0).permutation(len(dates))
    panel = _read(np.asarray(dates)[order], "date:month")
    assert panel.periods == ("2010-01", "2010-02", "2010-03", "2010-04")
    assert panel.sizes == (63, 84, 93, 57)
    assert panel.features == ("x",)
    assert panel.notes[:3] == (
        "Periods are months, from the column 'date': 2010-01 to 2010-04.",
        "The first period, 2010-01, is partial: it begins on 2010-01-11.",
        "The last period, 2010-04, is partial: it ends on 2010-04-19.",
    )


@pytest.mark.parametrize(
    ("unit", "first", "last", "count"),
    [("week", "2010-W02", "2010-W15", 14), ("quarter", "2010Q1", "2010Q2", 2), ("month", "2010-01", "2010-04", 4)],
)
def test_units(unit: str, first: str, last: str, count: int) -> None:
    panel = _read(DAYS, f"date:{unit}")
    assert (panel.periods[0], panel.periods[-1], len(panel)) == (first, last, count)


def test_whole_periods_are_not_partial() -> None:
    workdays = np.arange("2011-01-01", "2011-05-01", dtype="datetime64[D]")
    workdays = workdays[np.is_busday(workdays)].repeat(
        3
    )  # the first of January 2011 and the last of April are on a weekend
    assert not [note for note in _read(workdays, "date:month").notes if "partial" in note]


def test_rows_in_the_order_of_dates_or_of_the_file() -> None:
    dates = DAYS[::-1].copy()
    panel = _read(dates, "date:100")
    assert panel.sizes == (100, 100, 97)
    assert panel.periods == ("2010-01-11", "2010-02-13", "2010-03-18")
    assert panel.y[0].max() == (len(DAYS) - 1) ** 2 + 0.5
    assert "The last period is partial: it has 97 rows." in panel.notes
    by_file = _read(dates, ":100")
    assert by_file.periods == ("1", "2", "3")
    assert by_file.y[0].tolist() == [row**2 + 0.5 for row in range(100)]
    assert _read(dates, ":49").sizes[-1] == 52  # fewer than five are joined to the period before


def test_rows_in_the_order_of_a_number_make_periods() -> None:
    years = [1990.0 - row // 40 for row in range(400)]
    panel = _read(years, "date:100")
    assert panel.periods == ("1981", "1983", "1986", "1988")
    assert panel.y[0].min() > panel.y[-1].max()  # the last rows of the file are of the first years
    assert _read([row / 10 for row in range(400)], "date:100").periods == ("0", "10", "20", "30")
    with pytest.raises(DataError, match="must hold dates that sort in time"):
        _read(["soon", *["2010-01-01"] * 399], "date:100")


def test_a_partial_period_of_few_rows_is_joined_to_its_neighbour() -> None:
    days = np.arange("2010-01-30", "2010-07-02", dtype="datetime64[D]").repeat(10)
    panel = _read(days, "date:month")
    assert panel.periods == ("2010-02", "2010-03", "2010-04", "2010-05", "2010-06")
    assert panel.sizes == (300, 310, 300, 310, 310)
    joined = "because partial and of few rows"
    assert f"Joined to the period after, {joined}: 2010-01 (20 rows)." in panel.notes
    assert f"Joined to the period before, {joined}: 2010-07 (10 rows)." in panel.notes
    longer = np.arange("2010-01-20", "2010-07-02", dtype="datetime64[D]").repeat(
        10
    )  # twelve days are a period, if a partial one
    assert _read(longer, "date:month").periods[0] == "2010-01"


def test_small_periods_are_joined_to_the_one_before() -> None:
    dates = ["2010-01-01"] * 2 + ["2010-02-01"] * 10 + ["2010-03-01"] * 3 + ["2010-04-01"] * 10
    panel = _read(dates, "date:month")
    assert (panel.periods, panel.sizes) == (("2010-02", "2010-04"), (15, 10))
    assert "Joined to a period next to them, because fewer than 5 rows: 2010-01, 2010-03." in panel.notes


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["Feb 2010", "Jan 2010", "Dec 2009"], ("Dec 2009", "Jan 2010", "Feb 2010")),
        (["02/2010", "12/2009", "01/2010"], ("12/2009", "01/2010", "02/2010")),
        (["Q1 2010", "Q4 2009", "Q2 2009"], ("Q2 2009", "Q4 2009", "Q1 2010")),
        (["15/03/2010", "16/02/2010", "17/01/2011"], ("16/02/2010", "15/03/2010", "17/01/2011")),
        (["week 10", "week 9", "week 11"], ("week 9", "week 10", "week 11")),
    ],
)
def test_texts_that_are_dates_sort_in_time(cells: list[str], labels: tuple[str, ...]) -> None:
    assert _read(cells * 6, "date").periods == labels


def test_texts_that_may_not_sort_in_time_are_refused() -> None:
    with pytest.raises(DataError, match="row 1 has '02/03/2010', and no cell shows whether day or month is first"):
        _read(["03/04/2010", "02/03/2010"] * 6, "date")
    with pytest.raises(DataError, match="must hold dates that sort in time; row 4 has 'total'"):
        _read(["Jan 2010", "Feb 2010", "Mar 2010", "total"] * 6, "date")
    assert _read(["03/04/2010", "02/03/2010"] * 6, "date:month", dayfirst=False).periods == ("2010-02", "2010-03")


def test_a_column_of_the_whole_name_wins() -> None:
    table = {
        "date:month": [2, 1] * 10,
        "date": ["2010-01-01"] * 20,
        "x": np.sin(np.arange(20)),
        "y": np.arange(20) ** 2,
    }
    assert read_table(table, period="date:month", target="y", features=["x"]).periods == ("1", "2")


def test_rows_without_a_date_are_missing() -> None:
    dates = [*_texts("%Y-%m-%d"), "NA"]
    panel = _read(dates, "date:month", missing="drop")
    assert sum(panel.sizes) == len(DAYS)
    assert "1 of 298 rows left out: date is missing." in panel.notes


@pytest.mark.parametrize(
    ("period", "sentence"),
    [
        ("date:moth", "such as date:month; got 'date:moth': did you mean 'date:month'?"),
        ("date:3", "or a number of rows of at least 5, such as date:month; got 'date:3'."),
        ("dat:month", "must be a column of the table; got 'dat': did you mean 'date'?"),
        ("month", "must be a column of the table; got 'month': it has date, x, y."),
        (":x", "such as date:month; got ':x'."),
    ],
)
def test_other_periods_are_refused(period: str, sentence: str) -> None:
    with pytest.raises(ParameterError) as error:
        _read(DAYS, period)
    assert str(error.value).endswith(sentence)


def test_units_that_do_not_fit_are_refused_with_one_that_does() -> None:
    with pytest.raises(DataError, match=r"date:day must give at least 5 rows a period; .* for 297 rows: use date:week"):
        _read(DAYS, "date:day")
    with pytest.raises(DataError, match="date:year must give at least two periods; all rows are in 2010"):
        _read(DAYS, "date:year")
    with pytest.raises(DataError, match="date:month needs dates with a month; column 'date' has years only"):
        _read([2009, 2010] * 10, "date:month")
    with pytest.raises(DataError, match="200 rows a period must leave two periods; got 297 rows"):
        _read(DAYS, ":200")
    with pytest.raises(DataError, match="got 99 values in 297 rows: use date:month, or day, week, quarter or year"):
        _read(_texts("%Y-%m-%d"), "date")


def test_calendar_features() -> None:
    panel = _read(_texts("%Y-%m-%d"), "date:month", calendar=["weekday"])
    assert panel.features == ("x", *(f"date:weekday={day}" for day in ("Fri", "Sat", "Sun", "Thu", "Tue", "Wed")))
    with pytest.raises(DataError, match="column 'date' has days only"):
        _read(DAYS, "date:month", calendar=["hour"])
