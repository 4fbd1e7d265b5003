"""Columns that identify rows or only follow time are left out by default, and said."""

from typing import Any

import numpy as np
import pytest

from driftpace.backtest import read_table
from driftpace.backtest.table import Panel
from driftpace.tables import read_columns
from driftpace.tables.identity import find_ids, named_like_id

ROWS = 120


def _ids(**columns: Any) -> dict[str, str]:
    table = read_columns(columns)
    return find_ids(table, list(table), np.ones(next(iter(table.values())).values.size, dtype=np.bool_))


def test_ids_are_known_by_their_names_or_their_numbers(rng: np.random.Generator) -> None:
    found = _ids(
        id=rng.integers(0, 9, ROWS),
        nr=rng.permutation(ROWS),
        rising=np.cumsum(rng.integers(1, 9, ROWS)),
        count=rng.integers(0, 9, ROWS),
        income=rng.integers(10**4, 10**6, ROWS),
        share=np.linspace(0, 1, ROWS),
        shop_id=np.array(["a", "b"] * (ROWS // 2), dtype=object),
    )
    assert found == {"id": "named like an id", "nr": "numbers the rows", "rising": "numbers the rows"}


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "customerId", "row_number", "Unnamed: 0", "uuid", "index"])
def test_names(name: str) -> None:
    assert named_like_id(name)


@pytest.mark.parametrize("name", ["paid", "grid", "humid", "monkey", "idle", "side", "index_of_prices"])
def test_other_names(name: str) -> None:
    assert not named_like_id(name)


def _panel(rng: np.random.Generator, **options: Any) -> Panel:
    table = {
        "month": np.repeat(np.arange(6), 20),
        "year": np.repeat([2010, 2011, 2012], 40),
        "record_id": rng.integers(0, 99, ROWS),
        "row": np.arange(ROWS),
        "x": rng.normal(size=ROWS),
        "y": rng.normal(size=ROWS),
    }
    return read_table(table, period="month", target="y", **options)


def test_they_are_left_out_and_said(rng: np.random.Generator) -> None:
    panel = _panel(rng)
    assert panel.features == ("x",)
    assert "Not among the features: year (follows time); record_id, row (named like an id)." in panel.notes
    assert dict(panel.left_out) == {"year": "follows time", "record_id": "named like an id", "row": "named like an id"}


def test_columns_that_are_the_same_in_all_rows_of_a_period_are_left_out(rng: np.random.Generator) -> None:
    rate = np.repeat(rng.normal(size=6), 20)
    table = {
        "month": np.repeat(np.arange(6), 20),
        "rate": np.where(rng.random(ROWS) < 0.1, np.nan, rate),
        "name": np.repeat(["May", "Jan", "Mar", "Apr", "Feb", "Jun"], 20).astype(object),
        "nearly": np.append(rate[:-1], 9.0),
        "few": np.where(np.arange(ROWS) % 20 < 1, rate, np.nan),
        "x": rng.normal(size=ROWS),
        "y": rng.normal(size=ROWS),
    }
    panel = read_table(table, period="month", target="y")
    assert dict(panel.left_out) == dict.fromkeys(("rate", "name"), "is the same in all rows of a period")
    assert "rate" in read_table(table, period="month", target="y", features=["x", "rate"]).features


def test_numbers_of_units_are_ids_where_their_names_say_so(rng: np.random.Generator) -> None:
    """Numbers that return in other periods and are hardly ever twice in one; amounts that were paid are not such numbers."""
    units = np.concatenate([rng.permutation(np.arange(100, 130))[:25] for _ in range(8)])
    paid = rng.integers(1, 60, 200).astype(float)
    table = {
        "year": np.repeat(np.arange(8), 25),
        "countyid": units,
        "idcode": units + 7,
        "size": units,
        "paid": paid,
        "humid": paid + units,
        "y": rng.normal(size=200),
    }
    panel = read_table(table, period="year", target="y")
    assert dict(panel.left_out) == dict.fromkeys(("countyid", "idcode"), "named like an id")


def test_amounts_that_are_rarely_twice_in_a_period_are_no_ids(rng: np.random.Generator) -> None:
    """Among thousands of values hardly any is twice in a period, and many return in one of sixty: those of units in the next."""
    periods, rows = 60, 100
    table = {
        "month": np.repeat(np.arange(periods), rows),
        "amount_paid": rng.integers(1, 5000, periods * rows),
        "idle_minutes": rng.integers(0, 4000, periods * rows),
        "countyid": np.concatenate([rng.permutation(np.arange(1000, 1130))[:rows] for _ in range(periods)]),
        "y": rng.normal(size=periods * rows),
    }
    panel = read_table(table, period="month", target="y")
    assert panel.features == ("amount_paid", "idle_minutes")
    assert dict(panel.left_out) == {"countyid": "named like an id"}


def test_they_are_used_where_they_are_named(rng: np.random.Generator) -> None:
    assert _panel(rng, features=["x", "record_id", "year", "row"]).features == ("x", "record_id", "year", "row")


def test_excluded_columns_are_left_out(rng: np.random.Generator) -> None:
    assert _panel(rng, features=["x", "year"], exclude=["year"]).features == ("x",)
    assert _panel(rng, exclude=["x"]).features == ("year", "record_id", "row")  # where they are all there is


@pytest.mark.parametrize("name", ["customer_id", "Kunden-Nr.", "account no", "OrderNumber", "Kundennummer"])
def test_texts_with_digits_named_like_an_id_are_ids(name: str) -> None:
    keys = np.array([f"K-{10000 + 7 * (row % 40)}" for row in range(ROWS)], dtype=object)
    words = np.array([chr(65 + row % 40 // 26) + chr(97 + row % 26) for row in range(ROWS)], dtype=object)
    assert _ids(**{name: keys}) == {name: "named like an id"}
    assert _ids(**{name: words}) == {}  # the names of species are categories
    assert _ids(**{name: keys[np.arange(ROWS) % 20]}) == {}  # and so are twenty stores
    assert _ids(town=keys, casino=keys, cellar=keys) == {}
