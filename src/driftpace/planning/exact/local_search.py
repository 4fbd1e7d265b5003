"""Plans from fields, and better plans from plans: follow, splice, saw, exchange."""

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
_TEETH = (2, 3, 5, 6, 12, 24, 40)


@dataclass(frozen=True, slots=True, eq=False)
class LocalSearch:
    """A problem on a ladder, for loops over one plan at a time; a plan is an entry of the menu for each period, -1 for none."""

    grid: DistanceGrid
    tables: PlanTables

    @classmethod
    def of(cls, problem: Problem, risks: OutlookArrays, grid: DistanceGrid, budget: float) -> "LocalSearch":
        """Return the workbench of a problem whose goal is one of the paper's three."""
        outlook, gap, sizes = problem.outlook, problem.gap, grid.sizes
        assert isinstance(gap, MeanGap | LargestGap | LargestRun)
        tables = PlanTables(
            points=grid.points,
            risk=grid.risk,
            ahead=grid.ahead,
            rho=float(outlook.rho),  # an integer would have the loops compiled anew
            walk=outlook.steps == "walk",
            widest=float(risks.widest) ** 2,
            root=np.nan if risks.root is None else risks.root,
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
        """Return what a plan costs, in units."""
        return float(self.tables.prices[plan[plan >= 0]].sum())

    def roll_out(self, field: PricedSolution) -> IntArray:
        """Return the plan that a priced field leads to along true distances."""
        from driftpace.planning.kernels import plans

        plan = np.empty(self._horizon, np.int64)
        plans.roll_out(self.tables, field.price, self.grid.smooth, field.values, plan)
        return plan

    def roll_out_limited(self, price: float, layers: tuple[OrderLimitValues, ...], orders: int) -> IntArray:
        """Return the plan with at most ``orders`` purchases that priced layers lead to along true distances."""
        from driftpace.planning.kernels import plans

        plan = np.empty(self._horizon, np.int64)
        buy = np.stack([layer.values.pending for layer in layers[: orders + 1]])
        free = np.stack([layer.values.free for layer in layers[: orders + 1]])
        plans.roll_out_limited(self.tables, price, self.grid.smooth, orders, buy, free, plan)
        return plan

    def splice(self, left: IntArray, right: IntArray) -> tuple[float, IntArray]:
        """Return the best plan within the budget that follows one plan first and the other later, with its value."""
        from driftpace.planning.kernels import plans

        value, plan = plans.splice(self.tables, left, right)
        return float(value), plan

    def sawtooth_plans(self, low: float, high: float) -> list[IntArray]:
        """Return plans whose gaps fall in every period for a while, then jump back: a gap that stays makes a run without end.

        For teeth of several lengths, the one with the lowest top that can be paid.
        """
        from driftpace.planning.kernels import plans

        halves = {max(self._horizon >> power, 1) for power in range(12)}
        found = []
        lengths = sorted(halves | {min(teeth, self._horizon) for teeth in _TEETH})
        for length, close in itertools.product(lengths, (False, True)):
            below, above, best = low, high, None
            for _ in range(30):
                middle = 0.5 * (below + above)
                plan = np.empty(self._horizon, np.int64)
                cost = plans.sawtooth(self.tables, middle, length, close, plan)
                below, above, best = (below, middle, plan) if cost <= self.tables.budget else (middle, above, best)
            if best is not None:
                found.append(best)
        return found

    def improve(self, plan: IntArray, *, enough: float, rounds: int, tries: int = 64) -> tuple[float, IntArray]:
        """Return a plan within the budget that small changes do not better, or one whose value is at most ``enough``."""
        from driftpace.planning.kernels import local_search

        plan = plan.copy()
        value = local_search.improve(self.tables, plan, rounds, enough, tries)
        return float(value), plan
