"""The Lagrangian dual of the budget, and the local search that turns the policies of its prices into plans.

For every price, min over plans of [phi_1 + price (cost - budget)] is at most the best phi_1 within the budget (theory 5.6). It is a
dynamic programme over the distance alone. As a function of the price it is concave, with slope (cost of the minimiser - budget).
The local search rolls out policies along true distances, splices plans, builds sawtooth plans and exchanges purchases.
"""

import itertools
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from driftpace.planning.exact.grid import DistanceGrid, OutlookArrays
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.kernels.tables import PlanTables, PricedTables, Values
from driftpace.planning.problem import Problem
from driftpace.typing import FloatArray, IntArray

_FIRST_PRICE, _FIRST_FACTOR = 1e-2, 16.0
_GUESS_FACTOR = 1.06


class DualPoint(Protocol):
    """The minimiser at one price of money."""

    @property
    def price(self) -> float:
        """The price of money."""
        ...

    @property
    def value(self) -> float:
        """The minimum of gaps plus priced money."""
        ...

    @property
    def cost(self) -> float:
        """The cost of the minimiser."""
        ...


AnyPoint = TypeVar("AnyPoint", bound=DualPoint)
AnyPointOut = TypeVar("AnyPointOut", bound=DualPoint, covariant=True)


class DualFunction(Protocol[AnyPointOut]):
    """One problem, or several that share a budget, as a function of the price of money."""

    def solve(self, price: float) -> AnyPointOut:
        """Return the minimiser at a price."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DualBound(Generic[AnyPoint]):
    """The best lower bound, the price that attains it, and the solutions at all prices tried."""

    lower: float
    price: float
    solutions: tuple[AnyPoint, ...]


def maximise_dual(
    programme: DualFunction[AnyPoint], budget: float, *, guess: float | None, accuracy: float, most: int = 16
) -> DualBound[AnyPoint]:
    """Maximise value - price * budget over prices by cutting planes; the maximum is a lower bound for the budget.

    The function is concave in the price, with slope (cost - budget): two prices, one that spends too much and one that spends
    too little, give two lines above it, and their intersection is the next price.
    """
    solutions: list[AnyPoint] = []
    below: AnyPoint | None = None  # a price at which too much is spent
    above: AnyPoint | None = None
    price, factor = (_FIRST_PRICE / budget, _FIRST_FACTOR) if guess is None else (guess, _GUESS_FACTOR)
    while len(solutions) < most:
        solution = programme.solve(price)
        solutions.append(solution)
        if solution.cost > budget:
            below = solution
        else:
            above = solution
        if below is None or above is None:
            price, factor = (price * factor if above is None else price / factor), factor**2
            if not 1e-15 / budget < price < 1e300:
                break
            continue
        rise, fall = below.cost - budget, above.cost - budget
        at_below, at_above = below.value - below.price * budget, above.value - above.price * budget
        meet = (at_above - at_below + rise * below.price - fall * above.price) / (rise - fall)
        top = at_below + rise * (meet - below.price)
        best = max(each.value - each.price * budget for each in solutions)
        if top - best <= accuracy * abs(top) or not below.price < meet < above.price:
            break
        price = meet
    highest = max(solutions, key=lambda each: each.value - each.price * budget)
    return DualBound(highest.value - highest.price * budget, highest.price, tuple(solutions))


@dataclass(frozen=True, slots=True, eq=False)
class PricedSolution:
    """The minimal values of all nodes at one ``price``: ``value`` is that of the start, ``chosen`` and ``cost`` its policy's."""

    price: float
    values: Values
    value: float
    chosen: IntArray
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class OrderLimitValues:
    """The minimal values of all nodes, and of the start, with a limit on the number of purchases to come."""

    values: Values
    value: float


@dataclass(frozen=True, slots=True, eq=False)
class PricedProgramme:
    """The priced dynamic programme on a grid; ``needs_neighbour``: a purchase in the first period needs one in the next."""

    grid: DistanceGrid
    weights: FloatArray
    adjacent: bool
    needs_neighbour: bool

    @property
    def horizon(self) -> int:
        """The number of periods."""
        return len(self.weights)

    def solve(self, price: float) -> PricedSolution:
        """Return the values of all nodes at this price of money: lower bounds on those of every plan."""
        from driftpace.planning.kernels import dual

        grid = self.grid
        tables, values = self._tables(grid.sizes.cheapest), self._empty()
        dual.backward(tables, price, values, values, np.zeros(grid.size, np.int64))
        chosen = np.empty(self.horizon, np.int64)
        dual.follow_policy(tables, grid.first, price, self.adjacent and self.needs_neighbour, values, chosen)
        cost = float(grid.sizes.cheapest[chosen[chosen >= 0]].sum())
        return PricedSolution(price, values, self._first(tables, values), chosen, cost)

    def solve_by_orders(self, price: float, orders: int) -> tuple[OrderLimitValues, ...]:
        """Return the values with at most 0, 1, ..., ``orders`` purchases to come, priced without the cost of the smallest order.

        p(K) = p(1) + q(K): a plan with N purchases pays N p(1) in any case, so with N known the price applies to q alone, and
        the jump of the cost at the first sample is not smoothed over.
        """
        from driftpace.planning.kernels import dual

        grid = self.grid
        tables = self._tables(grid.sizes.cheapest - grid.sizes.cheapest[0])
        values = self._empty()
        for n in range(self.horizon + 1):
            values.free[n] = grid.idle[:, : self.horizon - n] @ self.weights[n:]
        layers = [OrderLimitValues(values, float(values.free[0, grid.first]))]
        hints = np.zeros(grid.size, np.int64)
        for _ in range(orders):
            then, values = values, self._empty()
            dual.backward(tables, price, values, then, hints)
            layers.append(OrderLimitValues(values, self._first(tables, values)))
        return tuple(layers)

    def _empty(self) -> Values:
        shape = (self.horizon + 1, self.grid.size)
        sample = np.full(shape, np.inf)
        return Values(sample, np.full(shape, np.inf) if self.adjacent else sample, np.zeros(shape))

    def _first(self, tables: PricedTables, values: Values) -> float:
        """Return the minimal value of the start, where nothing was bought before."""
        from driftpace.planning.kernels import dual

        first = self.grid.first
        now = (values.pending if self.needs_neighbour else values.sample)[0, first]
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


GOAL_CODES = {MeanGap: 0, LargestGap: 1, LargestRun: 2}
_TOOTH_LENGTHS = (2, 3, 5, 6, 12, 24, 40)


@dataclass(frozen=True, slots=True, eq=False)
class LocalSearch:
    """Operations on plans for a problem on a grid; a plan is an index of the order sizes for each period, -1 for none."""

    grid: DistanceGrid
    tables: PlanTables

    @classmethod
    def of(cls, problem: Problem, arrays: OutlookArrays, grid: DistanceGrid, budget: float) -> "LocalSearch":
        """Return the local search of a problem whose objective is one of the paper's three."""
        outlook, gap, sizes = problem.outlook, problem.gap, grid.sizes
        assert isinstance(gap, MeanGap | LargestGap | LargestRun)
        tables = PlanTables(
            points=grid.points,
            risk=grid.risk,
            ahead=grid.ahead,
            rho=float(outlook.rho),  # an integer would compile the loops a second time
            walk=outlook.steps == "walk",
            widest=float(arrays.widest) ** 2,
            root=np.nan if arrays.root is None else arrays.root,
            start=float(grid.points[grid.first]),
            epsilon=float(problem.epsilon),
            goal=GOAL_CODES[type(gap)],
            weights=gap.shares(problem.horizon),
            prices=sizes.plain.price,
            budget=budget,
            adjacent=problem.adjacent,
            bought_before=problem.bought_before,
        )
        return cls(grid, tables)

    @property
    def _horizon(self) -> int:
        return len(self.tables.weights)

    def cost(self, plan: IntArray) -> float:
        """Return the cost of a plan, in units."""
        return float(self.tables.prices[plan[plan >= 0]].sum())

    def roll_out(self, solution: PricedSolution) -> IntArray:
        """Return the plan of a priced solution's policy along true distances."""
        from driftpace.planning.kernels import plans

        plan = np.empty(self._horizon, np.int64)
        plans.roll_out(self.tables, solution.price, self.grid.smooth, solution.values, plan)
        return plan

    def roll_out_limited(self, price: float, layers: tuple[OrderLimitValues, ...], orders: int) -> IntArray:
        """Return the plan with at most ``orders`` purchases of a priced policy along true distances."""
        from driftpace.planning.kernels import plans

        plan = np.empty(self._horizon, np.int64)
        buy = np.stack([layer.values.pending for layer in layers[: orders + 1]])
        free = np.stack([layer.values.free for layer in layers[: orders + 1]])
        plans.roll_out_limited(self.tables, price, self.grid.smooth, orders, buy, free, plan)
        return plan

    def splice(self, left: IntArray, right: IntArray) -> tuple[float, IntArray]:
        """Return the best plan within the budget that follows ``left`` first and ``right`` later, with its value."""
        from driftpace.planning.kernels import plans

        value, plan = plans.splice(self.tables, left, right)
        return float(value), plan

    def sawtooth_plans(self, low: float, high: float) -> list[IntArray]:
        """Return plans whose gaps decrease for some periods, then jump back: a constant gap would be one long run.

        For each of several tooth lengths, the plan with the lowest peak within the budget.
        """
        from driftpace.planning.kernels import plans

        halves = {max(self._horizon >> power, 1) for power in range(12)}
        teeth = []
        lengths = sorted(halves | {min(length, self._horizon) for length in _TOOTH_LENGTHS})
        for length, close in itertools.product(lengths, (False, True)):
            below, above, best = low, high, None
            for _ in range(30):
                middle = 0.5 * (below + above)
                plan = np.empty(self._horizon, np.int64)
                cost = plans.sawtooth(self.tables, middle, length, close, plan)
                below, above, best = (below, middle, plan) if cost <= self.tables.budget else (middle, above, best)
            if best is not None:
                teeth.append(best)
        return teeth

    def improve(self, plan: IntArray, *, enough: float, rounds: int, tries: int = 64) -> tuple[float, IntArray]:
        """Exchange purchases until no exchange helps or the value is at most ``enough``; return the value and the plan."""
        from driftpace.planning.kernels import local_search

        plan = plan.copy()
        value = local_search.improve(self.tables, plan, rounds, enough, tries)
        return float(value), plan
