"""What the command line says of the promise of an order that a person has overridden."""

from driftpace.campaign.records import Order
from driftpace.campaign.text import order_lines
from driftpace.storage import MemoryStore
from tests.reference.campaigns import begun, run_period


def _promise(order: Order) -> str:
    return dict(order_lines(order))["Accuracy"]


def test_the_promise_is_that_of_the_number_that_stands() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    nothing = campaign.override(50, reason="plenty")
    assert _promise(nothing) == "not guaranteed: not enough data yet to predict the excess loss (target 0.1)"
    campaign.approve()
    for period in (1, 2):
        run_period(campaign, period)
    order = campaign.ask()
    assert " with " not in _promise(order)
    few, many = campaign.override(1, reason="no staff"), campaign.override(300, reason="plenty")
    assert (
        _promise(few)
        == f"not expected to meet the target: expected excess loss {few.risk_bound:.3g} with 1 row (target 0.1)"
    )
    assert _promise(many) == f"expected excess loss {many.risk_bound:.3g} with 300 rows (target 0.1)"


def test_a_closed_period_has_no_reason_to_label() -> None:
    campaign = begun(MemoryStore())
    order = campaign.ask(key="W1")
    run_period(campaign, 1)
    closed = campaign.ask(key="W1")
    assert (closed.closed, order_lines(closed)) == (True, [])
    assert dict(order_lines(order))["Reason"].startswith("No initial labels yet")
