"""Minimise the largest gap or run: bisect the level, with the least cost of a level from a dynamic programme.

Largest gap: no gap above the level. Largest run: between one purchase and the next the gaps only grow, so they belong to one run;
that no such stretch adds up to more than the level is necessary, and it is sufficient if every purchase lowers the gap. The
target itself is the level 0.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.planning.exact.dual import LocalSearch, PricedProgramme, maximise_dual
from driftpace.planning.exact.grid import (
    DistanceGrid,
    OrderSizes,
    build_grid,
    concentrated_distances,
    point_below,
    spread_distances,
)
from driftpace.planning.exact.search import ROUNDING_MARGIN, Search
from driftpace.planning.gaps import LargestRun, MeanGap
from driftpace.planning.kernels.tables import LevelTables, Values
from driftpace.planning.problem import Problem
from driftpace.typing import BoolArray, FloatArray, IntArray

_SIZES = (160, 400, 1000, 2000)
_TARGET_SIZES = (160, 640)
_QUICK_SIZES = (96, 160)
_MAX_NODES = 600_000
_MAX_CLASSES = 48


@dataclass(frozen=True, slots=True, eq=False)
class WeightClasses:
    """The weights of the periods in classes, so that one table serves many periods.

    ``lowered`` replaces the weight of ``each`` period by the least of its class: values computed with it are lower bounds.

    >>> weights = WeightClasses.of(np.array([1.0, 2.0, 1.0]))
    >>> weights.classes, weights.of_class
    (array([0, 1, 0]), array([1., 2.]))
    """

    each: FloatArray
    lowered: FloatArray
    classes: IntArray
    of_class: FloatArray

    @classmethod
    def of(cls, weights: FloatArray) -> "WeightClasses":
        """Return the weights in at most 48 classes."""
        distinct, classes = np.unique(weights, return_inverse=True)
        if len(distinct) > _MAX_CLASSES:
            levels = np.linspace(0.0, 1.0, _MAX_CLASSES + 1)[:-1]
            distinct = np.unique(np.quantile(weights, levels, method="lower"))
            classes = np.searchsorted(distinct, weights, side="right") - 1
        return cls(weights, distinct[classes], classes.astype(np.int64), distinct)


@dataclass(frozen=True, slots=True, eq=False)
class LevelSolution:
    """The least cost from every node (``free`` to wait) and from the start; ``chosen`` attains it (None: infeasible)."""

    free: FloatArray
    money: float
    chosen: IntArray | None


@dataclass(frozen=True, slots=True, eq=False)
class LevelProgramme:
    """The least cost of a level on a grid, for sums over stretches of gaps (``runs``) or for single gaps."""

    grid: DistanceGrid
    weights: WeightClasses
    runs: bool
    adjacent: bool
    needs_neighbour: bool

    def min_cost(self, level: float) -> LevelSolution:
        """Return the least cost of the level: a lower bound, or on a grid that rounds up an upper bound."""
        from driftpace.planning.kernels import levels

        horizon, first = len(self.weights.each), self.grid.first
        shape = (horizon + 1, self.grid.size)
        sample = np.full(shape, np.inf)
        values = Values(sample, np.full(shape, np.inf) if self.adjacent else sample, np.full(shape, np.inf))
        tables = self._tables(level)
        levels.backward(tables, values)
        needs_neighbour = self.adjacent and self.needs_neighbour
        now = (values.pending if needs_neighbour else values.sample)[0, first]
        money, _ = levels.best_wait(tables, 0, first, now, values.pending)
        if not math.isfinite(money):
            return LevelSolution(values.free, math.inf, None)
        chosen = np.empty(horizon, np.int64)
        complete = levels.follow_policy(tables, first, needs_neighbour, values, chosen)
        return LevelSolution(values.free, float(money), chosen if complete else None)

    def _tables(self, level: float) -> LevelTables:
        from driftpace.planning.kernels import levels

        grid, weights = self.grid, self.weights
        most = grid.gap.size
        points, values, entries = np.empty(most, np.int64), np.empty(most), np.empty(most, np.int64)
        starts = np.empty((len(weights.of_class), grid.size + 1), np.int64)
        kept, at = [], 0
        for c, weight in enumerate(weights.of_class):
            number = levels.list_purchases(
                grid.gap, grid.ahead_point, grid.sizes.cheapest, weight, level, starts[c], points, values, entries
            )
            starts[c] += at
            at += number
            kept.append((points[:number].copy(), values[:number].copy(), entries[:number].copy()))
        each = weights.lowered.max() * np.column_stack([grid.before, grid.idle[:, : len(weights.each)]])
        gaps = np.cumsum(each, axis=1) if self.runs else each
        return LevelTables(
            runs=self.runs,
            level=level,
            classes=weights.classes,
            weights=weights.lowered,
            idle=grid.idle,
            later_point=grid.later_point,
            before=grid.before,
            waits=np.logical_and.accumulate(gaps[:, 1:] <= level, axis=1).sum(axis=1),
            adjacent=self.adjacent,
            starts=starts,
            points=np.concatenate([each[0] for each in kept]),
            values=np.concatenate([each[1] for each in kept]),
            entries=np.concatenate([each[2] for each in kept]),
        )


def meet_target(search: Search, sizes: OrderSizes, *, quick: bool = False) -> None:
    """Decide whether the budget meets the target in every period, and minimise the cost of doing so.

    If ``quick``, the finer grid is concentrated around the plan of the coarser one, and nothing is labelled.
    """
    for size in _QUICK_SIZES if quick else _TARGET_SIZES:
        distances = spread_distances(
            search.problem, search.arrays, sizes, min(size, _TARGET_SIZES[0]) if quick else size
        )
        if quick and search.value == 0.0:
            distances = concentrated_distances(distances, search.visited(), size)
        down = _level_programme(search, sizes, distances, runs=False, up=False)
        floor = down.min_cost(0.0)
        search.money_lower = max(search.money_lower, floor.money)
        if floor.money > search.budget:
            return
        _offer_level(search, _level_programme(search, sizes, distances, runs=False, up=True), 0.0)
        if search.value == 0.0 and search.money <= floor.money * (1.0 + search.accuracy):
            return
    if search.value == 0.0 and search.money > floor.money and not quick:
        cutoff = search.money

        def prune(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
            dearer: BoolArray = money + floor.free[n][point_below(down.grid.points, distances**2)] > cutoff
            return dearer | (values > 0.0)

        if search.label_setting(sizes, prune):
            search.money_lower = search.money


def minimise_level(search: Search, sizes: OrderSizes, *, quick: bool = False) -> None:
    """Bracket the least level that is within the budget; if ``quick``, on the first two grids only."""
    problem = search.problem
    runs = isinstance(problem.gap, LargestRun)
    if not (quick and search.started):
        _offer_mean_plans(search)
    wide = spread_distances(problem, search.arrays, sizes, _SIZES[0])
    for size in _QUICK_SIZES if quick else _SIZES:
        distances = concentrated_distances(wide, search.visited(), size)
        down = _level_programme(search, sizes, distances, runs=runs, up=False)
        search.raise_lower(_infeasible_level(search, down) * ROUNDING_MARGIN)
        up = _level_programme(search, sizes, distances, runs=runs, up=True)
        _offer_lower_levels(search, up)
        local = LocalSearch.of(problem, search.arrays, up.grid, search.budget)
        if runs:
            for tooth in local.sawtooth_plans(search.lower, search.value):
                search.offer(up.grid.sizes.samples(tooth))
        enough = search.lower * (1.0 + search.accuracy / 4.0)
        _, better = local.improve(up.grid.sizes.entries(search.samples), enough=enough, rounds=40)
        search.offer(up.grid.sizes.samples(better))
        if search.done or (quick and size == _QUICK_SIZES[-1]):
            return
        if problem.horizon * size > _MAX_NODES:
            break
    cutoff = search.cutoff
    singles = _level_programme(search, sizes, distances, runs=False, up=False)
    floor = singles.min_cost(cutoff)

    def prune(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
        dear: BoolArray = money + floor.free[n][point_below(singles.grid.points, distances**2)] > search.budget
        return dear | (values > cutoff)

    if search.label_setting(sizes, prune):
        search.raise_lower(cutoff)


def _level_programme(
    search: Search, sizes: OrderSizes, distances: FloatArray, *, runs: bool, up: bool
) -> LevelProgramme:
    """Return the programme that bounds the cost of a level from below, or with ``up`` from above."""
    problem = search.problem
    grid = build_grid(problem, search.arrays, sizes.plain if up else sizes, distances, up=up)
    return LevelProgramme(grid, WeightClasses.of(search.weights), runs, problem.adjacent, not problem.bought_before)


def _offer_level(search: Search, up: LevelProgramme, level: float) -> float:
    """Offer the cheapest plan for a level; return its cost."""
    solution = up.min_cost(level)
    if solution.chosen is not None:
        search.offer(up.grid.sizes.samples(solution.chosen))
    return solution.money


def _offer_mean_plans(search: Search) -> None:
    """Start with plans of small mean gap, which are often close."""
    problem = search.problem
    mean = Problem(
        outlook=problem.outlook,
        epsilon=problem.epsilon,
        budget=problem.budget,
        horizon=problem.horizon,
        cost=problem.cost,
        gap=MeanGap(),
        adjacent=problem.adjacent,
        bought_before=problem.bought_before,
    )
    coarse = search.order_sizes(fine=False).plain
    grid = build_grid(mean, search.arrays, coarse, spread_distances(mean, search.arrays, coarse, 64), smooth=True)
    programme = PricedProgramme(grid, MeanGap().shares(mean.horizon), mean.adjacent, not mean.bought_before)
    local = LocalSearch.of(mean, search.arrays, grid, search.budget)
    for solution in maximise_dual(programme, search.budget, guess=None, accuracy=0.01).solutions:
        search.offer(grid.sizes.samples(local.roll_out(solution)))


def _infeasible_level(search: Search, down: LevelProgramme) -> float:
    """Return the highest level that this grid proves to exceed the budget."""
    low, high = search.lower, search.value
    if search.quick and down.min_cost(0.9 * high).money > search.budget:
        low = max(low, 0.9 * high)
    elif down.min_cost(low).money <= search.budget:
        return low
    while high - low > max(search.accuracy / (4.0 if search.quick else 8.0), 1e-7) * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if down.min_cost(middle).money > search.budget else (low, middle)
    return low


def _offer_lower_levels(search: Search, up: LevelProgramme) -> None:
    """Offer plans for lower and lower levels."""
    low, high = search.lower, search.value
    while high - low > max(search.accuracy / (4.0 if search.quick else 8.0), 1e-7) * high:
        middle = 0.5 * (low + high)
        feasible = _offer_level(search, up, middle) <= search.budget
        low, high = (low, middle) if feasible else (middle, high)
