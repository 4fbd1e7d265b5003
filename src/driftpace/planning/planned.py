"""From numbers of samples to a plan: what they cost, promise and amount to, counted in one place for every planner."""

from collections.abc import Sequence

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import budget_units, in_money
from driftpace.planning.course import course, gaps_over
from driftpace.planning.problem import Problem
from driftpace.records import Plan

_ROUNDING = 1e-9


def planned(
    problem: Problem,
    samples: Sequence[int],
    *,
    method: str,
    reason: str,
    lower: float = 0.0,
    price: float | None = None,
    within_budget: bool = True,
) -> Plan:
    """Return the plan that buys ``samples``: its costs, risks, gaps and value are computed here and nowhere else.

    ``lower`` is what the planner proved that no plan within the budget can fall under; ``price`` what one more unit of money is
    worth. A plan above the budget, or below what was proven, is refused: it would be a mistake of the planner's.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.outlook import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(100, "EUR"), horizon=3, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> plan = planned(problem, [40, 0, 20], method="by hand", reason="an example")
    >>> plan.gaps, plan.value, str(plan.spent), str(plan.left)
    ((0.0, 0.072, 0.0), 0.024, '100 EUR', '0 EUR')
    """
    counts = validation.counts("planned", samples=list(samples))
    if len(counts) != problem.horizon:
        raise ParameterError(
            f"must be one number for each of the {problem.horizon} periods; got {len(counts)}.",
            owner="planned",
            name="samples",
        )
    units = [int(cost) for cost in problem.cost.units(np.array(counts, dtype=np.int64))]
    if within_budget and sum(units) > budget_units(problem.cost, problem.budget):
        spent = in_money(problem.cost, sum(units), problem.budget.currency)
        raise ParameterError(f"must cost at most {problem.budget}; got {spent}.", owner="planned", name="samples")
    risks = course(problem.outlook, counts)
    gaps = gaps_over(risks, problem.epsilon)
    value = problem.gap(gaps)
    if lower > value + _ROUNDING * (value + problem.epsilon):
        raise ParameterError(
            f"must be at most the value of the plan, {value!r}; got {lower!r}.",
            owner="planned",
            name="lower",
        )
    return Plan(
        first_period=problem.first_period,
        samples=counts,
        costs=tuple(in_money(problem.cost, cost, problem.budget.currency) for cost in units),
        risks=risks,
        gaps=tuple(gaps.tolist()),
        epsilon=problem.epsilon,
        budget=problem.budget,
        goal=problem.gap.name,
        value=value,
        lower=min(lower, value),
        method=method,
        reason=reason,
        price=price,
    )
