"""The exact planner: integer sample sizes, the true cost, and proven bounds on the optimum.

The paper calls the problem intractable and relaxes it. But a plan acts on the future only through the distance of the model and the
money left (theory 5.6). Pricing the money leaves a dynamic programme over the distance, which yields lower bounds and plans; local
search improves the plans; on small problems label setting proves optimality.
"""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from driftpace import validation
from driftpace.planning.costs import in_money
from driftpace.planning.exact.grid import OrderSizes
from driftpace.planning.exact.largest_gap import meet_target, minimise_level
from driftpace.planning.exact.mean_gap import minimise_mean_gap
from driftpace.planning.exact.search import Search
from driftpace.planning.gaps import Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Problem, evaluate_plan, risk_gaps
from driftpace.records import Plan
from driftpace.typing import BoolArray, FloatArray

ACCURACY = 0.01
"""The default relative optimality gap at which a search stops."""

_MAX_CUSTOM_PLANS = 20_000  # custom objectives with no more plans are enumerated
_MAX_LABELLED_PLANS = 400_000  # problems with no more plans are solved by label setting at once
_EXCHANGES = 20_000
_QUICK_ROUNDS = 2  # the order sizes of the second are those near the plan of the first

_STANDARD_GAPS = (MeanGap(), LargestGap(), LargestRun())  # their plans are starting points for custom objectives


def plan_exact(
    problem: Problem,
    *,
    accuracy: float = ACCURACY,
    quick: bool = False,
    negligible: float = 0.0,
    start: tuple[Sequence[int], float | None] | None = None,
) -> Plan:
    """Minimise the objective of a problem to a proven relative optimality gap.

    Parameters
    ----------
    problem : Problem
        The problem.
    accuracy : float, default 0.01
        The relative optimality gap at which the search stops; 0 searches until the optimum is proven, if possible.
    quick : bool, default False
        Try few order sizes first, and all of them only where these do not prove the accuracy. The plan may differ, within it.
    negligible : float, default 0.0
        The absolute optimality gap at which the search stops as well.
    start : tuple, optional
        The samples of an earlier plan for the same periods, and its price of money if known: the search starts from them.

    Returns
    -------
    Plan
        The best plan found; no plan has a value below its ``lower``.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.problem import Outlook
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
    validation.nonnegative("plan", negligible=negligible)
    quick = quick and accuracy > 0.0 and problem.outlook.steps != "printed"
    search = Search.of(problem, accuracy, negligible, quick=quick)
    if start is not None and len(start[0]) == problem.horizon:
        price = None if start[1] is None else start[1] * float(problem.cost.unit)
        search.start_from(np.array(start[0], np.int64), price)
    return _plan(search)


def _plan(search: Search) -> Plan:
    problem, gap, quick = search.problem, search.problem.gap, search.quick
    sizes = search.few_order_sizes() if quick else search.order_sizes(fine=True)
    if search.value == 0.0 and not search.samples.any():
        search.proof = "the target is met in every period without samples"
    elif len(sizes.counts) == 0:
        search.raise_lower(search.value)
        search.proof = f"the budget of {problem.budget} is below the price of one order, so nothing can be bought"
    elif _label_all_plans(search, sizes):
        search.raise_lower(search.value)
        search.money_lower = search.money
    elif not isinstance(gap, MeanGap | LargestGap | LargestRun):
        _plan_custom_gap(
            search, sizes, tuple(_plan(Search.of(replace(problem, gap=each), ACCURACY)) for each in _STANDARD_GAPS)
        )
    elif problem.outlook.steps == "printed":
        largest = _plan(_corrected_search(search, LargestGap(gap.weights))) if isinstance(gap, LargestRun) else None
        _plan_printed_form(search, sizes, _plan(_corrected_search(search, gap)), largest)
    elif not quick:
        _minimise(search, sizes)
    else:
        for _ in range(_QUICK_ROUNDS):
            _minimise(search, search.few_order_sizes(), quick=True)
            if search.settled:
                break
        else:
            search.quick = False
            _minimise(search, search.order_sizes(fine=True))
    return evaluate_plan(
        problem,
        search.samples.tolist(),
        method="exact",
        reason=_reason(search),
        lower=search.lower,
        price=None if search.price is None else search.price / float(problem.cost.unit),
    )


def _minimise(search: Search, sizes: OrderSizes, *, quick: bool = False) -> None:
    """Improve the plan and its lower bounds; the objective is one of the paper's three."""
    if search.money_lower <= search.budget:
        meet_target(search, sizes, quick=quick)
    if search.value > 0.0 and isinstance(search.problem.gap, MeanGap):
        minimise_mean_gap(search, sizes, quick=quick)
    elif search.value > 0.0:
        minimise_level(search, sizes, quick=quick)


def plan_for_target(problem: Problem, *, accuracy: float = ACCURACY) -> tuple[Plan | None, bool]:
    """Return the cheapest plan found that meets the target within the budget, if any, and whether it is proven that none does."""
    search = Search.of(problem, accuracy)
    sizes = search.order_sizes(fine=True)
    if search.value > 0.0 and len(sizes.counts) > 0:
        meet_target(search, sizes)
    if search.value > 0.0:
        return None, len(sizes.counts) == 0 or search.money_lower > search.budget
    return evaluate_plan(problem, search.samples.tolist(), method="exact", reason=_reason(search)), False


def _reason(search: Search) -> str:
    """Describe the result in a sentence."""
    goal = search.problem.gap.name
    if search.proof:
        return search.proof
    if search.value == 0.0:
        least = in_money(search.problem.cost, int(search.money_lower), search.problem.budget.currency)
        if search.money <= search.money_lower:
            return "the target is met in every period, at the lowest possible cost (proven)"
        return f"the target is met in every period; no plan does so for less than {least} (proven)"
    if search.gap <= 1e-9:
        return f"no plan within the budget has a smaller {goal} (proven)"
    return (
        f"the optimal {goal} lies between {search.lower:.4g} and {search.value:.4g} (within {100 * search.gap:.2g} %)"
    )


def _plan_printed_form(search: Search, sizes: OrderSizes, example: Plan, largest: Plan | None) -> None:
    """Plan for the printed form of the distances, starting from the plan of the corrected form.

    The printed form only enlarges distances, (a + b)^2 <= 2a^2 + 2b^2 (theory I11): lower bounds of the corrected form remain valid
    for monotone objectives. For runs ``largest`` is the plan of the largest gap, which bounds the largest run from below.
    """
    search.offer(np.array(example.samples))
    search.raise_lower(example.lower if largest is None else largest.lower)
    if search.done:
        return
    if search.label_setting(sizes, _prune_nothing):
        search.raise_lower(search.cutoff)
    else:
        _exchange(search, sizes.plain)


def _plan_custom_gap(search: Search, sizes: OrderSizes, examples: tuple[Plan, ...]) -> None:
    """Plan for a custom objective, which is only known to be monotone: its value at the least gaps is a lower bound."""
    for example in examples:
        search.offer(np.array(example.samples))
    search.raise_lower(search.problem.gap(_least_gaps(search.problem, None if sizes.beyond else int(sizes.counts[-1]))))
    if search.done:
        return
    if sizes.complete and (len(sizes.counts) + 1) ** search.problem.horizon <= _MAX_CUSTOM_PLANS:
        _enumerate(search, sizes)
        search.raise_lower(search.value)
    else:
        _exchange(search, sizes.plain)


def _label_all_plans(search: Search, sizes: OrderSizes) -> bool:
    """Solve small problems by label setting alone if the optimum is requested; return whether that was done."""
    if search.accuracy > 0.0 or not isinstance(search.problem.gap, MeanGap | LargestGap | LargestRun):
        return False
    few = sizes.complete and (len(sizes.counts) + 1.0) ** search.problem.horizon <= _MAX_LABELLED_PLANS
    return few and search.label_setting(sizes, _prune_nothing)


def _corrected_search(search: Search, gap: Gap) -> Search:
    """Return a search for the same problem with the corrected form of the distances."""
    outlook = replace(search.problem.outlook, steps="worst")
    return Search.of(replace(search.problem, outlook=outlook, gap=gap), search.accuracy)


def _prune_nothing(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
    del n, money, values
    return np.zeros(len(distances), np.bool_)


def _least_gaps(problem: Problem, most: int | None) -> FloatArray:
    """Return lower bounds on the gaps: the largest order in every period, followed by the closer of buying and waiting.

    A purchase may leave the model further away than waiting would if converting a risk to a distance is lossy (M > m).
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
    """Offer every plan."""
    counts = np.append(0, sizes.counts)
    for choice in itertools.product(counts.tolist(), repeat=search.problem.horizon):
        search.offer(np.array(choice))


def _exchange(search: Search, sizes: OrderSizes) -> None:
    """Exchange samples between one or two periods of the incumbent, a limited number of times."""
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
