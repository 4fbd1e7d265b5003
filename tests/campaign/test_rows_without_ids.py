"""Rows that were drawn from a pool without an id are recognised by their cells: none counts twice, and others are refused."""

from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.errors import DataError
from driftpace.storage import MemoryStore
from tests.campaign.test_undo import recomputed

ROWS = 90
POOL: dict[str, list[Any]] = {
    "x": [place % 10 * 0.5 for place in range(ROWS)],
    "city": ["Oslo", "Oslo", "Rome"] * (ROWS // 3),
    "note": [None if place % 4 else "checked" for place in range(ROWS)],
}  # 60 different rows, so that 30 repeat an earlier one
LABELS = [1.0 + x + place % 3 for place, x in enumerate(POOL["x"])]


def of(places: list[int], **more: list[Any]) -> dict[str, list[Any]]:
    return {**{name: [cells[place] for place in places] for name, cells in POOL.items()}, **more}


@pytest.fixture
def campaign() -> Campaign:
    """A campaign without an id column, with an order."""
    values = {"name": "a", "target": "y", "features": ["x", "city"], "categories": {"city": ["Oslo", "Rome"]}}
    campaign = Campaign.create({**values, "epsilon": 0.3, "seed": 1}, storage=MemoryStore())
    campaign.ask(key="March")
    return campaign


def test_the_whole_pool_after_its_drawn_rows_counts_no_row_twice(campaign: Campaign) -> None:
    sample = campaign.sample({**POOL, "y": [label if place % 2 else None for place, label in enumerate(LABELS)]})
    places = sample.positions.tolist()
    assert campaign.tell_table({**sample.rows(), "y": [LABELS[place] for place in places]}, final=False).rows == len(
        places
    )
    everything = {**POOL, "y": LABELS}
    with pytest.raises(DataError, match=rf"must be rows drawn for period 1 \(March\); {ROWS - len(places)} of "):
        campaign.tell_table(everything, final=False)
    receipt = campaign.tell_table(everything, accept_others=True, final=False)
    assert (receipt.rows, receipt.repeated, receipt.others) == (ROWS - len(places), len(places), ROWS - len(places))
    again = campaign.tell_table(dict(reversed(everything.items())), accept_others=True, final=False, again=True)
    assert (again.rows, again.repeated) == (0, ROWS)
    campaign.tell(final=True)
    recomputed(campaign)


def test_drawn_rows_need_no_id_when_they_return(campaign: Campaign) -> None:
    """In any order; equal rows in one file are as many rows, and one of a later file was delivered before."""
    campaign.override(samples=60, reason="more equal rows")
    places = campaign.sample(POOL).positions.tolist()
    contents = [of([place]) for place in places]
    equal = sum(contents.index(content) < place for place, content in enumerate(contents))
    assert (len(places), equal > 3) == (60, True)
    labels = [LABELS[place] for place in sorted(places)]
    receipt = campaign.tell_table(of(sorted(places), y=labels), final=False)
    assert (receipt.rows, receipt.repeated, receipt.others) == (60, 0, 0)
    receipt = campaign.tell_table(of(places[:20], y=[LABELS[place] for place in places[:20]]), final=False)
    assert (receipt.rows, receipt.repeated, receipt.others) == (0, 20, 0)


def test_late_rows_find_their_period(campaign: Campaign) -> None:
    places = campaign.sample(POOL).positions.tolist()
    early, late = places[:4], [place for place in places[4:] if of([place]) not in [of([one]) for one in places[:4]]]
    assert campaign.tell_table(of(early, y=[LABELS[place] for place in early]), final=True).rows == 4
    receipt = campaign.tell_table(of(late, y=[LABELS[place] for place in late]))
    assert [(part.period, part.rows) for part in receipt.late] == [(1, len(late))]
    recomputed(campaign)


def test_rows_of_which_nothing_says_that_they_were_drawn_are_refused(campaign: Campaign) -> None:
    places = campaign.sample(POOL).positions.tolist()
    other = {name: cells for name, cells in of(places, y=[LABELS[place] for place in places]).items() if name != "note"}
    sentence = (
        r"must be rows drawn for period 1 \(March\); the table has no column 'driftpace_id', and no row with the cells"
    )
    with pytest.raises(DataError, match=sentence):
        campaign.tell_table(other)
    receipt = campaign.tell_table(other, accept_others=True, final=False)
    assert (receipt.rows, receipt.others) == (len(places), len(places))


def test_equal_rows_of_a_period_without_a_draw_are_different_rows(campaign: Campaign) -> None:
    """Persons of one age and city are not one person: each file of them counts, although one like them was drawn before."""
    places = campaign.sample(POOL).positions.tolist()
    campaign.tell_table(of(places, y=[LABELS[place] for place in places]), final=True)
    campaign.ask(key="April")
    for shift in range(3):
        receipt = campaign.tell_table({**POOL, "y": [label + shift for label in LABELS]}, final=False)
        assert (receipt.rows, receipt.repeated, receipt.late) == (ROWS, 0, ())
    campaign.tell(final=True)
    recomputed(campaign)


def test_a_growing_file_counts_no_closed_period_twice() -> None:
    """Rows of a closed period are late where they were drawn and are missing, and are left alone where nobody drew them."""
    values = {"name": "a", "target": "y", "features": ["x"], "period": "month", "epsilon": 0.3, "seed": 1}
    campaign = Campaign.create(values, storage=MemoryStore())
    months = [str(place // 30 + 1) for place in range(ROWS)]
    x = [place * 0.5 for place in range(ROWS)]
    table: dict[str, list[Any]] = {"month": months, "x": x, "y": LABELS}

    def part(places: list[int]) -> dict[str, list[Any]]:
        return {name: [cells[place] for place in places] for name, cells in table.items()}

    campaign.ask(key="1")
    assert campaign.tell_table(part(list(range(30))), final=True).rows == 30
    campaign.ask(key="2")
    pool = part(list(range(30, 60)))
    drawn = [30 + place for place in campaign.sample({"month": pool["month"], "x": pool["x"]}).positions.tolist()]
    assert campaign.tell_table(part(drawn[:-1]), final=True).rows == len(drawn) - 1
    campaign.ask(key="3")
    receipt = campaign.tell_table(table, final=False)
    assert (receipt.rows, receipt.repeated, receipt.others) == (30, len(drawn) - 1, 0)
    assert [(late.period, late.rows) for late in receipt.late] == [(2, 1)]
    assert receipt.other_periods == {"1": 30, "2": 30 - len(drawn)}
    recomputed(campaign)
