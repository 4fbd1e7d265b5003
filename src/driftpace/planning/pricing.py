"""Plans where money has a price: the dual of the budget, which bounds the mean gap from below and gives plans near the best.

min over plans of [phi_1 + price (cost - budget)] is at most the best phi_1 within the budget, whatever the price (theory 5.6). It is a
dynamic programme over the distance alone. As a function of the price it is concave, with slope (cost of the minimiser - budget).
"""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.ladder import Ladder
from driftpace.planning.weights import Weights
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The least priced value from every node on, for one ``price``; ``value`` is that of the start, and ``samples`` lead there."""

    price: float
    sample: FloatArray
    pending: FloatArray
    free: FloatArray
    value: float
    chosen: IntArray
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class Pricing:
    """A ladder and the periods' weights; ``adjacent`` and ``duty`` (what is bought first needs a neighbour) as in the problem."""

    ladder: Ladder
    weights: FloatArray
    adjacent: bool
    duty: bool

    @property
    def horizon(self) -> int:
        """The number of periods."""
        return len(self.weights)

    def field(self, price: float) -> Field:
        """Return the values of all nodes at this price of money."""
        from driftpace.planning.kernels import priced

        ladder = self.ladder
        shape = (self.horizon + 1, ladder.size)
        sample, free = np.full(shape, np.inf), np.empty(shape)
        pending = np.full(shape, np.inf) if self.adjacent else sample
        tables = (
            price, self.weights, ladder.rungs, ladder.smooth, ladder.menu.cheapest, ladder.gap, _chunk_least(ladder.gap),
            ladder.ahead, ladder.ahead_rung, ladder.idle, ladder.later, ladder.later_rung, self.adjacent,
        )  # fmt: skip
        priced.backward(*tables, sample, pending, free, sample, free, np.zeros(ladder.size, np.int64))
        duty = self.adjacent and self.duty
        now = (pending if duty else sample)[0, ladder.first]
        value, _ = priced.waiting(
            0, ladder.first, now, self.weights, ladder.rungs, ladder.smooth, ladder.idle, ladder.later, ladder.later_rung,
            pending,
        )  # fmt: skip
        chosen = np.empty(self.horizon, np.int64)
        priced.follow(ladder.first, *tables, duty, sample, pending, free, chosen)
        cost = float(ladder.menu.cheapest[chosen[chosen >= 0]].sum())
        return Field(price, sample, pending, free, float(value), chosen, cost)

    def layers(self, price: float, orders: int) -> tuple["Layer", ...]:
        """Return the values with at most 0, 1, ..., ``orders`` purchases to come, where only what exceeds the least order is priced.

        p(K) = p(1) + q(K): a plan with N purchases pays N p(1) whatever they are, so with N known the price concerns q alone, and
        the jump of the cost at the first sample is no longer smoothed over.
        """
        from driftpace.planning.kernels import priced

        ladder = self.ladder
        shape = (self.horizon + 1, ladder.size)
        above = ladder.menu.cheapest - ladder.menu.cheapest[0]
        tables = (
            price, self.weights, ladder.rungs, ladder.smooth, above, ladder.gap, _chunk_least(ladder.gap), ladder.ahead,
            ladder.ahead_rung, ladder.idle, ladder.later, ladder.later_rung,
        )  # fmt: skip
        never, free = np.full(shape, np.inf), np.zeros(shape)
        for n in range(self.horizon):
            for i in range(ladder.size):
                free[n, i] = self.weights[n:] @ ladder.idle[i, : self.horizon - n]
        found = [Layer(never, free, float(free[0, ladder.first]))]
        sample = never
        hints = np.zeros(ladder.size, np.int64)
        for _ in range(orders):
            then_sample, then_free = sample, free
            sample, free = np.full(shape, np.inf), np.empty(shape)
            pending = np.full(shape, np.inf) if self.adjacent else sample
            priced.backward(*tables, self.adjacent, sample, pending, free, then_sample, then_free, hints)
            now = (pending if self.adjacent and self.duty else sample)[0, ladder.first]
            value, _ = priced.waiting(
                0, ladder.first, now, self.weights, ladder.rungs, ladder.smooth, ladder.idle, ladder.later,
                ladder.later_rung, pending,
            )  # fmt: skip
            found.append(Layer(pending, free, float(value)))
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The least value from every node on, and from the start, with at most so many purchases to come."""

    buy: FloatArray
    free: FloatArray
    value: float


def _chunk_least(gap: FloatArray) -> FloatArray:
    from driftpace.planning.kernels.priced import CHUNK

    return np.minimum.reduceat(gap, np.arange(0, gap.shape[1], CHUNK), axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """The best lower bound found, the price it was found at, and the fields on both sides of the budget."""

    lower: float
    price: float
    fields: tuple[Field, ...]


def ascend(pricing: Pricing, budget: float, *, guess: float | None, accuracy: float, most: int = 16) -> Dual:
    """Return the largest lower bound over prices, by cutting planes in one dimension: two lines, and where they meet."""
    fields: list[Field] = []
    below: Field | None = None  # a price at which too much is spent
    above: Field | None = None
    price, factor = (1e-2 / budget, 16.0) if guess is None else (guess, 1.06)
    while len(fields) < most:
        field = pricing.field(price)
        fields.append(field)
        if field.cost > budget:
            below = field
        else:
            above = field
        if below is None or above is None:
            price, factor = (price * factor, factor**2) if above is None else (price / factor, factor**2)
            if price < 1e-15 / budget:
                break
            continue
        rise, fall = below.cost - budget, above.cost - budget
        at_below, at_above = below.value - below.price * budget, above.value - above.price * budget
        meet = (at_above - at_below + rise * below.price - fall * above.price) / (rise - fall)
        top = at_below + rise * (meet - below.price)
        best = max(each.value - each.price * budget for each in fields)
        if top - best <= accuracy * abs(top) or not below.price < meet < above.price:
            break
        price = meet
    best_field = max(fields, key=lambda each: each.value - each.price * budget)
    return Dual(best_field.value - best_field.price * budget, best_field.price, tuple(fields))
