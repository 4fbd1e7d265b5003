"""Plans from fields, and better plans from plans: follow, splice, saw, exchange."""

import itertools
from dataclasses import dataclass

import numpy as np

from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.ladder import Ladder
from driftpace.planning.pricing import Field, Layer
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.planning.tables import PlanTables
from driftpace.typing import IntArray

GOALS = {MeanGap: 0, LargestGap: 1, LargestRun: 2}
_TEETH = (2, 3, 5, 6, 12, 24, 40)


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """A problem on a ladder, for loops over one plan at a time; a plan is an entry of the menu for each period, -1 for none."""

    ladder: Ladder
    tables: PlanTables

    @classmethod
    def of(cls, problem: Problem, risks: Risks, ladder: Ladder, budget: float) -> "Workbench":
        """Return the workbench of a problem whose goal is one of the paper's three."""
        outlook, gap, menu = problem.outlook, problem.gap, ladder.menu
        assert isinstance(gap, MeanGap | LargestGap | LargestRun)
        tables = PlanTables(
            rungs=ladder.rungs,
            risk=ladder.risk,
            ahead=ladder.ahead,
            rho=float(outlook.rho),  # an integer would have the loops compiled anew
            walk=outlook.steps == "walk",
            widest=float(risks.widest) ** 2,
            root=np.nan if risks.root is None else risks.root,
            start=float(ladder.rungs[ladder.first]),
            epsilon=float(problem.epsilon),
            goal=GOALS[type(gap)],
            weights=gap.shares(problem.horizon),
            prices=menu.plain.price,
            budget=budget,
            adjacent=problem.adjacent,
            bought_before=problem.bought_before,
        )
        return cls(ladder, tables)

    @property
    def _horizon(self) -> int:
        return len(self.tables.weights)

    def cost(self, plan: IntArray) -> float:
        """Return what a plan costs, in units."""
        return float(self.tables.prices[plan[plan >= 0]].sum())

    def rolled(self, field: Field) -> IntArray:
        """Return the plan that a priced field leads to along true distances."""
        from driftpace.planning.kernels import plans

        plan = np.empty(self._horizon, np.int64)
        plans.rollout(self.tables, field.price, self.ladder.smooth, field.values, plan)
        return plan

    def counted(self, price: float, layers: tuple[Layer, ...], orders: int) -> IntArray:
        """Return the plan with at most ``orders`` purchases that priced layers lead to along true distances."""
        from driftpace.planning.kernels import plans

        plan = np.empty(self._horizon, np.int64)
        buy = np.stack([layer.values.pending for layer in layers[: orders + 1]])
        free = np.stack([layer.values.free for layer in layers[: orders + 1]])
        plans.rollout_counted(self.tables, price, self.ladder.smooth, orders, buy, free, plan)
        return plan

    def spliced(self, left: IntArray, right: IntArray) -> tuple[float, IntArray]:
        """Return the best plan within the budget that follows one plan first and the other later, with its value."""
        from driftpace.planning.kernels import plans

        value, plan = plans.spliced(self.tables, left, right)
        return float(value), plan

    def saws(self, low: float, high: float) -> list[IntArray]:
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
                cost = plans.falling(self.tables, middle, length, close, plan)
                below, above, best = (below, middle, plan) if cost <= self.tables.budget else (middle, above, best)
            if best is not None:
                found.append(best)
        return found

    def improved(self, plan: IntArray, *, enough: float, rounds: int, tries: int = 64) -> tuple[float, IntArray]:
        """Return a plan within the budget that small changes do not better, or one whose value is at most ``enough``."""
        from driftpace.planning.kernels import exchanges

        plan = plan.copy()
        value = exchanges.improved(self.tables, plan, rounds, enough, tries)
        return float(value), plan
