"""The price of money at which a budget is just spent: cutting planes in one dimension."""

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from driftpace.planning.exact.grid import DistanceGrid
from driftpace.planning.kernels.tables import PricedTables, Values
from driftpace.typing import FloatArray, IntArray


class DualPoint(Protocol):
    """What a price of money leads to: the least of gaps and priced money, and the cost of what has it."""

    @property
    def price(self) -> float:
        """The price of money."""
        ...

    @property
    def value(self) -> float:
        """The least of gaps and priced money."""
        ...

    @property
    def cost(self) -> float:
        """What that costs."""
        ...


AnyPoint = TypeVar("AnyPoint", bound=DualPoint)
AnyPointOut = TypeVar("AnyPointOut", bound=DualPoint, covariant=True)


class DualFunction(Protocol[AnyPointOut]):
    """Anything that can be looked at under a price of money: one problem, or many that share a budget."""

    def field(self, price: float) -> AnyPointOut:
        """Return what a price leads to."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DualBound(Generic[AnyPoint]):
    """The best lower bound found, the price it was found at, and all fields that were looked at."""

    lower: float
    price: float
    fields: tuple[AnyPoint, ...]


def maximise_dual(
    programme: DualFunction[AnyPoint], budget: float, *, guess: float | None, accuracy: float, most: int = 16
) -> DualBound[AnyPoint]:
    """Return the largest value - price * budget over prices, which is a lower bound on what the budget can reach.

    It is concave in the price, with slope (cost - budget): two prices, one at which too much is spent and one at which too
    little is, give two lines above it, and where they meet is the next price.
    """
    fields: list[AnyPoint] = []
    below: AnyPoint | None = None  # a price at which too much is spent
    above: AnyPoint | None = None
    price, factor = (1e-2 / budget, 16.0) if guess is None else (guess, 1.06)
    while len(fields) < most:
        field = programme.field(price)
        fields.append(field)
        if field.cost > budget:
            below = field
        else:
            above = field
        if below is None or above is None:
            price, factor = (price * factor if above is None else price / factor), factor**2
            if not 1e-15 / budget < price < 1e300:
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
    highest = max(fields, key=lambda each: each.value - each.price * budget)
    return DualBound(highest.value - highest.price * budget, highest.price, tuple(fields))


@dataclass(frozen=True, slots=True, eq=False)
class PricedSolution:
    """The least priced value from every node on, for one ``price``: ``value`` is that of the start, and ``chosen`` leads there."""

    price: float
    values: Values
    value: float
    chosen: IntArray
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class OrderLimitValues:
    """The least value from every node on, and from the start, with at most so many purchases to come."""

    values: Values
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class PricedProgramme:
    """A ladder and the periods' weights; ``adjacent`` and ``duty`` (what is bought first needs a neighbour) as in the problem."""

    grid: DistanceGrid
    weights: FloatArray
    adjacent: bool
    duty: bool

    @property
    def horizon(self) -> int:
        """The number of periods."""
        return len(self.weights)

    def field(self, price: float) -> PricedSolution:
        """Return the values of all nodes at this price of money: lower bounds on those of every plan."""
        from driftpace.planning.kernels import dual

        grid = self.grid
        tables, values = self._tables(grid.sizes.cheapest), self._empty()
        dual.backward(tables, price, values, values, np.zeros(grid.size, np.int64))
        chosen = np.empty(self.horizon, np.int64)
        dual.follow_policy(tables, grid.first, price, self.adjacent and self.duty, values, chosen)
        cost = float(grid.sizes.cheapest[chosen[chosen >= 0]].sum())
        return PricedSolution(price, values, self._first(tables, values), chosen, cost)

    def layers(self, price: float, orders: int) -> tuple[OrderLimitValues, ...]:
        """Return the values with at most 0, 1, ..., ``orders`` purchases to come, priced without the least order's cost.

        p(K) = p(1) + q(K): a plan with N purchases pays N p(1) whatever they are, so with N known the price concerns q alone, and
        the jump of the cost at the first sample is no longer smoothed over.
        """
        from driftpace.planning.kernels import dual

        grid = self.grid
        tables = self._tables(grid.sizes.cheapest - grid.sizes.cheapest[0])
        values = self._empty()
        for n in range(self.horizon + 1):
            values.free[n] = grid.idle[:, : self.horizon - n] @ self.weights[n:]
        found = [OrderLimitValues(values, float(values.free[0, grid.first]))]
        hints = np.zeros(grid.size, np.int64)
        for _ in range(orders):
            then, values = values, self._empty()
            dual.backward(tables, price, values, then, hints)
            found.append(OrderLimitValues(values, self._first(tables, values)))
        return tuple(found)

    def _empty(self) -> Values:
        shape = (self.horizon + 1, self.grid.size)
        sample = np.full(shape, np.inf)
        return Values(sample, np.full(shape, np.inf) if self.adjacent else sample, np.zeros(shape))

    def _first(self, tables: PricedTables, values: Values) -> float:
        """Return the least value from the start, where nothing was bought before."""
        from driftpace.planning.kernels import dual

        first = self.grid.first
        now = (values.pending if self.duty else values.sample)[0, first]
        value, _ = dual.best_wait(tables, 0, first, now, values.pending)
        return float(value)

    def _tables(self, prices: FloatArray) -> PricedTables:
        from driftpace.planning.kernels.dual import CHUNK

        grid = self.grid
        return PricedTables(
            points=grid.points,
            smooth=grid.smooth,
            weights=self.weights,
            prices=prices,
            gap=grid.gap,
            least_gap=np.minimum.reduceat(grid.gap, np.arange(0, grid.gap.shape[1], CHUNK), axis=1),
            ahead=grid.ahead,
            ahead_point=grid.ahead_point,
            idle=grid.idle,
            later=grid.later,
            later_point=grid.later_point,
            adjacent=self.adjacent,
        )
