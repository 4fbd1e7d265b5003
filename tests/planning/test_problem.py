"""Problems and the evaluation of plans."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Anchored
from driftpace.errors import ParameterError
from driftpace.planning.costs import LinearCost, TieredCost, price
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, evaluate_plan, risk_gaps, risk_trajectory
from driftpace.records import Money

OUTLOOK = Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0)


def problem_of(**changed: Any) -> Problem:
    parts: dict[str, Any] = {
        "outlook": OUTLOOK,
        "epsilon": 0.1,
        "budget": Money.of("100.00", "EUR"),
        "horizon": 3,
        "cost": LinearCost(fixed="0.10", per_sample="0.20", currency="EUR"),
        "gap": MeanGap(),
    }
    return Problem(**(parts | changed))


@given(
    samples=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    gap=st.sampled_from([MeanGap(), LargestGap(), LargestRun()]),
    cost=st.sampled_from([LinearCost(fixed=5), TieredCost(tiers=((1, "2.00"), (11, "1.50")), minimum=4)]),
)
def test_everything_is_counted_from_the_samples(
    samples: list[int], gap: MeanGap | LargestGap | LargestRun, cost: LinearCost | TieredCost
) -> None:
    problem = problem_of(horizon=len(samples), gap=gap, cost=cost, budget=Money.of(1000), first_period=7)
    plan = evaluate_plan(problem, samples, method="by hand", reason="a test", price=0.5)
    assert plan.samples == tuple(samples)
    assert plan.risks == risk_trajectory(OUTLOOK, samples)
    assert plan.gaps == tuple(risk_gaps(plan.risks, 0.1).tolist())
    assert plan.value == gap(risk_gaps(plan.risks, 0.1))
    assert plan.costs == tuple(price(cost, count) for count in samples)
    assert plan.spent.amount == sum((price(cost, count).amount for count in samples), start=Decimal(0))
    assert (plan.goal, plan.method, plan.reason, plan.price, plan.lower) == (gap.name, "by hand", "a test", 0.5, 0.0)
    assert (plan.first_period, plan.epsilon, plan.budget) == (7, 0.1, problem.budget)


def test_a_plan_may_cost_the_whole_budget_and_no_more() -> None:
    within = problem_of(budget=Money.of("2.30", "EUR"))
    assert str(evaluate_plan(within, [3, 3, 4], method="m", reason="r").left) == "0 EUR"
    short = problem_of(budget=Money.of("2.29", "EUR"))
    with pytest.raises(
        ParameterError, match=r"^evaluate_plan\(samples=\.\.\.\) must cost at most 2.29 EUR; got 2.3 EUR\.$"
    ):
        evaluate_plan(short, [3, 3, 4], method="m", reason="r")
    over = evaluate_plan(short, [3, 3, 4], method="m", reason="r", within_budget=False)
    assert str(over.left) == "-0.01 EUR"


@pytest.mark.parametrize("samples", [[1, 2], [1, 2, 3, 4], [1, -1, 1], [1, 1.5, 1], [True, 1, 1]], ids=str)
def test_invalid_samples_are_rejected(samples: list[int]) -> None:
    with pytest.raises(ParameterError, match=r"^evaluate_plan\(samples=\.\.\.\) must be "):
        evaluate_plan(problem_of(), samples, method="m", reason="r")


def test_a_value_below_what_was_proven_is_rejected() -> None:
    value = evaluate_plan(problem_of(), [0, 0, 0], method="m", reason="r").value
    assert evaluate_plan(problem_of(), [0, 0, 0], method="m", reason="r", lower=value * (1 + 1e-12)).lower == value
    with pytest.raises(ParameterError, match=r"^evaluate_plan\(lower=\.\.\.\) must be at most the value of the plan"):
        evaluate_plan(problem_of(), [0, 0, 0], method="m", reason="r", lower=value * 1.001)


def test_costs_without_a_currency_are_in_that_of_the_budget() -> None:
    plan = evaluate_plan(problem_of(cost=LinearCost(fixed=5)), [1, 0, 0], method="m", reason="r")
    assert [str(cost) for cost in plan.costs] == ["6 EUR", "0 EUR", "0 EUR"]
    plan = evaluate_plan(problem_of(budget=Money.of(100)), [1, 0, 0], method="m", reason="r")
    assert str(plan.left) == "99.7 EUR"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"epsilon": 0.0}, "plan(epsilon=...) must be positive and finite; got 0.0."),
        ({"epsilon": math.nan}, "plan(epsilon=...) must be positive and finite; got nan."),
        ({"horizon": 0}, "plan(horizon=...) must be a whole number of at least 1; got 0."),
        ({"first_period": -1}, "plan(first_period=...) must be a whole number of at least 0; got -1."),
        ({"adjacent": 1}, "plan(adjacent=...) must be True or False; got 1."),
        ({"bought_before": None}, "plan(bought_before=...) must be True or False; got None."),
        ({"outlook": 3}, "plan(outlook=...) must be an Outlook; got 3."),
        ({"cost": 3}, "plan(cost=...) must be a cost, with currency, unit and units; got 3."),
        ({"cost": LinearCost}, "plan(cost=...) must be a cost, with currency, unit and units; got <class"),
        ({"gap": MeanGap}, "plan(gap=...) must be an objective such as MeanGap(); got <class"),
        ({"gap": "mean"}, "plan(gap=...) must be an objective such as MeanGap(); got 'mean'."),
        ({"gap": MeanGap((1, 2))}, "MeanGap(weights=...) must be one per period, 3; got 2 weights."),
        ({"budget": Money.of(5, "USD")}, "plan(budget=...) must be in EUR; got 5 USD."),
        ({"budget": -5}, "plan(budget=...) must be an amount of money from 0 to 1e+15; got -5."),
        ({"budget": Money.of(1) - Money.of(2)}, "plan(budget=...) must be 0 or more; got -1 EUR."),
        (
            {"cost": LinearCost(per_sample="1e-9"), "budget": 10**15},
            "plan(budget=...) must be at most 9007199254740992",
        ),
    ],
    ids=str,
)
def test_a_problem_without_an_answer_is_rejected(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        problem_of(**changed)
    assert str(refusal.value).startswith(sentence)


def test_a_budget_may_be_a_plain_number() -> None:
    assert problem_of(budget=12.5).budget == Money.of("12.5", "EUR")
