"""One budget over many segments that drift separately.

They meet only at the price of money: at a given price each plans for itself, by its own programme, and the price is moved
until all of them together stay within the budget. The sum of their priced values, less price times budget, bounds the best
value from below.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import MAX_UNITS, Cost, LinearCost, budget_units, in_money
from driftpace.planning.exact.dual import PricedProgramme, maximise_dual
from driftpace.planning.exact.grid import OrderSizes, build_grid, order_sizes, spread_distances
from driftpace.planning.exact.local_search import LocalSearch
from driftpace.planning.exact.outlook_arrays import OutlookArrays
from driftpace.planning.exact.planner import ACCURACY, plan_exact
from driftpace.planning.exact.search import ROUNDING_MARGIN
from driftpace.planning.gaps import MeanGap
from driftpace.planning.outlook import Outlook
from driftpace.planning.problem import Problem, evaluate_plan, objective_value, satisfies_adjacency
from driftpace.records import Money, Plan
from driftpace.typing import IntArray

_RUNGS = (96, 224, 448)
_MOST_RUNGS = 300_000  # of all programmes together, on all but the first ladders
_FINE, _COARSE = (
    (256, 1.01),
    (64, 1.02),
)  # every number of samples up to the first, from there on in steps of the second
_MANY = 100  # more kinds of segments than these are given the coarse choice, for the memory that tables take
_POLISHED = 24
_ROUNDS = 3
_FEW = 16  # so many segments are divided among by looking at all sums of their plans
_SHARES = (0.75, 0.87, 0.95, 1.05, 1.15, 1.33)
_MOST_SUMS = 2_000
_HEAVIEST = 1e100


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
        validation.positive("Segment", weight=self.weight)
        if self.weight > _HEAVIEST:
            raise ParameterError(
                f"must be at most {_HEAVIEST:.0e}; got {self.weight!r}.",
                owner="Segment",
                name="weight",
            )

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
    validation.nonnegative("plan_segments", accuracy=accuracy)
    money = _checked(segments, budget)
    if len(segments) == 1:
        return _alone(segments, money, accuracy)
    coin = _coin([segment.cost.unit for segment in segments.values()])
    limit = int(money.amount // coin)
    if limit > MAX_UNITS:
        raise ParameterError(
            f"must be at most {MAX_UNITS} times the largest coin that all prices are made of, {coin}; got {money}.",
            owner="plan_segments",
            name="budget",
        )
    total = sum(segment.weight for segment in segments.values())
    kinds = {name: _kind(segment) for name, segment in segments.items()}
    fine = len(set(kinds.values())) <= _MANY
    shops: dict[object, _Shop] = {}
    parts: dict[str, _Part] = {}
    for name, segment in segments.items():
        kind = kinds[name]
        if kind not in shops:
            shops[kind] = _Shop(segment, money, fine=fine)
        parts[name] = _Part(shops[kind], segment.weight / total, int(segment.cost.unit / coin))
    return _divided(parts, money, coin, float(limit), accuracy)


def _alone(segments: Mapping[str, Segment], money: Money, accuracy: float) -> SegmentPlans:
    """Return the plan of the only segment, which has all the money."""
    ((name, segment),) = segments.items()
    plan = plan_exact(segment.problem(money), accuracy=accuracy)
    return SegmentPlans(
        plans={name: plan},
        budget=money,
        value=plan.value,
        lower=plan.lower,
        price=0.0 if plan.price is None else plan.price,
    )


def _coin(units: list[Decimal]) -> Decimal:
    """Return the largest amount that every unit is a whole number of.

    >>> _coin([Decimal("0.25"), Decimal("0.1"), Decimal(3)])
    Decimal('0.05')
    """
    decimals = max(0, *(-int(unit.normalize().as_tuple().exponent) for unit in units))
    return Decimal(math.gcd(*(int(unit.scaleb(decimals)) for unit in units))).scaleb(-decimals)


def _kind(segment: Segment) -> object:
    """Return what segments with the same programme have in common."""
    try:
        hash(segment)
    except TypeError:  # a cost or a bound of someone's own that cannot be compared quickly: a kind of its own
        return id(segment)
    return replace(segment, weight=1.0)


def _checked(segments: Mapping[str, Segment], budget: Money | float | str) -> Money:
    """Return the budget in the currency of all segments."""
    if not isinstance(segments, Mapping) or not segments:
        raise ParameterError(
            f"must be one or more segments by name; got {segments!r}.",
            owner="plan_segments",
            name="segments",
        )
    for name, segment in segments.items():
        if not isinstance(segment, Segment):
            raise ParameterError(
                f"must hold segments; got {segment!r} for {name!r}.",
                owner="plan_segments",
                name="segments",
            )
        if not isinstance(name, str):
            raise ParameterError(f"must be named by words; got {name!r}.", owner="plan_segments", name="segments")
    currencies = sorted({segment.cost.currency for segment in segments.values()} - {""})
    if len(currencies) > 1:
        raise ParameterError(
            f"must all have prices in one currency; got {', '.join(currencies)}.",
            owner="plan_segments",
            name="segments",
        )
    return Money.of(budget, *currencies, owner="plan_segments", name="budget")


class _Shop:
    """The programme of one kind of segment, which all segments of the kind share, and the plans met so far."""

    def __init__(self, segment: Segment, money: Money, *, fine: bool) -> None:
        self.segment = segment
        self.problem = segment.problem(money)
        self.risks = OutlookArrays.of(segment.outlook, segment.horizon)
        self.budget = float(budget_units(segment.cost, self.problem.budget))
        each, ratio = _FINE if fine else _COARSE
        self.sizes: OrderSizes = order_sizes(self.problem, self.risks, each=each, ratio=ratio)
        self._fields: dict[float, tuple[float, float]] = {}
        self._planned: dict[tuple[int, float], tuple[int, ...]] = {}
        nothing = np.zeros(segment.horizon, np.int64)
        self.plans: dict[tuple[int, ...], tuple[float, float]] = {}
        self.add(nothing)

    def build(self, points: int) -> None:
        """Make the programme, on so many rungs; the plans met so far are kept."""
        if len(self.sizes.counts) == 0:
            return
        problem, segment = self.problem, self.segment
        grid = build_grid(
            problem, self.risks, self.sizes, spread_distances(problem, self.risks, self.sizes, points), smooth=True
        )
        shares = problem.gap.shares(segment.horizon)  # type: ignore[attr-defined]
        self.pricing = PricedProgramme(grid, shares, segment.adjacent, not segment.bought_before)
        self.bench = LocalSearch.of(problem, self.risks, grid, self.budget)
        self._fields.clear()

    def field(self, price: float) -> tuple[float, float]:
        """Return the priced value and the cost of the plan it leads to; the plan along true distances is kept."""
        if len(self.sizes.counts) == 0:
            return self.plans[(0,) * self.segment.horizon][1], 0.0
        if price not in self._fields:
            found = self.pricing.field(price)
            self.add(self.sizes.samples(self.bench.roll_out(found)))
            self._fields[price] = found.value, found.cost
        return self._fields[price]

    def add(self, samples: IntArray) -> None:
        """Keep a plan with its money and value."""
        money = float(self.segment.cost.units(samples).sum())
        if money <= self.budget and satisfies_adjacency(self.problem, samples):
            self.plans[tuple(samples.tolist())] = (money, objective_value(self.problem, samples))

    def plan(self, units: int, accuracy: float) -> tuple[int, ...]:
        """Plan with so much money, keep the plan and return its samples; the same is not planned twice."""
        if (units, accuracy) not in self._planned:
            money = in_money(self.segment.cost, units, self.problem.budget.currency)
            found = plan_exact(self.segment.problem(money), accuracy=accuracy)
            self.add(np.array(found.samples))
            self._planned[units, accuracy] = found.samples
        return self._planned[units, accuracy]

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
    """All segments at one price: what :func:`maximise_dual` needs to know."""

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
    shops = {id(part.shop): part.shop for part in parts.values()}.values()
    chosen = _chosen(parts, limit)
    lower, price, guess = 0.0, 0.0, None
    for points in _RUNGS if limit > 0.0 else ():
        if len(shops) * points > _MOST_RUNGS and points > _RUNGS[0]:
            break
        for shop in shops:
            shop.build(points)
        dual = maximise_dual(joint, limit, guess=guess, accuracy=max(accuracy / 20.0, 1e-5))
        guess = dual.price
        if dual.lower * ROUNDING_MARGIN > lower:
            lower, price = dual.lower * ROUNDING_MARGIN, dual.price
        chosen = min(chosen, _chosen(parts, limit), key=lambda each: _value(parts, each))
        for _ in range(_ROUNDS):
            if not _polished(parts, chosen, limit, lower, accuracy):
                break
        if _value(parts, chosen) - lower <= accuracy * _value(parts, chosen):
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
        plans[name] = evaluate_plan(
            segment.problem(share),
            list(chosen[name]),
            method="exact, one budget for all",
            reason="its share of the money",
        )
    value = sum(part.share * plans[name].value for name, part in parts.items())
    if all(len(part.shop.sizes.counts) == 0 for part in parts.values()):
        lower = value  # nothing can be bought anywhere
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
    """Plan every segment with somewhat less and somewhat more money than it has, and with an even share."""
    for name, part in parts.items():
        units, _ = part.shop.plans[chosen[name]]
        most = int(limit // part.coins)
        for each in sorted({min(int(units * share), most) for share in _SHARES} | {most // len(parts)}):
            part.shop.plan(each, max(accuracy, ACCURACY))


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
        samples = part.shop.plan(int(units + (limit - spent) // part.coins), accuracy / 4.0)
        money, new = part.shop.plans[samples]
        if new < old:
            spent += part.coins * (money - units)
            value += part.share * (new - old)
            chosen[name] = samples
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
    return {name: plan_exact(segment.problem(share[name]), accuracy=accuracy) for name, segment in segments.items()}
