"""What-if: numbers as people type them, prices as they are, and the plan that stands beside the new one."""

import re

import pytest

from driftpace.campaign import Campaign
from driftpace.records import Money
from driftpace.service.dashboard.charts import LATEST
from driftpace.service.dashboard.what_if import DEFAULT_HORIZON, FIELDS, current_plan, defaults, evaluate, fields
from driftpace.storage import MemoryStore
from tests.service.dashboard.examples import BUDGET, World, one, through

TIERS = {"total": 3000, "horizon": 20, "tiers": [[1, 2], [50, 1]], "currency": "EUR"}


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    """A campaign in full swing, which nothing here changes."""
    return one(MemoryStore(), periods=4)[0]


@pytest.mark.parametrize("text", ["1e100000", "-1e100000", "1e-100000", "0e100000", "9" * 60, "1e41"])
@pytest.mark.parametrize("name", FIELDS)
def test_huge_numbers_are_refused_at_once(campaign: Campaign, name: str, text: str) -> None:
    found = evaluate(campaign, defaults(campaign) | {name: text}, max_horizon=520)
    assert found.tone == "bad"
    assert "must be a number; got" in found.headline
    assert found.figure is None


def test_defaults_are_plain_numbers() -> None:
    campaign, _ = one(MemoryStore(), periods=2, budget={**BUDGET, "total": 7500.0, "fixed": 20.0})
    usual = defaults(campaign)
    spent = campaign.status().spent
    assert spent is not None
    assert float(usual["budget"]) == 7500 - float(spent)
    assert usual["fixed"] == "20"
    assert not usual["budget"].endswith(".0")


def test_tiered_prices_leave_the_price_empty() -> None:
    campaign, _ = one(MemoryStore(), periods=3, budget=TIERS)
    usual = defaults(campaign)
    assert usual["per_sample"] == ""
    hint = next(field.hint for field in fields(campaign.definition, max_horizon=520) if field.name == "per_sample")
    assert "2 per row, 1 from row 50" in hint
    given = {**usual, "budget": "", "horizon": "6"}
    by_number = evaluate(campaign, given, max_horizon=520).figure
    dear = evaluate(campaign, {**given, "per_sample": "2"}, max_horizon=520).figure
    assert by_number is not None
    assert dear is not None
    rows, cost = int(dear.rows[0][1]), dear.rows[0][2]
    assert cost == f"{2 * rows} EUR"
    for text in ("1", "1.0", " 1.00 "):
        cheap = evaluate(campaign, {**given, "per_sample": text}, max_horizon=520).figure
        assert cheap is not None
        assert cheap.rows[0][2] == f"{int(cheap.rows[0][1])} EUR"


@pytest.mark.parametrize("text", ["1.5", "1.50", " 1.5 "])
def test_prices_are_compared_as_numbers(campaign: Campaign, text: str) -> None:
    usual = defaults(campaign)
    assert usual["per_sample"] == "1.5"
    assert evaluate(campaign, usual | {"per_sample": text}, max_horizon=520) == evaluate(
        campaign, usual, max_horizon=520
    )


def test_the_current_plan_starts_with_an_override() -> None:
    campaign, _ = one(MemoryStore(), periods=4)
    order = campaign.status().order
    assert order is not None
    assert order.request.plan is not None
    assert current_plan(campaign, order) == order.request.plan
    decided = campaign.override(order.samples + 40, reason="a fair")
    plan = current_plan(campaign, decided)
    assert plan is not None
    assert plan.samples == (order.samples + 40, *order.request.plan.samples[1:])
    assert plan.costs[0] == Money.of(20 + (order.samples + 40) * 1.5, "EUR")
    found = evaluate(campaign, defaults(campaign), max_horizon=520)
    assert found.figure is not None
    assert found.figure.rows[0][-1] == str(order.samples + 40)
    assert f"The order of this period is overridden: {order.samples + 40} rows." in found.details


def test_orders_without_a_plan_are_explained() -> None:
    store = MemoryStore()
    values = {"name": "tol", "target": "y", "tolerance": 0.1, "seed": 0}
    campaign = Campaign.create(values, storage=store)
    through(campaign, World(0), 4)
    order = campaign.ask()
    found = evaluate(campaign, defaults(campaign), max_horizon=520)
    assert found.figure is not None
    said = [
        one
        for one in found.details
        if one.startswith(f"The order is {order.samples} rows: it covers this period alone")
    ]
    assert len(said) == (int(found.figure.rows[0][1]) != order.samples)
    finer = evaluate(campaign, {**defaults(campaign), "epsilon": "0.01"}, max_horizon=520)
    assert any(
        one.startswith(f"The order is {order.samples} rows: ") and "covers 12 periods" in one for one in finer.details
    )


def test_long_plans_are_complete_in_the_table(campaign: Campaign) -> None:
    found = evaluate(campaign, defaults(campaign) | {"horizon": "90", "budget": ""}, max_horizon=520).figure
    assert found is not None
    assert len(found.rows) >= 90
    assert len(re.findall('class="hit"', found.panels[0].wide)) == LATEST
    assert found.note == f"The chart shows the next 60 of {len(found.rows)} planned periods; the table has all of them."


def test_the_default_horizon_matches_the_hint(campaign: Campaign) -> None:
    hint = next(field.hint for field in fields(campaign.definition, max_horizon=520) if field.name == "horizon")
    assert f"{DEFAULT_HORIZON} without a budget" in hint
    found = evaluate(campaign, defaults(campaign) | {"horizon": "", "budget": ""}, max_horizon=520)
    assert f"in each of {DEFAULT_HORIZON} periods" in found.headline


def test_batched_orders_are_explained() -> None:
    money = {"total": 3000, "horizon": 20, "per_sample": 2, "currency": "EUR"}
    campaign, _ = one(MemoryStore(), periods=2, budget=money)
    order = campaign.status().order
    assert order is not None
    plan = order.request.plan
    assert plan is not None
    assert 0 < order.samples < plan.samples[0]
    assert order.cost == Money.of(2 * order.samples, "EUR")
    found = evaluate(campaign, defaults(campaign), max_horizon=520)
    assert f"The order is {order.samples} rows so far, of {plan.samples[0]} rows planned" in " ".join(found.details)
