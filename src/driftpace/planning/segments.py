"""One budget over many segments that drift separately.

They meet only at the price of money: at a given price each plans for itself, by its own programme, and the price is moved
until all of them together stay within the budget. The sum of their priced values, less price times budget, bounds the best
value from below.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from driftpace import require
from driftpace.errors import ParameterError
from driftpace.planning.ascent import ascend
from driftpace.planning.costs import Cost, LinearCost, budget_units, in_money
from driftpace.planning.exact import ACCURACY, plan_exactly
from driftpace.planning.gaps import MeanGap
from driftpace.planning.improving import Workbench
from driftpace.planning.ladder import build, spread
from driftpace.planning.menu import Menu, menu
from driftpace.planning.outlook import Outlook
from driftpace.planning.planned import planned
from driftpace.planning.pricing import Field, Pricing
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.planning.search import SAFE, lawful, value_of
from driftpace.records import Money, Plan
from driftpace.typing import IntArray

_RUNGS = 96
_EACH, _RATIO = 256, 1.01
_POLISHED = 24
_ROUNDS = 3
_FEW = 16  # so many segments are divided among by looking at all sums of their plans
_SHARES = (0.75, 0.87, 0.95, 1.05, 1.15, 1.33)
_MOST_SUMS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A world of its own with its target, horizon and prices; ``weight`` says how much its mean gap counts beside the others'."""

    outlook: Outlook
    epsilon: float
    horizon: int
    cost: Cost = field(default_factory=LinearCost)
    weight: float = 1.0
    weights: tuple[float, ...] | None = None
    adjacent: bool = False
    bought_before: bool = False

    def __post_init__(self) -> None:
        require.positive("Segment", weight=self.weight)

    def problem(self, budget: Money) -> Problem:
        """Return what this segment plans when it has a budget of its own."""
        return Problem(
            outlook=self.outlook,
            epsilon=self.epsilon,
            budget=budget,
            horizon=self.horizon,
            cost=self.cost,
            gap=MeanGap(self.weights),
            adjacent=self.adjacent,
            bought_before=self.bought_before,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentPlans:
    """The plan of each segment, whose budget is its share of the money.

    ``value`` is the weighted mean of their mean gaps; the best that any division of the money reaches lies between ``lower`` and
    ``value``. ``price`` is what one more unit of money is worth, in units of the value.
    """

    plans: dict[str, Plan]
    budget: Money
    value: float
    lower: float
    price: float

    @property
    def spent(self) -> Money:
        """What all plans cost together."""
        total = Money(Decimal(0), self.budget.currency)
        for plan in self.plans.values():
            total += plan.spent
        return total

    @property
    def left(self) -> Money:
        """What is left of the budget."""
        return self.budget - self.spent

    @property
    def proven_gap(self) -> float:
        """How far the value may lie above the best, as a share of it."""
        return 0.0 if self.value <= self.lower else (self.value - self.lower) / self.value


def plan_segments(
    segments: Mapping[str, Segment], *, budget: Money | float | str, accuracy: float = ACCURACY
) -> SegmentPlans:
    """Return how one budget is best divided among segments, and the plan of each.

    >>> from driftpace.bounds import Anchored
    >>> def country(rho):
    ...     outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=rho, start=3.0)
    ...     return Segment(outlook=outlook, epsilon=0.1, horizon=12, cost=LinearCost(fixed=20, currency="EUR"))
    >>> shared = plan_segments({"fast": country(0.3), "slow": country(0.03)}, budget=250)
    >>> shared.plans["fast"].spent.amount > shared.plans["slow"].spent.amount, shared.proven_gap < 0.05
    (True, True)
    """
    require.nonnegative("plan_segments", accuracy=accuracy)
    money = _checked(segments, budget)
    coin = min(segment.cost.unit for segment in segments.values())
    total = sum(segment.weight for segment in segments.values())
    shops: dict[int, _Shop] = {}
    parts: dict[str, _Part] = {}
    for name, segment in segments.items():
        shop = next(
            (shop for shop in shops.values() if shop.segment == replace(segment, weight=shop.segment.weight)), None
        )
        if shop is None:
            shop = shops[len(shops)] = _Shop(segment, money)
        parts[name] = _Part(shop, segment.weight / total, int(segment.cost.unit / coin))
    limit = float(int(money.amount / coin))
    return _divided(parts, money, coin, limit, accuracy)


def _checked(segments: Mapping[str, Segment], budget: Money | float | str) -> Money:
    """Return the budget in the currency of all segments."""
    if not isinstance(segments, Mapping) or not segments:
        raise ParameterError(f"plan_segments(segments=...) must be one or more segments by name; got {segments!r}.")
    for name, segment in segments.items():
        if not isinstance(segment, Segment):
            raise ParameterError(f"plan_segments(segments=...) must hold segments; got {segment!r} for {name!r}.")
    currencies = sorted({segment.cost.currency for segment in segments.values()})
    if len(currencies) > 1:
        raise ParameterError(
            f"plan_segments(segments=...) must all have prices in one currency; got {', '.join(currencies)}."
        )
    return Money.of(budget, currencies[0], owner="plan_segments", name="budget")


class _Shop:
    """The programme of one kind of segment, which all segments of the kind share, and the plans met so far."""

    def __init__(self, segment: Segment, money: Money) -> None:
        self.segment = segment
        self.problem = segment.problem(money)
        self.risks = Risks.of(segment.outlook, segment.horizon)
        self.budget = float(budget_units(segment.cost, self.problem.budget))
        self.menu: Menu = menu(self.problem, self.risks, each=_EACH, ratio=_RATIO)
        self._fields: dict[float, Field] = {}
        nothing = np.zeros(segment.horizon, np.int64)
        self.plans: dict[tuple[int, ...], tuple[float, float]] = {}
        self.add(nothing)
        if len(self.menu.counts):
            ladder = build(
                self.problem, self.risks, self.menu, spread(self.problem, self.risks, self.menu, _RUNGS), smooth=True
            )
            shares = self.problem.gap.shares(segment.horizon)  # type: ignore[attr-defined]
            self.pricing = Pricing(ladder, shares, segment.adjacent, not segment.bought_before)
            self.bench = Workbench.of(self.problem, self.risks, ladder, self.budget)

    def field(self, price: float) -> tuple[float, float]:
        """Return the priced value and the cost of the plan it leads to; the plan along true distances is kept."""
        if len(self.menu.counts) == 0:
            return self.plans[(0,) * self.segment.horizon][1], 0.0
        if price not in self._fields:
            self._fields[price] = self.pricing.field(price)
            self.add(self.menu.samples(self.bench.rolled(self._fields[price])))
        return self._fields[price].value, self._fields[price].cost

    def add(self, samples: IntArray) -> None:
        """Keep a plan with its money and value."""
        money = float(self.segment.cost.units(samples).sum())
        if money <= self.budget and lawful(self.problem, samples):
            self.plans[tuple(samples.tolist())] = (money, value_of(self.problem, samples))

    def hull(self) -> list[tuple[float, float, tuple[int, ...]]]:
        """Return the plans on the lower convex hull of value over money, from the cheapest on."""
        points = sorted((money, value, plan) for plan, (money, value) in self.plans.items())
        hull: list[tuple[float, float, tuple[int, ...]]] = []
        for point in points:
            if hull and point[1] >= hull[-1][1]:
                continue
            while len(hull) > 1 and _slope(hull[-2], point) <= _slope(hull[-2], hull[-1]):
                hull.pop()
            if hull and point[0] == hull[-1][0]:
                hull.pop()
            hull.append(point)
        return hull


def _slope(left: tuple[float, float, tuple[int, ...]], right: tuple[float, float, tuple[int, ...]]) -> float:
    return (right[1] - left[1]) / max(right[0] - left[0], 1e-300)


@dataclass(slots=True, eq=False)
class _Part:
    """A segment's part in the whole: its kind, its share of the goal, and how many common coins its unit of money has."""

    shop: _Shop
    share: float
    coins: int


@dataclass(frozen=True, slots=True)
class _JointField:
    """All segments at one price: what :func:`ascend` needs to know."""

    price: float
    value: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """All segments as one programme."""

    parts: tuple[_Part, ...]

    def field(self, price: float) -> _JointField:
        """Return the sum over segments at a price of money in common coins."""
        value = cost = 0.0
        for part in self.parts:
            each, money = part.shop.field(price * part.coins / part.share)
            value += part.share * each
            cost += part.coins * money
        return _JointField(price, value, cost)


def _divided(parts: dict[str, _Part], money: Money, coin: Decimal, limit: float, accuracy: float) -> SegmentPlans:
    names = list(parts)
    joint = _Joint(tuple(parts.values()))
    lower = 0.0
    price = 0.0
    if limit > 0.0:
        dual = ascend(joint, limit, guess=None, accuracy=max(accuracy / 20.0, 1e-5))
        lower, price = max(dual.lower * SAFE, 0.0), dual.price
    chosen = _chosen(parts, limit)
    for _ in range(_ROUNDS):
        if not _polished(parts, chosen, limit, lower, accuracy):
            break
    if len(parts) <= _FEW:
        for _ in range(_ROUNDS):
            value = _value(parts, chosen)
            if value - lower <= accuracy * value:
                break
            _explore(parts, chosen, limit, accuracy)
            chosen = _best_of_few(parts, limit)
            if not _value(parts, chosen) < value * (1.0 - 1e-9):
                break
    plans = {}
    for name in names:
        segment = parts[name].shop.segment
        units, _ = parts[name].shop.plans[chosen[name]]
        share = in_money(segment.cost, int(units), money.currency)
        plans[name] = planned(
            segment.problem(share),
            list(chosen[name]),
            method="exact, one budget for all",
            reason="its share of the money",
        )
    value = sum(part.share * plans[name].value for name, part in parts.items())
    return SegmentPlans(plans=plans, budget=money, value=value, lower=min(lower, value), price=price / float(coin))


def _chosen(parts: dict[str, _Part], limit: float) -> dict[str, tuple[int, ...]]:
    """Choose a plan for each segment: from buying nothing, always the step along a hull that gains most for its money."""
    hulls = {name: part.shop.hull() for name, part in parts.items()}
    steps = sorted(
        (part.share * _slope(hull[k], hull[k + 1]) / part.coins, name, k)
        for name, part in parts.items()
        for hull in (hulls[name],)
        for k in range(len(hull) - 1)
    )
    at, spent = dict.fromkeys(parts, 0), 0.0
    for _, name, k in steps:
        if at[name] != k:
            continue  # a step before it could not be paid
        more = parts[name].coins * (hulls[name][k + 1][0] - hulls[name][k][0])
        if spent + more <= limit:
            at[name], spent = k + 1, spent + more
    return {name: hulls[name][at[name]][2] for name in parts}


def _value(parts: dict[str, _Part], chosen: dict[str, tuple[int, ...]]) -> float:
    return sum(part.share * part.shop.plans[chosen[name]][1] for name, part in parts.items())


def _explore(parts: dict[str, _Part], chosen: dict[str, tuple[int, ...]], limit: float, accuracy: float) -> None:
    """Plan every segment with somewhat less and somewhat more money than it has, so that money can change hands."""
    for name, part in parts.items():
        units, _ = part.shop.plans[chosen[name]]
        for share in _SHARES:
            money = in_money(
                part.shop.segment.cost, int(min(units * share, limit // part.coins)), part.shop.problem.budget.currency
            )
            found = plan_exactly(part.shop.segment.problem(money), accuracy=max(accuracy, ACCURACY))
            part.shop.add(np.array(found.samples))


def _best_of_few(parts: dict[str, _Part], limit: float) -> dict[str, tuple[int, ...]]:
    """Choose one of the plans met for each segment, the best choice of all, by sums that none beats in money and value."""
    sums: list[tuple[float, float, dict[str, tuple[int, ...]]]] = [(0.0, 0.0, {})]
    for name, part in parts.items():
        more = [
            (spent + part.coins * money, value + part.share * each, choice | {name: plan})
            for spent, value, choice in sums
            for plan, (money, each) in part.shop.plans.items()
            if spent + part.coins * money <= limit
        ]
        more.sort(key=lambda entry: entry[:2])
        sums, least = [], np.inf
        for entry in more:
            if entry[1] < least:
                least = entry[1]
                sums.append(entry)
        if len(sums) > _MOST_SUMS:
            sums = [sums[at] for at in np.linspace(0, len(sums) - 1, _MOST_SUMS).astype(int)]
    return sums[-1][2]


def _polished(
    parts: dict[str, _Part], chosen: dict[str, tuple[int, ...]], limit: float, lower: float, accuracy: float
) -> bool:
    """Plan single segments anew with what they have and what is left, where that gains most; return whether anything did."""

    def worth(name: str) -> float:
        return parts[name].share * parts[name].shop.plans[chosen[name]][1]

    value = sum(worth(name) for name in parts)
    spent = sum(part.coins * part.shop.plans[chosen[name]][0] for name, part in parts.items())
    before = value
    for name in sorted(parts, key=worth, reverse=True)[:_POLISHED]:
        if value - lower <= accuracy / 2.0 * value:
            break
        part = parts[name]
        units, old = part.shop.plans[chosen[name]]
        available = in_money(
            part.shop.segment.cost, int(units + (limit - spent) // part.coins), part.shop.problem.budget.currency
        )
        found = plan_exactly(part.shop.segment.problem(available), accuracy=accuracy / 4.0)
        part.shop.add(np.array(found.samples))
        if found.samples in part.shop.plans and part.shop.plans[found.samples][1] < old:
            money, new = part.shop.plans[found.samples]
            spent += part.coins * (money - units)
            value += part.share * (new - old)
            chosen[name] = found.samples
    return value < before * (1.0 - 1e-9)


def even_split(
    segments: Mapping[str, Segment], *, budget: Money | float | str, accuracy: float = ACCURACY
) -> dict[str, Plan]:
    """Return the plans when every segment gets the same money: what a shared price is to be compared with."""
    money = _checked(segments, budget)
    share = {
        name: in_money(segment.cost, int(money.amount / len(segments) / segment.cost.unit), money.currency)
        for name, segment in segments.items()
    }
    return {name: plan_exactly(segment.problem(share[name]), accuracy=accuracy) for name, segment in segments.items()}
