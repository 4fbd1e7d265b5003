"""Dates of training: every spelling and type sorts in time, a unit counts to its end, numbers compare with numbers."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.tracker.trained_until import TrainedUntil

SAME: list[Any] = [
    "2026-01-31",
    "31.01.2026",
    "Jan 2026",
    "2026-01",
    dt.date(2026, 1, 31),
    np.datetime64("2026-01-31"),
    pd.Timestamp("2026-01-31"),
    pd.Period("2026-01"),
    20260131,
]


@pytest.mark.parametrize("value", SAME, ids=repr)
def test_every_spelling_of_a_day_or_its_month_is_the_same_moment(value: Any) -> None:
    until = TrainedUntil.of(value)
    assert until.new_from == "2026-02-01T00:00:00.000000"
    later: list[Any] = [
        ["2026-02-01", "2026-03-01"],
        ["01.02.2026", "13.02.2026"],
        [dt.date(2026, 2, 1), "2026-02-13"],
        pd.to_datetime(["2026-02-01", "2026-02-02"]),
        pd.Series(pd.to_datetime(["2026-02-01", "2026-02-02"])),
        np.array(["2026-02-01", "2026-02-02"], dtype="M8[D]"),
        ["2026-02", "2026-03"],
    ]
    for times in later:
        until.check(times, 2, owner="t")
    early: list[Any] = [
        ["2026-02-01", "31.12.2025"],
        ["2026-02-01", "2026-01-31 23:59"],
        pd.to_datetime(["2026-02-01", "2026-01-31"]),
        np.array(["2026-02-01", "2026-01-31"], dtype="M8[D]"),
        [dt.date(2026, 2, 1), dt.date(2026, 1, 31)],
        ["2026-02", "2026-01"],
    ]
    for times in early:
        with pytest.raises(DataError, match="until when the model was trained; row 1 is from"):
            until.check(times, 2, owner="t")


def test_times_of_day_and_numbers() -> None:
    noon = TrainedUntil.of("2026-01-31 12:00")
    noon.check(["2026-01-31 12:01"], 1, owner="t")
    with pytest.raises(DataError, match="row 0"):
        noon.check(["2026-01-31 12:00"], 1, owner="t")
    period = TrainedUntil.of(12)
    period.check([13, 14.5], 2, owner="t")
    with pytest.raises(DataError, match="row 1 is from '12'"):
        period.check([13, 12], 2, owner="t")
    with pytest.raises(DataError, match="must be numbers, as trained_until is 12; got '2026-01-01'"):
        period.check(["2026-01-01"], 1, owner="t")


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        (None, "must be given for each row"),
        (["2026-02-01"], "must have one entry for each of the 2 rows"),
        (["2026-02-01", None], "must be a date in each row; row 1 has none"),
        (["2026-02-01", "soon"], "must be dates that compare with trained_until, 2026-01-31; row 2 has 'soon'"),
        (["03/04/2026", "05/04/2026"], "no cell shows whether day or month is first"),
    ],
)
def test_times_that_cannot_be_compared_are_refused(times: Any, wrong: str) -> None:
    with pytest.raises(DataError, match=wrong):
        TrainedUntil.of("2026-01-31").check(times, 2, owner="t")


@pytest.mark.parametrize(
    "value", ["soon", "03/04/2026", True, float("nan"), [], pytest.param(object(), id="object")], ids=repr
)
def test_what_is_no_date_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"trained_until=.*must be a date, such as 2026-01-31, or a number"):
        TrainedUntil.of(value)
