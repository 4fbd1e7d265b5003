"""A campaign gets more money, or a budget where it had none, and goes on from where it stands."""

from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.errors import ParameterError, ProtocolError
from driftpace.losses import SquaredLoss
from driftpace.planning import Budget, LinearCost
from driftpace.records import Money
from driftpace.storage.base import Store
from driftpace.tracker import Tracker
from tests.reference.campaigns import begun, rows_of, run_period

BUDGET = {"total": 120, "horizon": 3, "fixed": 5, "per_sample": 1, "currency": "EUR"}


def test_a_budget_that_is_over_goes_on_with_more_money(store: Store) -> None:
    campaign = begun(store, budget=BUDGET)
    for period in (1, 2, 3):
        run_period(campaign, period)
    spent = campaign.status().spent
    assert spent is not None
    over = campaign.ask(key="W4")
    assert (over.samples, over.request.plan) == (0, None)
    status = campaign.add_money(100, periods=2, reason="next quarter", who="Ada")
    assert (status.spent, status.to_plan) == (spent, Money.of(220, "EUR") - spent)
    order = campaign.ask(key="W4")
    assert order.request.plan is not None
    assert (order.request.plan.first_period, order.request.plan.horizon) == (4, 2)
    assert campaign.definition.budget is not None
    assert (campaign.definition.budget["total"], campaign.definition.budget["horizon"]) == ("220", 5)
    assert [entry.kind for entry in campaign.log()[-2:]] == ["budgeted", "asked"]


@pytest.mark.parametrize("l2", [0.01, [0.01, 0.1]])
def test_what_was_funded_folds_to_the_same_bits(store: Store, l2: Any) -> None:
    campaign = begun(store, budget=BUDGET, l2=l2)
    run_period(campaign, 1)
    campaign.ask(key="W2", pool=500)
    campaign.tell(*rows_of(2, 0, 5), final=False)
    campaign.add_money("80.50", periods=4, reason="a grant", per_sample=2)
    again = Campaign.open("prices", storage=store)
    assert again.ask() == campaign.ask()
    assert again.ask().received == 5
    again.tell(*rows_of(2, 5, 30), final=True)
    *_, (_, folded) = campaign.replay()
    assert folded.seq == campaign.status().entries
    assert campaign.status().spent == Money.of("200.50", "EUR") - campaign.status().money_left  # type: ignore[operator]


def test_a_campaign_without_a_budget_has_one_from_now_on(store: Store) -> None:
    campaign = begun(store)
    run_period(campaign, 1)
    with pytest.raises(ParameterError, match=r"periods=.* must be at least 1 for a campaign without a budget; got 0"):
        campaign.add_money(100, reason="a grant")
    status = campaign.add_money(100, periods=4, reason="a grant", per_sample=1, fixed=2, currency="EUR")
    assert (status.spent, status.to_plan) == (Money.of(0, "EUR"), Money.of(100, "EUR"))
    plan = campaign.ask().request.plan
    assert plan is not None
    assert (plan.first_period, plan.horizon) == (2, 4)


@pytest.mark.parametrize(
    ("money", "more", "sentence"),
    [
        ("much", {}, "money=.* must be an amount of money; got 'much'"),
        (float("nan"), {}, "must be an amount of money"),
        ("1e1000000", {}, "must be an amount of money"),
        (-500, {}, r"add_money\(money=\.\.\.\) must not take away more than the total budget, \d+; got -500\."),
        (10, {"price": 3}, "price=.* must be one of fixed, per_sample"),
        (10, {"tiers": [[1, 2]], "per_sample": 1}, "per_sample=.* must be left out beside tiers"),
        (10, {"reason": " "}, "must give a reason"),
        (10, {"periods": -1}, "periods"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    store: Store, money: object, more: dict[str, Any], sentence: str
) -> None:
    campaign = begun(store, budget=BUDGET)
    before = campaign.log()
    with pytest.raises(ParameterError, match=sentence):
        campaign.add_money(money, **{"reason": "r", **more})
    assert campaign.log() == before
    campaign.add_money(10, reason="r", dry_run=True)
    assert campaign.log() == before


def test_the_budget_of_an_adopted_tracker_is_its_own(store: Store) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, budget=Budget(total=100, horizon=3, cost=LinearCost()), rng=0)
    campaign = Campaign.create(tracker, name="adopted", storage=store)
    with pytest.raises(ProtocolError, match="cannot change the budget of an adopted tracker"):
        campaign.add_money(10, reason="r")


def test_tiers_stand_in_the_place_of_one_price_and_the_other_way_round(store: Store) -> None:
    campaign = begun(store, budget=BUDGET)
    campaign.add_money(0, reason="a discount", tiers=[[1, 2], [50, 1]])
    assert "per_sample" not in (campaign.definition.budget or {})
    campaign.add_money(0, reason="no discount", per_sample=3)
    assert "tiers" not in (campaign.definition.budget or {})
    campaign.ask()
    assert campaign.override(10, reason="a trial").cost == Money.of(35, "EUR")
