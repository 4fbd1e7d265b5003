"""Undo: what is taken back no longer counts, what depends on it is computed again, and the log keeps everything."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import ParameterError, ProtocolError
from driftpace.storage import MemoryStore
from tests.reference.campaigns import BUDGET, SHAPES, begun, rows_of, run_period


def recomputed(campaign: Campaign) -> None:
    """Compare the saved state with the one that the log leads to, bit for bit."""
    *_, (_, folded) = campaign.replay()
    saved = campaign.store.checkpoint(campaign.name)
    assert saved == (len(campaign.log()), to_checkpoint(folded))


def after_periods(periods: int = 3, **more: Any) -> Campaign:
    campaign = begun(MemoryStore(), **more)
    for period in range(1, periods + 1):
        run_period(campaign, period, parts=2)
    return campaign


def delivered_in(campaign: Campaign, period: int) -> list[int]:
    return [entry.seq for entry in campaign.log(kinds=("delivered",)) if entry.body["period"] == period]


@pytest.mark.parametrize("shape", ["plain", "candidates", "batches", "one order"])
def test_delivery_in_a_closed_period_and_back(shape: str) -> None:
    campaign = after_periods(**SHAPES[shape])
    campaign.ask(key="W4")
    ledger, coef = campaign.ledger(), campaign.tracker().coef
    seq = delivered_in(campaign, 2)[0]
    undone = campaign.undo(seq, reason="labels of May")
    recomputed(campaign)
    assert undone.revision is not None
    assert undone.revision.periods == (2, 3)
    assert campaign.ledger()[1].report.samples == ledger[1].report.samples - undone.rows
    assert campaign.ledger()[1].revised
    assert not campaign.ledger()[0].revised
    assert campaign.ledger()[2].report.asked == ledger[2].report.asked, "orders are facts"
    assert not np.array_equal(campaign.tracker().coef, coef)
    assert campaign.status().rows == sum(row.report.samples for row in campaign.ledger())
    assert campaign.order("W2").received == campaign.ledger()[1].report.samples

    campaign.undo(undone.entry, reason="they were right")
    recomputed(campaign)
    assert np.array_equal(campaign.tracker().coef, coef)
    assert [row.report for row in campaign.ledger()] == [row.report for row in ledger]
    run_period(campaign, 4)
    recomputed(campaign)


@pytest.mark.parametrize("shape", ["plain", "candidates", "budget", "one order", "forgetful"])
def test_delivery_in_the_open_period(shape: str) -> None:
    campaign = after_periods(1, **SHAPES[shape])
    campaign.ask(key="W2")
    campaign.tell(*rows_of(2, 0, 3), delivery="one", final=False)
    campaign.tell(*rows_of(2, 3, 2), delivery="two", final=False)
    undone = campaign.undo(delivery="one", reason="wrong")
    assert (undone.rows, undone.revision, undone.order and undone.order.received) == (3, None, 2)
    if shape != "forgetful":
        recomputed(campaign)
    again = campaign.tell(*rows_of(2, 0, 3), delivery="one", final=False)
    assert (again.rows, again.duplicate, again.order.received) == (3, None, 5)


def test_first_delivery_of_all_shows_the_columns_again() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    campaign.tell(np.ones((3, 5)), np.ones(3), delivery="five columns")
    campaign.undo(delivery="five columns", reason="wrong table")
    campaign.tell(*rows_of(1, 0, 3))
    assert campaign.tracker().snapshot()[1].features == 2
    recomputed(campaign)


def test_the_encoding_of_the_first_rows_comes_back_with_them() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    table = {"a": [1.0, None, 3.0, 4.0], "city": ["Rome", "Bari", "Rome", "Bari"], "price": [1.0, 2.0, 3.0, 4.0]}
    campaign.tell_table(table, delivery="first", final=False)
    columns = campaign.tracker().snapshot()[1].columns
    undone = campaign.undo(delivery="first", reason="wrong")
    campaign.undo(undone.entry, reason="right")
    recomputed(campaign)
    assert campaign.tell_table({**table, "price": [5.0, 6.0, 7.0, 8.0]}, final=False).rows == 4
    assert campaign.tracker().snapshot()[1].columns == columns
    recomputed(campaign)


@pytest.mark.parametrize("shape", ["plain", "candidates", "one order"])
def test_closing_and_back(shape: str) -> None:
    campaign = after_periods(**SHAPES[shape])
    before = campaign.tracker()
    campaign.ask(key="W4")
    undone = campaign.undo(period="W3", reason="more rows are coming")
    recomputed(campaign)
    assert undone.reopened == 3
    assert (campaign.status().period, len(campaign.ledger())) == (3, 2)
    assert undone.order is not None
    assert (undone.order.key, undone.order.received) == ("W3", before.history[2].samples)
    campaign.undo(undone.entry, reason="they are not")
    recomputed(campaign)
    assert campaign.status().period == 4
    assert np.array_equal(campaign.tracker().coef, before.coef)
    assert campaign.ask(key="W4").period == 4


def test_reopened_period_takes_rows_and_closes_again() -> None:
    campaign = after_periods()
    rows = campaign.ledger()[2].report.samples
    first = campaign.undo(period=3, reason="more")
    campaign.tell(*rows_of(3, 100, 4), final=True)
    recomputed(campaign)
    assert campaign.ledger()[2].report.samples == rows + 4
    assert len(campaign.ledger()) == 3
    with pytest.raises(ProtocolError, match="period 3 was closed again since"):
        campaign.undo(first.entry, reason="no")
    campaign.undo(period=3, reason="again")
    with pytest.raises(ProtocolError, match=r"cannot be opened again: rows were delivered for period 3 \(W3\)"):
        campaign.undo(period=2, reason="and the one before")


def test_forgotten_rows_come_back() -> None:
    campaign = after_periods(1)
    campaign.ask(key="W2")
    campaign.tell(*rows_of(2, 0, 3), ids=["a", "b", "c"], final=False)
    campaign.forget(reason="wrong")
    forgotten = campaign.log(kinds=("forgotten",))[-1].seq
    assert campaign.undo(forgotten, reason="right").rows == 3
    assert campaign.order().received == 3
    recomputed(campaign)


def test_rows_delivered_again_do_not_come_back() -> None:
    campaign = after_periods(1)
    campaign.ask(key="W2")
    X, y = rows_of(2, 0, 3)
    campaign.tell(X, y, ids=["a", "b", "c"], delivery="bad", final=False)
    undone = campaign.undo(delivery="bad", reason="wrong labels")
    campaign.tell(X, -y, ids=["a", "b", "c"], delivery="good", final=False)
    with pytest.raises(ProtocolError, match="rows such as 'a' were delivered again in period 2"):
        campaign.undo(undone.entry, reason="no")
    assert campaign.order().received == 3


def test_decisions() -> None:
    campaign = after_periods(1)
    order = campaign.ask(key="W2")
    campaign.override(40, reason="first")
    campaign.override(50, reason="second")
    log = campaign.log(kinds=("overridden",))
    assert (undone := campaign.undo(log[-1].seq, reason="no").order) is not None
    assert undone.samples == 40
    assert (undone := campaign.undo(log[0].seq, reason="no").order) is not None
    assert (undone.samples, undone.overridden) == (order.samples, None)
    recomputed(campaign)
    campaign.override(1, reason="third")
    campaign.tell(*rows_of(2, 0, 1))
    with pytest.raises(ProtocolError, match="had its effect when the period was closed; undo its closing first"):
        campaign.undo(campaign.log(kinds=("overridden",))[-1].seq, reason="no")


def test_categories() -> None:
    values = {"features": ["size", "city"], "categories": {"city": ["Rome", "Milan"]}}
    campaign = begun(MemoryStore(), **values)
    campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop")
    campaign.undo(campaign.log(kinds=("amended",))[0].seq, reason="closed again")
    assert not campaign.definition.unknown_categories
    recomputed(campaign)


def test_draws_are_released() -> None:
    campaign = after_periods(1, features=["a", "b"])
    campaign.ask(key="W2")
    pool = {"a": list(range(50)), "b": list(range(50))}
    sample = campaign.sample(pool)
    assert campaign.release(reason="wrong pool").rows == len(sample)
    assert campaign.drawn() == ()
    recomputed(campaign)
    with pytest.raises(ProtocolError, match="requires rows that were drawn"):
        campaign.release(reason="again")
    assert set(campaign.sample(pool).ids) != set(sample.ids), "another draw"
    campaign.undo(campaign.log(kinds=("selected",))[-1].seq, reason="by its entry")
    assert campaign.drawn() == ()


@pytest.mark.parametrize("fixed", [0, 60])
def test_labels_paid_for_stay_paid_unless_refunded(fixed: int) -> None:
    campaign = after_periods(2, budget={**BUDGET, "fixed": fixed})
    spent = campaign.status().spent
    undone = campaign.undo(delivered_in(campaign, 2)[0], reason="wrong labels")
    recomputed(campaign)
    assert undone.written_off is not None
    assert campaign.status().spent == spent
    assert float(undone.written_off) == undone.rows
    campaign.undo(undone.entry, reason="back")
    recomputed(campaign)
    assert campaign.status().spent == spent
    refunded = campaign.undo(delivered_in(campaign, 2)[0], reason="never bought", refund=True)
    recomputed(campaign)
    assert refunded.written_off is None
    assert float(campaign.status().spent or 0) == float(spent or 0) - refunded.rows


def test_budget_changes() -> None:
    campaign = after_periods(1, budget=BUDGET)
    campaign.ask(key="W2")
    campaign.add_money(100, reason="first", per_sample="2")
    campaign.add_money(50, periods=2, reason="second")
    run_period(campaign, 2)
    first = campaign.log(kinds=("budgeted",))[0].seq
    campaign.undo(first, reason="not approved")
    recomputed(campaign)
    budget = campaign.definition.budget
    assert budget is not None
    assert (budget["total"], budget["horizon"], budget["per_sample"]) == ("950", 14, 1)


def test_only_the_open_period_without_rows() -> None:
    campaign = after_periods(2, keep_rows=False)
    for what in ({"period": 2}, {"entry": delivered_in(campaign, 2)[0]}):
        with pytest.raises(ProtocolError, match="keep_rows is off"):
            campaign.undo(reason="r", **what)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ({}, "must be the one of entry, delivery and period that is undone; got none of them"),
        ({"entry": 1, "period": 1}, "got 2 of them"),
        ({"entry": 1}, "entry 1 is 'created'"),
        ({"entry": 2}, "an order that was placed is a fact"),
        ({"entry": 99}, "must be the number of a log entry, 1 to"),
        ({"delivery": "nothing"}, "there is none"),
        ({"period": 1}, "period 1 (W1) is not the one closed last; undo the closing of period 2 first"),
        ({"period": "W9"}, "must be the number or the key of a closed period; got 'W9'"),
    ],
)
def test_refusals_in_one_sentence(what: dict[str, Any], problem: str) -> None:
    campaign = after_periods(2)
    entries = len(campaign.log())
    with pytest.raises((ParameterError, ProtocolError)) as refused:
        campaign.undo(reason="r", **what)
    assert problem in str(refused.value)
    assert len(campaign.log()) == entries


def test_nothing_is_undone_twice_and_a_dry_run_writes_nothing() -> None:
    campaign = after_periods(2)
    seq, entries = delivered_in(campaign, 1)[0], len(campaign.log())
    campaign.undo(seq, reason="r", dry_run=True)
    assert len(campaign.log()) == entries
    campaign.undo(seq, reason="r")
    with pytest.raises(ParameterError, match=f"entry {entries + 1} took entry {seq} back"):
        campaign.undo(seq, reason="r")
    with pytest.raises(ParameterError, match="must give a reason"):
        campaign.undo(seq, reason=" ")


def test_rows_of_the_next_period_keep_the_last_one_closed() -> None:
    campaign = after_periods(1)
    campaign.ask(key="W2")
    campaign.tell(*rows_of(2, 0, 1), final=False)
    with pytest.raises(ProtocolError, match=r"cannot be opened again: rows were delivered for period 2 \(W2\)"):
        campaign.undo(period=1, reason="r")


def test_the_log_says_what_happened() -> None:
    campaign = after_periods(2, budget=BUDGET)
    campaign.undo(delivered_in(campaign, 2)[0], reason="labels of May", who="Ada")
    undone, revised = (describe_entry(entry) for entry in campaign.log()[-2:])
    assert undone.sentence.startswith("Delivery of ")
    assert undone.sentence.endswith(" EUR stays paid, by Ada: “labels of May”.")
    assert revised.sentence.startswith("Period 2 recomputed: expected excess loss of the current model ")


def test_an_upload_is_known_by_its_file() -> None:
    campaign = after_periods(1)
    campaign.ask(key="W2")
    campaign.tell(*rows_of(2, 0, 3), source="REST: w2.csv", final=False)
    assert campaign.undo(delivery="w2.csv", reason="wrong").rows == 3
    recomputed(campaign)


def test_money_that_was_added_in_an_open_period_is_taken_back() -> None:
    store = MemoryStore()
    definition = {"name": "a", "epsilon": 0.1, "seed": 0, "budget": {"total": 100, "horizon": 5}}
    campaign = Campaign.create(definition, storage=store)
    order = campaign.ask(key="x")
    campaign.add_money(50, reason="a fair")
    entry = next(entry for entry in campaign.log() if entry.kind == "budgeted")
    undone = campaign.undo(entry.seq, reason="it was cancelled")
    assert str(campaign.status().to_plan) == "100"
    assert campaign.order().samples == order.samples
    *_, (_, state) = campaign.replay()
    assert state.definition == campaign.definition
    campaign.undo(undone.entry, reason="it took place")
    assert str(campaign.status().to_plan) == "150"
