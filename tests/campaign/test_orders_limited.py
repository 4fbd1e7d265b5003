"""A campaign with a limited number of orders a period: deliveries in pieces, overrides, withdrawals and replay."""

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.definition import Definition
from driftpace.campaign.template import template
from driftpace.errors import ParameterError
from driftpace.storage import MemoryStore
from tests.reference.campaigns import VALUES, begun, rows_of, run_period


def started(orders: int, periods: int = 2) -> Campaign:
    campaign = begun(MemoryStore(), orders=orders)
    for period in range(1, periods + 1):
        run_period(campaign, period)
    return campaign


def test_an_order_in_two_files_is_one_order() -> None:
    campaign = started(1)
    order = campaign.ask(key="W3")
    half = order.missing // 2
    receipt = campaign.tell(*rows_of(3, 0, half), source="first.csv")
    assert receipt.report is None
    assert (receipt.order.missing, receipt.order.samples) == (order.missing - half, order.samples)
    receipt = campaign.tell(*rows_of(3, half, order.missing - half), source="second.csv")
    assert receipt.report is not None, "the order is complete, so the period is closed"
    assert receipt.order.request.reason.endswith("the period has had its one order")


def test_two_orders_are_a_first_one_and_a_top_up() -> None:
    campaign = started(2, periods=1)
    for period in range(2, 8):
        order, count = campaign.ask(key=f"W{period}"), 0
        while order.missing and not order.closed:
            receipt = campaign.tell(*rows_of(period, order.received, order.missing), final=None)
            order, count = receipt.order, count + 1
        assert count <= 2
        if not order.closed:
            campaign.tell()


def test_an_override_replaces_the_order_and_withdrawn_rows_bring_it_back() -> None:
    campaign = started(1)
    asked = campaign.ask(key="W3").samples
    campaign.override(asked + 6, reason="a fair is on")
    receipt = campaign.tell(*rows_of(3, 0, asked))
    assert (receipt.report, receipt.order.missing) == (None, 6)
    assert receipt.order.request.samples == 0
    campaign.forget(reason="the wrong shop")
    assert campaign.ask().request.samples == asked
    assert campaign.ask().missing == asked + 6
    assert campaign.approve().missing == asked
    assert campaign.tell(*rows_of(3, 0, asked)).report is not None
    few = campaign.override(3, reason="no staff") if campaign.ask(key="W4").missing else None
    assert few is not None
    receipt = campaign.tell(*rows_of(4, 0, 3))
    assert receipt.report is not None
    assert receipt.report.samples == 3


def test_the_number_of_orders_is_a_setting() -> None:
    values = {**VALUES, "orders": 2}
    assert Definition.of_toml(template(values)).orders == 2
    assert Definition.of(values).to_values()["orders"] == 2
    assert "orders" not in Definition.of(VALUES).to_values()
    for wrong in (0, "one", 1.5):
        with pytest.raises(ParameterError, match=r"^Campaign\(orders=\.\.\.\) must be a whole number"):
            begun(MemoryStore(), orders=wrong)
