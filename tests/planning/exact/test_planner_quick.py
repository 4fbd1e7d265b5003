"""Quick plans, started from nothing or from an earlier plan, are as good as exact ones within the accuracy."""

from dataclasses import replace

import numpy as np
import pytest

from driftpace.adaptive.outlook import PredictedBound
from driftpace.planning import Gap, LargestGap, LinearCost, MeanGap, Outlook, Problem, plan_exact, tightest_plan
from driftpace.planning.exact.search import Search
from driftpace.records import Money, Plan

ACCURACY, NEGLIGIBLE = 0.02, 1e-3


def problem(*, budget: int, fixed: int, gap: Gap, rho: float, size: int = 6) -> Problem:
    """A problem as a tracker under a budget poses it, halfway through a year of weeks."""
    bound = PredictedBound(noise=1.0, size=size, scale=1.1)
    return Problem(
        outlook=Outlook(bound=bound, rho=rho, start=0.6, steps="walk"),
        epsilon=0.05,
        budget=Money.of(budget),
        horizon=26,
        cost=LinearCost(fixed=fixed),
        gap=gap,
    )


CASES = [
    problem(budget=700, fixed=0, gap=MeanGap(), rho=0.25),
    problem(budget=700, fixed=20, gap=MeanGap(), rho=0.25),
    problem(budget=20_000, fixed=0, gap=MeanGap(), rho=0.25),
    problem(budget=300, fixed=0, gap=MeanGap(), rho=0.05),
    problem(budget=700, fixed=0, gap=LargestGap(), rho=0.25),
]


def as_good(plan: Plan, other: Plan, case: Problem) -> bool:
    """Whether a plan is as good as another within the accuracy: in its value, or in its cost if both meet the target."""
    if other.value == 0.0:
        return plan.value == 0.0 and float(plan.spent.amount) <= (1.0 + ACCURACY) * float(other.spent.amount)
    return plan.value <= max(other.value / (1.0 - ACCURACY), other.value + NEGLIGIBLE * case.epsilon)


@pytest.mark.parametrize("case", CASES, ids=["mean", "fixed price", "met", "slow", "largest"])
def test_warm_and_cold_plans_have_equal_values_within_the_accuracy(case: Problem) -> None:
    negligible = NEGLIGIBLE * case.epsilon
    full = plan_exact(case, accuracy=ACCURACY)
    cold = plan_exact(case, accuracy=ACCURACY, quick=True, negligible=negligible)
    before = replace(case, outlook=replace(case.outlook, rho=1.3 * case.outlook.rho, start=0.8))
    last = plan_exact(before, accuracy=ACCURACY, quick=True, negligible=negligible)
    warm = plan_exact(case, accuracy=ACCURACY, quick=True, negligible=negligible, start=(last.samples, last.price))
    for plan in (cold, warm):
        assert as_good(plan, full, case)
        assert as_good(full, plan, case)
        assert plan.lower <= full.value * (1.0 + 1e-9)
        assert full.lower <= plan.value * (1.0 + 1e-9)
    assert not as_good(plan_exact(replace(case, budget=Money.of(21)), accuracy=ACCURACY), full, case)  # control


def test_the_tightest_target_is_met_and_near_the_least() -> None:
    case = CASES[0]
    start = plan_exact(case, accuracy=ACCURACY, quick=True)
    warm, full = tightest_plan(case, accuracy=0.05, start=start), tightest_plan(case, accuracy=0.01)
    assert full.epsilon * 0.99 <= warm.epsilon <= full.epsilon / 0.95
    assert max(warm.risks) == warm.epsilon


def test_a_start_beyond_the_budget_is_cut() -> None:
    case = CASES[0]
    search = Search.of(case, ACCURACY, quick=True)
    search.start_from(np.full(case.horizon, 100), None)
    assert search.samples.tolist() == [100] * 7 + [0] * 19
    plan = plan_exact(case, accuracy=ACCURACY, quick=True, start=([100] * case.horizon, 1e9))
    assert as_good(plan, plan_exact(case, accuracy=ACCURACY), case)
