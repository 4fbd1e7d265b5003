"""Dates as people write them sort in time, or are refused with the cell and the fix."""

from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import DataError
from driftpace.tables import Column, read_columns
from driftpace.tables.dates import Dates, Misfit, find_dates, named_like_date, parse_dates


def _column(cells: list[Any]) -> Column:
    return read_columns({"d": cells})["d"]


def _dates(cells: list[Any], **options: Any) -> list[str]:
    dates = parse_dates(_column(cells), "d", owner="test", **options)
    return [str(moment).removesuffix("T00:00:00") for moment in dates.values.astype("datetime64[s]")]


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("20100315 ", "2010-03-15"),
        ("2010-03-15", "2010-03-15"),
        ("2010/3/5", "2010-03-05"),
        ("2010-03-15 14:30", "2010-03-15T14:30:00"),
        ("2010-03-15T14:30:05.25Z", "2010-03-15T14:30:05"),
        ("2010-03-15T14:30:05+02:00", "2010-03-15T12:30:05"),
        ("2010-03-15 00:30:00 +0130", "2010-03-14T23:00:00"),
        ("Jan 2010", "2010-01-01"),
        ("January 2010", "2010-01-01"),
        ("Sept. 2010", "2010-09-01"),
        ("2010-Dec", "2010-12-01"),
        ("01/2010", "2010-01-01"),
        ("2010-01", "2010-01-01"),
        ("2010M01", "2010-01-01"),
        ("2010Q2", "2010-04-01"),
        ("2010-Q4", "2010-10-01"),
        ("Q1 2010", "2010-01-01"),
        ("3Q2010", "2010-07-01"),
        ("2010W05", "2010-02-01"),
        ("2010-W05", "2010-02-01"),
        ("2010-W05-3", "2010-02-03"),
        ("Week 53, 2009", "2009-12-28"),
        ("03/15/2010", "2010-03-15"),
        ("15/03/2010", "2010-03-15"),
        ("15/03/10 2:05 PM", "2010-03-15T14:05:00"),
        ("3/15/69 12:05 am", "1969-03-15T00:05:00"),
        ("15.03.2010", "2010-03-15"),
        ("1.2.2010", "2010-02-01"),
        ("15 Mar 2010", "2010-03-15"),
        ("15-MAR-10", "2010-03-15"),
        ("Mar 15, 2010", "2010-03-15"),
        ("Monday, 15th of March 2010", "2010-03-15"),
        ("Mon, 15 Mar 2010 10:11:12 GMT", "2010-03-15T10:11:12"),
        (20100315, "2010-03-15"),
        (201003, "2010-03-01"),
        (2010, "2010-01-01"),
        (40252, "2010-03-15"),
        (40252.5, "2010-03-15T12:00:00"),
        (1268654400, "2010-03-15T12:00:00"),
        (1268654400000, "2010-03-15T12:00:00"),
        ("1268654400000000000", "2010-03-15T12:00:00"),
        (date(2010, 3, 15), "2010-03-15"),
        (np.datetime64("2010-03-15T12"), "2010-03-15T12:00:00"),
    ],
)
def test_forms(cell: Any, day: str) -> None:
    assert _dates([cell, None]) == [day, "NaT"]


@pytest.mark.parametrize(
    ("cells", "precision"),
    [
        (["2010-03-15 10:00", "2010-03-16 10:00"], "time"),
        (["2010-03-15 10:00", "2010-03-16"], "day"),
        (["2010-W05", "2010-03-16"], "week"),
        (["Jan 2010"], "month"),
        (["2010Q1", "2010-02"], "quarter"),
        (["2010", "2010-02"], "year"),
        ([2010, 2011], "year"),
        (["2010-W05-3"], "day"),
    ],
)
def test_the_precision_is_that_of_the_coarsest_cell(cells: list[Any], precision: str) -> None:
    assert parse_dates(_column(cells), "d", owner="test").precision == precision


def test_one_cell_decides_on_the_order_of_the_whole_column() -> None:
    assert _dates(["03/04/2010", "01/02/2010", "25/12/2010"])[0] == "2010-04-03"
    assert _dates(["03/04/2010", "01/02/2010", "12/25/2010"])[0] == "2010-03-04"
    assert _dates(["03/04/2010"], dayfirst=False) == ["2010-03-04"]
    assert _dates(["03/03/2010", "04/04/2010"]) == ["2010-03-03", "2010-04-04"]  # the same either way


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["2010-01-01", "soon"], "row 2 has 'soon': correct it, or write it as 2010-03-15."),
        (["2010-02-30", "2010-03-01"], "row 1 has '2010-02-30': correct it, or write it as 2010-03-15."),
        (["15/02/2010", None, "31/02/2010"], "row 3 has '31/02/2010': there is no such day; correct it."),
        (
            ["02/03/2010", "03/04/2010"],
            (
                "row 1 has '02/03/2010', and no cell shows whether day or month is first: set dayfirst to true or false "
                "(--dayfirst or --monthfirst), or write 2010-03-02."
            ),
        ),
        (
            ["15/03/2010", "03/15/2010"],
            "row 1 has '15/03/2010' and row 2 has '03/15/2010': write the day first in all cells, or in none.",
        ),
        (
            ["2010-01-01 10:00Z", "2010-01-01 11:00"],
            "row 2 has '2010-01-01 11:00', without the time zone of others: write the zone in all cells, or in none.",
        ),
        ([2010, 2011, 3], "row 3 has 3: write it as 2010-03-15."),
        (
            ["2010-01-01 25:00", "2010-01-01 11:00"],
            "row 1 has '2010-01-01 25:00': correct it, or write it as 2010-03-15.",
        ),
        ([True, False], "it holds true and false: name another column."),
        ([None, None], "every cell is empty: fill them in."),
        (["NA", ""], "every cell is empty: fill them in."),
    ],
)
def test_refusals_name_the_cell_and_the_fix(cells: list[Any], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        parse_dates(_column(cells), "d", owner="test")
    assert str(error.value) == f"test: column 'd' must hold dates that sort in time; {sentence}"


def test_a_wrong_order_of_day_and_month_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"row 2 has '03/15/2010', and the day comes first in other dates: write 2010-03-15\."
    ):
        parse_dates(_column(["03/04/2010", "03/15/2010"]), "d", owner="test", dayfirst=True)


def test_numbers_are_dates_only_where_asked_for_or_named_so() -> None:
    serials, years = _column([40179, 40180]), _column([2010, 2011])
    assert isinstance(find_dates(serials, "d"), Misfit)
    assert isinstance(find_dates(serials, "OrderDate"), Dates)
    assert isinstance(find_dates(years, "price"), Misfit)
    assert isinstance(find_dates(years, "year"), Dates)
    assert isinstance(find_dates(_column(["week 9", "week 10"]), "week"), Misfit)
    assert isinstance(find_dates(_column(["1", "may be"]), "date"), Misfit)


@pytest.mark.parametrize(
    "name", ["date", "Order Date", "created_at", "pickupTime", "TIMESTAMP", "year", "sold on", "dteday_dt"]
)
def test_names_of_dates(name: str) -> None:
    assert named_like_date(name)


@pytest.mark.parametrize("name", ["candidate", "update", "attic", "monday_sales", "only", "lifetime", "price"])
def test_other_names(name: str) -> None:
    assert not named_like_date(name)


FORMATS = ("%Y-%m-%d", "%d %b %Y", "%B %d, %Y", "%Y%m%d", "%d.%m.%Y", "%G-W%V-%u", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d")


@given(
    days=st.lists(st.dates(date(1950, 1, 1), date(2090, 12, 31)), min_size=2, max_size=20),
    form=st.sampled_from(FORMATS),
)
def test_any_dates_in_any_format_sort_in_time(days: list[date], form: str) -> None:
    cells = [day.strftime(form) for day in days]
    assert _dates(cells) == [day.isoformat() for day in days]


@given(days=st.lists(st.dates(date(1950, 1, 1), date(2090, 12, 31)), min_size=1, max_size=20), dayfirst=st.booleans())
def test_slashes_are_read_right_or_refused(days: list[date], dayfirst: bool) -> None:
    cells = [day.strftime("%d/%m/%Y" if dayfirst else "%m/%d/%Y") for day in days]
    assert _dates(cells, dayfirst=dayfirst) == [day.isoformat() for day in days]
    result = find_dates(_column(cells), "date")
    if isinstance(result, Dates):
        assert result.values.astype("datetime64[D]").tolist() == days
    else:
        assert all(day.day <= 12 for day in days)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=5))
def test_any_texts_are_dates_or_not(cells: list[str]) -> None:
    assert isinstance(find_dates(_column(cells), "date"), Dates | Misfit)


def test_the_share_of_dates_is_that_of_the_distinct_cells() -> None:
    """A column that is mostly empty, and holds yes and no, is no column of dates with some typing errors."""
    answers = find_dates(_column([None] * 1200 + ["yes", "no"] * 20), "notified")
    assert isinstance(answers, Misfit)
    assert answers.share == 0.0
    almost = find_dates(_column(["2010-01-01"] * 99 + ["2010-01-02", "2010-01-03", "soon"]), "day")
    assert isinstance(almost, Misfit)
    assert almost.share == pytest.approx(0.75)
