"""``analyse_plan`` agrees with the functions it combines, and reports what it was asked to solve for."""

from typing import Any

import pytest

from driftpace.bounds import Anchored
from driftpace.planning import LinearCost, Outlook, analyse_plan, cheapest_plan, plan, tightest_plan

OUTLOOK = Outlook(bound=Anchored(noise=1.0, features=5), rho=0.1, start=3.0)
COST = LinearCost(fixed=50, per_sample=2, currency="EUR")


def test_a_budget_that_misses_the_target_has_a_tightest_and_a_cheapest_plan() -> None:
    analysis = analyse_plan(OUTLOOK, cost=COST, epsilon=0.1, budget=500, horizon=12)
    assert analysis.plan == plan(OUTLOOK, cost=COST, epsilon=0.1, budget=500, horizon=12)
    assert analysis.tightest == tightest_plan(analysis.problem)
    assert analysis.cheapest == cheapest_plan(analysis.problem)
    assert (analysis.solved_for, analysis.affords_sample, analysis.unattainable) == (None, True, False)
    assert not analysis.baselines
    assert not analysis.curve


@pytest.mark.parametrize("missing", ["epsilon", "budget", "horizon"])
def test_what_is_solved_for_needs_no_alternative(missing: str) -> None:
    given: dict[str, Any] = {"epsilon": 0.1, "budget": 500, "horizon": 12}
    del given[missing]
    analysis = analyse_plan(OUTLOOK, cost=COST, **given)
    assert analysis.solved_for == missing
    assert analysis.plan == plan(OUTLOOK, cost=COST, **given)
    assert getattr(analysis.problem, missing) == getattr(analysis.plan, missing)
    assert analysis.tightest is analysis.cheapest is None


def test_a_budget_below_the_price_of_a_sample_and_a_target_out_of_reach() -> None:
    poor = analyse_plan(OUTLOOK, cost=COST, epsilon=0.1, budget=40, horizon=6)
    assert not poor.affords_sample
    assert poor.tightest is None
    assert poor.cheapest is not None
    assert analyse_plan(OUTLOOK, cost=COST, epsilon=1e-9, budget=500, horizon=6).unattainable


def test_baselines_and_curve_on_request() -> None:
    analysis = analyse_plan(OUTLOOK, cost=COST, epsilon=0.1, budget=500, horizon=6, baselines=True, curve=True)
    assert [other.method for other in analysis.baselines] == [
        "up front",
        "every 2 periods",
        "every 5 periods",
        "every period",
        "the risk rule",
    ]
    amounts = [point.budget.amount for point in analysis.curve]
    assert amounts == sorted(set(amounts))
