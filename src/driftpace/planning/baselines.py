"""Simple plans to compare the exact one with: all up front, periodic, uniform, and the risk rule without a budget.

>>> from driftpace.bounds import Anchored
>>> from driftpace.planning.costs import LinearCost
>>> from driftpace.planning.gaps import MeanGap
>>> from driftpace.planning.outlook import Outlook
>>> from driftpace.records import Money
>>> problem = Problem(
...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.05,
...     budget=Money.of(200), horizon=4, cost=LinearCost(fixed=20), gap=MeanGap(),
... )
>>> for plan in (up_front(problem), periodic(problem, every=3), uniform(problem), risk_rule(problem)):
...     print(f"{plan.method:15} {plan.samples!s:16} costs {plan.spent}, {plan.goal} {plan.value:.3f}")
up front        (180, 0, 0, 0)   costs 200, mean gap 0.185
every 3 periods (80, 0, 0, 80)   costs 200, mean gap 0.086
every period    (30, 30, 30, 30) costs 200, mean gap 0.002
the risk rule   (34, 27, 26, 27) costs 194, mean gap 0.000
"""

from dataclasses import replace

import numpy as np

from driftpace import validation
from driftpace.planning.costs import MAX_SAMPLES, affordable_units, budget_units, in_money
from driftpace.planning.problem import Problem, evaluate_plan, satisfies_adjacency
from driftpace.records import Plan

_ROUNDING = 1.0 + 5e-13  # sqrt and square do not cancel to the last bit; half of what counts as no gap
_NEARLY = 1.01


def up_front(problem: Problem) -> Plan:
    """Return the plan that spends the budget in the first period: K_1 = max{K : p(K) <= P}, then 0 (eq. costUpFront)."""
    return _equal_orders(problem, every=problem.horizon, method="up front", when="in the first period")


def periodic(problem: Problem, every: int) -> Plan:
    """Return the plan that buys the same number in the first period and every ``every`` periods after.

    The budget is divided by the number of orders: K = max{K : p(K) <= P/ceil(T/every)}, 0 if that does not pay for one
    sample (eq. costPeriodic, corrected as theory I17).

    Parameters
    ----------
    problem : Problem
        The problem.
    every : int
        The number of periods between orders.
    """
    validation.count("periodic", least=1, every=every)
    when = "every period" if every == 1 else f"every {every} periods"
    return _equal_orders(problem, every=every, method=when, when=when)


def uniform(problem: Problem) -> Plan:
    """Return the plan that buys the same number in every period."""
    return periodic(problem, every=1)


def risk_rule(problem: Problem) -> Plan:
    """Return the plan of the rule without a budget: in each period the smallest number that meets the target.

    K_n = min{K : b(u_n, K) <= epsilon}, u_n being the distance reached by then, and 0 while the risk bound is within the target
    without samples. The budget is ignored, so the cost of the plan shows what meeting the target would take. If no number up
    to 10^9 meets the target, the smallest one is taken whose risk is within 1 % of that of 10^9.
    """
    outlook, bound = problem.outlook, problem.outlook.bound
    target = problem.epsilon * _ROUNDING
    samples: list[int] = []
    missed: list[int] = []
    reach, fitted = None, 0
    for index in range(problem.horizon):
        idle = outlook.first_distance(index) if reach is None else outlook.idle_distance(reach, index - fitted)
        if bound(idle, 0) <= target:
            samples.append(0)
            continue
        distance = idle if reach is None else outlook.fit_distance(reach, index - fitted)
        count = bound.smallest(distance, target, MAX_SAMPLES)
        if count is None:
            missed.append(index)
            count = bound.smallest(distance, _NEARLY * bound(distance, MAX_SAMPLES), MAX_SAMPLES) or 0
        samples.append(count)
        if count:
            reach, fitted = outlook.reach(bound(distance, count)), index
    plan = evaluate_plan(problem, samples, method="the risk rule", reason="", within_budget=False)
    return replace(plan, reason=_risk_rule_reason(problem, plan, missed))


def _equal_orders(problem: Problem, *, every: int, method: str, when: str) -> Plan:
    orders = -(-problem.horizon // every)
    each = budget_units(problem.cost, problem.budget) // orders
    count = affordable_units(problem.cost, each)
    samples = [count if index % every == 0 else 0 for index in range(problem.horizon)]
    share = in_money(problem.cost, each, problem.budget.currency)
    share_of = "the whole budget" if orders == 1 else f"the share of each of {orders} orders"
    if count == 0:
        reason = f"nothing is bought: one sample costs more than {share}, {share_of}"
    else:
        reason = f"{count} samples {when}, the most that {share} pays for, {share_of}"
    return evaluate_plan(problem, samples, method=method, reason=reason + _adjacency_note(problem, samples))


def _adjacency_note(problem: Problem, samples: list[int]) -> str:
    """Return a note if the plan violates the adjacency rule, which the baselines do not consider."""
    if satisfies_adjacency(problem, np.array(samples)):
        return ""
    return "; some samples have none in the period before or after"


def _risk_rule_reason(problem: Problem, plan: Plan, missed: list[int]) -> str:
    over = plan.spent - plan.budget
    money = f"{over} more than the budget" if over.amount > 0 else "within the budget"
    reason = f"the smallest number of samples that meets the target in each period, at any cost: {plan.spent}, {money}"
    if missed:
        period = plan.first_period + missed[0]
        reason += (
            f"; no number up to {MAX_SAMPLES} meets it in {len(missed)} of {plan.horizon} periods, the first being period "
            f"{period}: there the smallest number is taken that is within 1 % of the risk of {MAX_SAMPLES}"
        )
    return reason + _adjacency_note(problem, list(plan.samples))
