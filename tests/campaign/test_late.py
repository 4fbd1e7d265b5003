"""Rows for closed periods: absorbed into their period, counted once, and the same as if they had been in time."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.log_text import describe_entry
from driftpace.errors import DataError, ProtocolError
from driftpace.storage import MemoryStore
from tests.campaign.test_undo import after_periods, recomputed
from tests.reference.campaigns import SHAPES, begun, rows_of, run_period


@pytest.mark.parametrize("shape", ["plain", "candidates", "budget", "one order"])
def test_rows_by_the_key_of_their_period(shape: str) -> None:
    campaign = after_periods(**SHAPES[shape])
    before, coef = campaign.ledger(), campaign.tracker().coef
    receipt = campaign.tell(*rows_of(2, 100, 12), key="W2", source="february.csv")
    recomputed(campaign)
    assert [(late.period, late.key, late.rows) for late in receipt.late] == [(2, "W2", 12)]
    assert (receipt.rows, receipt.report) == (0, None)
    assert receipt.revision is not None
    assert receipt.revision.periods == (2, 3)
    after = campaign.ledger()
    assert (after[1].report.samples, after[1].late) == (before[1].report.samples + 12, 12)
    assert after[2].report.asked == before[2].report.asked
    assert not np.array_equal(campaign.tracker().coef, coef)
    if shape == "budget":
        assert float(campaign.status().spent or 0) == sum(float(row.report.cost or 0) for row in after)
    assert campaign.tell(*rows_of(2, 100, 12), key="W2").duplicate is not None
    assert describe_entry(campaign.log(kinds=("delivered",))[-1]).sentence.startswith(
        "12 rows received for period 2 from “february.csv”, 2 periods late"
    )
    undone = campaign.undo(delivery="february.csv", reason="wrong month")
    recomputed(campaign)
    assert undone.rows == 12
    assert np.array_equal(campaign.tracker().coef, coef)


def drawn_campaign(**more: object) -> tuple[Campaign, dict[str, list[Any]]]:
    campaign = begun(MemoryStore(), features=["a", "b"], id="id", **more)
    X, y = rows_of(1, 0, 60)
    return campaign, {
        "id": [f"{place}" for place in range(60)],
        "a": X[:, 0].tolist(),
        "b": X[:, 1].tolist(),
        "price": y.tolist(),
    }


def some(pool: dict[str, list[Any]], ids: tuple[str, ...]) -> dict[str, list[Any]]:
    return {name: [pool[name][int(row_id)] for row_id in ids] for name in pool}


def test_rows_find_the_period_they_were_drawn_for() -> None:
    campaign, pool = drawn_campaign()
    campaign.ask(key="W1")
    ids = campaign.sample(pool).ids
    campaign.tell_table(some(pool, ids[:-2]), final=True)
    assert campaign.outstanding() == {1: 2}
    late = campaign.tell_table(some(pool, ids[-2:]))  # no period is open
    assert [(part.period, part.rows) for part in late.late] == [(1, 2)]
    assert campaign.outstanding() == {}
    campaign.ask(key="W2")
    fresh = campaign.sample({**pool, "id": [f"n{row_id}" for row_id in pool["id"]]}).ids
    mixed = some(pool, (*ids, *(row_id[1:] for row_id in fresh)))
    mixed["id"] = [*ids, *fresh]
    receipt = campaign.tell_table(mixed, final=False)
    assert (receipt.rows, receipt.repeated, receipt.late) == (len(fresh), len(ids), ())
    recomputed(campaign)


def test_late_and_current_rows_in_one_delivery() -> None:
    campaign, pool = drawn_campaign()
    campaign.ask(key="W1")
    ids = campaign.sample(pool).ids
    campaign.tell_table(some(pool, ids[:-2]), final=True)
    campaign.ask(key="W2")
    fresh = campaign.sample(some(pool, tuple(row_id for row_id in pool["id"] if row_id not in ids))).ids
    receipt = campaign.tell_table(some(pool, (*fresh, *ids[-2:])), delivery="mixed", final=False)
    assert (receipt.rows, [part.rows for part in receipt.late]) == (len(fresh), [2])
    recomputed(campaign)
    assert campaign.undo(delivery="mixed", reason="all of it").rows == len(fresh) + 2
    recomputed(campaign)
    assert campaign.order().received == 0
    assert campaign.ledger()[0].report.samples == len(ids) - 2


def test_rows_that_were_not_drawn_are_refused() -> None:
    campaign, pool = drawn_campaign()
    campaign.ask(key="W1")
    drawn = campaign.sample(pool).ids
    others = tuple(row_id for row_id in pool["id"] if row_id not in drawn)[:4]
    entries = len(campaign.log())
    with pytest.raises(
        DataError, match=rf"must be rows drawn for period 1 \(W1\); 4 of 6 rows were not, such as '{others[0]}'"
    ):
        campaign.tell_table(some(pool, (*drawn[:2], *others)))
    assert len(campaign.log()) == entries
    receipt = campaign.tell_table(some(pool, (*drawn[:2], *others)), accept_others=True, final=True)
    assert (receipt.rows, receipt.others) == (6, 4)
    assert campaign.ledger()[0].others == 4
    rest = tuple(row_id for row_id in pool["id"] if row_id not in {*drawn, *others})
    with pytest.raises(DataError, match="must be rows drawn for period 1; the row was not"):
        campaign.tell_table(some(pool, rest[:1]), key="W1")


def test_without_rows_nothing_is_absorbed_again() -> None:
    campaign = after_periods(2, keep_rows=False)
    with pytest.raises(
        ProtocolError, match="period 1 is closed, and cannot be absorbed again with late rows: keep_rows is off"
    ):
        campaign.tell(*rows_of(1, 90, 2), key="W1")


def test_period_without_a_key_by_its_number() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    campaign.tell(*rows_of(1, 0, 30), final=True)
    assert campaign.tell(*rows_of(1, 90, 2), key="1").late[0].rows == 2


def test_late_rows_change_the_open_order_but_not_the_received_rows() -> None:
    campaign = after_periods(2)
    order = campaign.ask(key="W3")
    campaign.tell(*rows_of(3, 0, 2), final=False)
    receipt = campaign.tell(*rows_of(1, 100, 400), key="W1")
    recomputed(campaign)
    assert campaign.order().received == 2
    assert receipt.order.period == 1
    run_period(campaign, 3)
    assert campaign.ledger()[2].report.asked != order.samples or campaign.status().period == 4
    recomputed(campaign)
