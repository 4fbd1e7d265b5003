"""The exact planner: whole numbers of samples, the true cost, and a proven interval for the best value.

The paper calls the problem intractable and relaxes it. But a plan acts on the future through one number only, the distance of
the model, and through the money left (theory 5.6). Pricing the money leaves a dynamic programme over the distance, which
bounds the best value from below and leads to plans; plans are improved by exchanging purchases; on small problems every
beginning is followed until one plan is left.
"""

from dataclasses import replace

from driftpace import validation
from driftpace.planning.averaging import price_money
from driftpace.planning.costs import in_money
from driftpace.planning.examples import GOALS, corrected, few_plans, own_goal, printed_form
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.lowering import hold_target, lower_level
from driftpace.planning.planned import planned
from driftpace.planning.problem import Problem
from driftpace.planning.search import Search
from driftpace.records import Plan

ACCURACY = 0.01
"""How far the value may lie above the best one, as a share, before a planner stops looking."""


def plan_exactly(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return a plan whose value is proven to be within ``accuracy`` of the best, or as near as could be proven: see its ``lower``.

    With ``accuracy=0`` the search goes on until the best plan is proven, where that can be done.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.outlook import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(250, "EUR"), horizon=8, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> plan = plan_exactly(problem, accuracy=0)
    >>> plan.samples, plan.value, plan.proven_gap
    ((19, 13, 14, 14, 13, 14, 23, 0), 0.0148865, 0.0)
    """
    validation.nonnegative("plan", accuracy=accuracy)
    return _plan(Search.of(problem, accuracy))


def _plan(search: Search) -> Plan:
    problem, gap = search.problem, search.problem.gap
    menu = search.menu(fine=True)
    if search.value == 0.0:
        search.proof = "the target is met in every period without any samples"
    elif len(menu.counts) == 0:
        search.prove(search.value)
        search.proof = f"the budget of {problem.budget} is below the price of one order, so nothing can be bought"
    elif few_plans(search, menu):
        search.prove(search.value)
        search.money_lower = search.money
    elif not isinstance(gap, MeanGap | LargestGap | LargestRun):
        own_goal(search, menu, tuple(_plan(Search.of(replace(problem, gap=each), ACCURACY)) for each in GOALS))
    elif problem.outlook.steps == "printed":
        largest = _plan(corrected(search, LargestGap(gap.weights))) if isinstance(gap, LargestRun) else None
        printed_form(search, menu, _plan(corrected(search, gap)), largest)
    else:
        hold_target(search, menu)
        if search.value > 0.0 and isinstance(gap, MeanGap):
            price_money(search, menu)
        elif search.value > 0.0:
            lower_level(search, menu)
    return planned(
        problem,
        search.samples.tolist(),
        method="exact",
        reason=_reason(search),
        lower=search.lower,
        price=None if search.price is None else search.price / float(problem.cost.unit),
    )


def plan_to_hold(problem: Problem, *, accuracy: float = ACCURACY) -> tuple[Plan | None, bool]:
    """Return the cheapest plan found that holds the target within the budget, if any; and whether there is proof that none does."""
    search = Search.of(problem, accuracy)
    menu = search.menu(fine=True)
    if search.value > 0.0 and len(menu.counts) > 0:
        hold_target(search, menu)
    if search.value > 0.0:
        return None, len(menu.counts) == 0 or search.money_lower > search.budget
    return planned(problem, search.samples.tolist(), method="exact", reason=_reason(search)), False


def _reason(search: Search) -> str:
    """Return how it came out, as a sentence."""
    goal = search.problem.gap.name
    if search.proof:
        return search.proof
    if search.value == 0.0:
        least = in_money(search.problem.cost, int(search.money_lower), search.problem.budget.currency)
        cheaper = "no cheaper plan does" if search.money <= search.money_lower else f"none does for less than {least}"
        return f"the target is held in every period, and {cheaper}: proven"
    if search.gap <= 1e-9:
        return f"no plan within the budget has a smaller {goal}: proven"
    return f"the best {goal} lies between {search.lower:.4g} and {search.value:.4g}: within {100 * search.gap:.2g} %"
