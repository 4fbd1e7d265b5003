"""The largest gap and the largest run: bracket the least level that the budget can hold, on finer and finer ladders.

Also the target itself, which is the level 0: whether the budget holds it, and how cheaply.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.planning.exact.dual import PricedProgramme, maximise_dual
from driftpace.planning.exact.grid import (
    DistanceGrid,
    OrderSizes,
    build_grid,
    concentrated_distances,
    point_below,
    spread_distances,
)
from driftpace.planning.exact.local_search import LocalSearch
from driftpace.planning.exact.search import ROUNDING_MARGIN, Search
from driftpace.planning.gaps import LargestRun, MeanGap
from driftpace.planning.kernels.tables import LevelTables, Values
from driftpace.planning.problem import Problem
from driftpace.typing import BoolArray, FloatArray, IntArray

_SIZES = (160, 400, 1000, 2000)
_TARGET_SIZES = (160, 640)
_MOST_NODES = 600_000
_MOST_CLASSES = 48


@dataclass(frozen=True, slots=True, eq=False)
class WeightClasses:
    """``each`` period's weight; ``lowered`` is that of its class, the least weight in it: a value made with it is a lower bound.

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
        """Return weights in at most a few dozen classes."""
        distinct, classes = np.unique(weights, return_inverse=True)
        if len(distinct) > _MOST_CLASSES:
            levels = np.linspace(0.0, 1.0, _MOST_CLASSES + 1)[:-1]
            distinct = np.unique(np.quantile(weights, levels, method="lower"))
            classes = np.searchsorted(distinct, weights, side="right") - 1
        return cls(weights, distinct[classes], classes.astype(np.int64), distinct)


@dataclass(frozen=True, slots=True, eq=False)
class LevelSolution:
    """The least money from every node where one is ``free`` to wait, and in all; ``chosen`` leads there (None: nothing does)."""

    free: FloatArray
    money: float
    chosen: IntArray | None


@dataclass(frozen=True, slots=True, eq=False)
class LevelProgramme:
    """A ladder, the weights of the periods, and whether stretches of gaps count (``runs``) or single ones."""

    grid: DistanceGrid
    weights: WeightClasses
    runs: bool
    adjacent: bool
    duty: bool

    def hold(self, level: float) -> LevelSolution:
        """Return the least money that holds the level: a lower bound, or on a ladder rounded up an upper one."""
        from driftpace.planning.kernels import levels

        horizon, first = len(self.weights.each), self.grid.first
        shape = (horizon + 1, self.grid.size)
        sample = np.full(shape, np.inf)
        values = Values(sample, np.full(shape, np.inf) if self.adjacent else sample, np.full(shape, np.inf))
        tables = self._tables(level)
        levels.backward(tables, values)
        duty = self.adjacent and self.duty
        now = (values.pending if duty else values.sample)[0, first]
        money, _ = levels.best_wait(tables, 0, first, now, values.pending)
        if not math.isfinite(money):
            return LevelSolution(values.free, math.inf, None)
        chosen = np.empty(horizon, np.int64)
        found = levels.follow_policy(tables, first, duty, values, chosen)
        return LevelSolution(values.free, float(money), chosen if found else None)

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


def meet_target(search: Search, sizes: OrderSizes) -> None:
    """Find whether the budget holds the target in every period, and then how cheaply."""
    for size in _TARGET_SIZES:
        distances = spread_distances(search.problem, search.risks, sizes, size)
        down = _level_programme(search, sizes, distances, runs=False, up=False)
        floor = down.hold(0.0)
        search.money_lower = max(search.money_lower, floor.money)
        if floor.money > search.budget:
            return
        _take(search, _level_programme(search, sizes, distances, runs=False, up=True), 0.0)
        if search.value == 0.0 and search.money <= floor.money * (1.0 + search.accuracy):
            return
    if search.value == 0.0 and search.money > floor.money:
        cut = search.money

        def hopeless(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
            dearer: BoolArray = money + floor.free[n][point_below(down.grid.points, distances**2)] > cut
            return dearer | (values > 0.0)

        if search.by_labels(sizes, hopeless):
            search.money_lower = search.money


def minimise_level(search: Search, sizes: OrderSizes) -> None:
    """Bracket the least level that the budget can hold."""
    problem = search.problem
    runs = isinstance(problem.gap, LargestRun)
    _begin(search)
    wide = spread_distances(problem, search.risks, sizes, _SIZES[0])
    for size in _SIZES:
        distances = concentrated_distances(wide, search.visited(), size)
        down = _level_programme(search, sizes, distances, runs=runs, up=False)
        search.prove(_refuted(search, down) * ROUNDING_MARGIN)
        up = _level_programme(search, sizes, distances, runs=runs, up=True)
        _reach(search, up)
        bench = LocalSearch.of(problem, search.risks, up.grid, search.budget)
        if runs:
            for saw in bench.sawtooth_plans(search.lower, search.value):
                search.offer(up.grid.sizes.samples(saw))
        enough = search.lower * (1.0 + search.accuracy / 4.0)
        _, better = bench.improve(up.grid.sizes.entries(search.samples), enough=enough, rounds=40)
        search.offer(up.grid.sizes.samples(better))
        if search.done:
            return
        if problem.horizon * size > _MOST_NODES:
            break
    cut = search.cut
    singles = _level_programme(search, sizes, distances, runs=False, up=False)
    floor = singles.hold(cut)

    def hopeless(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
        dear: BoolArray = money + floor.free[n][point_below(singles.grid.points, distances**2)] > search.budget
        return dear | (values > cut)

    if search.by_labels(sizes, hopeless):
        search.prove(cut)


def _level_programme(
    search: Search, sizes: OrderSizes, distances: FloatArray, *, runs: bool, up: bool
) -> LevelProgramme:
    """Return the programme that bounds the cost of a level from below, or with ``up`` from above."""
    problem = search.problem
    grid = build_grid(problem, search.risks, sizes.plain if up else sizes, distances, up=up)
    return LevelProgramme(grid, WeightClasses.of(search.weights), runs, problem.adjacent, not problem.bought_before)


def _take(search: Search, up: LevelProgramme, level: float) -> float:
    """Offer the plan that holds a level; return the money it takes."""
    holding = up.hold(level)
    if holding.chosen is not None:
        search.offer(up.grid.sizes.samples(holding.chosen))
    return holding.money


def _begin(search: Search) -> None:
    """Begin with plans of small mean gap, which are often near."""
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
    grid = build_grid(mean, search.risks, coarse, spread_distances(mean, search.risks, coarse, 64), smooth=True)
    pricing = PricedProgramme(grid, MeanGap().shares(mean.horizon), mean.adjacent, not mean.bought_before)
    bench = LocalSearch.of(mean, search.risks, grid, search.budget)
    for field in maximise_dual(pricing, search.budget, guess=None, accuracy=0.01).fields:
        search.offer(grid.sizes.samples(bench.roll_out(field)))


def _refuted(search: Search, down: LevelProgramme) -> float:
    """Return a level that the budget cannot hold, as high as this ladder shows."""
    low, high = search.lower, search.value
    if down.hold(low).money <= search.budget:
        return low
    while high - low > max(search.accuracy / 8.0, 1e-7) * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if down.hold(middle).money > search.budget else (low, middle)
    return low


def _reach(search: Search, up: LevelProgramme) -> None:
    """Offer plans that hold lower and lower levels."""
    low, high = search.lower, search.value
    while high - low > max(search.accuracy / 8.0, 1e-7) * high:
        middle = 0.5 * (low + high)
        held = _take(search, up, middle) <= search.budget
        low, high = (low, middle) if held else (middle, high)
