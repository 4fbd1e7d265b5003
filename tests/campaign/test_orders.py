"""What people decide about an order, for which period, and how a script that asks ends."""

import pytest

from driftpace.campaign.records import BUY, EXHAUSTED, FAILED, SKIP
from driftpace.errors import ParameterError, ProtocolError
from driftpace.records import Verdict
from driftpace.storage.base import Store
from tests.reference.campaigns import begun, rows_of


def test_an_override_stands_until_the_period_closes_and_an_approval_ends_it(store: Store) -> None:
    campaign = begun(store)
    asked = campaign.ask()
    mine = campaign.override(asked.samples + 5, reason="a fair is on", who="Ada")
    assert (mine.samples, mine.missing) == (asked.samples + 5, asked.samples + 5)
    assert mine.overridden is not None
    assert (mine.overridden.reason, mine.overridden.who) == ("a fair is on", "Ada")
    agreed = campaign.approve(who="Bob")
    assert (agreed.samples, agreed.overridden) == (asked.samples, None)
    assert agreed.approved is not None
    few = campaign.override(3, reason="no money")
    receipt = campaign.tell(*rows_of(1, 0, 3))
    assert few.missing == 3
    assert receipt.report is not None
    assert campaign.ask().overridden is None
    with pytest.raises(ParameterError, match="must give a reason"):
        campaign.override(3, reason="  ")


def test_an_order_ends_a_script_as_what_it_is(store: Store) -> None:
    campaign = begun(store)
    assert campaign.ask().code == BUY
    few = campaign.tell(*rows_of(1, 0, 10), final=False).order
    assert [one.name for one in few.request.assumptions if one.verdict is Verdict.FAIL] == ["enough rows"]
    assert few.code == BUY, "the order brings the rows that are too few"
    assert campaign.override(10, reason="no staff").code == FAILED
    campaign.override(0, reason="no staff")
    campaign.tell()
    still = begun(store, name="still", features=["a", "b"])
    assert still.ask().code == BUY
    X, y = rows_of(1, 0, 30)
    X[:, 1] = X[:, 0]
    assert still.tell(X, y, final=False).order.code == FAILED, "a column is another one"
    early = begun(store, name="early", features=["a", "b"])
    early.ask()
    few = early.tell(X[:9], y[:9], final=False).order
    assert "curvature" in [one.name for one in few.request.assumptions if one.verdict is Verdict.FAIL]
    assert few.code == BUY, "columns may be alike in so few rows"
    poor = begun(store, name="poor", budget={"total": 62, "horizon": 3, "fixed": 60, "per_sample": 1})
    while poor.ask().missing:
        poor.tell(*rows_of(1, 0, poor.ask().missing), final=True)
    assert poor.ask().code == EXHAUSTED


def test_what_is_meant_for_another_period_is_refused_and_a_delivery_that_was_told_is_still_known(store: Store) -> None:
    campaign = begun(store)
    campaign.ask(key="W1")
    rows = rows_of(1, 0, 4)
    assert campaign.tell(*rows, period=1, final=True).report is not None
    assert campaign.tell(*rows, period=1).duplicate is not None, "a second try is answered, not refused"
    campaign.ask(key="W2")
    entries = campaign.status().entries
    for late in (
        lambda: campaign.tell(*rows_of(1, 4, 4), period=1),
        lambda: campaign.override(3, reason="x", period=1),
        lambda: campaign.approve(period=1),
        lambda: campaign.forget(reason="x", period=1),
    ):
        with pytest.raises(
            ProtocolError, match=r"is meant for period 1, which is not the open one; period 2 \(W2\) is open"
        ):
            late()
    assert campaign.status().entries == entries
    assert campaign.override(3, reason="x", period=2).samples == 3


def test_rows_that_nobody_asked_for_are_not_called_asked_for(store: Store) -> None:
    campaign = begun(store)
    asked = campaign.ask().samples
    report = campaign.tell(*rows_of(1, 0, 200), final=True).report
    assert report is not None
    assert (report.samples, report.asked) == (200, asked)
    order = campaign.ask()
    while order.missing:
        order = campaign.tell(*rows_of(2, order.received, order.missing), final=False).order
    report = campaign.tell().report
    assert report is not None
    assert report.asked == report.samples, "all rows delivered were requested, in one order or in several"


def test_a_closed_period_leaves_nothing_to_do_for_a_script(store: Store) -> None:
    campaign = begun(store)
    campaign.ask(key="W1")
    campaign.override(4, reason="no staff")
    campaign.tell(*rows_of(1, 0, 4))
    closed = campaign.ask(key="W1")
    assert closed.closed
    assert closed.code == SKIP, "whatever failed in it when it was asked for"
