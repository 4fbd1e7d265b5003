"""The exact planner: whole numbers of samples, the true cost, and a proven interval for the best value.

The paper calls the problem intractable and relaxes it. But a plan acts on the future through one number only, the distance of
the model, and through the money left (theory 5.6). Pricing the money leaves a dynamic programme over the distance, which
bounds the best value from below and leads to plans; plans are improved by exchanging purchases; on small problems every
beginning is followed until one plan is left.
"""

import itertools
from dataclasses import replace

import numpy as np

from driftpace import validation
from driftpace.planning.costs import in_money
from driftpace.planning.exact.grid import OrderSizes
from driftpace.planning.exact.largest_gap import meet_target, minimise_level
from driftpace.planning.exact.mean_gap import minimise_mean_gap
from driftpace.planning.exact.search import Search
from driftpace.planning.gaps import Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.outlook import risk_gaps
from driftpace.planning.problem import Problem, evaluate_plan
from driftpace.records import Plan
from driftpace.typing import BoolArray, FloatArray

ACCURACY = 0.01
"""How far the value may lie above the best one, as a share, before a planner stops looking."""


def plan_exact(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
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
    >>> plan = plan_exact(problem, accuracy=0)
    >>> plan.samples, plan.value, plan.proven_gap
    ((19, 13, 14, 14, 13, 14, 23, 0), 0.0148865, 0.0)
    """
    validation.nonnegative("plan", accuracy=accuracy)
    return _plan(Search.of(problem, accuracy))


def _plan(search: Search) -> Plan:
    problem, gap = search.problem, search.problem.gap
    sizes = search.order_sizes(fine=True)
    if search.value == 0.0:
        search.proof = "the target is met in every period without any samples"
    elif len(sizes.counts) == 0:
        search.prove(search.value)
        search.proof = f"the budget of {problem.budget} is below the price of one order, so nothing can be bought"
    elif plan_by_enumeration(search, sizes):
        search.prove(search.value)
        search.money_lower = search.money
    elif not isinstance(gap, MeanGap | LargestGap | LargestRun):
        plan_custom_goal(
            search, sizes, tuple(_plan(Search.of(replace(problem, gap=each), ACCURACY)) for each in STARTING_GOALS)
        )
    elif problem.outlook.steps == "printed":
        largest = _plan(corrected_search(search, LargestGap(gap.weights))) if isinstance(gap, LargestRun) else None
        plan_printed_form(search, sizes, _plan(corrected_search(search, gap)), largest)
    else:
        meet_target(search, sizes)
        if search.value > 0.0 and isinstance(gap, MeanGap):
            minimise_mean_gap(search, sizes)
        elif search.value > 0.0:
            minimise_level(search, sizes)
    return evaluate_plan(
        problem,
        search.samples.tolist(),
        method="exact",
        reason=_reason(search),
        lower=search.lower,
        price=None if search.price is None else search.price / float(problem.cost.unit),
    )


def plan_for_target(problem: Problem, *, accuracy: float = ACCURACY) -> tuple[Plan | None, bool]:
    """Return the cheapest plan found that holds the target within the budget, if any; and whether there is proof that none does."""
    search = Search.of(problem, accuracy)
    sizes = search.order_sizes(fine=True)
    if search.value > 0.0 and len(sizes.counts) > 0:
        meet_target(search, sizes)
    if search.value > 0.0:
        return None, len(sizes.counts) == 0 or search.money_lower > search.budget
    return evaluate_plan(problem, search.samples.tolist(), method="exact", reason=_reason(search)), False


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


_FEW_PLANS = 20_000
_ALL_PLANS = 400_000
_EXCHANGES = 20_000


def plan_printed_form(search: Search, sizes: OrderSizes, example: Plan, largest: Plan | None) -> None:
    """Plan in the form as printed, from the plan of the corrected form; for runs ``largest`` is that of the largest gap.

    The printed form only makes distances larger, (a + b)^2 <= 2a^2 + 2b^2 (theory I11): what bounds the corrected one bounds
    it too, where a larger gap never makes the value less. A run is at least as large as its largest gap.
    """
    search.offer(np.array(example.samples))
    search.prove(example.lower if largest is None else largest.lower)
    if search.done:
        return
    if search.by_labels(sizes, _nothing_is_hopeless):
        search.prove(search.cut)
    else:
        _exchange(search, sizes.plain)


def plan_custom_goal(search: Search, sizes: OrderSizes, examples: tuple[Plan, ...]) -> None:
    """Plan for a goal of one's own, which is only known to be monotone.

    It is at least that of gaps which no plan gets under, period by period: see :func:`_least_gaps`.
    """
    for example in examples:
        search.offer(np.array(example.samples))
    search.prove(search.problem.gap(_least_gaps(search.problem, None if sizes.beyond else int(sizes.counts[-1]))))
    if search.done:
        return
    if sizes.whole and (len(sizes.counts) + 1) ** search.problem.horizon <= _FEW_PLANS:
        _enumerate(search, sizes)
        search.prove(search.value)
    else:
        _exchange(search, sizes.plain)


def plan_by_enumeration(search: Search, sizes: OrderSizes) -> bool:
    """Look at all beginnings at once where the best plan is asked for and there are few; return whether that was done."""
    if search.accuracy > 0.0 or not isinstance(search.problem.gap, MeanGap | LargestGap | LargestRun):
        return False
    few = sizes.whole and (len(sizes.counts) + 1.0) ** search.problem.horizon <= _ALL_PLANS
    return few and search.by_labels(sizes, _nothing_is_hopeless)


STARTING_GOALS = (MeanGap(), LargestGap(), LargestRun())
"""Whose plans are examples for a goal of one's own."""


def corrected_search(search: Search, gap: Gap) -> Search:
    """Return a search for the same problem in the corrected form of the distances."""
    outlook = replace(search.problem.outlook, steps="worst")
    return Search.of(replace(search.problem, outlook=outlook, gap=gap), search.accuracy)


def _nothing_is_hopeless(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
    del n, money, values
    return np.zeros(len(distances), np.bool_)


def _least_gaps(problem: Problem, most: int | None) -> FloatArray:
    """Return gaps that no plan gets under: the largest order in every period, and after it the nearer of buying and waiting.

    A purchase may leave the model further away than waiting would, where a risk becomes a distance with a loss (M > m).
    """
    outlook = problem.outlook
    if most is None:
        return np.zeros(problem.horizon)
    distance, risks = outlook.first_distance(0), []
    for _ in range(problem.horizon):
        risks.append(outlook.bound(distance, most))
        distance = min(outlook.idle_distance(outlook.reach(risks[-1]), 1), outlook.idle_distance(distance, 1))
    return risk_gaps(risks, problem.epsilon)


def _enumerate(search: Search, sizes: OrderSizes) -> None:
    """Look at every plan."""
    counts = np.append(0, sizes.counts)
    for choice in itertools.product(counts.tolist(), repeat=search.problem.horizon):
        search.offer(np.array(choice))


def _exchange(search: Search, sizes: OrderSizes) -> None:
    """Change one or two periods of the best plan at a time, as it is valued, a limited number of times."""
    tries = _EXCHANGES
    last = len(sizes.counts)
    while tries > 0:
        before = search.value
        entries = sizes.entries(search.samples)
        for n, m in itertools.product(range(search.problem.horizon), repeat=2):
            for more, fewer in ((1, 0), (0, 1), (1, 1), (4, 4), (16, 16), (0, last)):
                changed = entries.copy()
                changed[n] = min(changed[n] + more, last - 1)
                changed[m] = max(changed[m] - fewer, -1)
                search.offer(sizes.samples(changed))
            tries -= 6
            if tries <= 0:
                break
        if search.value >= before:
            return
