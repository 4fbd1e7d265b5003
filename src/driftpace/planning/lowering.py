"""The largest gap and the largest run: bracket the least level that the budget can hold, on finer and finer ladders.

Also the target itself, which is the level 0: whether the budget holds it, and how cheaply.
"""

from driftpace.planning.ascent import ascend
from driftpace.planning.gaps import LargestRun, MeanGap
from driftpace.planning.improving import Workbench
from driftpace.planning.ladder import below, build, crowded, spread
from driftpace.planning.levels import Levels
from driftpace.planning.menu import Menu
from driftpace.planning.pricing import Pricing
from driftpace.planning.problem import Problem
from driftpace.planning.search import SAFE, Search
from driftpace.typing import BoolArray, FloatArray

_SIZES = (160, 400, 1000, 2000)
_TARGET_SIZES = (160, 640)
_MOST_NODES = 600_000


def hold_target(search: Search, menu: Menu) -> None:
    """Find whether the budget holds the target in every period, and then how cheaply."""
    for size in _TARGET_SIZES:
        distances = spread(search.problem, search.risks, menu, size)
        down = search.levels(menu, distances, runs=False, up=False)
        floor = down.hold(0.0)
        search.money_lower = max(search.money_lower, floor.money)
        if floor.money > search.budget:
            return
        _take(search, search.levels(menu, distances, runs=False, up=True), 0.0)
        if search.value == 0.0 and search.money <= floor.money * (1.0 + search.accuracy):
            return
    if search.value == 0.0 and search.money > floor.money:
        cut = search.money

        def hopeless(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
            dearer: BoolArray = money + floor.free[n][below(down.ladder.rungs, distances**2)] > cut
            return dearer | (values > 0.0)

        if search.by_labels(menu, hopeless):
            search.money_lower = search.money


def lower_level(search: Search, menu: Menu) -> None:
    """Bracket the least level that the budget can hold."""
    problem = search.problem
    runs = isinstance(problem.gap, LargestRun)
    _begin(search)
    wide = spread(problem, search.risks, menu, _SIZES[0])
    for size in _SIZES:
        distances = crowded(wide, search.visited(), size)
        down = search.levels(menu, distances, runs=runs, up=False)
        search.prove(_refuted(search, down) * SAFE)
        up = search.levels(menu, distances, runs=runs, up=True)
        _reach(search, up)
        bench = Workbench.of(problem, search.risks, up.ladder, search.budget)
        if runs:
            for saw in bench.saws(search.lower, search.value):
                search.offer(up.ladder.menu.samples(saw))
        enough = search.lower * (1.0 + search.accuracy / 4.0)
        _, better = bench.improved(up.ladder.menu.entries(search.samples), enough=enough, rounds=40)
        search.offer(up.ladder.menu.samples(better))
        if search.done:
            return
        if problem.horizon * size > _MOST_NODES:
            break
    cut = search.cut
    singles = search.levels(menu, distances, runs=False, up=False)
    floor = singles.hold(cut)

    def hopeless(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
        dear: BoolArray = money + floor.free[n][below(singles.ladder.rungs, distances**2)] > search.budget
        return dear | (values > cut)

    if search.by_labels(menu, hopeless):
        search.prove(cut)


def _take(search: Search, up: Levels, level: float) -> float:
    """Offer the plan that holds a level; return the money it takes."""
    holding = up.hold(level)
    if holding.chosen is not None:
        search.offer(up.ladder.menu.samples(holding.chosen))
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
    coarse = search.menu(fine=False).plain
    ladder = build(mean, search.risks, coarse, spread(mean, search.risks, coarse, 64), smooth=True)
    pricing = Pricing(ladder, MeanGap().shares(mean.horizon), mean.adjacent, not mean.bought_before)
    bench = Workbench.of(mean, search.risks, ladder, search.budget)
    for field in ascend(pricing, search.budget, guess=None, accuracy=0.01).fields:
        search.offer(ladder.menu.samples(bench.rolled(field)))


def _refuted(search: Search, down: Levels) -> float:
    """Return a level that the budget cannot hold, as high as this ladder shows."""
    low, high = search.lower, search.value
    if down.hold(low).money <= search.budget:
        return low
    while high - low > max(search.accuracy / 8.0, 1e-7) * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if down.hold(middle).money > search.budget else (low, middle)
    return low


def _reach(search: Search, up: Levels) -> None:
    """Offer plans that hold lower and lower levels."""
    low, high = search.lower, search.value
    while high - low > max(search.accuracy / 8.0, 1e-7) * high:
        middle = 0.5 * (low + high)
        held = _take(search, up, middle) <= search.budget
        low, high = (low, middle) if held else (middle, high)
