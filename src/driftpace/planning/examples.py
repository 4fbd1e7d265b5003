"""Goals and forms without a programme of their own: plans of others as examples, changed while that helps."""

import itertools
from dataclasses import replace

import numpy as np

from driftpace.planning.course import gaps_over
from driftpace.planning.gaps import Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.menu import Menu
from driftpace.planning.problem import Problem
from driftpace.planning.search import Search
from driftpace.records import Plan
from driftpace.typing import BoolArray, FloatArray

_FEW_PLANS = 20_000
_ALL_PLANS = 400_000
_EXCHANGES = 20_000


def printed_form(search: Search, menu: Menu, example: Plan, largest: Plan | None) -> None:
    """Plan in the form as printed, from the plan of the corrected form; for runs ``largest`` is that of the largest gap.

    The printed form only makes distances larger, (a + b)^2 <= 2a^2 + 2b^2 (theory I11): what bounds the corrected one bounds
    it too, where a larger gap never makes the value less. A run is at least as large as its largest gap.
    """
    search.offer(np.array(example.samples))
    search.prove(example.lower if largest is None else largest.lower)
    if search.done:
        return
    if search.by_labels(menu, _nothing_is_hopeless):
        search.prove(search.cut)
    else:
        _exchange(search, menu.plain)


def own_goal(search: Search, menu: Menu, examples: tuple[Plan, ...]) -> None:
    """Plan for a goal of one's own, which is only known to be monotone.

    It is at least that of gaps which no plan gets under, period by period: see :func:`_least_gaps`.
    """
    for example in examples:
        search.offer(np.array(example.samples))
    search.prove(search.problem.gap(_least_gaps(search.problem, None if menu.beyond else int(menu.counts[-1]))))
    if search.done:
        return
    if menu.whole and (len(menu.counts) + 1) ** search.problem.horizon <= _FEW_PLANS:
        _enumerate(search, menu)
        search.prove(search.value)
    else:
        _exchange(search, menu.plain)


def few_plans(search: Search, menu: Menu) -> bool:
    """Look at all beginnings at once where the best plan is asked for and there are few; return whether that was done."""
    if search.accuracy > 0.0 or not isinstance(search.problem.gap, MeanGap | LargestGap | LargestRun):
        return False
    few = menu.whole and (len(menu.counts) + 1.0) ** search.problem.horizon <= _ALL_PLANS
    return few and search.by_labels(menu, _nothing_is_hopeless)


GOALS = (MeanGap(), LargestGap(), LargestRun())
"""Whose plans are examples for a goal of one's own."""


def corrected(search: Search, gap: Gap) -> Search:
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
    return gaps_over(risks, problem.epsilon)


def _enumerate(search: Search, menu: Menu) -> None:
    """Look at every plan."""
    counts = np.append(0, menu.counts)
    for choice in itertools.product(counts.tolist(), repeat=search.problem.horizon):
        search.offer(np.array(choice))


def _exchange(search: Search, menu: Menu) -> None:
    """Change one or two periods of the best plan at a time, as it is valued, a limited number of times."""
    tries = _EXCHANGES
    last = len(menu.counts)
    while tries > 0:
        before = search.value
        entries = menu.entries(search.samples)
        for n, m in itertools.product(range(search.problem.horizon), repeat=2):
            for more, fewer in ((1, 0), (0, 1), (1, 1), (4, 4), (16, 16), (0, last)):
                changed = entries.copy()
                changed[n] = min(changed[n] + more, last - 1)
                changed[m] = max(changed[m] - fewer, -1)
                search.offer(menu.samples(changed))
            tries -= 6
            if tries <= 0:
                break
        if search.value >= before:
            return
