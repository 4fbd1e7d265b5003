"""Local search: roll out policies along true distances, splice plans, build sawtooth plans, and exchange purchases."""

import itertools
from dataclasses import dataclass

import numpy as np

from driftpace.planning.exact.dual import OrderLimitValues, PricedSolution
from driftpace.planning.exact.grid import DistanceGrid
from driftpace.planning.exact.outlook_arrays import OutlookArrays
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.kernels.tables import PlanTables
from driftpace.planning.problem import Problem
from driftpace.typing import IntArray

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
