"""Solve for the third of target, budget and horizon, and trade target against budget."""

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import budget_units, in_money
from driftpace.planning.exact.grid import MAX_ORDER
from driftpace.planning.exact.planner import ACCURACY, plan_exact, plan_for_target
from driftpace.planning.gaps import LargestGap
from driftpace.planning.problem import Problem, risk_trajectory
from driftpace.planning.tariff import MAX_UNITS
from driftpace.records import Money, Plan
from driftpace.records.requests import amount_text, finite_or_none

MAX_HORIZON = 10_000
"""The longest horizon that is planned."""

_SHORT = 60  # periods; up to here an undecided horizon is settled by minimising the largest gap


def cheapest_plan(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return the plan of least cost that meets the target in every period.

    Parameters
    ----------
    problem : Problem
        Its budget and objective are ignored.
    accuracy : float, default 0.01
        The relative optimality gap at which the search stops.

    Returns
    -------
    Plan
        Its budget is what it costs.

    Raises
    ------
    ParameterError
        If no number of samples meets the target.
    """
    problem = replace(problem, gap=LargestGap())
    ceiling = _sufficient_budget(problem)
    plan = plan_exact(replace(problem, budget=ceiling), accuracy=accuracy)
    if not plan.holds:
        raise ParameterError(
            f"must be attainable; got {problem.epsilon!r}, and the lowest target that {ceiling} can meet is "
            f"{plan.largest_risk:.4g}.",
            owner="plan",
            name="epsilon",
        )
    return replace(plan, budget=plan.spent)


def tightest_plan(problem: Problem, *, accuracy: float = ACCURACY, start: Plan | None = None) -> Plan:
    """Return the plan that meets the lowest target within the budget.

    Parameters
    ----------
    problem : Problem
        Its ``epsilon`` and objective are ignored.
    accuracy : float, default 0.01
        The relative optimality gap at which the search stops.
    start : Plan, optional
        A plan for the same periods; the search starts from it, and tries few order sizes first.

    Returns
    -------
    Plan
        Its ``epsilon`` is its largest risk bound.
    """
    plan, lower = _least_risk(problem, accuracy, start)
    target = plan.largest_risk
    return replace(
        plan,
        epsilon=target,
        gaps=tuple(0.0 for _ in plan.gaps),
        value=0.0,
        lower=0.0,
        reason=f"the budget meets a target of {target:.4g} in every period; no plan can meet one below {lower:.4g} (proven)",
    )


def _least_risk(problem: Problem, accuracy: float, start: Plan | None = None) -> tuple[Plan, float]:
    """Minimise the largest risk, as the largest gap above a negligible target; return the plan and a lower bound."""
    tiny = max(1e-9 * problem.outlook.bound(max(problem.outlook.first_distance(0), 1e-9), 0), 1e-300)
    least = replace(problem, epsilon=tiny, gap=LargestGap())
    if start is None:
        plan = plan_exact(least, accuracy=accuracy)
    else:
        plan = plan_exact(least, accuracy=accuracy, quick=True, start=(start.samples, None))
    return plan, plan.lower


def longest_plan(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return the plan that meets the target for the largest number of periods within the budget.

    Parameters
    ----------
    problem : Problem
        Its horizon and objective are ignored.
    accuracy : float, default 0.01
        The relative optimality gap at which the search stops.

    Returns
    -------
    Plan
        Its horizon is the number of periods, at most 10,000.

    Raises
    ------
    ParameterError
        If the budget does not suffice for one period.
    """
    problem = replace(problem, gap=LargestGap())
    low, high = 0, 1
    best: Plan | None = None
    refuted = False
    while high <= MAX_HORIZON:
        plan, refuted = _plan_for_horizon(problem, high, accuracy)
        if plan is None:
            break
        best, low, high = plan, high, 2 * high
    if high > MAX_HORIZON:
        assert best is not None
        return replace(best, reason=f"the budget meets the target for at least {best.horizon} periods")
    while high - low > 1:
        middle = (low + high) // 2
        plan, proof = _plan_for_horizon(problem, middle, accuracy)
        if plan is None:
            high, refuted = middle, proof
        else:
            low, best = middle, plan
    if best is None:
        raise ParameterError(
            f"must meet the target of {problem.epsilon:g} for at least one period; got {problem.budget}.",
            owner="plan",
            name="budget",
        )
    more = "no plan does so for one more (proven)" if refuted else "no plan for one more was found (not proven)"
    return replace(best, reason=f"a budget of {problem.budget} meets the target for {best.horizon} periods; {more}")


def _plan_for_horizon(problem: Problem, horizon: int, accuracy: float) -> tuple[Plan | None, bool]:
    """Return a plan that meets the target for so many periods, if one is found, and whether there is proof that none does.

    With ``adjacent``, samples in the last period may lack a neighbour that a longer horizon has, so one period more is tried
    too: a plan for two more, truncated before its last purchase without a neighbour, is one of the two.
    """
    plan, refuted = _plan_target(replace(problem, horizon=horizon), accuracy)
    if plan is None and problem.adjacent:
        plan, refuted_longer = _plan_target(replace(problem, horizon=horizon + 1), accuracy)
        refuted = refuted and refuted_longer
    return plan, refuted


def _plan_target(problem: Problem, accuracy: float) -> tuple[Plan | None, bool]:
    """Try to meet the target; if that is undecided and the horizon short, minimise the largest gap."""
    plan, refuted = plan_for_target(problem, accuracy=accuracy)
    if plan is not None or refuted or problem.horizon > _SHORT:
        return plan, refuted
    nearest = plan_exact(problem, accuracy=accuracy)
    return (nearest if nearest.holds else None), nearest.lower > 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TradeOff:
    """A point of the trade-off between budget and target.

    Parameters
    ----------
    budget : Money
        The money available.
    epsilon : float
        A target that this budget meets in every period.
    lower : float
        A bound below which no plan within the budget can meet the target.
    """

    budget: Money
    epsilon: float
    lower: float

    def to_dict(self) -> dict[str, Any]:
        """Return the point as plain values for JSON.

        Examples
        --------
        >>> TradeOff(budget=Money.of(500, "EUR"), epsilon=0.15, lower=0.14).to_dict()
        {'budget': '500', 'epsilon': 0.15, 'lower': 0.14}
        """
        return {
            "budget": amount_text(self.budget),
            "epsilon": finite_or_none(self.epsilon),
            "lower": finite_or_none(self.lower),
        }


def trade_off(problem: Problem, *, points: int = 12, accuracy: float = ACCURACY) -> tuple[TradeOff, ...]:
    """Return the lowest target for each of several budgets, from a tenth of the problem's budget to twice it.

    Parameters
    ----------
    problem : Problem
        Its ``epsilon`` and objective are ignored.
    points : int, default 12
        The number of budgets, at least 2, in geometric sequence.
    accuracy : float, default 0.01
        The relative optimality gap at which each search stops.

    Returns
    -------
    tuple of TradeOff
        One point per budget, in increasing order.
    """
    validation.count("trade_off", least=2, points=points)
    units = budget_units(problem.cost, problem.budget)
    curve = []
    for share in np.geomspace(0.1, 2.0, points):
        budget = in_money(problem.cost, int(units * share), problem.budget.currency)
        plan, lower = _least_risk(replace(problem, budget=budget), accuracy)
        curve.append(TradeOff(budget=budget, epsilon=plan.largest_risk, lower=lower))
    return tuple(curve)


def _sufficient_budget(problem: Problem) -> Money:
    """Return money that certainly suffices for the target: that of buying the same number of samples in every period.

    While the target is met, no model is further away than at the start or one period after a risk of epsilon; a number that
    suffices from there suffices everywhere. If there is none, a model may still get closer with more samples than epsilon needs.
    """
    outlook = problem.outlook
    widest = max(outlook.first_distance(0), outlook.fit_distance(outlook.reach(problem.epsilon), 1))
    count = outlook.bound.smallest(widest, problem.epsilon, MAX_ORDER)
    if count is None and max(risk_trajectory(outlook, [MAX_ORDER] * problem.horizon)) <= problem.epsilon:
        count = MAX_ORDER
    if count is None:
        raise ParameterError(
            f"must be attainable with orders of at most {MAX_ORDER:,} samples; got {problem.epsilon!r}.",
            owner="plan",
            name="epsilon",
        )
    each = int(problem.cost.units(np.array([max(count, 1)]))[0])
    units = min(each * problem.horizon, MAX_UNITS)
    return Money(Decimal(units) * problem.cost.unit, problem.cost.currency)
