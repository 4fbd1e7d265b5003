"""The simple plans, against their definitions."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Anchored, ConstantStep, NoiseModel
from driftpace.errors import ParameterError
from driftpace.planning.analysis import periodic, risk_rule, uniform, up_front
from driftpace.planning.costs import CustomCost, LinearCost, TieredCost, price
from driftpace.planning.gaps import MeanGap
from driftpace.planning.problem import Outlook, Problem
from driftpace.records import Money
from tests.reference.recursions import scan

BOUND = Anchored(noise=1.0, features=3)
COSTS = [
    LinearCost(fixed="7.50", per_sample="0.35"),
    LinearCost(per_sample=3, minimum=10),
    TieredCost(tiers=((1, "2.00"), (21, "1.50"), (51, "0.10")), fixed=1),
    CustomCost(lambda samples: 10.0 * -(-samples // 8)),
]


def problem_of(**changed: Any) -> Problem:
    parts: dict[str, Any] = {
        "outlook": Outlook(bound=BOUND, rho=0.3, start=3.0),
        "epsilon": 0.05,
        "budget": Money.of(200),
        "horizon": 6,
        "cost": LinearCost(fixed=20),
        "gap": MeanGap(),
    }
    return Problem(**(parts | changed))


BUDGETS = st.decimals(0, 800, places=2).map(Money.of)


@given(budget=BUDGETS, horizon=st.integers(1, 12), cost=st.sampled_from(COSTS))
def test_up_front_is_the_most_that_the_whole_budget_buys(budget: Money, horizon: int, cost: LinearCost) -> None:
    plan = up_front(problem_of(budget=budget, horizon=horizon, cost=cost))
    first = plan.samples[0]
    assert plan.samples[1:] == (0,) * (horizon - 1)
    assert price(cost, first) <= budget < price(cost, first + 1)
    assert plan.method == "up front"


@given(budget=BUDGETS, horizon=st.integers(1, 12), every=st.integers(1, 15), cost=st.sampled_from(COSTS))
def test_periodic_divides_the_budget_over_the_times_it_buys(
    budget: Money, horizon: int, every: int, cost: LinearCost
) -> None:
    plan = periodic(problem_of(budget=budget, horizon=horizon, cost=cost), every)
    bought = [n for n in range(1, horizon + 1) if (n - 1) % every == 0]
    assert len(bought) == math.ceil(horizon / every)
    share = Fraction(budget.amount) / len(bought)
    number = plan.samples[0]
    assert plan.samples == tuple(number if n in bought else 0 for n in range(1, horizon + 1))
    assert Fraction(price(cost, number).amount) <= share < Fraction(price(cost, number + 1).amount)
    assert plan.spent <= budget


def test_uniform_is_every_period_and_a_long_wait_is_up_front() -> None:
    problem = problem_of()
    assert uniform(problem) == periodic(problem, 1)
    assert uniform(problem).samples == (13,) * 6
    assert periodic(problem, 99).samples == up_front(problem).samples


def test_the_reasons_are_sentences() -> None:
    problem = problem_of(budget=Money.of(200, "EUR"))
    assert (
        up_front(problem).reason == "180 samples in the first period, the most that 200 EUR pays for, the whole budget"
    )
    assert (
        periodic(problem, 2).reason
        == "46 samples every 2 periods, the most that 66 EUR pays for, the share of each of 3 orders"
    )
    poor = problem_of(budget=Money.of(100, "EUR"))
    assert uniform(poor).samples == (0,) * 6
    assert uniform(poor).reason == "nothing is bought: one sample costs more than 16 EUR, the share of each of 6 orders"
    assert up_front(problem_of(budget=Money.of(0))).reason == (
        "nothing is bought: one sample costs more than 0, the whole budget"
    )


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_a_wait_that_is_no_number_of_periods_is_rejected(every: int) -> None:
    with pytest.raises(ParameterError, match=r"^periodic\(every=\.\.\.\) must be a whole number of at least 1"):
        periodic(problem_of(), every)


def test_where_samples_are_free_the_most_that_is_thought_of_is_bought() -> None:
    free = problem_of(cost=LinearCost(per_sample=0), budget=Money.of(0))
    assert uniform(free).samples == (10**9,) * 6
    assert up_front(problem_of(cost=LinearCost(fixed=5, per_sample=0), budget=Money.of(5))).samples[0] == 10**9


@pytest.mark.parametrize("steps", ["worst", "walk", "printed"])
@pytest.mark.parametrize(("rho", "start"), [(0.3, 3.0), (0.05, 3.0), (0.3, 0.0), (0.0, 1.0), (2.0, 0.1)])
def test_the_rule_buys_the_least_that_holds_the_target(steps: Any, rho: float, start: float) -> None:
    outlook = Outlook(bound=BOUND, rho=rho, start=start, steps=steps)
    plan = risk_rule(problem_of(outlook=outlook, budget=Money.of(0), horizon=10))
    assert plan.holds
    reach, fitted = None, -1
    for index, count in enumerate(plan.samples):
        gap = index - fitted
        idle = outlook.first_distance(index) if reach is None else outlook.idle_distance(reach, gap)
        if count == 0:
            assert plan.risks[index] == BOUND(idle, 0)
            continue
        assert BOUND(idle, 0) > 0.05
        distance = idle if reach is None else outlook.fit_distance(reach, gap)
        assert count == scan(BOUND, distance, 0.05 * (1 + 5e-13), 10**4)
        reach, fitted = outlook.reach(plan.risks[index]), index


def test_the_rule_says_what_it_would_cost() -> None:
    dear = risk_rule(problem_of(budget=Money.of(100, "EUR"), horizon=4))
    assert dear.samples == (34, 27, 26, 27)
    assert str(dear.left) == "-94 EUR"
    assert dear.reason == (
        "the smallest number of samples that meets the target in each period, at any cost: "
        "194 EUR, 94 EUR more than the budget"
    )
    assert risk_rule(problem_of(horizon=4)).reason.endswith("at any cost: 194, within the budget")


def test_a_target_that_holds_without_samples_costs_nothing() -> None:
    outlook = Outlook(bound=BOUND, rho=0.0, start=0.1)
    plan = risk_rule(problem_of(outlook=outlook))
    assert plan.samples == (0,) * 6
    assert plan.holds
    assert plan.spent == Money.of(0)


def test_the_rule_does_what_it_can_where_no_number_meets_the_target() -> None:
    level = ConstantStep(m=1.0, M=1.0, noise=NoiseModel(A=1.0, B=1.0), step=0.2)
    outlook = Outlook(bound=level, rho=0.3, start=3.0)
    plan = risk_rule(problem_of(outlook=outlook, horizon=3, first_period=4))
    assert not plan.holds
    assert all(0 < count < 1000 for count in plan.samples)
    reached = level(3.0, 10**9)
    assert plan.risks[0] <= 1.01 * reached < level(3.0, plan.samples[0] - 1)
    assert "no number up to 1000000000 meets it in 3 of 3 periods, the first being period 4" in plan.reason


def test_samples_that_stand_alone_are_noted_if_not_allowed() -> None:
    alone = "; some samples have none in the period before or after"
    assert up_front(problem_of(adjacent=True)).reason.endswith(alone)
    assert not up_front(problem_of(adjacent=True, bought_before=True)).reason.endswith(alone)
    assert periodic(problem_of(adjacent=True, bought_before=True), 2).reason.endswith(alone)
    assert not uniform(problem_of(adjacent=True, budget=Money.of(600))).reason.endswith(alone)
    assert uniform(problem_of(adjacent=True, horizon=1)).reason.endswith(alone)
    assert not up_front(problem_of()).reason.endswith(alone)
    lonely = Outlook(bound=BOUND, rho=0.02, start=3.0)
    assert risk_rule(problem_of(adjacent=True, outlook=lonely, horizon=2, epsilon=0.5)).reason.endswith(alone)
