"""Share one budget among segments whose needs are known: the same relative gap for all, or the least weighted gap."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.allocation import common_unit
from driftpace.planning.costs import MAX_SAMPLES, LinearCost
from driftpace.records import Money
from driftpace.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from driftpace.planning.kernels.shared import Stack

MOST_LEVEL = 1e9
"""Larger gaps are not distinguished."""

GOOD = 0.001
"""A weighted mean gap is good enough where a bound proves it within so much of the best; otherwise it is found exactly."""

MOST_STEPS = 2e8
"""The most steps of that, which are a second or so."""

_EXACT = 1e-10
_ROUNDS = 200


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Demand:
    """What rows do for a segment in a period, and what they cost.

    The error of the model is a mixture in each block of coordinates: component j of block b has the probability ``shares[b, j]``
    and the variance ``variances[b, j]`` in each of ``blocks[b]`` coordinates. Rows act on it by the harmonic rule of
    :mod:`driftpace.adaptive.sizing`.

    Parameters
    ----------
    blocks : array
        The number of coordinates in each block.
    shares, variances : array
        The components, (blocks, components).
    noise : float
        The variance of the noise of a row in a coordinate.
    epsilon : float
        The target.
    goal : float, optional
        The risk that the segment is bought to where there is enough money; by default the target.
    steps : array, optional
        The variance that a period adds in a coordinate of each block; by default nothing.
    gathered, kept, least : int, default 0
        The rows that the period has, those of them that the variances do not know of yet, and the fewest rows that it still needs.
    most : int, optional
        The most rows that it can still have.
    cost : LinearCost, optional
        The cost of an order; one unit of money for each row by default.
    """

    blocks: FloatArray
    shares: FloatArray
    variances: FloatArray
    noise: float
    epsilon: float
    goal: float | None = None
    steps: FloatArray | None = None
    gathered: int = 0
    kept: int = 0
    least: int = 0
    most: int | None = None
    cost: LinearCost = field(default_factory=LinearCost)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SharedBudget:
    """How a budget is shared among segments, and a bound that no other way of sharing it beats.

    Parameters
    ----------
    rows, wanted : dict of str to int
        The rows that each segment can still have in the period, and those that would bring it to its goal.
    spent : Money
        What they cost.
    later : Money
        What is kept for later periods.
    value : float
        What is minimised: the largest risk relative to the target; with weights, the weighted mean of the gaps.
    lower : float
        A proven lower bound on it.
    enough : bool
        Whether all segments are bought to their goals.
    """

    rows: dict[str, int]
    wanted: dict[str, int]
    spent: Money
    later: Money
    value: float
    lower: float
    enough: bool

    @property
    def proven_gap(self) -> float:
        """The relative optimality gap, (value - lower)/value."""
        return 0.0 if self.value <= self.lower else (self.value - self.lower) / self.value


def share_budget(
    demands: Mapping[str, Demand],
    *,
    budget: Money | float | str,
    periods: int = 1,
    weights: Mapping[str, float] | None = None,
    order_price: Money | float | str = 0,
) -> SharedBudget:
    """Share a budget among segments.

    Where the money does not bring every segment to its goal, the largest risk relative to the target is minimised, so that all
    segments have the same relative gap; with ``weights``, the weighted mean of the gaps is. Of a budget for several periods, what
    keeps the same level in the later ones is kept for them.

    Parameters
    ----------
    demands : mapping of str to Demand
        The segments by name; all prices must be in one currency.
    budget : Money, float or str
        The money for all segments and periods.
    periods : int, default 1
        The number of periods that it is for, this one included.
    weights : mapping of str to float, optional
        The weights of gaps; a segment without one has weight 1. By default the relative gap is the same for all.
    order_price : Money, float or str, default 0
        What a period costs in which any row is ordered, whatever their number.

    Returns
    -------
    SharedBudget

    Examples
    --------
    >>> def store(variance):
    ...     return Demand(
    ...         blocks=np.array([3.0]), shares=np.ones((1, 1)), variances=np.array([[variance]]), noise=1.0, epsilon=0.1
    ...     )
    >>> shared = share_budget({"known": store(0.1), "new": store(10.0)}, budget=15)
    >>> shared.rows, round(shared.value, 2), shared.proven_gap < 0.01
    ({'known': 1, 'new': 14}, 1.48, True)
    """
    validation.count("share_budget", least=1, periods=periods)
    money = _check(demands, budget)
    price = Money.of(order_price, money.currency, owner="share_budget", name="order_price")
    stack, unit = _stacked(list(demands.values()), price)
    limit = float(money.amount // unit)
    fixed = 0.0 if (stack.gathered > 0).any() else float(price.amount / unit)
    rows, wanted, level, lower, now, later = _at_one_level(stack, limit, fixed, float(price.amount / unit), periods)
    enough = level == 0.0
    value, lower = (level, lower) if not enough else (_largest(stack, rows),) * 2
    if weights is not None:
        each = np.array([_weight(weights, name) for name in demands])
        each /= each.sum()
        rows, value, lower, now = _weighted(stack, each, limit - later, fixed, rows)
    return SharedBudget(
        rows=dict(zip(demands, rows.tolist(), strict=True)),
        wanted=dict(zip(demands, wanted.tolist(), strict=True)),
        spent=Money(Decimal(round(now)) * unit, money.currency),
        later=Money(Decimal(math.ceil(later)) * unit, money.currency),
        value=value,
        lower=min(lower, value),
        enough=enough,
    )


def _check(demands: Mapping[str, Demand], budget: Money | float | str) -> Money:
    """Return the budget in the currency of all segments."""
    if not isinstance(demands, Mapping) or not demands:
        raise ParameterError(
            f"must map names to one or more demands; got {demands!r:.80}.", owner="share_budget", name="demands"
        )
    strange = next((name for name, demand in demands.items() if not isinstance(demand, Demand)), None)
    if strange is not None:
        raise ParameterError(
            f"must contain demands; got {demands[strange]!r:.80} for {strange!r:.80}.",
            owner="share_budget",
            name="demands",
        )
    currencies = sorted({demand.cost.currency for demand in demands.values()} - {""})
    if len(currencies) > 1:
        raise ParameterError(
            f"must all have prices in one currency; got {', '.join(currencies)}.", owner="share_budget", name="demands"
        )
    return Money.of(budget, *currencies, owner="share_budget", name="budget")


def _weight(weights: Mapping[str, float], name: str) -> float:
    weight = weights.get(name, 1.0)
    validation.positive("share_budget", weights=weight)
    return float(weight)


def _stacked(demands: Sequence[Demand], price: Money) -> "tuple[Stack, Decimal]":
    """Return segments in arrays, with prices in the largest unit that all prices are multiples of."""
    from driftpace.planning.kernels.shared import Stack

    costs = {id(demand.cost): demand.cost for demand in demands}
    prices = {key: (Decimal(str(cost.fixed)), Decimal(str(cost.per_sample))) for key, cost in costs.items()}
    amounts = [amount for pair in prices.values() for amount in pair if amount] + [price.amount] * bool(price.amount)
    unit = common_unit(amounts or [Decimal(1)])
    in_units = {key: (float(fixed / unit), float(each / unit)) for key, (fixed, each) in prices.items()}
    count, blocks = len(demands), max(len(demand.blocks) for demand in demands)
    components = max(demand.shares.size for demand in demands)
    squares, variances = np.zeros((count, components)), np.zeros((count, components))
    sizes, steps = np.zeros((count, blocks)), np.zeros((count, blocks))
    for place, demand in enumerate(demands):
        size = demand.shares.size
        squares[place, :size] = (demand.blocks[:, None] * demand.shares * demand.variances).ravel()
        variances[place, :size] = demand.variances.ravel()
        sizes[place, : len(demand.blocks)] = demand.blocks
        if demand.steps is not None:
            steps[place, : len(demand.steps)] = demand.steps
    stack = Stack(
        squares=squares,
        variances=variances,
        blocks=sizes,
        steps=steps,
        noise=np.array([float(demand.noise) for demand in demands]),
        size=sizes.sum(axis=1),
        epsilon=np.array([float(demand.epsilon) for demand in demands]),
        goal=np.array([float(demand.epsilon if demand.goal is None else demand.goal) for demand in demands]),
        gathered=np.array([demand.gathered for demand in demands], dtype=np.int64),
        kept=np.array([demand.kept for demand in demands], dtype=np.int64),
        least=np.array([demand.least for demand in demands], dtype=np.int64),
        most=np.array([MAX_SAMPLES if demand.most is None else demand.most for demand in demands], dtype=np.int64),
        fixed=np.array([in_units[id(demand.cost)][0] for demand in demands]),
        each=np.array([in_units[id(demand.cost)][1] for demand in demands]),
        minimum=np.array([demand.cost.minimum for demand in demands], dtype=np.int64),
    )
    return stack, unit


def _at_one_level(
    stack: "Stack", limit: float, fixed: float, later_fixed: float, periods: int
) -> tuple[IntArray, IntArray, float, float, float, float]:
    """Return the rows at the least level that the money pays for, those that bring every segment to its goal, and more.

    The others are that level, one below it that is too dear, and the prices now and later. The price falls as the level grows, so
    the least level is found by bisection; 0 where every segment is bought to its goal. What has to be bought at any level may be
    too dear: as many segments as the money pays for then get it, in order.
    """
    from driftpace.planning.kernels.shared import at_level

    work = np.empty((2, stack.blocks.shape[1]))

    def at(level: float) -> tuple[IntArray, float, float]:
        rows = np.empty(len(stack.noise), dtype=np.int64)
        now, after = at_level(stack, level, rows, work, periods > 1)
        later = (periods - 1) * (after + (later_fixed if after > 0.0 else 0.0))
        return rows, now + fixed * bool((rows > 0).any()), later

    best = at(0.0)
    wanted = best[0]
    if best[1] + best[2] <= limit:
        return wanted, wanted, 0.0, 0.0, best[1], best[2]
    with np.errstate(invalid="ignore"):
        low = float(np.min(np.where(np.isfinite(stack.goal), stack.goal, stack.epsilon) / stack.epsilon))
    high = max(2.0 * low, 1.0)
    best = at(high)
    while best[1] + best[2] > limit:
        low, high = high, 2.0 * high
        if high > MOST_LEVEL:
            rows, now = _first_of(stack, best[0], limit, fixed)
            return rows, wanted, math.inf, low, now, 0.0
        best = at(high)
    for _ in range(_ROUNDS):
        if high - low <= _EXACT * high:
            break
        middle = 0.5 * (low + high)
        found = at(middle)
        if found[1] + found[2] <= limit:
            high, best = middle, found
        else:
            low = middle
    return best[0], wanted, high, low, best[1], best[2]


def _first_of(stack: "Stack", rows: IntArray, limit: float, fixed: float) -> tuple[IntArray, float]:
    """Return the rows of as many segments as the money pays for, the first ones first, and their price."""
    from driftpace.planning.kernels.shared import more_costs

    kept, spent = np.zeros_like(rows), 0.0
    for segment in np.flatnonzero(rows):
        price = more_costs(stack, int(segment), int(rows[segment])) + (fixed if spent == 0.0 else 0.0)
        if spent + price <= limit:
            kept[segment], spent = rows[segment], spent + price
    return kept, spent


def _largest(stack: "Stack", rows: IntArray) -> float:
    """Return the largest risk relative to the target."""
    from driftpace.planning.kernels.shared import left_after

    risks = [0.0]
    for place in np.flatnonzero(np.isfinite(stack.goal)).tolist():
        more, known = float(rows[place] + stack.kept[place]), (stack.squares[place], stack.variances[place])
        left = left_after(*known, stack.noise[place], stack.size[place], more)
        risks.append(0.5 * left / stack.epsilon[place])
    return float(max(risks))


def _weighted(
    stack: "Stack", weights: FloatArray, limit: float, fixed: float, rows: IntArray
) -> tuple[IntArray, float, float, float]:
    """Return rows with a small weighted mean of the gaps, that mean, a lower bound on the least one, and the price.

    With a price of money in place of the limit, segments are bought one by one, and the sum of what they then cost, less price
    times limit, is a lower bound for every price. The rows at a price that is just too dear are moved towards those at one that
    is just too cheap while money is left. ``rows`` are those of another way of sharing, which is kept where it is better.
    """
    from driftpace.planning.kernels.shared import at_price, gap_after, more_costs

    def value_of(chosen: IntArray) -> tuple[float, float]:
        gaps = np.array([gap_after(stack, place, more) for place, more in enumerate(chosen.tolist())])
        price = sum(more_costs(stack, place, more) for place, more in enumerate(chosen.tolist()))
        return float(weights @ gaps), price + fixed * bool((chosen > 0).any())

    def at(price: float) -> tuple[IntArray, float, float]:
        chosen, gaps = np.empty_like(rows), np.empty(len(rows))
        value, money = at_price(stack, weights, price, chosen, gaps)
        return chosen, value, money

    start, spent = value_of(rows)
    left = limit - fixed
    full = at(0.0)
    if full[2] <= left:
        return full[0], full[1], full[1], full[2] + fixed * bool((full[0] > 0).any())
    low, high, lower = 0.0, max(start, 1e-12) / max(left, 1.0), 0.0
    cheap = at(high)
    while cheap[2] > left:
        lower = max(lower, cheap[1] - high * left)
        low, high = high, 4.0 * high
        if high > 1e30:
            return rows, start, min(lower, start), spent
        cheap = at(high)
    dear = full if low == 0.0 else at(low)
    for _ in range(_ROUNDS):
        lower = max(lower, cheap[1] - high * left, dear[1] - low * left)
        if high - low <= _EXACT * high:
            break
        middle = 0.5 * (low + high)
        found = at(middle)
        if found[2] <= left:
            high, cheap = middle, found
        else:
            low, dear = middle, found
    chosen, _ = _filled(stack, cheap[0], dear[0], left - cheap[2], weights)
    value, money = value_of(chosen)
    if start < value:
        chosen, value, money = rows, start, spent
    if value - lower > GOOD * value and (exact := _exact(stack, weights, int(left), full[0])) is not None:
        chosen, value = exact, value_of(exact)[0]
        lower, money = value, value_of(exact)[1]
    nothing, _ = value_of(np.zeros_like(rows))  # without any order there is no price of the order itself
    lower = min(lower, nothing) if fixed and not stack.least.any() else lower
    return chosen, value, lower, money


def _exact(stack: "Stack", weights: FloatArray, limit: int, full: IntArray) -> IntArray | None:
    """Return the best rows by dynamic programming over the money; None where that would take long."""
    from driftpace.planning.kernels.shared import best_rows, more_costs

    if float(full.sum() + len(full)) * (limit + 1) > MOST_STEPS:
        return None
    values, choices = np.empty((2, limit + 1)), np.zeros((len(full), limit + 1), dtype=np.int64)
    best_rows(stack, weights, limit, values, choices)
    rows, money = np.zeros_like(full), limit
    for segment in reversed(range(len(full))):
        rows[segment] = choices[segment, money]
        money -= round(more_costs(stack, segment, int(rows[segment])))
    return rows


def _filled(
    stack: "Stack", rows: IntArray, towards: IntArray, left: float, weights: FloatArray
) -> tuple[IntArray, float]:
    """Return rows that are moved towards more of them while money is left, where it does most first, and what is left."""
    from driftpace.planning.kernels.shared import gap_after, more_costs

    rows, gains = rows.copy(), []
    for place in np.flatnonzero(towards > rows).tolist():
        less, more = int(rows[place]), int(towards[place])
        price = more_costs(stack, place, more) - more_costs(stack, place, less)
        gain = weights[place] * (gap_after(stack, place, less) - gap_after(stack, place, more))
        gains.append((gain / max(price, 1e-300), place, price))
    for _, place, price in sorted(gains, reverse=True):
        more = int(towards[place])
        if price > left:  # a part of them
            paid, each = int(rows[place]), stack.each[place]
            more = (
                paid + int(left // each)
                if paid + stack.gathered[place] >= max(stack.minimum[place], 1) and each
                else paid
            )
            price = more_costs(stack, place, more) - more_costs(stack, place, paid)
        if price <= left:
            rows[place], left = max(more, int(rows[place])), left - price
    return rows, left
