"""One budget for a fleet: never overspent, shared at one level or by weights, and the same after it was saved."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from driftpace import Budget, Fleet, LinearCost
from driftpace.errors import ParameterError
from driftpace.fleet import FleetBudget
from driftpace.planning import TieredCost
from driftpace.records import Money, Outcome
from tests.fleet.stores import Shop, new_fleet, run

NAMES = tuple(f"s{number}" for number in range(6))


def a_fleet(total: Any, *, horizon: int = 4, options: dict[str, Any] | None = None, **given: Any) -> Fleet:
    budget = FleetBudget(total=total, horizon=horizon, **{"cost": LinearCost(currency="EUR"), **given})
    return new_fleet(segments=NAMES, budget=budget, **({"borrow": False} | (options or {})))


@pytest.mark.parametrize("borrow", [False, True])
def test_with_enough_money_a_budget_changes_nothing(borrow: bool) -> None:
    rich, free = a_fleet(10**6, options={"borrow": borrow}), new_fleet(segments=NAMES, borrow=borrow)
    for fleet in (rich, free):
        run(fleet, Shop(NAMES), 3)
    for name in NAMES:
        assert [one.samples for one in rich.ledger[name]] == [one.samples for one in free.ledger[name]]
        assert (rich.segment(name).coef == free.segment(name).coef).all()
    orders = rich.ask()
    assert orders.share is not None
    assert orders.share.enough
    assert orders.cost == Money(Decimal(orders.samples), "EUR")
    bought = sum(one.samples for reports in rich.ledger.values() for one in reports)
    assert rich.money_left == orders.money_left == Money(Decimal(10**6 - bought), "EUR")
    assert free.money_left is None
    assert free.ask().cost is None


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"cost": LinearCost(fixed=3, per_sample="0.5", currency="EUR"), "order_price": 10},
        {"weights": {"s0": 4.0}},
        {"costs": {"s1": LinearCost(per_sample=4, currency="EUR")}},
    ],
)
def test_a_short_budget_is_never_overspent_and_segments_are_served_alike(given: dict[str, Any]) -> None:
    fleet, shop = a_fleet(220, **given), Shop(NAMES)
    for _ in range(4):
        before = fleet.money_left
        assert before is not None
        spent = Money(Decimal(0), "EUR")
        while (orders := fleet.ask()).samples:
            assert orders.cost is not None
            assert orders.money_left is not None
            assert orders.share is not None
            assert orders.cost <= orders.money_left
            assert orders.share.proven_gap < 0.01
            spent += orders.cost
            if not orders.share.enough and "weights" not in given:
                assert max(order.risk / order.epsilon for order in orders) <= orders.share.value * (1.0 + 1e-6)
            fleet.tell(shop.label(orders), final=False)
        fleet.tell()
        assert fleet.money_left == before - spent
        shop.next_period()
    assert fleet.money_left is not None
    assert Decimal(0) <= fleet.money_left.amount < 80
    outcomes = {one.outcome for reports in fleet.ledger.values() for one in reports}
    assert Outcome.BUDGET in outcomes
    costs = [one.cost for reports in fleet.ledger.values() for one in reports]
    paid = sum((cost.amount for cost in costs if cost is not None), Decimal(0))
    orders_paid = 4 * Decimal(str(given.get("order_price", 0)))
    assert Money(paid + orders_paid, "EUR") == Money.of(220, "EUR") - fleet.money_left
    last = fleet.ask()
    assert last.samples == 0
    assert "horizon of the budget" in last["s0"].reason


def test_weights_move_money_to_what_matters() -> None:
    counts = []
    for weights in ({"s0": 8.0}, {"s0": 0.1}):
        fleet = a_fleet(260, weights=weights)
        run(fleet, Shop(NAMES), 3)
        counts.append(sum(one.samples for one in fleet.ledger["s0"]))
    assert counts[0] > counts[1]


def test_a_fixed_price_is_paid_for_one_order_in_a_period() -> None:
    fleet, shop = a_fleet(700, cost=LinearCost(fixed=5, currency="EUR")), Shop(NAMES)
    run(fleet, shop, 1)
    orders = fleet.ask()
    assert orders.samples > 0
    fleet.tell(shop.label(orders), final=False)
    again = fleet.ask()
    assert again.samples == 0
    assert "the period had its order, which has a fixed price" in again["s0"].reason
    fleet.tell()
    assert {one[-1].outcome for one in fleet.ledger.values()} <= {
        Outcome.MET,
        Outcome.SETTLING,
        Outcome.UNSUPPORTED,
        Outcome.BUDGET,
    }


def test_money_for_some_initial_samples_goes_to_the_first_segments() -> None:
    fleet, shop = a_fleet(25, horizon=2), Shop(NAMES)
    orders = fleet.ask()
    assert [order.samples for order in orders] == [10, 10, 0, 0, 0, 0]
    assert "the budget pays for 0 of 10 rows of the initial sample" in orders["s3"].reason
    assert orders["s3"].outcome is Outcome.BUDGET
    fleet.tell(shop.label(orders))
    assert fleet.money_left == Money.of(5, "EUR")


def test_asking_again_and_after_saving_gives_the_same_orders(tmp_path: Path) -> None:
    fleet, shop = a_fleet(240, weights={"s2": 2.0}), Shop(NAMES)
    run(fleet, shop, 1)
    orders = fleet.ask()
    assert fleet.ask() == orders
    fleet.tell(shop.rows("s1", 3), final=False)
    fleet.save(tmp_path / "fleet.json")
    loaded = Fleet.load(tmp_path / "fleet.json")
    assert loaded.budget == fleet.budget
    assert loaded.money_left == fleet.money_left
    assert loaded.ask() == fleet.ask()
    assert loaded.ask()["s0"] == orders["s0"]  # what was requested stays so


def test_rows_that_were_not_requested_are_paid() -> None:
    fleet, shop = a_fleet(100), Shop(NAMES)
    fleet.ask()
    fleet.tell(shop.rows("s0", 130))
    assert fleet.money_left is not None
    assert fleet.money_left.amount == -30
    assert fleet.ask().samples == 0


def test_another_budget_sizes_the_open_period_again() -> None:
    fleet, shop = a_fleet(30), Shop(NAMES)
    assert fleet.ask().samples == 30
    fleet.tell(shop.rows("s0", 4), final=False)
    fleet.set_budget(FleetBudget(total=60, horizon=5, cost=LinearCost(currency="EUR")))
    assert fleet.money_left == Money.of(56, "EUR")
    orders = fleet.ask()
    assert orders.share is not None
    assert 26 < orders.samples <= 56 - orders.share.later.amount
    with pytest.raises(ParameterError, match="must be in the currency of the first one, EUR; got none"):
        fleet.set_budget(Budget(total=5, horizon=2))
    with pytest.raises(ParameterError, match="must be a Budget or a FleetBudget; got None"):
        fleet.set_budget(None)  # type: ignore[arg-type]
    free = new_fleet(segments=NAMES)
    assert free.ask().samples == 60
    free.set_budget(Budget(total=20, horizon=2))
    assert free.ask().samples == 20


def test_the_budget_of_a_tracker_is_taken_for_all_segments_together() -> None:
    fleet = new_fleet(budget=Budget(total=90, horizon=3, cost=LinearCost(currency="EUR")))
    assert fleet.budget == FleetBudget(total=90, horizon=3, cost=LinearCost(currency="EUR"))
    assert fleet.ask().samples == 30


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"budget": 100}, r"Fleet\(budget=...\) must be a Budget or a FleetBudget; got 100"),
        ({"budget": Budget(total=9, horizon=1, gap="run")}, r"Fleet\(budget=...\) must have a LinearCost"),
        ({"budget": Budget(total=9, horizon=1), "delay": 1}, r"Fleet\(delay=...\) must be None with a budget; got 1"),
        ({"budget": Budget(total=9, horizon=1), "confidence": 0.9}, r"Fleet\(confidence=...\) must be None"),
    ],
)
def test_budgets_that_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        new_fleet(**options)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"horizon": 0}, r"FleetBudget\(horizon=...\)"),
        ({"total": -1}, r"FleetBudget\(total=...\) must be an amount of money"),
        ({"cost": TieredCost(tiers=((1, 2),))}, r"FleetBudget\(cost=...\) must be a LinearCost"),
        ({"weights": {"a": -1.0}}, r"FleetBudget\(weights=...\) must be positive"),
        (
            {"cost": LinearCost(currency="EUR"), "costs": {"a": LinearCost(currency="USD")}},
            r"FleetBudget\(costs=...\) must all be in one currency; got EUR, USD",
        ),
    ],
)
def test_prices_that_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        FleetBudget(**({"total": 100, "horizon": 2} | given))


def test_a_pool_of_a_period_is_refused_with_a_budget() -> None:
    with pytest.raises(ParameterError, match=r"Fleet.ask\(pool=...\) must be None with a budget; got 5"):
        a_fleet(100).ask(pool=5)
