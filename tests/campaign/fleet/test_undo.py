"""Deliveries and closings of the last two periods can be taken back; the state is then the one without them, to the bit."""

from collections import deque

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet.state import pack_segments
from driftpace.errors import ParameterError, ProtocolError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.campaign.fleet.shops import Market, bits, create, work


def recomputed(campaign: FleetCampaign) -> str:
    """Return the digest of the segments that the log leads to."""
    ((_, state),) = deque(campaign.replay(), maxlen=1)
    assert state.table.rows == campaign.segments.rows
    return pack_segments(state.fleet.segments)[1]


def test_a_delivery_in_the_open_period(store: Store) -> None:
    campaign, market = create(store), Market()
    work(campaign, market, "a")
    order = campaign.ask(key="b")
    before = bits(campaign)
    campaign.tell(market.rows(order.segments.missing), source="wrong.csv", final=False)
    undone = campaign.undo(delivery="wrong.csv", reason="labels of another city")
    assert (undone.kind, undone.rows) == ("delivered", order.missing)
    assert undone.status.order is not None
    assert undone.status.order.segments.rows == order.segments.rows
    assert bits(FleetCampaign.open("shops", storage=store)) == before == recomputed(campaign)
    with pytest.raises(ProtocolError, match=r"there is no delivery 'wrong\.csv'"):
        campaign.undo(delivery="wrong.csv", reason="again")


def test_an_undone_delivery_can_be_sent_again() -> None:
    campaign, market = create(MemoryStore()), Market()
    rows = market.rows(campaign.ask().segments.missing)
    campaign.tell(rows, delivery="a.csv", final=False)
    campaign.undo(delivery="a.csv", reason="too early")
    assert campaign.tell(rows, delivery="a.csv", final=False).rows == 30


def test_the_closing_of_a_period(store: Store) -> None:
    campaign, market = create(store), Market()
    work(campaign, market, "a")
    order = campaign.ask(key="b")
    campaign.tell(market.rows(order.segments.missing), final=False)
    before, open_order = bits(campaign), campaign.status().order
    campaign.tell(final=True)
    closed = bits(campaign)
    campaign.ask(key="c")
    undone = campaign.undo(period=2, reason="more rows arrived")
    assert bits(campaign) == before
    assert undone.status.order is not None
    assert open_order is not None
    assert (undone.status.order.key, undone.status.order.segments.rows) == ("b", open_order.segments.rows)
    assert [period.period for period in campaign.ledger()] == [1]
    campaign.tell(final=True)
    assert bits(campaign) == closed == recomputed(campaign)
    assert campaign.ask(key="c").period == 3


def test_a_delivery_in_the_period_closed_last(store: Store) -> None:
    """The period is computed again without it, and so is the open one."""
    campaign, market = create(store), Market()
    work(campaign, market, "a")
    order = campaign.ask(key="b")
    campaign.tell(market.rows(order.segments.missing), source="good.csv", final=False)
    without = bits(campaign)
    campaign.tell(market.rows({"Oslo": 5}), source="bad.csv", final=False)
    closed = campaign.tell(final=True).closed
    campaign.ask(key="c")
    undone = campaign.undo(delivery="bad.csv", reason="wrong shop")
    assert undone.status.last is not None
    assert closed is not None
    assert (undone.status.last.received, closed.received) == (closed.received - 5, closed.received)
    assert undone.status.order is not None
    assert undone.status.order.key == "c"
    assert recomputed(campaign) == bits(campaign) != without


def test_an_undo_can_be_undone_before_anything_else_happens(store: Store) -> None:
    campaign, market = create(store), Market()
    order = campaign.ask()
    campaign.tell(market.rows(order.segments.missing), delivery="a.csv", final=False)
    before = bits(campaign)
    undone = campaign.undo(delivery="a.csv", reason="wrong")
    campaign.undo(undone.entry, reason="they were right after all")
    assert bits(campaign) == before == recomputed(campaign)
    again = campaign.undo(delivery="a.csv", reason="wrong")
    campaign.tell(market.rows({"Oslo": 3}), final=False)
    with pytest.raises(ProtocolError, match="before anything else has happened"):
        campaign.undo(again.entry, reason="too late")


def test_what_is_older_stays() -> None:
    campaign, market = create(MemoryStore()), Market()
    for key in "abc":
        work(campaign, market, key)
    before = bits(campaign)
    with pytest.raises(ProtocolError, match="reaches back to the start of the period closed last"):
        campaign.undo(delivery="a.csv", reason="too old")
    with pytest.raises(ProtocolError, match="reaches back to the start of the period closed last"):
        campaign.undo(period=2, reason="too old")
    assert bits(campaign) == before


def test_what_cannot_be_undone_is_refused_in_one_sentence() -> None:
    campaign, market = create(MemoryStore()), Market()
    asked = campaign.ask(key="a")
    with pytest.raises(ProtocolError, match="entry 5 is 'asked'"):
        campaign.undo(campaign.log()[-1].seq, reason="no")
    with pytest.raises(ParameterError, match="none or several"):
        campaign.undo(reason="no")
    with pytest.raises(ParameterError, match="reason"):
        campaign.undo(3, reason=" ")
    campaign.tell(market.rows(asked.segments.missing), final=True)
    campaign.ask(key="b")
    campaign.tell(market.rows({"Oslo": 1}), final=False)
    with pytest.raises(ProtocolError, match="while the next one has no rows"):
        campaign.undo(period=1, reason="no")
