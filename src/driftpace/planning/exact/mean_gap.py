"""Minimise the mean gap: dual bounds and local search first, then bounds per number of orders and label setting."""

import numpy as np

from driftpace.planning.exact.dual import (
    DualBound,
    LocalSearch,
    OrderLimitValues,
    PricedProgramme,
    PricedSolution,
    maximise_dual,
)
from driftpace.planning.exact.grid import (
    DistanceGrid,
    OrderSizes,
    build_grid,
    concentrated_distances,
    point_below,
    spread_distances,
)
from driftpace.planning.exact.search import ROUNDING_MARGIN, PruneRule, Search
from driftpace.typing import BoolArray, FloatArray

_COARSE = 48
_WIDE = 96
_QUICK, _QUICK_EXCHANGES = 32, 2
_SIZES = (128, 256, 512)
_SHORT = 60  # periods; label setting handles these, so the finest grid is skipped
_MAX_LAYERS = 2_000
_FACTORS = (0.1, 0.4, 1.0, 2.5, 10.0)
_REFINEMENTS = 30
_CLOSE = 0.02  # prices closer than this, in logarithms, are not refined further
_NUMBERS = 6
_ROUNDS, _TRIED = 80, 4
_EARLY = 0.3  # before the grid is concentrated around the plan, the gap must be this share of the accuracy
_LONG = 250  # periods; beyond, exchanges wait until the grid is concentrated around the plan


def minimise_mean_gap(search: Search, sizes: OrderSizes, *, quick: bool = False) -> None:
    """Close the gap between dual bound and incumbent on finer and finer grids.

    If ``quick``, on two grids only; or on a coarse one, if the price of money is not known yet.
    """
    problem, guess = search.problem, search.price if quick else None
    if guess is None:
        coarse = sizes if quick else search.order_sizes(fine=False)
        distances = spread_distances(problem, search.arrays, coarse, _QUICK if quick else _COARSE)
        programme = _programme(search, coarse, distances)
        dual = _dual(search, programme, guess=None)
        guess = dual.price
        if quick:
            local = LocalSearch.of(problem, search.arrays, programme.grid, search.budget)
            _improve(search, local, dual, rounds=_QUICK_EXCHANGES)
            return
    programme = _programme(search, sizes, spread_distances(problem, search.arrays, sizes, _COARSE if quick else _WIDE))
    dual = _dual(search, programme, guess=guess)
    _improve(
        search,
        LocalSearch.of(problem, search.arrays, programme.grid, search.budget),
        dual,
        rounds=_ROUNDS if problem.horizon <= _LONG else 0,
    )
    few = spread_distances(problem, search.arrays, sizes, _COARSE)
    for size in _SIZES:
        if search.within(_EARLY if size == _SIZES[0] and not quick else 1.0):
            return
        programme = _programme(search, sizes, concentrated_distances(few, search.visited(), size))
        dual = _dual(search, programme, guess=dual.price)
        _improve(search, LocalSearch.of(problem, search.arrays, programme.grid, search.budget), dual, rounds=_ROUNDS)
        if quick or (problem.horizon <= _SHORT and size == _SIZES[1]):
            break
    if not (search.done or quick):
        _bound_by_order_count(search, sizes, programme, dual.price)


def _programme(search: Search, sizes: OrderSizes, distances: FloatArray) -> PricedProgramme:
    problem = search.problem
    grid = build_grid(problem, search.arrays, sizes, distances, smooth=True)
    return PricedProgramme(grid, search.weights, problem.adjacent, not problem.bought_before)


def _dual(search: Search, programme: PricedProgramme, *, guess: float | None) -> DualBound[PricedSolution]:
    dual = maximise_dual(
        programme, search.budget, guess=guess, accuracy=max(search.accuracy / (5.0 if search.quick else 20.0), 1e-5)
    )
    if dual.lower * ROUNDING_MARGIN > search.lower:
        search.raise_lower(dual.lower * ROUNDING_MARGIN)
        search.price = dual.price
    return dual


def _improve(search: Search, local: LocalSearch, dual: DualBound[PricedSolution], *, rounds: int) -> None:
    """Roll out the solutions, splice plans above the budget with plans below it, and exchange purchases."""
    rolled = {tuple(plan.tolist()): plan for plan in (local.roll_out(solution) for solution in dual.solutions)}
    plans = sorted(rolled.values(), key=lambda plan: abs(local.cost(plan) - search.budget))
    under = [plan for plan in plans if local.cost(plan) <= search.budget][:2]
    over = [plan for plan in plans if local.cost(plan) > search.budget][:2]
    tried = [(local.improve(plan, enough=0.0, rounds=0)[0], plan) for plan in under]
    for left in under:
        for right in over:
            tried += [local.splice(left, right), local.splice(right, left)]
    nothing = np.full(search.problem.horizon, -1)
    tried = [each for each in tried if np.isfinite(each[0])] or [(np.inf, nothing)]
    enough = search.lower * (
        1.0 + search.accuracy / (4.0 if search.problem.horizon <= _LONG and not search.quick else 1.5)
    )
    enough = max(enough, search.lower + 0.7 * search.negligible)
    for _, plan in sorted(tried, key=lambda each: each[0])[:_TRIED]:
        _, better = local.improve(plan, enough=enough, rounds=rounds)
        search.offer(local.grid.sizes.samples(better))
        if search.value <= enough:
            return


def _bound_by_order_count(search: Search, sizes: OrderSizes, programme: PricedProgramme, price: float) -> None:
    """Bound every number of orders, roll out plans for the most promising, then run label setting."""
    least = float(programme.grid.sizes.cheapest[0])
    horizon = search.problem.horizon
    orders = int(min(horizon, search.budget // least)) if least > 0.0 else horizon
    if orders * horizon > _MAX_LAYERS:
        return
    counted = _OrderCountBounds(programme, price, orders, search.budget, least)
    for _ in range(_REFINEMENTS):
        number = int(counted.bounds.argmin())
        if counted.bounds[number] >= search.cutoff or not counted.refine(number):
            break
    _offer_counted_plans(search, counted)
    search.raise_lower(float(counted.bounds.min()))
    if search.done:
        return
    cutoff = search.cutoff
    if search.label_setting(sizes, counted.prune_rule(cutoff)):
        search.raise_lower(cutoff)


def _offer_counted_plans(search: Search, counted: "_OrderCountBounds") -> None:
    """Roll out and improve plans for the most promising numbers of orders, at their best prices."""
    grid, prices, bounds = counted.grid, counted.prices, counted.bounds
    best_price = counted.table.argmax(axis=0)
    local = LocalSearch.of(search.problem, search.arrays, grid, search.budget)
    for number in np.argsort(bounds)[:_NUMBERS]:
        if number == 0 or bounds[number] >= search.value:
            continue
        at = best_price[number]
        for p in range(max(at - 1, 0), min(at + 2, len(prices))):
            plan = local.roll_out_limited(prices[p], counted.layers[p], int(number))
            if local.cost(plan) <= search.budget:
                search.offer(grid.sizes.samples(local.improve(plan, enough=0.0, rounds=30)[1]))


class _OrderCountBounds:
    """Lower bounds for every number of orders, from a few prices; prices are added where a bound is weak."""

    def __init__(self, programme: PricedProgramme, price: float, orders: int, budget: float, least: float) -> None:
        self._programme, self._orders, self._budget, self._least = programme, orders, budget, least
        self._spare = budget - least * np.arange(orders + 1, dtype=np.float64)
        self.grid = programme.grid
        self.prices: list[float] = []
        self.layers: list[tuple[OrderLimitValues, ...]] = []
        self.table = np.empty((0, orders + 1))
        for factor in _FACTORS:
            self._add(price * factor)

    @property
    def bounds(self) -> FloatArray:
        """A lower bound on the value of every plan with each number of orders."""
        return np.asarray(self.table.max(axis=0) * ROUNDING_MARGIN)

    def refine(self, number: int) -> bool:
        """Add a price beside the best one for a number of orders; return False if they are already close."""
        at = int(self.table[:, number].argmax())
        sides = [side for side in (at - 1, at + 1) if 0 <= side < len(self.prices)]
        ratios = [abs(np.log(self.prices[side] / self.prices[at])) for side in sides]
        widest = int(np.argmax(ratios))
        if ratios[widest] < _CLOSE:
            return False
        self._add(float(np.sqrt(self.prices[sides[widest]] * self.prices[at])))
        return True

    def prune_rule(self, cutoff: float) -> PruneRule:
        """Return the rule that prunes labels from which no number of further orders leads below the cutoff."""
        best_price, promising = self.table.argmax(axis=0), np.argsort(self.bounds)
        prices, layers, budget, least = self.prices, self.layers, self._budget, self._least

        def prune(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
            """Try the best price of each number of orders first, then all prices."""
            lost = np.ones(len(distances), np.bool_)
            for number in promising:
                left = np.flatnonzero(lost & (money + number * least <= budget))
                for p in (best_price[number], *range(len(prices))):
                    if len(left) == 0:
                        break
                    ahead = _interpolate(self.grid, layers[p][number].values.free[n], distances[left])
                    end = ahead - prices[p] * (budget - money[left] - number * least)
                    left = left[(values[left] + np.maximum(end, 0.0)) * ROUNDING_MARGIN <= cutoff]
                lost[left] = False
            return lost

        return prune

    def _add(self, price: float) -> None:
        layers = self._programme.solve_by_orders(price, self._orders)
        at = int(np.searchsorted(self.prices, price))
        self.prices.insert(at, price)
        self.layers.insert(at, layers)
        row = np.array([layer.value for layer in layers]) - price * self._spare
        self.table = np.insert(self.table, at, row, axis=0)


def _interpolate(grid: DistanceGrid, values: FloatArray, distances: FloatArray) -> FloatArray:
    """Return values at distances: interpolated on a smooth grid, else those of the grid points below."""
    squares = np.square(distances)
    if grid.smooth:
        return np.interp(squares, grid.points, values)
    return np.asarray(values[point_below(grid.points, squares)])
