"""Plans where money has a price: the dual of the budget, which bounds the mean gap from below and leads to plans near the best.

min over plans of [phi_1 + price (cost - budget)] is at most the best phi_1 within the budget, whatever the price (theory
5.6). It is a dynamic programme over the distance alone. As a function of the price it is concave, with slope (cost of the
minimiser - budget).
"""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.ladder import Ladder
from driftpace.planning.tables import PricedTables, Values
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The least priced value from every node on, for one ``price``: ``value`` is that of the start, and ``chosen`` leads there."""

    price: float
    values: Values
    value: float
    chosen: IntArray
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The least value from every node on, and from the start, with at most so many purchases to come."""

    values: Values
    value: float


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
        """Return the values of all nodes at this price of money: lower bounds on those of every plan."""
        from driftpace.planning.kernels import priced

        ladder = self.ladder
        tables, values = self._tables(ladder.menu.cheapest), self._empty()
        priced.backward(tables, price, values, values, np.zeros(ladder.size, np.int64))
        chosen = np.empty(self.horizon, np.int64)
        priced.follow(tables, ladder.first, price, self.adjacent and self.duty, values, chosen)
        cost = float(ladder.menu.cheapest[chosen[chosen >= 0]].sum())
        return Field(price, values, self._first(tables, values), chosen, cost)

    def layers(self, price: float, orders: int) -> tuple[Layer, ...]:
        """Return the values with at most 0, 1, ..., ``orders`` purchases to come, priced without the least order's cost.

        p(K) = p(1) + q(K): a plan with N purchases pays N p(1) whatever they are, so with N known the price concerns q alone, and
        the jump of the cost at the first sample is no longer smoothed over.
        """
        from driftpace.planning.kernels import priced

        ladder = self.ladder
        tables = self._tables(ladder.menu.cheapest - ladder.menu.cheapest[0])
        values = self._empty()
        for n in range(self.horizon + 1):
            values.free[n] = ladder.idle[:, : self.horizon - n] @ self.weights[n:]
        found = [Layer(values, float(values.free[0, ladder.first]))]
        hints = np.zeros(ladder.size, np.int64)
        for _ in range(orders):
            then, values = values, self._empty()
            priced.backward(tables, price, values, then, hints)
            found.append(Layer(values, self._first(tables, values)))
        return tuple(found)

    def _empty(self) -> Values:
        shape = (self.horizon + 1, self.ladder.size)
        sample = np.full(shape, np.inf)
        return Values(sample, np.full(shape, np.inf) if self.adjacent else sample, np.zeros(shape))

    def _first(self, tables: PricedTables, values: Values) -> float:
        """Return the least value from the start, where nothing was bought before."""
        from driftpace.planning.kernels import priced

        first = self.ladder.first
        now = (values.pending if self.duty else values.sample)[0, first]
        value, _ = priced.waiting(tables, 0, first, now, values.pending)
        return float(value)

    def _tables(self, prices: FloatArray) -> PricedTables:
        from driftpace.planning.kernels.priced import CHUNK

        ladder = self.ladder
        return PricedTables(
            rungs=ladder.rungs,
            smooth=ladder.smooth,
            weights=self.weights,
            prices=prices,
            gap=ladder.gap,
            least_gap=np.minimum.reduceat(ladder.gap, np.arange(0, ladder.gap.shape[1], CHUNK), axis=1),
            ahead=ladder.ahead,
            ahead_rung=ladder.ahead_rung,
            idle=ladder.idle,
            later=ladder.later,
            later_rung=ladder.later_rung,
            adjacent=self.adjacent,
        )
