"""The money of a campaign: one meaning, the same in every interface, whatever was delivered and whatever a person decided."""

import json

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.records import EXHAUSTED
from driftpace.campaign.serialization import order_json, status_json
from driftpace.campaign.text import order_sentence
from driftpace.records import Money
from driftpace.storage.base import Store
from tests.reference.campaigns import begun, rows_of

BUDGET = {"total": 1200, "horizon": 10, "fixed": 20, "per_sample": 1.5, "currency": "EUR"}


def euros(amount: float) -> Money:
    return Money.of(amount, "EUR")


@pytest.fixture
def campaign(store: Store) -> Campaign:
    """A campaign with a closed period of 40 rows, and an open one with 12 rows."""
    opened = begun(store, budget=BUDGET)
    opened.ask()
    opened.tell(*rows_of(1, 0, 40), final=True)
    opened.ask()
    opened.tell(*rows_of(2, 0, 12), final=False)
    return opened


def test_what_was_spent_committed_and_left_is_the_whole_budget(campaign: Campaign) -> None:
    status = campaign.status()
    assert (status.spent, status.committed) == (euros(80), euros(38))
    assert status.money_left == euros(1200 - 80 - 38)
    assert status.to_plan == euros(1200 - 80)
    plain = json.loads(json.dumps(status_json(status)))
    assert plain["committed"] == {"amount": "38.0", "currency": "EUR"}


def test_a_plan_pays_for_the_rows_that_came_once(campaign: Campaign) -> None:
    whole = campaign.plan()
    assert whole.budget == campaign.status().to_plan
    assert whole.first_period == 2


def test_an_override_costs_what_its_own_rows_cost(campaign: Campaign) -> None:
    asked = campaign.status().order
    assert asked is not None
    assert asked.cost == asked.request.cost
    mine = campaign.override(100, reason="a fair")
    assert mine.missing == 88
    assert mine.cost == euros(1.5 * 88), "it is one order, and its fixed price was paid with the rows delivered"
    assert mine.overridden is not None
    assert mine.overridden.asked == asked.samples
    assert order_json(mine)["cost"] == {"amount": "132.0", "currency": "EUR"}
    assert campaign.store.head("prices").summary["cost"] == str(mine.cost)  # type: ignore[union-attr]
    campaign.tell(*rows_of(2, 12, 10), final=False)
    later = campaign.status().order
    assert later is not None
    assert later.overridden is not None
    assert later.overridden.asked == asked.samples, (
        "what was requested when it was decided, whatever was delivered since"
    )
    assert Campaign.open("prices", storage=campaign.store).status().order == later


def test_money_that_is_gone_is_said_in_the_list(store: Store) -> None:
    poor = begun(store, budget={"total": 62, "horizon": 3, "fixed": 60, "per_sample": 1})
    poor.ask()
    poor.override(40, reason="just once")
    poor.tell(*rows_of(1, 0, 40), final=True)
    poor.ask()
    head = store.head("prices")
    assert head is not None
    assert (head.summary["exhausted"], head.summary["failed"]) == (True, False)
    assert poor.status().to_plan == Money.of(0)
    assert poor.status().todo == (
        "The budget cannot pay for the rows that period 2 needs: close it without labels, add money, or override the order."
    )


def test_money_that_is_kept_for_later_periods_is_not_called_enough(store: Store) -> None:
    """All rows that the plan has for a period were delivered, and the target is out of reach: order and exit code say so."""
    campaign = begun(store, epsilon=0.001, budget={"total": 120, "horizon": 6, "fixed": 10, "per_sample": 1})
    order, delivered = campaign.ask(), 0
    while order.missing:
        rows = order.missing
        order = campaign.tell(*rows_of(1, delivered, rows), final=False).order
        delivered += rows
    left = campaign.status().money_left
    assert left is not None
    assert left.amount > 20
    assert order.code == EXHAUSTED
    sentence = "All rows that the budget covers for period 1 are received"
    assert campaign.status().todo == f"{sentence}: close it, add money, or override the order."
    assert order_sentence(order) == f"{sentence}; nothing more to label."


def test_without_a_budget_there_is_no_money(store: Store) -> None:
    campaign = begun(store)
    order = campaign.ask()
    status = campaign.status()
    assert (order.cost, status.spent, status.committed, status.money_left, status.to_plan) == (None,) * 5
