"""One budget for the segments of a campaign: never overspent, the same as that of a fleet, given back by undo, recomputed."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from driftpace import Fleet, FleetCampaign, LinearCost, SquaredLoss
from driftpace.campaign.fleet import FleetReceipt
from driftpace.campaign.fleet.serialization import order_json, period_json, status_json
from driftpace.campaign.fleet.text import order_lines, status_lines
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.errors import DriftpaceError, ParameterError
from driftpace.fleet import FleetBudget
from driftpace.records import Money
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.campaign.fleet.shops import DEFINITION, SHOPS, Market, bits, create

SHORT: dict[str, Any] = {"total": 70, "horizon": 4, "per_sample": "0.5", "currency": "EUR"}


def euros(amount: Any) -> Money:
    return Money(Decimal(str(amount)), "EUR")


def work(campaign: FleetCampaign, market: Market, key: str) -> FleetReceipt:
    """Work through a period, within what the money pays for."""
    order = campaign.ask(key=key)
    while order.missing:
        receipt = campaign.tell(market.rows(order.segments.missing), final=False, source=f"{key}.csv")
        order = receipt.order
    return campaign.tell(final=True)


@pytest.mark.parametrize(
    "more",
    [{}, {"weights": {"Rome": 3.0}}, {"costs": {"Rome": {"per_sample": 2}}, "order_price": 3}, {"fixed": 4}],
)
def test_a_budget_is_shared_as_by_a_fleet_and_never_overspent(more: Mapping[str, Any], store: Store) -> None:
    campaign, market = create(store, budget={**SHORT, **more}), Market()
    cost = LinearCost(fixed=more.get("fixed", 0), per_sample="0.5", currency="EUR")
    budget = FleetBudget(
        total=70,
        horizon=4,
        cost=cost,
        costs={"Rome": LinearCost(per_sample=2, currency="EUR")} if "costs" in more else {},
        order_price=more.get("order_price", 0),
        weights=more.get("weights"),
    )
    fleet = Fleet(
        SquaredLoss(), epsilon=0.1, segment="shop", target="sales", segments=sorted(SHOPS), budget=budget, rng=0
    )
    paid = Decimal(0)
    for key in ("a", "b", "c"):
        order = campaign.ask(key=key)
        while order.missing:
            asked = fleet.ask()
            assert {one.segment: one.samples for one in asked if one.samples} == order.segments.missing
            assert (order.cost, order.money_left, order.share) == (asked.cost, asked.money_left, asked.share)
            assert order.cost is not None
            assert order.money_left is not None
            assert order.cost <= order.money_left
            assert order.share is not None
            assert order.share.proven_gap < 0.01
            assert sum(row.cost or 0.0 for row in order.segments) <= float(order.cost)
            rows = market.rows(order.segments.missing)
            order = campaign.tell(rows, final=False).order
            fleet.tell({name: values for name, values in rows.items() if name != "id"}, final=False)
        made = campaign.tell(final=True).closed
        fleet.ask()
        fleet.tell()
        assert made is not None
        assert made.cost is not None
        assert made.money_left == fleet.money_left == euros(70) - euros(paid + made.cost.amount)
        paid += made.cost.amount
    status = FleetCampaign.open("shops", storage=store).status()
    assert (status.spent, status.committed, status.money_left) == (euros(paid), euros(0), euros(70 - paid))
    assert [period.cost for period in campaign.ledger()] == [period.cost for period in campaign.ledger()]
    assert 0 < paid <= 70
    assert compare_with_log(campaign).problem is None
    assert compare_with_log(campaign).exact


def test_orders_status_and_ledger_show_the_money() -> None:
    campaign, market = create(MemoryStore(), budget=SHORT), Market()
    order = campaign.ask(key="a")
    assert order_json(order)["cost"] == {"amount": "15.0", "currency": "EUR"}
    assert dict(order_lines(order))["Cost"] == "15 EUR for the missing rows; 70 EUR left before paying for them"
    campaign.tell(market.rows({"Oslo": 10}), final=False)
    assert dict(status_lines(campaign.status()))["Budget"] == (
        "0 EUR spent on closed periods, 5 EUR for rows of the open period; 65 EUR left"
    )
    made = campaign.tell(final=True).closed
    assert made is not None
    assert period_json(made)["cost"] == {"amount": "5.0", "currency": "EUR"}
    assert status_json(campaign.status())["spent"] == {"amount": "5.0", "currency": "EUR"}
    head = campaign.store.head("shops")
    assert head is not None
    assert (head.summary["spent"], head.summary["money_left"]) == ("5 EUR", "65 EUR")
    assert campaign.segments["Oslo"].spent == 5.0
    assert campaign.log(kinds=("closed",))[0].body["money_left"] == {"amount": "65.0", "currency": "EUR"}


def test_a_short_budget_says_what_any_other_sharing_could_gain() -> None:
    campaign, market = create(MemoryStore(), epsilon=0.02, budget={**SHORT, "total": 24}), Market()
    order = campaign.ask(key="a")
    assert dict(order_lines(order))["Share"].startswith("The money pays for the orders of all segments; 0 EUR are kept")
    campaign.tell(market.rows(order.segments.missing), final=False)
    order = campaign.ask()
    assert order.share is not None
    assert not order.share.enough
    assert order.share.lower <= order.share.value
    sentence = (
        f"The largest risk is {order.share.value:.3g} of its target, and no other way of sharing is better by more than"
    )
    assert dict(order_lines(order))["Share"].startswith(sentence)
    assert dict(status_lines(campaign.status()))["Share"].startswith(sentence)
    assert order_json(order)["share"]["proven_gap"] < 0.01


def test_undo_gives_the_money_back() -> None:
    campaign, market = create(MemoryStore(), budget=SHORT), Market()
    work(campaign, market, "a")
    before, state = campaign.status(), bits(campaign)
    closed = work(campaign, market, "b").closed
    assert closed is not None
    assert closed.cost is not None
    assert campaign.status().money_left == before.money_left - closed.cost if before.money_left else None
    undone = campaign.undo(period=2, reason="wrong")
    assert (undone.status.spent, undone.status.committed) == (before.spent, closed.cost)
    for entry in reversed(campaign.log(kinds=("delivered",))):
        if entry.body["period"] == 2:
            campaign.undo(entry.seq, reason="wrong")
    after = campaign.status()
    assert (after.spent, after.committed, after.money_left) == (before.spent, euros(0), before.money_left)
    assert compare_with_log(campaign).problem is None
    assert campaign.fleet().snapshot().spent == before.spent.amount if before.spent else None
    assert state != bits(campaign)  # the second period is open


def test_the_budget_pays_for_no_more_rows() -> None:
    campaign, market = create(MemoryStore(), budget={"total": 10, "horizon": 1}), Market()
    order = campaign.ask()
    assert (order.missing, order.code) == (10, 0)
    campaign.tell(market.rows(order.segments.missing), final=False)
    order = campaign.ask()
    assert (order.missing, order.code) == (0, 20)
    assert campaign.status().todo == "The budget pays for no more rows in period 1: close it, or add money."


def test_money_is_added_and_taken_back() -> None:
    campaign, market = create(MemoryStore(), budget={**SHORT, "total": 12}), Market()
    few = campaign.ask(key="a")
    status = campaign.add_money(80, periods=2, reason="more", who="anna")
    assert status.order is not None
    assert status.money_left == euros(92)
    assert campaign.definition.budget is not None
    assert (campaign.definition.budget["total"], campaign.definition.budget["horizon"]) == ("92", 6)
    assert status.order.missing > few.missing
    campaign.tell(market.rows({"Oslo": 4}), final=False)
    assert campaign.status().money_left == euros(90)
    cheaper = campaign.add_money(0, reason="new prices", per_sample="0.25")
    assert cheaper.money_left == euros(91)
    seq = campaign.log(kinds=("budgeted",))[0].seq
    undone = campaign.undo(seq, reason="not granted")
    assert undone.kind == "budgeted"
    assert undone.status.money_left == euros(11)
    assert campaign.definition.budget["horizon"] == 4
    assert compare_with_log(campaign).exact
    work(campaign, market, "a")
    assert compare_with_log(campaign).exact


def test_a_campaign_without_a_budget_gets_one() -> None:
    campaign, market = create(MemoryStore()), Market()
    campaign.tell(market.rows(campaign.ask(key="a").segments.missing), final=True)
    assert campaign.status().money_left is None
    with pytest.raises(ParameterError, match="must be at least 1 for a campaign without a budget"):
        campaign.add_money(10, reason="start")
    campaign.add_money(10, periods=2, reason="start", currency="EUR")
    assert campaign.status().money_left == euros(10)
    order = campaign.ask(key="b")
    assert order.cost is not None
    assert order.cost <= euros(10)
    assert compare_with_log(campaign).exact


def test_money_that_is_not_what_the_log_leads_to_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, market = create(MemoryStore(), budget=SHORT), Market()
    work(campaign, market, "a")
    assert compare_with_log(campaign).problem is None
    price = FleetBudget.price
    monkeypatch.setattr(FleetBudget, "price", lambda self, rows: price(self, rows) + euros(1))
    problem = compare_with_log(campaign).problem
    assert problem is not None
    assert "The money spent, " in problem


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"budget": {"total": 5}}, "Campaign(budget.horizon=...) must be given"),
        ({"budget": {**SHORT, "tiers": [[1, 2]]}}, "Campaign(budget.tiers=...) must be a setting of a budget"),
        ({"budget": {**SHORT, "weights": [1.0]}}, "Campaign(budget.weights=...) must be a table with a weight"),
        ({"budget": {**SHORT, "weights": {"Rome": 0}}}, "FleetBudget(weights=...) must be positive"),
        ({"budget": {**SHORT, "costs": {"Rome": 2}}}, "Campaign(budget.costs=...) must be a table with some of fixed"),
        ({"budget": {**SHORT, "costs": {"Rome": {"each": 2}}}}, "Campaign(budget.costs=...) must be a table"),
        ({"budget": SHORT, "delay": 2}, "delay=...) must be None with a budget"),
        ({"budget": SHORT, "confidence": 0.9}, "confidence=...) must be None with a budget"),
    ],
)
def test_budgets_that_cannot_be_are_refused(values: dict[str, Any], sentence: str) -> None:
    store = MemoryStore()
    with pytest.raises(DriftpaceError) as error:
        FleetCampaign.create({**DEFINITION, **values}, storage=store)
    assert sentence in str(error.value)
    assert store.count() == 0


def test_a_pool_and_another_currency_do_not_go_with_a_budget() -> None:
    campaign = create(MemoryStore(), budget=SHORT)
    entries = campaign.status().entries
    with pytest.raises(ParameterError, match="must be None with a budget; got 5"):
        campaign.ask(pool=5)
    with pytest.raises(ParameterError, match="must be in the currency of the first one, EUR; got USD"):
        campaign.add_money(5, reason="dollars", currency="USD")
    with pytest.raises(ParameterError, match="must not take away more than the total budget"):
        campaign.add_money(-100, reason="less")
    assert campaign.status().entries == entries
