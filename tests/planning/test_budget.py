"""A budget: exact money, prices, an objective, and errors for invalid values."""

import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest

import driftpace
from driftpace import Budget, LinearCost, TieredCost
from driftpace.errors import ParameterError
from driftpace.planning import CustomCost, CustomGap, LargestGap, LargestRun, MeanGap
from driftpace.records import Money

EUROS = LinearCost(fixed=50, per_sample="0.10", currency="EUR")


def test_money_is_exact_and_in_the_currency_of_the_prices() -> None:
    budget = Budget(total=0.3 + 1000, horizon=12, cost=EUROS)
    assert budget.money == Money.of("1000.3", "EUR")
    assert budget.price(3) == Money.of("50.3", "EUR")
    assert budget.price(0) == Money.of(0, "EUR")


def test_the_total_may_bring_the_currency() -> None:
    budget = Budget(total=Money.of(100, "CHF"), horizon=2)
    assert budget.price(7) == Money.of(7, "CHF")
    assert budget.money.currency == "CHF"


@pytest.mark.parametrize(
    ("gap", "goal"), [("mean", MeanGap()), ("largest", LargestGap()), ("run", LargestRun())], ids=["mean", "max", "run"]
)
def test_the_goal_by_its_name(gap: str, goal: object) -> None:
    assert Budget(total=10, horizon=3, gap=gap).goal == goal
    weighted = Budget(total=10, horizon=3, gap=gap, weights=[1, 0, 2])  # type: ignore[arg-type]
    assert weighted.weights == (1.0, 0.0, 2.0)
    assert weighted.goal == type(goal)((1.0, 0.0, 2.0))  # type: ignore[call-arg]


def test_a_custom_goal() -> None:
    goal = CustomGap(lambda gaps: float(np.sort(gaps)[-2:].sum()), "the two largest")
    assert Budget(total=10, horizon=3, gap=goal).goal is goal


def test_it_is_a_value() -> None:
    budget = Budget(total=10, horizon=3, gap="run", weights=(1.0, 2.0, 3.0))
    assert replace(budget, total=20) == Budget(total="20", horizon=3, gap="run", weights=(1, 2, 3))
    with pytest.raises(FrozenInstanceError):
        budget.horizon = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"total": 50}, r"Budget\(total=...\) must pay for at least one sample, which costs 50.1 EUR; got 50 EUR."),
        ({"total": math.nan}, r"Budget\(total=...\) must be an amount of money from 0 to 1e\+15; got nan."),
        ({"total": -1}, r"Budget\(total=...\) must be an amount of money from 0"),
        ({"total": Money.of(1, "EUR") - Money.of(2, "EUR")}, r"Budget\(total=...\) must be an amount of money from 0"),
        ({"total": "a lot"}, r"Budget\(total=...\) must be an amount of money"),
        ({"total": True}, r"Budget\(total=...\) must be an amount of money"),
        ({"total": Money.of(900, "USD")}, r"Budget\(total=...\) must be in EUR; got 900 USD."),
        ({"horizon": 0}, r"Budget\(horizon=...\) must be a whole number of at least 1; got 0."),
        ({"horizon": 2.5}, r"Budget\(horizon=...\) must be a whole number of at least 1; got 2.5."),
        ({"horizon": True}, r"Budget\(horizon=...\) must be a whole number"),
        ({"cost": LinearCost}, r"Budget\(cost=...\) must be a cost, with currency, unit and units; got <class"),
        ({"cost": 3.0}, r"Budget\(cost=...\) must be a cost, with currency, unit and units; got 3.0."),
        ({"gap": "median"}, r"Budget\(gap=...\) must be one of 'mean', 'largest', 'run'; got 'median'."),
        ({"gap": MeanGap}, r"Budget\(gap=...\) must be an objective such as 'mean' or MeanGap\(\); got <class"),
        ({"gap": 3}, r"Budget\(gap=...\) must be an objective such as"),
        ({"weights": (1.0, 2.0)}, r"MeanGap\(weights=...\) must be one per period, 12; got 2 weights."),
        ({"weights": (math.nan,) * 12}, r"Budget\(weights=...\) must be a finite vector; got NaN or infinity in it."),
        ({"weights": (0.0,) * 12}, r"MeanGap\(weights=...\) must be numbers from 0 to 1e\+100"),
        ({"gap": LargestGap(), "weights": (1.0,) * 12}, r"Budget\(weights=...\) must be set on the objective"),
        ({"adjacent": 1}, r"Budget\(adjacent=...\) must be True or False; got 1."),
        (
            {"total": 10**15, "cost": LinearCost(per_sample="0.000000001")},
            r"Budget\(total=...\) must be at most \d+ times the unit of the prices",
        ),
    ],
    ids=[
        "below-one-order",
        "nan",
        "negative",
        "debt",
        "words",
        "switch",
        "other-currency",
        "no-periods",
        "half-a-period",
        "true-periods",
        "class",
        "number",
        "unknown-goal",
        "goal-class",
        "goal-number",
        "too-few-weights",
        "nan-weights",
        "no-weights",
        "weights-twice",
        "adjacent",
        "too-many-units",
    ],
)
def test_what_is_no_budget_is_rejected(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Budget(**{"total": 900, "horizon": 12, "cost": EUROS, **wrong})


def test_a_price_list_that_falls_is_refused_when_it_is_met() -> None:
    with pytest.raises(
        ParameterError, match=r"CustomCost\(function=...\) must not decrease with the number of samples"
    ):
        Budget(total=100, horizon=2, cost=CustomCost(lambda samples: 5 * (samples == 1) + samples)).price(2)


def test_the_public_names() -> None:
    assert (driftpace.Budget, driftpace.LinearCost, driftpace.TieredCost) == (Budget, LinearCost, TieredCost)
