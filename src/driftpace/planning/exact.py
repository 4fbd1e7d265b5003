"""The exact planner: whole numbers of samples, the true cost, zero a choice in every period, and a proven interval for the best value.

The paper calls the problem intractable and relaxes it. But a plan acts on the future through one number only, the distance of the model,
and through the money left (theory 5.6). Pricing the money leaves a dynamic programme over the distance, which bounds the best value from
below and leads to plans; plans are improved by exchanging purchases; on small problems every beginning is followed until one plan is left.
"""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from driftpace import require
from driftpace.planning.costs import budget_units
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.improving import Workbench
from driftpace.planning.labels import Hopeless, best_plan, value_of
from driftpace.planning.ladder import Ladder, build, crowded, spread
from driftpace.planning.levels import Holding, Levels
from driftpace.planning.menu import Menu, menu
from driftpace.planning.planned import planned
from driftpace.planning.pricing import Dual, Pricing, ascend
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.planning.weights import Weights
from driftpace.records import Plan
from driftpace.typing import BoolArray, FloatArray, IntArray

ACCURACY = 0.01
"""How far the value may lie above the best one, as a share, before a planner stops looking."""

_SAFE = 1.0 - 1e-9  # what rounding may add to a lower bound
_PRICED_SIZES = (96, 224, 512)
_LEVEL_SIZES = (160, 400, 1000, 2000)
_LABELS = 150_000
_MOST_LAYERS = 2_000
_RUN_LABELS = 600_000
_FEW_PLANS = 20_000
_EXCHANGES = 20_000


def plan_exactly(problem: Problem, *, accuracy: float = ACCURACY) -> Plan:
    """Return a plan whose value is proven to be within ``accuracy`` of the best, or as near as could be proven: see its ``lower``.

    With ``accuracy=0`` the search goes on until the best plan is proven, where that can be done.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.outlook import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(250, "EUR"), horizon=8, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> plan = plan_exactly(problem)
    >>> plan.samples
    (19, 13, 14, 14, 13, 14, 23, 0)
    """
    require.nonnegative("plan", accuracy=accuracy)
    return _Planner(problem, accuracy).plan()


@dataclass(slots=True, eq=False)
class _Found:
    """The best plan so far and what is proven; ``money`` breaks ties."""

    samples: IntArray
    value: float
    money: float
    lower: float = 0.0
    price: float | None = None

    def offer(self, samples: IntArray, value: float, money: float) -> None:
        if value < self.value * (1.0 - 1e-12) or (value <= self.value * (1.0 + 1e-12) and money < self.money):
            self.samples, self.value, self.money = samples, value, money

    @property
    def gap(self) -> float:
        return 0.0 if self.value <= 0.0 else max(0.0, 1.0 - self.lower / self.value)


class _Planner:
    """One search: what is known of a problem grows until it is enough."""

    def __init__(self, problem: Problem, accuracy: float) -> None:
        self.problem = problem
        self.accuracy = accuracy
        self.risks = Risks.of(problem.outlook, problem.horizon)
        self.budget = float(budget_units(problem.cost, problem.budget))
        nothing = np.zeros(problem.horizon, np.int64)
        self.found = _Found(nothing, value_of(problem, nothing), 0.0)
        self.proof = ""

    def plan(self) -> Plan:
        problem, found = self.problem, self.found
        menu = self._menu(fine=True)
        if len(menu.counts) == 0:
            found.lower = found.value
            self.proof = f"the budget of {problem.budget} is below the price of one order, so nothing can be bought"
        elif found.value == 0.0:
            self.proof = "the target is met in every period without any samples"
        elif problem.outlook.steps == "printed" or not isinstance(problem.gap, MeanGap | LargestGap | LargestRun):
            self._by_example(menu)
        else:
            self._hold_target(menu)
            if found.value > 0.0:
                if isinstance(problem.gap, MeanGap):
                    self._price_money(menu)
                else:
                    self._lower_level(menu)
        return planned(
            problem,
            found.samples.tolist(),
            method="exact",
            reason=self._reason(),
            lower=found.lower,
            price=found.price,
        )

    def _reason(self) -> str:
        found = self.found
        if self.proof:
            return self.proof
        if found.value == 0.0:
            return "the target is held in every period"
        if found.gap <= 1e-9:
            return f"no plan within the budget has a smaller {self.problem.gap.name}: proven"
        return f"the best {self.problem.gap.name} lies between {found.lower:.4g} and {found.value:.4g}: within {100 * found.gap:.2g} %"

    def _menu(self, *, fine: bool) -> Menu:
        return menu(self.problem, self.risks, each=2000 if fine else 64, ratio=1.01 if fine else 1.03)

    def _offer(self, samples: IntArray) -> None:
        """Take a plan into account, valued as it is."""
        problem = self.problem
        money = float(problem.cost.units(samples).sum())
        if money <= self.budget and _lawful(problem, samples):
            self.found.offer(samples, value_of(problem, samples), money)

    @property
    def _done(self) -> bool:
        return self.found.gap <= self.accuracy

    # ---- the target itself, at the least cost

    def _hold_target(self, menu: Menu) -> None:
        """Find whether the budget holds the target in every period, and then how cheaply."""
        for size in (160, 640):
            down, up = self._levels(menu, spread(self.problem, self.risks, menu, size), runs=False)
            floor = down.hold(0.0)
            if floor.money > self.budget:
                return
            self._take(up, up.hold(0.0))
            if self.found.value == 0.0 and self.found.money <= floor.money * (1.0 + self.accuracy):
                break
        if self.found.value == 0.0 and self.found.money > floor.money:
            cut = self.found.money
            self._by_labels(menu, lambda n, d, money, value: money + _floor(down.ladder, floor.free[n], d) > cut)
        # ---- where the target could not be shown to be held or not, the planners of gaps go on

    def _levels(self, menu: Menu, distances: FloatArray, *, runs: bool) -> tuple[Levels, Levels]:
        """Return the programmes that bound the money from below and from above."""
        problem = self.problem
        weights = Weights.of(problem.gap.shares(problem.horizon))  # type: ignore[attr-defined]
        duty = not problem.bought_before
        down = build(problem, self.risks, menu, distances)
        up = build(problem, self.risks, menu.plain, distances, up=True)
        return (
            Levels(down, weights, runs, problem.adjacent, duty),
            Levels(up, weights, runs, problem.adjacent, duty),
        )

    def _take(self, levels: Levels, holding: Holding) -> None:
        if holding.chosen is not None:
            self._offer(levels.ladder.menu.samples(holding.chosen))

    # ---- the mean gap

    def _price_money(self, menu: Menu) -> None:
        """Bound the mean gap from below by pricing the money, and follow what the prices lead to."""
        problem, found = self.problem, self.found
        weights = problem.gap.shares(problem.horizon)  # type: ignore[attr-defined]
        coarse = self._menu(fine=False)
        guess = None
        duals: list[tuple[Pricing, Dual]] = []
        distances = spread(problem, self.risks, coarse, 48)
        for size in (48, *_PRICED_SIZES):
            served = coarse if size == 48 else menu
            rungs = distances if size == 48 else spread(problem, self.risks, served, size)
            ladder = build(problem, self.risks, served, rungs, smooth=True)
            pricing = Pricing(ladder, weights, problem.adjacent, not problem.bought_before)
            dual = ascend(pricing, self.budget, guess=guess, accuracy=max(self.accuracy / 20.0, 1e-5))
            guess = dual.price
            if size == 48:
                found.lower = max(found.lower, dual.lower * _SAFE)
                continue
            if dual.lower * _SAFE > found.lower:
                found.lower, found.price = dual.lower * _SAFE, dual.price
            self._improve(Workbench.of(problem, self.risks, ladder, self.budget), dual)
            duals = [(pricing, dual)]
            if self._done:
                return
            if problem.horizon <= 60 and size == _PRICED_SIZES[1]:
                break
        pricing, dual = duals[-1]
        self._count_orders(menu, pricing, dual.price)

    def _count_orders(self, menu: Menu, pricing: Pricing, price: float) -> None:
        """Close what pricing leaves open: bounds for every number of purchases, and all beginnings within them."""
        found, budget = self.found, self.budget
        least = pricing.ladder.menu.cheapest[0]
        orders = int(min(self.problem.horizon, budget // least)) if least > 0 else self.problem.horizon
        if orders * self.problem.horizon > _MOST_LAYERS:
            return
        prices = price * np.geomspace(0.1, 10.0, 11)
        layers = [pricing.layers(each, orders) for each in prices]
        spare = budget - least * np.arange(orders + 1)
        table = np.array([[layer.value for layer in each] for each in layers]) - prices[:, None] * spare
        bounds, at = table.max(axis=0) * _SAFE, table.argmax(axis=0)
        bench = Workbench.of(self.problem, self.risks, pricing.ladder, budget)
        for number in np.argsort(bounds)[:6]:
            if number == 0 or bounds[number] >= found.value:
                continue
            for p in range(max(at[number] - 1, 0), min(at[number] + 2, len(prices))):
                plan = bench.counted(prices[p], layers[p], int(number))
                if bench.cost(plan) <= budget:
                    self._offer(bench.ladder.menu.samples(bench.improved(plan, enough=0.0, rounds=30)[1]))
        found.lower = max(found.lower, min(bounds.min(), found.value))
        if self._done:
            return
        cut = found.value * (1.0 - 0.9 * self.accuracy) if self.accuracy else found.value * (1.0 + 1e-10)

        def hopeless(n: int, d: FloatArray, money: FloatArray, value: FloatArray) -> BoolArray:
            """No number of further purchases leads below the cut: first by its best price, then by all."""
            lost = np.ones(len(d), np.bool_)
            for number in np.argsort(bounds):
                open_ = np.flatnonzero(lost & (money + number * least <= budget))
                for p in (at[number], *range(len(prices))):
                    if len(open_) == 0:
                        break
                    onward = _between(pricing.ladder, layers[p][number].free[n], d[open_])
                    end = onward - prices[p] * (budget - money[open_] - number * least)
                    open_ = open_[(value[open_] + np.maximum(end, 0.0)) * _SAFE <= cut]
                lost[open_] = False
            return lost

        if self._by_labels(menu, hopeless):
            found.lower = max(found.lower, min(found.value, cut))

    def _improve(self, bench: Workbench, dual: Dual) -> None:
        """Follow the fields along true distances, splice what costs too much with what costs too little, and exchange."""
        rolled = {tuple(plan.tolist()): plan for plan in (bench.rolled(field) for field in dual.fields)}
        plans = sorted(rolled.values(), key=lambda plan: abs(bench.cost(plan) - self.budget))
        under = [plan for plan in plans if bench.cost(plan) <= self.budget][:2]
        over = [plan for plan in plans if bench.cost(plan) > self.budget][:2]
        tried = [(bench.improved(plan, enough=np.inf, rounds=1)[0], plan) for plan in under]
        for left in under:
            for right in over:
                tried += [bench.spliced(left, right), bench.spliced(right, left)]
        if not tried:
            tried = [(np.inf, np.full(self.problem.horizon, -1))]
        tried.sort(key=lambda each: each[0])
        enough = self.found.lower * (1.0 + self.accuracy / 4.0)
        for value, plan in tried[:4]:
            if np.isinf(value) and len(tried) > 1:
                continue
            _, better = bench.improved(plan, enough=enough, rounds=80)
            self._offer(bench.ladder.menu.samples(better))
            if self.found.value <= enough:
                return

    # ---- the largest gap, the largest run

    def _lower_level(self, menu: Menu) -> None:
        """Bracket the least level that the budget can hold, on finer and finer ladders."""
        problem, found = self.problem, self.found
        runs = isinstance(problem.gap, LargestRun)
        self._start_level(menu)
        distances = spread(problem, self.risks, menu, _LEVEL_SIZES[0])
        for size in _LEVEL_SIZES:
            rungs = crowded(distances, self._visited(), size)
            down, up = self._levels(menu, rungs, runs=runs)
            found.lower = max(found.lower, self._refuted(down) * _SAFE)
            self._reached(up)
            bench = Workbench.of(problem, self.risks, up.ladder, self.budget)
            if runs:
                for saw in bench.saws(found.lower, found.value):
                    self._offer(up.ladder.menu.samples(saw))
            _, better = bench.improved(
                up.ladder.menu.entries(found.samples), enough=found.lower * (1.0 + self.accuracy / 4.0), rounds=40
            )
            self._offer(up.ladder.menu.samples(better))
            if self._done or problem.horizon * size > 600_000:
                break
        if not self._done:
            level = found.value * (1.0 - 0.9 * self.accuracy) if self.accuracy else found.value * (1.0 + 1e-10)
            field = down.hold(level)
            singles = field if not runs else self._levels(menu, rungs, runs=False)[0].hold(level)

            def hopeless(n: int, d: FloatArray, money: FloatArray, value: FloatArray) -> BoolArray:
                return (money + _floor(down.ladder, singles.free[n], d) > self.budget) | (value > level)

            if self._by_labels(menu, hopeless):
                found.lower = max(found.lower, min(level, found.value))

    def _start_level(self, menu: Menu) -> None:
        """Begin with the plan of the least mean gap, which is often near."""
        problem = self.problem
        mean = Problem(
            outlook=problem.outlook, epsilon=problem.epsilon, budget=problem.budget, horizon=problem.horizon,
            cost=problem.cost, gap=MeanGap(), adjacent=problem.adjacent, bought_before=problem.bought_before,
        )  # fmt: skip
        coarse = self._menu(fine=False)
        ladder = build(mean, self.risks, coarse.plain, spread(mean, self.risks, coarse, 64), smooth=True)
        pricing = Pricing(ladder, MeanGap().shares(mean.horizon), mean.adjacent, not mean.bought_before)
        dual = ascend(pricing, self.budget, guess=None, accuracy=0.01)
        bench = Workbench.of(mean, self.risks, ladder, self.budget)
        for field in dual.fields:
            self._offer(ladder.menu.samples(bench.rolled(field)))

    def _visited(self) -> FloatArray:
        """Return the distances that the best plan goes through, but for the start."""
        outlook = self.problem.outlook
        d, seen = outlook.first_distance(0), []
        for count in self.found.samples:
            d = (
                outlook.idle_distance(outlook.reach(outlook.bound(d, int(count))), 1)
                if count
                else outlook.idle_distance(d, 1)
            )
            seen.append(d)
        return np.array(seen)

    def _refuted(self, down: Levels) -> float:
        """Return a level that the budget cannot hold, as high as this ladder shows."""
        low, high = self.found.lower, self.found.value
        if down.hold(low).money <= self.budget:
            return low
        while high - low > self.accuracy / 8.0 * high and high - low > 1e-7 * high:
            middle = 0.5 * (low + high)
            if down.hold(middle).money > self.budget:
                low = middle
            else:
                high = middle
        return low

    def _reached(self, up: Levels) -> None:
        """Look for plans that hold lower and lower levels."""
        low, high = self.found.lower, self.found.value
        while high - low > self.accuracy / 8.0 * high and high - low > 1e-7 * high:
            middle = 0.5 * (low + high)
            holding = up.hold(middle)
            self._take(up, holding)
            if holding.money <= self.budget:
                high = min(middle, self.found.value) if not up.runs else middle
            else:
                low = middle

    # ---- all beginnings

    def _by_labels(self, menu: Menu, hopeless: Hopeless) -> bool:
        """Search all beginnings; return whether that was complete, so that what is found is the best there is."""
        if not menu.whole:
            return False
        runs = isinstance(self.problem.gap, LargestRun)
        complete, samples = best_plan(
            self.problem, self.risks, menu, most=_RUN_LABELS if runs else _LABELS, hopeless=hopeless,
            known=(self.found.value, self.found.money),
        )  # fmt: skip
        if samples is not None:
            self._offer(samples)
        return complete

    # ---- goals and forms without a programme of their own

    def _by_example(self, menu: Menu) -> None:
        """Offer the plans of the mean, the largest gap and the largest run, and change them while that helps.

        The form as printed only makes distances larger, (a + b)^2 <= 2a^2 + 2b^2: what bounds the corrected form bounds it too. A goal of
        one's own is monotone: it is at least that of the gaps which are left if the whole budget were spent in every period.
        """
        problem, found = self.problem, self.found
        outlook = replace(problem.outlook, steps="worst") if problem.outlook.steps == "printed" else problem.outlook
        known = isinstance(problem.gap, MeanGap | LargestGap | LargestRun)
        for gap in (problem.gap,) if known else (MeanGap(), LargestGap(), LargestRun()):
            example = plan_exactly(replace(problem, outlook=outlook, gap=gap), accuracy=max(self.accuracy, ACCURACY))
            self._offer(np.array(example.samples))
            if known:
                found.lower = max(found.lower, min(example.lower, found.value))
        if not known:
            most = int(menu.plain.counts[-1])
            found.lower = min(value_of(problem, np.full(problem.horizon, most)), found.value)
        if self._done:
            return
        if known and self._by_labels(menu, lambda n, d, money, value: np.zeros(len(d), np.bool_)):
            found.lower = found.value
        elif not known and menu.whole and len(menu.counts) ** problem.horizon <= _FEW_PLANS:
            self._enumerate(menu)
            found.lower = found.value
        else:
            self._exchange(menu.plain)

    def _enumerate(self, menu: Menu) -> None:
        """Look at every plan."""
        prices = np.append(0.0, menu.price)
        for choice in itertools.product(range(len(prices)), repeat=self.problem.horizon):
            if prices[list(choice)].sum() <= self.budget:
                self._offer(np.array([menu.counts[at - 1] if at else 0 for at in choice]))

    def _exchange(self, menu: Menu) -> None:
        """Change one or two periods of the best plan at a time, as it is valued, a limited number of times."""
        tries = _EXCHANGES
        while tries > 0:
            before = self.found.value
            entries = menu.entries(self.found.samples)
            for n, m in itertools.product(range(self.problem.horizon), repeat=2):
                for more, fewer in ((1, 0), (0, 1), (1, 1), (4, 4), (16, 16), (0, len(menu.counts))):
                    changed = entries.copy()
                    changed[n] = min(changed[n] + more, len(menu.counts) - 1)
                    changed[m] = max(changed[m] - fewer, -1)
                    self._offer(menu.samples(changed))
                tries -= 6
                if tries <= 0:
                    break
            if self.found.value >= before:
                break


def _between(ladder: Ladder, values: FloatArray, distances: FloatArray) -> FloatArray:
    """Return values at distances: on the lines between rungs of a smooth ladder, else those of the rungs below."""
    if ladder.smooth:
        return np.interp(np.square(distances), ladder.rungs, values)
    return _floor(ladder, values, distances)


def _floor(ladder: Ladder, values: FloatArray, distances: FloatArray) -> FloatArray:
    at = np.searchsorted(ladder.rungs, np.square(distances) * (1.0 + 1e-12), side="right") - 1
    return values[np.maximum(at, 0)]


def _lawful(problem: Problem, samples: IntArray) -> bool:
    if not problem.adjacent:
        return True
    bought = samples > 0
    left = np.append(problem.bought_before, bought[:-1])
    right = np.append(bought[1:], False)
    return bool((~bought | left | right).all())
