"""The mean gap: bound it from below by pricing the money, follow what the prices lead to, and close what is left open."""

import numpy as np

from driftpace.planning.ascent import Dual, ascend
from driftpace.planning.improving import Workbench
from driftpace.planning.ladder import Ladder, below, build, crowded, spread
from driftpace.planning.menu import Menu
from driftpace.planning.pricing import Field, Layer, Pricing
from driftpace.planning.search import SAFE, Search
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


def price_money(search: Search, menu: Menu) -> None:
    """Look for the price at which the budget is just spent, on finer and finer ladders."""
    problem = search.problem
    coarse = search.menu(fine=False)
    guess = _dual(search, _pricing(search, coarse, spread(problem, search.risks, coarse, _COARSE)), guess=None).price
    pricing = _pricing(search, menu, spread(problem, search.risks, menu, _WIDE))
    dual = _dual(search, pricing, guess=guess)
    _improve(
        search,
        Workbench.of(problem, search.risks, pricing.ladder, search.budget),
        dual,
        rounds=_ROUNDS if problem.horizon <= _LONG else 0,
    )
    few = spread(problem, search.risks, menu, _COARSE)
    for size in _SIZES:
        if search.gap <= search.accuracy * (_EARLY if size == _SIZES[0] else 1.0):
            return
        pricing = _pricing(search, menu, crowded(few, search.visited(), size))
        dual = _dual(search, pricing, guess=dual.price)
        _improve(search, Workbench.of(problem, search.risks, pricing.ladder, search.budget), dual, rounds=_ROUNDS)
        if problem.horizon <= _SHORT and size == _SIZES[1]:
            break
    if not search.done:
        _count_orders(search, menu, pricing, dual.price)


def _pricing(search: Search, menu: Menu, distances: FloatArray) -> Pricing:
    problem = search.problem
    ladder = build(problem, search.risks, menu, distances, smooth=True)
    return Pricing(ladder, search.weights, problem.adjacent, not problem.bought_before)


def _dual(search: Search, pricing: Pricing, *, guess: float | None) -> Dual[Field]:
    dual = ascend(pricing, search.budget, guess=guess, accuracy=max(search.accuracy / 20.0, 1e-5))
    if dual.lower * SAFE > search.lower:
        search.prove(dual.lower * SAFE)
        search.price = dual.price
    return dual


def _improve(search: Search, bench: Workbench, dual: Dual[Field], *, rounds: int) -> None:
    """Follow the fields along true distances, splice what costs too much with what costs too little, and exchange."""
    rolled = {tuple(plan.tolist()): plan for plan in (bench.rolled(field) for field in dual.fields)}
    plans = sorted(rolled.values(), key=lambda plan: abs(bench.cost(plan) - search.budget))
    under = [plan for plan in plans if bench.cost(plan) <= search.budget][:2]
    over = [plan for plan in plans if bench.cost(plan) > search.budget][:2]
    tried = [(bench.improved(plan, enough=0.0, rounds=0)[0], plan) for plan in under]
    for left in under:
        for right in over:
            tried += [bench.spliced(left, right), bench.spliced(right, left)]
    nothing = np.full(search.problem.horizon, -1)
    tried = [each for each in tried if np.isfinite(each[0])] or [(np.inf, nothing)]
    enough = search.lower * (1.0 + search.accuracy / (4.0 if search.problem.horizon <= _LONG else 1.5))
    for _, plan in sorted(tried, key=lambda each: each[0])[:_TRIED]:
        _, better = bench.improved(plan, enough=enough, rounds=rounds)
        search.offer(bench.ladder.menu.samples(better))
        if search.value <= enough:
            return


def _count_orders(search: Search, menu: Menu, pricing: Pricing, price: float) -> None:
    """Close what pricing leaves open: bounds for every number of purchases, plans for the likeliest, then all beginnings."""
    budget, ladder = search.budget, pricing.ladder
    least = float(ladder.menu.cheapest[0])
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
    bench = Workbench.of(search.problem, search.risks, ladder, budget)
    for number in likeliest[:_NUMBERS]:
        if number == 0 or bounds[number] >= search.value:
            continue
        at = best_price[number]
        for p in range(max(at - 1, 0), min(at + 2, len(prices))):
            plan = bench.counted(prices[p], layers[p], int(number))
            if bench.cost(plan) <= budget:
                search.offer(ladder.menu.samples(bench.improved(plan, enough=0.0, rounds=30)[1]))
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
                ahead = _between(ladder, layers[p][number].values.free[n], distances[left])
                end = ahead - prices[p] * (budget - money[left] - number * least)
                left = left[(values[left] + np.maximum(end, 0.0)) * SAFE <= cut]
            lost[left] = False
        return lost

    if search.by_labels(menu, hopeless):
        search.prove(cut)


class _Counted:
    """Lower bounds for every number of purchases, from layers at a few prices; prices are added where a bound is weak."""

    def __init__(self, pricing: Pricing, price: float, orders: int, spare: FloatArray) -> None:
        self._pricing, self._orders, self._spare = pricing, orders, spare
        self.prices: list[float] = []
        self.layers: list[tuple[Layer, ...]] = []
        self.table = np.empty((0, orders + 1))
        for factor in _FACTORS:
            self._add(price * factor)

    @property
    def bounds(self) -> FloatArray:
        """What no plan with each number of purchases falls under."""
        return np.asarray(self.table.max(axis=0) * SAFE)

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


def _between(ladder: Ladder, values: FloatArray, distances: FloatArray) -> FloatArray:
    """Return values at distances: on the lines between rungs of a smooth ladder, else those of the rungs below."""
    squares = np.square(distances)
    if ladder.smooth:
        return np.interp(squares, ladder.rungs, values)
    return np.asarray(values[below(ladder.rungs, squares)])
