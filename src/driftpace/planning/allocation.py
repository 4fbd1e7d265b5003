"""The allocation of one budget to many independent planning problems.

The problems are coupled only through the price of money: at a given price each is solved on its own, and the price is adjusted
until all of them together stay within the budget. The sum of their priced values, less price times budget, is a lower bound on the
optimum. Plans met on the way are combined by a greedy choice along their convex hulls, and for few problems by dynamic
programming over the sums of their costs.
"""

import math
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from driftpace.planning.costs import budget_units, in_money
from driftpace.planning.exact.dual import LocalSearch, PricedProgramme, maximise_dual
from driftpace.planning.exact.grid import OrderSizes, OutlookArrays, build_grid, order_sizes, spread_distances
from driftpace.planning.exact.planner import ACCURACY, plan_exact
from driftpace.planning.exact.search import ROUNDING_MARGIN
from driftpace.planning.problem import Problem, objective_value, satisfies_adjacency
from driftpace.typing import IntArray

_POINTS = (96, 224, 448)
_MAX_POINTS = 300_000  # of all models together, on all but the first grids
_FINE, _COARSE = (256, 1.01), (64, 1.02)  # every number of samples up to the first, then a geometric sequence
_MANY = 100  # more models than these use the coarse order sizes, to save memory
_POLISHED = 24
_ROUNDS = 3
_FEW = 16  # up to so many segments, all sums of their plans are considered
_SHARES = (0.75, 0.87, 0.95, 1.05, 1.15, 1.33)
_MAX_SUMS = 2_000

Samples = tuple[int, ...]
Point = tuple[float, float, Samples]
"""(cost in units, value, samples) of a plan."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The chosen plan of each segment, a lower bound on the objective, and the price of money that proves it."""

    plans: dict[str, Samples]
    lower: float
    price: float


def common_unit(units: list[Decimal]) -> Decimal:
    """Return the largest amount that every unit is a multiple of.

    >>> common_unit([Decimal("0.25"), Decimal("0.1"), Decimal(3)])
    Decimal('0.05')
    """
    decimals = max(0, *(-int(unit.normalize().as_tuple().exponent) for unit in units))
    return Decimal(math.gcd(*(int(unit.scaleb(decimals)) for unit in units))).scaleb(-decimals)


def needs_coarse_sizes(models: int) -> bool:
    """Whether so many models need coarse order sizes to fit in memory."""
    return models > _MANY


class SegmentModel:
    """The priced programme of one kind of segment, and the plans found for it: ``plans`` maps samples to (cost, value)."""

    def __init__(self, problem: Problem, *, coarse: bool) -> None:
        self.problem = problem
        self.arrays = OutlookArrays.of(problem.outlook, problem.horizon)
        self.budget = float(budget_units(problem.cost, problem.budget))
        each, ratio = _COARSE if coarse else _FINE
        self.sizes: OrderSizes = order_sizes(problem, self.arrays, each=each, ratio=ratio)
        self._solutions: dict[float, tuple[float, float]] = {}
        self._planned: dict[tuple[int, float], Samples] = {}
        self.plans: dict[Samples, tuple[float, float]] = {}
        self.add(np.zeros(problem.horizon, np.int64))

    @property
    def is_empty(self) -> bool:
        """Whether the budget does not pay for a single order."""
        return len(self.sizes.counts) == 0

    def build(self, points: int) -> None:
        """Build the priced programme on a grid of so many points; the plans found so far are kept."""
        if self.is_empty:
            return
        problem = self.problem
        distances = spread_distances(problem, self.arrays, self.sizes, points)
        grid = build_grid(problem, self.arrays, self.sizes, distances, smooth=True)
        shares = problem.gap.shares(problem.horizon)  # type: ignore[attr-defined]
        self.programme = PricedProgramme(grid, shares, problem.adjacent, not problem.bought_before)
        self.local = LocalSearch.of(problem, self.arrays, grid, self.budget)
        self._solutions.clear()

    def solve(self, price: float) -> tuple[float, float]:
        """Return the priced value and the cost at a price of money; the plan it leads to is kept."""
        if self.is_empty:
            return self.plans[(0,) * self.problem.horizon][1], 0.0
        if price not in self._solutions:
            solution = self.programme.solve(price)
            self.add(self.sizes.samples(self.local.roll_out(solution)))
            self._solutions[price] = solution.value, solution.cost
        return self._solutions[price]

    def add(self, samples: IntArray) -> None:
        """Keep a plan if it is feasible."""
        cost = float(self.problem.cost.units(samples).sum())
        if cost <= self.budget and satisfies_adjacency(self.problem, samples):
            self.plans[tuple(samples.tolist())] = (cost, objective_value(self.problem, samples))

    def plan(self, units: int, accuracy: float) -> Samples:
        """Plan with so many units of money, keep the plan and return its samples; results are cached."""
        if (units, accuracy) not in self._planned:
            money = in_money(self.problem.cost, units, self.problem.budget.currency)
            plan = plan_exact(replace(self.problem, budget=money), accuracy=accuracy)
            self.add(np.array(plan.samples))
            self._planned[units, accuracy] = plan.samples
        return self._planned[units, accuracy]

    def hull(self) -> list[Point]:
        """Return the plans on the lower convex hull of value over cost, from the cheapest on."""
        points = sorted((cost, value, plan) for plan, (cost, value) in self.plans.items())
        hull: list[Point] = []
        for point in points:
            if hull and point[1] >= hull[-1][1]:
                continue
            while len(hull) > 1 and _slope(hull[-2], point) <= _slope(hull[-2], hull[-1]):
                hull.pop()
            if hull and point[0] == hull[-1][0]:
                hull.pop()
            hull.append(point)
        return hull


def _slope(left: Point, right: Point) -> float:
    return (right[1] - left[1]) / max(right[0] - left[0], 1e-300)


@dataclass(slots=True, eq=False)
class WeightedModel:
    """A segment: its model, its share of the objective, and the number of common units in its unit of money."""

    model: SegmentModel
    share: float
    unit: int


@dataclass(frozen=True, slots=True)
class _JointSolution:
    """The solution of all segments at one price."""

    price: float
    value: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class _JointProgramme:
    """The priced programme of all segments."""

    models: tuple[WeightedModel, ...]

    def solve(self, price: float) -> _JointSolution:
        """Return the sum over segments at a price of money in common units."""
        value = cost = 0.0
        for weighted in self.models:
            each, money = weighted.model.solve(price * weighted.unit / weighted.share)
            value += weighted.share * each
            cost += weighted.unit * money
        return _JointSolution(price, value, cost)


def allocate(models: dict[str, WeightedModel], limit: float, accuracy: float) -> Allocation:
    """Choose a plan for each segment within ``limit`` common units, on finer and finer grids."""
    joint = _JointProgramme(tuple(models.values()))
    distinct = {id(weighted.model): weighted.model for weighted in models.values()}.values()
    chosen = _choose_greedily(models, limit)
    lower, price, guess = 0.0, 0.0, None
    for points in _POINTS if limit > 0.0 else ():
        if len(distinct) * points > _MAX_POINTS and points > _POINTS[0]:
            break
        for model in distinct:
            model.build(points)
        dual = maximise_dual(joint, limit, guess=guess, accuracy=max(accuracy / 20.0, 1e-5))
        guess = dual.price
        if dual.lower * ROUNDING_MARGIN > lower:
            lower, price = dual.lower * ROUNDING_MARGIN, dual.price
        chosen = min(chosen, _choose_greedily(models, limit), key=lambda each: _value(models, each))
        for _ in range(_ROUNDS):
            if not _polish(models, chosen, limit, lower, accuracy):
                break
        if _value(models, chosen) - lower <= accuracy * _value(models, chosen):
            break
    if len(models) <= _FEW:
        for _ in range(_ROUNDS):
            value = _value(models, chosen)
            if value - lower <= accuracy * value:
                break
            _explore(models, chosen, limit, accuracy)
            chosen = _choose_by_sums(models, limit)
            if not _value(models, chosen) < value * (1.0 - 1e-9):
                break
    return Allocation(chosen, lower, price)


def _choose_greedily(models: dict[str, WeightedModel], limit: float) -> dict[str, Samples]:
    """Choose a plan for each segment: starting from no purchases, take the hull step with the best value for its cost."""
    hulls = {name: weighted.model.hull() for name, weighted in models.items()}
    steps = sorted(
        (weighted.share * _slope(hull[k], hull[k + 1]) / weighted.unit, name, k)
        for name, weighted in models.items()
        for hull in (hulls[name],)
        for k in range(len(hull) - 1)
    )
    at, spent = dict.fromkeys(models, 0), 0.0
    for _, name, k in steps:
        if at[name] != k:
            continue  # an earlier step was not affordable
        more = models[name].unit * (hulls[name][k + 1][0] - hulls[name][k][0])
        if spent + more <= limit:
            at[name], spent = k + 1, spent + more
    return {name: hulls[name][at[name]][2] for name in models}


def _value(models: dict[str, WeightedModel], chosen: dict[str, Samples]) -> float:
    return sum(weighted.share * weighted.model.plans[chosen[name]][1] for name, weighted in models.items())


def _explore(models: dict[str, WeightedModel], chosen: dict[str, Samples], limit: float, accuracy: float) -> None:
    """Plan every segment with somewhat less and somewhat more money than it has, and with an equal share."""
    for name, weighted in models.items():
        units, _ = weighted.model.plans[chosen[name]]
        most = int(limit // weighted.unit)
        for each in sorted({min(int(units * share), most) for share in _SHARES} | {most // len(models)}):
            weighted.model.plan(each, max(accuracy, ACCURACY))


def _choose_by_sums(models: dict[str, WeightedModel], limit: float) -> dict[str, Samples]:
    """Choose the best combination of the plans found, by the undominated sums of cost and value."""
    sums: list[tuple[float, float, dict[str, Samples]]] = [(0.0, 0.0, {})]
    for name, weighted in models.items():
        more = [
            (spent + weighted.unit * cost, value + weighted.share * each, choice | {name: plan})
            for spent, value, choice in sums
            for plan, (cost, each) in weighted.model.plans.items()
            if spent + weighted.unit * cost <= limit
        ]
        more.sort(key=lambda entry: entry[:2])
        sums, least = [], np.inf
        for entry in more:
            if entry[1] < least:
                least = entry[1]
                sums.append(entry)
        if len(sums) > _MAX_SUMS:
            sums = [sums[at] for at in np.linspace(0, len(sums) - 1, _MAX_SUMS).astype(int)]
    return sums[-1][2]


def _polish(
    models: dict[str, WeightedModel], chosen: dict[str, Samples], limit: float, lower: float, accuracy: float
) -> bool:
    """Replan the segments with the largest gaps with their share and what is left; return whether that improved the value."""

    def contribution(name: str) -> float:
        return models[name].share * models[name].model.plans[chosen[name]][1]

    value = sum(contribution(name) for name in models)
    spent = sum(weighted.unit * weighted.model.plans[chosen[name]][0] for name, weighted in models.items())
    before = value
    for name in sorted(models, key=contribution, reverse=True)[:_POLISHED]:
        if value - lower <= accuracy / 2.0 * value:
            break
        weighted = models[name]
        units, old = weighted.model.plans[chosen[name]]
        samples = weighted.model.plan(int(units + (limit - spent) // weighted.unit), accuracy / 4.0)
        cost, new = weighted.model.plans[samples]
        if new < old:
            spent += weighted.unit * (cost - units)
            value += weighted.share * (new - old)
            chosen[name] = samples
    return value < before * (1.0 - 1e-9)
