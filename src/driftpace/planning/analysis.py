"""A plan with what to compare it with: simple plans, the trade-off curve, the lowest target and the least budget.

>>> from driftpace.bounds import Anchored
>>> from driftpace.planning.costs import LinearCost
>>> from driftpace.planning.gaps import MeanGap
>>> from driftpace.planning.problem import Outlook
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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.api import plan
from driftpace.planning.costs import MAX_SAMPLES, Cost, affordable, affordable_units, budget_units, in_money
from driftpace.planning.exact.planner import ACCURACY
from driftpace.planning.gaps import GAPS, Gap
from driftpace.planning.problem import Outlook, Problem, evaluate_plan, satisfies_adjacency
from driftpace.planning.tradeoffs import TradeOff, cheapest_plan, tightest_plan, trade_off
from driftpace.records import Money, Plan

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
    result = evaluate_plan(problem, samples, method="the risk rule", reason="", within_budget=False)
    return replace(result, reason=_risk_rule_reason(problem, result, missed))


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


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanAnalysis:
    """A plan, its problem, and what other budgets, targets and simple plans would achieve.

    Parameters
    ----------
    problem : Problem
        The problem, with what was solved for filled in.
    plan : Plan
        The plan.
    solved_for : {"epsilon", "budget", "horizon"}, optional
        What was solved for; None if all three were given.
    baselines : tuple of Plan
        Simple plans for the same problem, if they were requested.
    curve : tuple of TradeOff
        The target that smaller and larger budgets meet, if it was requested.
    tightest : Plan, optional
        The plan with the lowest target that the budget meets; None if that is what was solved for, or nothing can be bought.
    cheapest : Plan, optional
        The cheapest plan that meets the target; None if the plan itself meets it, or none was found.
    """

    problem: Problem
    plan: Plan
    solved_for: str | None = None
    baselines: tuple[Plan, ...] = ()
    curve: tuple[TradeOff, ...] = ()
    tightest: Plan | None = None
    cheapest: Plan | None = None

    @property
    def affords_sample(self) -> bool:
        """Whether the budget pays for at least one sample."""
        return affordable(self.problem.cost, self.problem.budget, 1) > 0

    @property
    def unattainable(self) -> bool:
        """Whether no budget was found that meets the target."""
        return self.cheapest is None and not self.plan.holds


def analyse_plan(  # noqa: PLR0913  public API
    outlook: Outlook,
    *,
    cost: Cost,
    epsilon: float | None = None,
    budget: Any = None,
    horizon: int | None = None,
    gap: Gap | str = "mean",
    adjacent: bool = False,
    bought_before: bool = False,
    first_period: int = 1,
    accuracy: float = ACCURACY,
    baselines: bool = False,
    curve: bool = False,
) -> PlanAnalysis:
    """Plan, and find the lowest target that the budget meets and the least budget that meets the target.

    Parameters
    ----------
    outlook, cost, epsilon, budget, horizon, gap, adjacent, bought_before, first_period, accuracy
        As in :func:`driftpace.plan`.
    baselines : bool, default False
        Evaluate simple plans too.
    curve : bool, default False
        Compute the trade-off between budget and target too, which takes some seconds.

    Returns
    -------
    PlanAnalysis
        The plan and its alternatives.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning import LinearCost, Outlook
    >>> outlook = Outlook(bound=Anchored(noise=1.0, features=5), rho=0.1, start=3.0)
    >>> cost = LinearCost(fixed=50, per_sample=2, currency="EUR")
    >>> analysis = analyse_plan(outlook, cost=cost, epsilon=0.1, budget=500, horizon=12)
    >>> analysis.plan.holds, round(analysis.tightest.epsilon, 3), str(analysis.cheapest.spent)
    (False, 0.154, '704 EUR')
    """
    targets = {"epsilon": epsilon, "budget": budget, "horizon": horizon}
    shared: dict[str, Any] = {"adjacent": adjacent, "bought_before": bought_before, "first_period": first_period}
    planned = plan(outlook, cost=cost, gap=gap, accuracy=accuracy, **targets, **shared)
    problem = Problem(
        outlook=outlook,
        epsilon=planned.epsilon,
        budget=planned.budget,
        horizon=planned.horizon,
        cost=cost,
        gap=GAPS[gap]() if isinstance(gap, str) else gap,
        **shared,
    )
    analysis = PlanAnalysis(
        problem=problem,
        plan=planned,
        solved_for=next((name for name, value in targets.items() if value is None), None),
        baselines=_baselines(problem) if baselines else (),
        cheapest=None if planned.holds else _cheapest_or_none(problem, accuracy),
    )
    largest = planned.budget if analysis.cheapest is None else analysis.cheapest.budget
    solve_target = analysis.solved_for is None and analysis.affords_sample
    return replace(
        analysis,
        curve=_curve(problem, largest, accuracy) if curve else (),
        tightest=tightest_plan(problem, accuracy=accuracy) if solve_target else None,
    )


def _cheapest_or_none(problem: Problem, accuracy: float) -> Plan | None:
    try:
        return cheapest_plan(problem, accuracy=accuracy)
    except ParameterError:  # no number of samples meets the target, or the price exceeds what can be counted
        return None


def _baselines(problem: Problem) -> tuple[Plan, ...]:
    every = (periodic(problem, every=number) for number in (2, 5) if number < problem.horizon)
    return (up_front(problem), *every, uniform(problem), risk_rule(problem))


def _curve(problem: Problem, budget: Money, accuracy: float) -> tuple[TradeOff, ...]:
    """Return the curve around a budget, each budget once: small ones round to the same number of units."""
    points = {point.budget.amount: point for point in trade_off(replace(problem, budget=budget), accuracy=accuracy)}
    return tuple(points[amount] for amount in sorted(points))
