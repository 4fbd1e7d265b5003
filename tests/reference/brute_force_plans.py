"""The optimal plan by brute force over all plans within the budget, and checks of a plan against it.

No dominance, no bounds, no rounding of distances or money, no limit on an order but the budget; adjacency is checked on complete
plans. The objectives are defined here independently, as in section IV-A (theory I16).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, risk_gaps, risk_trajectory
from driftpace.records import Plan
from driftpace.typing import BoolArray, FloatArray, IntArray

Allowed = Callable[[Sequence[int]], bool]

TIE = 1e-12
"""Values that differ by less than this share of the least one are the same value, rounded differently."""

FALL = 1e-9
"""A gap that falls by less than this share of itself did not fall."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BruteForceOptimum:
    """The least value of all plans, and the least price (in units of the cost) of a plan that has it."""

    value: float
    units: int
    samples: tuple[int, ...]
    tried: int


def best_of_all(problem: Problem, allowed: Allowed | None = None) -> BruteForceOptimum:
    """Try every plan within the budget that is ``allowed`` (by default: that the problem allows)."""
    if allowed is None:

        def allowed(samples: Sequence[int]) -> bool:
            return not problem.adjacent or has_neighbours(samples, bought_before=problem.bought_before)

    plans, risks, units = every_plan(problem)
    may = np.array([allowed(samples) for samples in plans.tolist()])
    plans, risks, units = plans[may], risks[may], units[may]
    values = values_of(problem, risk_gaps(risks, problem.epsilon))
    least = float(values.min())
    tied = np.flatnonzero(values <= least + TIE * least)
    cheapest = tied[np.argmin(units[tied])]
    return BruteForceOptimum(
        value=least,
        units=int(units[cheapest]),
        samples=tuple(plans[cheapest].tolist()),
        tried=len(plans),
    )


def has_neighbours(samples: Sequence[int], *, bought_before: bool) -> bool:
    """Whether samples at n come with samples at n - 1 or n + 1 (theory I12, I13); before the first is data."""
    bought = [bought_before, *(count > 0 for count in samples), False]
    return all(not bought[n] or bought[n - 1] or bought[n + 1] for n in range(1, len(samples) + 1))


def has_the_rows_on_values(samples: Sequence[int]) -> bool:
    """Whether a plan obeys the paper's rows for real K: K_1 <= K_2, K_n <= K_(n-1) + K_(n+1), K_(T-1) <= K_T."""
    if len(samples) < 2:
        return True
    inner = all(samples[n] <= samples[n - 1] + samples[n + 1] for n in range(1, len(samples) - 1))
    return samples[0] <= samples[1] and inner and samples[-2] <= samples[-1]


def every_plan(problem: Problem) -> tuple[IntArray, FloatArray, IntArray]:
    """Return all plans within the budget, one a row, with the risks of their periods and their prices in units."""
    outlook, horizon = problem.outlook, problem.horizon
    money = int(problem.budget.amount // problem.cost.unit)
    prices = prices_up_to(problem, money)
    bound = _remembering(outlook)
    plans: list[tuple[int, ...]] = []
    courses: list[tuple[float, ...]] = []
    spent: list[int] = []

    def go_on(samples: tuple[int, ...], risks: tuple[float, ...], reach: float, fitted: int, paid: int) -> None:
        index = len(samples)
        if index == horizon:
            plans.append(samples)
            courses.append(risks)
            spent.append(paid)
            return
        for count, price in enumerate(prices):
            if paid + price > money:
                break
            if fitted < 0:
                distance = outlook.first_distance(index)
            elif count == 0:
                distance = outlook.idle_distance(reach, index - fitted)
            else:
                distance = outlook.fit_distance(reach, index - fitted)
            risk = bound(distance, count)
            if count == 0:
                go_on((*samples, 0), (*risks, risk), reach, fitted, paid)
            else:
                go_on((*samples, count), (*risks, risk), outlook.reach(risk), index, paid + price)

    go_on((), (), 0.0, -1, 0)
    return np.array(plans), np.array(courses), np.array(spent)


def prices_up_to(problem: Problem, money: int) -> list[int]:
    """Return the prices in units of 0, 1, 2, ... samples, as far as the money goes."""
    prices: list[int] = problem.cost.units(np.arange(5_000)).tolist()
    assert prices[0] == 0
    assert prices == sorted(prices)
    assert prices[-1] > money, "an order may be larger than brute force can try"
    return [price for price in prices if price <= money]


def values_of(problem: Problem, gaps: FloatArray) -> FloatArray:
    """Return what the problem minimises, for each row of gaps."""
    gap, horizon = problem.gap, problem.horizon
    if not isinstance(gap, MeanGap | LargestGap | LargestRun):
        return np.array([gap(row) for row in gaps])
    weights = np.ones(horizon) if gap.weights is None else np.array(gap.weights, dtype=np.float64)
    if isinstance(gap, MeanGap):
        mean: FloatArray = gaps @ weights / weights.sum()
        return mean
    weighed = gaps * weights
    if isinstance(gap, LargestGap):
        largest: FloatArray = np.max(weighed, axis=1)
        return largest
    runs = np.zeros(len(gaps))
    for first in range(horizon):
        for last in range(first, horizon):
            sums = np.where(_never_falls(gaps[:, first : last + 1]), weighed[:, first : last + 1].sum(axis=1), 0.0)
            runs = np.maximum(runs, sums)
    return runs


def _never_falls(run: FloatArray) -> BoolArray:
    never: BoolArray = np.all(run[:, 1:] >= run[:, :-1] * (1.0 - FALL), axis=1)
    return never


def _remembering(outlook: Outlook) -> Callable[[float, int], float]:
    known: dict[tuple[float, int], float] = {}

    def bound(distance: float, count: int) -> float:
        if (distance, count) not in known:
            known[distance, count] = outlook.bound(distance, count)
        return known[distance, count]

    return bound


def complaints(problem: Problem, plan: Plan, best: BruteForceOptimum) -> list[str]:
    """Return what is wrong with a plan that claims to be proven optimal and the cheapest of the optimal ones."""
    wrong = unsound(problem, plan) + untrue(plan, best)
    if abs(plan.value - best.value) > TIE * best.value:
        wrong.append(f"value {plan.value!r} of {plan.samples}, but {best.samples} has {best.value!r}")
    elif (spent := int(plan.spent.amount / problem.cost.unit)) != best.units:
        wrong.append(f"costs {spent} units with {plan.samples}, but {best.samples} has the same value for {best.units}")
    if plan.lower < best.value * (1.0 - TIE):
        wrong.append(f"proves no more than {plan.lower!r}")
    return wrong


def untrue(plan: Plan, best: BruteForceOptimum) -> list[str]:
    """Return what is wrong with the interval of a plan that should contain the optimum."""
    if plan.lower > best.value * (1.0 + TIE):
        return [f"claims that no plan is below {plan.lower!r}, but {best.samples} has {best.value!r}"]
    return [] if plan.value >= best.value * (1.0 - TIE) else [f"value {plan.value!r} is below that of every plan"]


def unsound(problem: Problem, plan: Plan) -> list[str]:
    """Return what a plan misstates, whether or not it is optimal."""
    wrong = []
    risks = risk_trajectory(problem.outlook, plan.samples)
    units = problem.cost.units(np.array(plan.samples))
    if len(plan.samples) != problem.horizon or min(plan.samples) < 0:
        wrong.append(f"not a plan: {plan.samples}")
    if problem.adjacent and not has_neighbours(plan.samples, bought_before=problem.bought_before):
        wrong.append(f"samples without neighbours: {plan.samples}")
    if [cost.amount for cost in plan.costs] != [int(price) * problem.cost.unit for price in units]:
        wrong.append(f"costs {plan.costs}")
    if plan.spent.amount > problem.budget.amount:
        wrong.append(f"spends {plan.spent} of {problem.budget}")
    if plan.risks != risks or plan.gaps != tuple(risk_gaps(risks, problem.epsilon)):
        wrong.append(f"risks {plan.risks}, gaps {plan.gaps}")
    if plan.value != problem.gap(risk_gaps(risks, problem.epsilon)):
        wrong.append(f"value {plan.value!r}")
    return wrong
