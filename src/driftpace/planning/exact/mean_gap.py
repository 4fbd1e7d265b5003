"""The mean gap: bound it from below by pricing the money, follow what the prices lead to, and close what is left open."""

import numpy as np

from driftpace.planning.exact.dual import DualBound, OrderLimitValues, PricedProgramme, PricedSolution, maximise_dual
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
from driftpace.typing import BoolArray, FloatArray

_COARSE = 48
_WIDE = 96
_SIZES = (128, 256, 512)
_SHORT = 60  # so many periods can be searched by labels, and finer ladders are left out
_MOST_LAYERS = 2_000
_FACTORS = (0.1, 0.4, 1.0, 2.5, 10.0)
_REFINEMENTS = 30
_CLOSE = 0.02  # prices as near as this, in logarithms, are not told apart
_NUMBERS = 6
_FIRST_ROUNDS, _ROUNDS, _TRIED = 20, 80, 4
_EARLY = 0.3  # on a ladder that is not crowded where the plan goes, a plan must be this much better than asked for
_LONG = 250  # beyond so many periods, exchanges wait until the ladder is crowded where the plan goes


def minimise_mean_gap(search: Search, sizes: OrderSizes) -> None:
    """Look for the price at which the budget is just spent, on finer and finer ladders."""
    problem = search.problem
    coarse = search.order_sizes(fine=False)
    guess = _dual(
        search, _pricing(search, coarse, spread_distances(problem, search.risks, coarse, _COARSE)), guess=None
    ).price
    pricing = _pricing(search, sizes, spread_distances(problem, search.risks, sizes, _WIDE))
    dual = _dual(search, pricing, guess=guess)
    _improve(
        search,
        LocalSearch.of(problem, search.risks, pricing.grid, search.budget),
        dual,
        rounds=_ROUNDS if problem.horizon <= _LONG else 0,
    )
    few = spread_distances(problem, search.risks, sizes, _COARSE)
    for size in _SIZES:
        if search.gap <= search.accuracy * (_EARLY if size == _SIZES[0] else 1.0):
            return
        pricing = _pricing(search, sizes, concentrated_distances(few, search.visited(), size))
        dual = _dual(search, pricing, guess=dual.price)
        _improve(search, LocalSearch.of(problem, search.risks, pricing.grid, search.budget), dual, rounds=_ROUNDS)
        if problem.horizon <= _SHORT and size == _SIZES[1]:
            break
    if not search.done:
        _count_orders(search, sizes, pricing, dual.price)


def _pricing(search: Search, sizes: OrderSizes, distances: FloatArray) -> PricedProgramme:
    problem = search.problem
    grid = build_grid(problem, search.risks, sizes, distances, smooth=True)
    return PricedProgramme(grid, search.weights, problem.adjacent, not problem.bought_before)


def _dual(search: Search, pricing: PricedProgramme, *, guess: float | None) -> DualBound[PricedSolution]:
    dual = maximise_dual(pricing, search.budget, guess=guess, accuracy=max(search.accuracy / 20.0, 1e-5))
    if dual.lower * ROUNDING_MARGIN > search.lower:
        search.prove(dual.lower * ROUNDING_MARGIN)
        search.price = dual.price
    return dual


def _improve(search: Search, bench: LocalSearch, dual: DualBound[PricedSolution], *, rounds: int) -> None:
    """Follow the fields along true distances, splice what costs too much with what costs too little, and exchange."""
    rolled = {tuple(plan.tolist()): plan for plan in (bench.roll_out(field) for field in dual.fields)}
    plans = sorted(rolled.values(), key=lambda plan: abs(bench.cost(plan) - search.budget))
    under = [plan for plan in plans if bench.cost(plan) <= search.budget][:2]
    over = [plan for plan in plans if bench.cost(plan) > search.budget][:2]
    tried = [(bench.improve(plan, enough=0.0, rounds=0)[0], plan) for plan in under]
    for left in under:
        for right in over:
            tried += [bench.splice(left, right), bench.splice(right, left)]
    nothing = np.full(search.problem.horizon, -1)
    tried = [each for each in tried if np.isfinite(each[0])] or [(np.inf, nothing)]
    enough = search.lower * (1.0 + search.accuracy / (4.0 if search.problem.horizon <= _LONG else 1.5))
    for _, plan in sorted(tried, key=lambda each: each[0])[:_TRIED]:
        _, better = bench.improve(plan, enough=enough, rounds=rounds)
        search.offer(bench.grid.sizes.samples(better))
        if search.value <= enough:
            return


def _count_orders(search: Search, sizes: OrderSizes, pricing: PricedProgramme, price: float) -> None:
    """Close what pricing leaves open: bounds for every number of purchases, plans for the likeliest, then all beginnings."""
    budget, grid = search.budget, pricing.grid
    least = float(grid.sizes.cheapest[0])
    orders = int(min(search.problem.horizon, budget // least)) if least > 0.0 else search.problem.horizon
    if orders * search.problem.horizon > _MOST_LAYERS:
        return
    counted = _Counted(pricing, price, orders, budget - least * np.arange(orders + 1, dtype=np.float64))
    for _ in range(_REFINEMENTS):
        number = int(counted.bounds.argmin())
        if counted.bounds[number] >= search.cut or not counted.refined(number):
            break
    prices, layers, bounds = counted.prices, counted.layers, counted.bounds
    best_price, likeliest = counted.table.argmax(axis=0), np.argsort(bounds)
    bench = LocalSearch.of(search.problem, search.risks, grid, budget)
    for number in likeliest[:_NUMBERS]:
        if number == 0 or bounds[number] >= search.value:
            continue
        at = best_price[number]
        for p in range(max(at - 1, 0), min(at + 2, len(prices))):
            plan = bench.roll_out_limited(prices[p], layers[p], int(number))
            if bench.cost(plan) <= budget:
                search.offer(grid.sizes.samples(bench.improve(plan, enough=0.0, rounds=30)[1]))
    search.prove(float(bounds.min()))
    if search.done:
        return
    cut = search.cut

    def hopeless(n: int, distances: FloatArray, money: FloatArray, values: FloatArray) -> BoolArray:
        """Whether no number of further purchases leads below the cut: by its best price first, then by all."""
        lost = np.ones(len(distances), np.bool_)
        for number in likeliest:
            left = np.flatnonzero(lost & (money + number * least <= budget))
            for p in (best_price[number], *range(len(prices))):
                if len(left) == 0:
                    break
                ahead = _between(grid, layers[p][number].values.free[n], distances[left])
                end = ahead - prices[p] * (budget - money[left] - number * least)
                left = left[(values[left] + np.maximum(end, 0.0)) * ROUNDING_MARGIN <= cut]
            lost[left] = False
        return lost

    if search.by_labels(sizes, hopeless):
        search.prove(cut)


class _Counted:
    """Lower bounds for every number of purchases, from layers at a few prices; prices are added where a bound is weak."""

    def __init__(self, pricing: PricedProgramme, price: float, orders: int, spare: FloatArray) -> None:
        self._pricing, self._orders, self._spare = pricing, orders, spare
        self.prices: list[float] = []
        self.layers: list[tuple[OrderLimitValues, ...]] = []
        self.table = np.empty((0, orders + 1))
        for factor in _FACTORS:
            self._add(price * factor)

    @property
    def bounds(self) -> FloatArray:
        """What no plan with each number of purchases falls under."""
        return np.asarray(self.table.max(axis=0) * ROUNDING_MARGIN)

    def refined(self, number: int) -> bool:
        """Add a price beside the best one for a number of purchases; False where they lie close together already."""
        at = int(self.table[:, number].argmax())
        sides = [side for side in (at - 1, at + 1) if 0 <= side < len(self.prices)]
        ratios = [abs(np.log(self.prices[side] / self.prices[at])) for side in sides]
        widest = int(np.argmax(ratios))
        if ratios[widest] < _CLOSE:
            return False
        self._add(float(np.sqrt(self.prices[sides[widest]] * self.prices[at])))
        return True

    def _add(self, price: float) -> None:
        layers = self._pricing.layers(price, self._orders)
        at = int(np.searchsorted(self.prices, price))
        self.prices.insert(at, price)
        self.layers.insert(at, layers)
        row = np.array([layer.value for layer in layers]) - price * self._spare
        self.table = np.insert(self.table, at, row, axis=0)


def _between(grid: DistanceGrid, values: FloatArray, distances: FloatArray) -> FloatArray:
    """Return values at distances: on the lines between rungs of a smooth ladder, else those of the rungs below."""
    squares = np.square(distances)
    if grid.smooth:
        return np.interp(squares, grid.points, values)
    return np.asarray(values[point_below(grid.points, squares)])
