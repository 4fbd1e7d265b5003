"""Leave one out: the cheapest budget for a target, the lowest target for a budget, the longest horizon for both."""

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import MAX_UNITS, budget_units, in_money
from driftpace.planning.exact.grid import MAX_ORDER
from driftpace.planning.exact.planner import ACCURACY, plan_exact, plan_for_target
from driftpace.planning.gaps import LargestGap
from driftpace.planning.outlook import risk_trajectory
from driftpace.planning.problem import Problem
from driftpace.records import Money, Plan

MAX_HORIZON = 10_000
"""No more periods than these are planned for."""

_SHORT = 60


def cheapest_plan(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return the plan of least cost that holds the target in every period; its budget is what it costs.

    A plan that buys as many samples in every period as are enough from anywhere holds it; its price is where the search begins.
    """
    problem = replace(problem, gap=LargestGap())
    ceiling = _enough(problem)
    found = plan_exact(replace(problem, budget=ceiling), accuracy=accuracy)
    if not found.holds:
        raise ParameterError(
            f"must be a target that samples can reach; got {problem.epsilon!r}, and the best that "
            f"{ceiling} could hold is {found.largest_risk:.4g}.",
            owner="plan",
            name="epsilon",
        )
    return replace(found, budget=found.spent)


def tightest_plan(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return the plan whose largest risk is least within the budget; its ``epsilon`` is that risk, which it holds."""
    found, least = _least_risk(problem, accuracy)
    target = found.largest_risk
    return replace(
        found,
        epsilon=target,
        gaps=tuple(0.0 for _ in found.gaps),
        value=0.0,
        lower=0.0,
        reason=f"{problem.budget} hold a risk of {target:.4g} in every period, and no plan holds less than {least:.4g}",
    )


def _least_risk(problem: Problem, accuracy: float) -> tuple[Plan, float]:
    """Return the plan with the least largest risk, and what no plan falls under: the largest gap above next to nothing."""
    tiny = max(1e-9 * problem.outlook.bound(max(problem.outlook.first_distance(0), 1e-9), 0), 1e-300)
    found = plan_exact(replace(problem, epsilon=tiny, gap=LargestGap()), accuracy=accuracy)
    return found, found.lower


def longest_plan(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return the plan that holds the target for as many periods as the budget lasts."""
    problem = replace(problem, gap=LargestGap())
    low, high = 0, 1
    best: Plan | None = None
    refuted = False
    while high <= MAX_HORIZON:
        found, refuted = _held(problem, high, accuracy)
        if found is None:
            break
        best, low, high = found, high, 2 * high
    if high > MAX_HORIZON:
        assert best is not None
        return replace(best, reason=f"the budget holds the target for {best.horizon} periods and more")
    while high - low > 1:
        middle = (low + high) // 2
        found, proof = _held(problem, middle, accuracy)
        if found is None:
            high, refuted = middle, proof
        else:
            low, best = middle, found
    if best is None:
        raise ParameterError(
            f"must hold the target of {problem.epsilon:g} for one period at least; got {problem.budget}.",
            owner="plan",
            name="budget",
        )
    more = "and not for one more" if refuted else "and no plan for one more was found, which is no proof"
    return replace(best, reason=f"{problem.budget} hold the target for {best.horizon} periods, {more}")


def _held(problem: Problem, horizon: int, accuracy: float) -> tuple[Plan | None, bool]:
    """Return a plan that holds the target for so many periods, if one is found, and whether there is proof that none does.

    Samples in the last period may lack a neighbour that they have when there is one period more. So where neighbours are asked
    for, that is tried too: a plan for two periods more, cut off before its last purchase without a neighbour, is one of the two.
    """
    found, refuted = _tried(replace(problem, horizon=horizon), accuracy)
    if found is None and problem.adjacent:
        found, also = _tried(replace(problem, horizon=horizon + 1), accuracy)
        refuted = refuted and also
    return found, refuted


def _tried(problem: Problem, accuracy: float) -> tuple[Plan | None, bool]:
    """Try to hold the target; where the quick way leaves it open and the horizon is short, look for the least largest gap."""
    found, refuted = plan_for_target(problem, accuracy=accuracy)
    if found is not None or refuted or problem.horizon > _SHORT:
        return found, refuted
    nearest = plan_exact(problem, accuracy=accuracy)
    return (nearest if nearest.holds else None), nearest.lower > 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TradeOff:
    """One point of the curve: ``budget`` holds ``epsilon`` in every period, and no plan holds less than ``lower``."""

    budget: Money
    epsilon: float
    lower: float


def trade_off(problem: Problem, *, points: int = 12, accuracy: float = ACCURACY) -> tuple[TradeOff, ...]:
    """Return the lowest target that each of several budgets holds, from a tenth of the problem's budget to twice it."""
    validation.count("trade_off", least=2, points=points)
    units = budget_units(problem.cost, problem.budget)
    found = []
    for share in np.geomspace(0.1, 2.0, points):
        budget = in_money(problem.cost, int(units * share), problem.budget.currency)
        plan, least = _least_risk(replace(problem, budget=budget), accuracy)
        found.append(TradeOff(budget=budget, epsilon=plan.largest_risk, lower=least))
    return tuple(found)


def _enough(problem: Problem) -> Money:
    """Return money for which the target can surely be held: that of buying the same number of samples in every period.

    Where that holds, no model is farther off than at the start or one period after a risk of epsilon; a number that is enough from
    there is enough everywhere. Where there is none, a model may still get nearer with more samples than epsilon needs.
    """
    outlook, most = problem.outlook, MAX_ORDER
    widest = max(outlook.first_distance(0), outlook.fit_distance(outlook.reach(problem.epsilon), 1))
    count = outlook.bound.smallest(widest, problem.epsilon, most)
    if count is None and max(risk_trajectory(outlook, [most] * problem.horizon)) <= problem.epsilon:
        count = most
    if count is None:
        raise ParameterError(
            f"must be a target that orders of up to {most:,} samples reach; got {problem.epsilon!r}.",
            owner="plan",
            name="epsilon",
        )
    each = int(problem.cost.units(np.array([max(count, 1)]))[0])
    units = min(each * problem.horizon, MAX_UNITS)
    return Money(Decimal(units) * problem.cost.unit, problem.cost.currency)
