"""Plans from fields, and better plans from plans: follow, splice, exchange."""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.ladder import Ladder
from driftpace.planning.pricing import Field, Layer
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.typing import FloatArray, IntArray

GOALS = {MeanGap: 0, LargestGap: 1, LargestRun: 2}


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """A problem on a ladder, for kernels that look at one plan at a time; plans are entries of the ladder's menu, -1 for none."""

    problem: Problem
    ladder: Ladder
    world: FloatArray
    budget: float
    goal: int
    weights: FloatArray

    @classmethod
    def of(cls, problem: Problem, risks: Risks, ladder: Ladder, budget: float) -> "Workbench":
        """Return the workbench of a problem whose goal is one of the paper's three."""
        outlook = problem.outlook
        world = np.array(
            [outlook.rho, float(outlook.steps == "walk"), risks.widest**2, np.nan if risks.root is None else risks.root]
        )
        gap = problem.gap
        assert isinstance(gap, MeanGap | LargestGap | LargestRun)
        return cls(problem, ladder, world, budget, GOALS[type(gap)], gap.shares(problem.horizon))

    @property
    def _table(self) -> tuple[FloatArray, ...]:
        return self.world, self.ladder.rungs, self.ladder.risk, self.ladder.ahead

    @property
    def _start(self) -> float:
        return float(self.ladder.rungs[self.ladder.first])

    def cost(self, plan: IntArray) -> float:
        """Return what a plan costs, in units."""
        return float(self.ladder.menu.price[plan[plan >= 0]].sum())

    def rolled(self, field: Field) -> IntArray:
        """Return the plan that a priced field leads to along true distances."""
        from driftpace.planning.kernels import plans

        problem, ladder = self.problem, self.ladder
        plan = np.empty(problem.horizon, np.int64)
        plans.rollout(
            *self._table, self._start, problem.epsilon, self.weights, field.price, self._prices, problem.adjacent,
            not problem.bought_before, field.sample, field.pending, field.free, ladder.smooth, plan,
        )  # fmt: skip
        return plan

    def counted(self, price: float, layers: tuple[Layer, ...], orders: int) -> IntArray:
        """Return the plan with at most ``orders`` purchases that priced layers lead to along true distances."""
        from driftpace.planning.kernels import plans

        problem, ladder = self.problem, self.ladder
        plan = np.empty(problem.horizon, np.int64)
        buy = np.stack([layer.buy for layer in layers[: orders + 1]])
        free = np.stack([layer.free for layer in layers[: orders + 1]])
        above = self._prices - self._prices[0]
        plans.rollout_counted(
            *self._table,
            self._start,
            problem.epsilon,
            self.weights,
            price,
            above,
            orders,
            buy,
            free,
            ladder.smooth,
            plan,
        )
        return plan

    def spliced(self, left: IntArray, right: IntArray) -> tuple[float, IntArray]:
        """Return the best plan within the budget that follows one plan first and the other later."""
        from driftpace.planning.kernels import plans

        problem = self.problem
        value, plan = plans.spliced(
            *self._table, self._start, problem.epsilon, self.goal, self.weights, self._prices, self.budget, left, right,
            problem.adjacent, problem.bought_before,
        )  # fmt: skip
        return float(value), plan

    def saws(self, low: float, high: float) -> list[IntArray]:
        """Return plans whose gaps fall in every period for a while, then jump back: a gap that stays makes a run without end.

        For teeth of several lengths, the one with the lowest top that can be paid.
        """
        from driftpace.planning.kernels import plans

        horizon = self.problem.horizon
        found = []
        for length in sorted(
            {max(horizon // 2**k, 1) for k in range(12)} | {min(k, horizon) for k in (2, 3, 5, 6, 12, 24)}
        ):
            below, above, best = low, high, None
            for _ in range(30):
                middle = 0.5 * (below + above)
                plan = np.empty(horizon, np.int64)
                cost = plans.falling(
                    *self._table, self._start, self.problem.epsilon, self._prices, middle, length, plan
                )
                below, above, best = (below, middle, plan) if cost <= self.budget else (middle, above, best)
            if best is not None:
                found.append(best)
        return found

    def improved(self, plan: IntArray, *, enough: float, rounds: int, reach: int = 64) -> tuple[float, IntArray]:
        """Return a plan within the budget that small changes do not better, or one whose value is at most ``enough``."""
        from driftpace.planning.kernels import plans

        problem = self.problem
        plan = plan.copy()
        value = plans.improved(
            *self._table, self._start, problem.epsilon, self.goal, self.weights, self._prices, self.budget,
            problem.adjacent, problem.bought_before, plan, rounds, enough, reach,
        )  # fmt: skip
        return float(value), plan

    @property
    def _prices(self) -> FloatArray:
        """The prices of the entries that can be bought: the last one of a menu may stand for all beyond it."""
        menu = self.ladder.menu
        return menu.price[:-1] if menu.beyond else menu.price
