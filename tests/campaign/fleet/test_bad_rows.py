"""Rows that cannot be used do not stop those of other segments; they are counted and named, and can be sent again."""

from typing import Any

import numpy as np
import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.errors import DataError
from driftpace.storage import MemoryStore
from tests.campaign.fleet.shops import Market, Table, bits, create, work


def told(campaign: FleetCampaign, rows: Table, **options: Any) -> Any:
    return campaign.tell(rows, final=False, **options)


def with_cell(rows: Table, column: str, place: int, cell: Any) -> Table:
    values = list(rows[column])
    values[place] = cell
    return {**rows, column: values}


def test_rows_without_a_segment_or_an_id_are_left_out_and_named() -> None:
    campaign, market = create(MemoryStore(), id="id"), Market()
    rows = market.rows(campaign.ask().segments.missing)
    broken = with_cell(with_cell(rows, "shop", 0, None), "id", 12, "")
    receipt = told(campaign, broken)
    assert (receipt.rows, dict(receipt.without)) == (28, {"shop": 1, "id": 1})
    assert [campaign.segments[name].received for name in ("Oslo", "Rome", "Turin")] == [9, 9, 10]
    assert told(campaign, rows).rows == 2
    assert campaign.log(kinds=("delivered",))[0].body["without"] == {"shop": 1, "id": 1}
    assert compare_with_log(campaign).exact


def test_rows_that_share_an_id_and_differ_are_left_out_and_equal_ones_count_once() -> None:
    campaign, market = create(MemoryStore(), id="id"), Market()
    rows = market.rows(campaign.ask().segments.missing)
    same = {name: [*values, list(values)[5]] for name, values in rows.items()}
    receipt = told(campaign, with_cell(same, "id", 1, "row-2"))
    assert (receipt.rows, dict(receipt.doubled), receipt.repeated) == (28, {"row-2": 2}, 1)
    assert told(campaign, rows).rows == 2
    other = create(MemoryStore(), id="id")
    other.ask()
    assert told(other, with_cell(rows, "id", 12, "row-2")).rows == 30  # of another segment


@pytest.mark.parametrize(
    ("column", "cell", "sentence"),
    [
        ("shop", None, "column 'shop' must name a segment in every row; row 2 has none"),
        ("id", "", "column 'id' must have an id in every row; row 2 has none"),
        ("id", "row-2", "column 'id' must have another id in each row of a segment; rows 2 and 3 both have 'row-2'"),
    ],
)
def test_strict_campaigns_refuse_them(column: str, cell: Any, sentence: str) -> None:
    campaign, market = create(MemoryStore(), id="id", missing="refuse"), Market()
    rows = market.rows(campaign.ask().segments.missing)
    with pytest.raises(DataError, match=sentence):
        told(campaign, with_cell(rows, column, 1, cell))
    assert campaign.segments["Oslo"].received == 0


@pytest.mark.parametrize("column", ["shop", "id"])
def test_a_file_without_any_is_refused(column: str) -> None:
    campaign, market = create(MemoryStore(), id="id"), Market()
    rows = market.rows(campaign.ask().segments.missing)
    with pytest.raises(DataError, match="in every row; row 1 has none"):
        told(campaign, {**rows, column: [None] * 30})


@pytest.mark.parametrize(
    ("column", "cell", "sentence"),
    [
        ("sales", "abc", "column 'sales' must be a finite number; row 14 has 'abc'."),
        ("sales", "inf", "column 'sales' must be a finite number; row 14 has"),
        ("price", "abc", "feature 'price' must be numeric; row 14 has 'abc'"),
    ],
)
def test_a_reason_names_the_value_and_its_row_in_the_file(column: str, cell: str, sentence: str) -> None:
    """The first row has no label and the fifth no segment: they count in the number of a row all the same."""
    campaign, market = create(MemoryStore()), Market()
    work(campaign, market, "a")
    campaign.ask(key="b")
    rows = market.rows(dict.fromkeys(("Oslo", "Rome", "Turin"), 10))
    rows = {**rows, column: [str(value) for value in rows[column]]}
    rows = with_cell(with_cell(rows, "shop", 4, None), "sales", 0, "")
    places = range(13, 20) if column == "price" else [13]
    for place in places:
        rows = with_cell(rows, column, place, cell)
    receipt = told(campaign, rows)
    assert list(receipt.rejected) == ["Rome"]
    assert receipt.rejected["Rome"].startswith(sentence)
    assert compare_with_log(campaign).exact


def test_corrected_rows_with_the_same_ids_are_taken() -> None:
    campaign, market = create(MemoryStore(), id="id"), Market()
    rows = market.rows(campaign.ask().segments.missing)
    receipt = told(campaign, with_cell(rows, "sales", 3, "much"))
    assert (receipt.rows, list(receipt.rejected)) == (20, ["Oslo"])
    receipt = told(campaign, rows)
    assert (receipt.rows, receipt.repeated, dict(receipt.rejected)) == (10, 20, {})
    assert campaign.segments["Oslo"].problem is None
    assert compare_with_log(campaign).exact


def test_rows_in_another_unit_are_taken_when_they_are_accepted() -> None:
    store = MemoryStore()
    campaign, market = create(store), Market()
    work(campaign, market, "a")
    rows = market.rows(dict.fromkeys(("Oslo", "Rome", "Turin"), 8))
    rows["sales"] = np.where(np.array(rows["shop"]) == "Rome", 1000.0, 1.0) * rows["sales"]
    campaign.ask(key="b")
    receipt = told(campaign, rows)
    assert (receipt.rows, list(receipt.rejected)) == (16, ["Rome"])
    assert "another unit?" in str(campaign.segments["Rome"].problem)
    assert told(campaign, rows).duplicate is not None
    receipt = told(campaign, rows, accept=["Rome", "Oslo"])
    assert (receipt.rows, receipt.duplicate, dict(receipt.rejected)) == (8, None, {})
    assert campaign.segments["Oslo"].received == 8
    assert campaign.segments["Rome"].received == 8
    entry = campaign.log(kinds=("delivered",))[-1]
    assert entry.body["accept"] == ["Rome", "Oslo"]
    assert told(campaign, rows, accept=["Rome", "Oslo"]).duplicate is not None
    assert compare_with_log(campaign).exact
    before = bits(campaign)
    campaign.undo(entry.seq, reason="they were in cents after all")
    assert "another unit?" in str(campaign.segments["Rome"].problem)
    campaign.undo(campaign.log()[-1].seq, reason="no, they were not")
    assert bits(campaign) == before


def test_names_are_accepted_by_the_first_delivery_too() -> None:
    campaign, market = create(MemoryStore()), Market()
    work(campaign, market, "a")
    campaign.ask(key="b")
    rows = market.rows({"Rome": 8})
    rows["sales"] = 1000.0 * rows["sales"]
    assert told(campaign, rows, accept=("Rome",)).rows == 8


def test_a_pool_with_rows_without_a_segment_is_drawn_from() -> None:
    campaign = create(MemoryStore(), id="id")
    campaign.ask()
    ids = [f"p{place}" for place in range(60)]
    shops: list[str | None] = ["Oslo", "Rome", "Turin"] * 20
    shops[:6] = [None] * 6
    sample = campaign.sample({"id": ids, "shop": shops, "price": list(range(60))})
    assert {name: len(drawn) for name, drawn in sample.ids.items()} == {"Oslo": 10, "Rome": 10, "Turin": 10}
    assert not {one for drawn in sample.ids.values() for one in drawn} & set(ids[:6])
