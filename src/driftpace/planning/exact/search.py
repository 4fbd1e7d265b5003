"""The state of a search: the problem, the incumbent, and what is proven about the optimum."""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import budget_units
from driftpace.planning.exact.grid import OrderSizes, order_sizes
from driftpace.planning.exact.label_setting import PruneRule, best_plan
from driftpace.planning.exact.outlook_arrays import OutlookArrays
from driftpace.planning.gaps import LargestRun
from driftpace.planning.problem import Problem, objective_value, satisfies_adjacency
from driftpace.typing import FloatArray, IntArray

ROUNDING_MARGIN = 1.0 - 1e-9
"""Lower bounds are multiplied by this, so that rounding errors cannot invalidate them."""

_SAME = 1e-12
_MAX_LABELS = 150_000
_MAX_RUN_LABELS = 400_000
_MAX_RUN_HORIZON = 12  # labels of runs do not dominate each other: beyond this there are too many


@dataclass(slots=True, eq=False)
class Search:
    """A search for a plan, with an incumbent ``samples`` of some ``value`` and a proven bound ``lower``.

    ``least`` is the smallest value found; ``money`` breaks ties between values that differ by rounding. ``money_lower`` is a
    lower bound on the cost of meeting the target in every period.
    """

    problem: Problem
    accuracy: float
    arrays: OutlookArrays
    budget: float
    samples: IntArray
    value: float
    least: float
    money: float = 0.0
    lower: float = 0.0
    money_lower: float = 0.0
    price: float | None = None
    proof: str = ""

    @classmethod
    def of(cls, problem: Problem, accuracy: float) -> "Search":
        """Return a search whose incumbent buys nothing."""
        nothing = np.zeros(problem.horizon, np.int64)
        value = objective_value(problem, nothing)
        return cls(
            problem=problem,
            accuracy=accuracy,
            arrays=OutlookArrays.of(problem.outlook, problem.horizon),
            budget=float(budget_units(problem.cost, problem.budget)),
            samples=nothing,
            value=value,
            least=value,
        )

    @property
    def gap(self) -> float:
        """The relative optimality gap."""
        return 0.0 if self.value <= 0.0 else max(0.0, 1.0 - self.lower / self.value)

    @property
    def done(self) -> bool:
        """Whether the optimality gap is within the accuracy."""
        return self.gap <= self.accuracy

    @property
    def cutoff(self) -> float:
        """The value a plan must beat to matter; with an accuracy of 0 equal values count, since they may cost less."""
        return self.value * (1.0 - 0.9 * self.accuracy if self.accuracy else 1.0 + 1e-10)

    @property
    def weights(self) -> FloatArray:
        """The contribution of a gap of 1 in each period."""
        shares: FloatArray = self.problem.gap.shares(self.problem.horizon)  # type: ignore[attr-defined]
        return shares

    def order_sizes(self, *, fine: bool) -> OrderSizes:
        """Return the order sizes to consider: all up to 2,000 and a geometric sequence, or a coarser choice."""
        return order_sizes(self.problem, self.arrays, each=2000 if fine else 64, ratio=1.01 if fine else 1.03)

    def offer(self, samples: IntArray) -> None:
        """Make a plan the incumbent if it is feasible and better."""
        problem = self.problem
        money = float(problem.cost.units(samples).sum())
        if money > self.budget or not satisfies_adjacency(problem, samples):
            return
        value = objective_value(problem, samples)
        self.least = min(self.least, value)
        tied = self.least * (1.0 + _SAME)
        if value <= tied and (self.value > tied or money < self.money):
            self.samples, self.value, self.money = samples, value, money

    def visited(self) -> FloatArray:
        """Return the distances along the incumbent, without its first steps if there are more."""
        outlook = self.problem.outlook
        distance, distances = outlook.first_distance(0), []
        for count in self.samples.tolist():
            reach = outlook.reach(outlook.bound(distance, count)) if count else distance
            distance = outlook.idle_distance(reach, 1)
            distances.append(distance)
        return np.array(distances[2:] if len(distances) > 4 else distances)

    def raise_lower(self, lower: float) -> None:
        """Record a proven lower bound on the value of every plan."""
        self.lower = max(self.lower, min(lower, self.value))

    def label_setting(self, sizes: OrderSizes, prune: PruneRule) -> bool:
        """Run label setting; return whether it was exhaustive, so that the incumbent is optimal."""
        if not sizes.complete:
            return False
        runs = isinstance(self.problem.gap, LargestRun)
        if runs and self.problem.horizon > _MAX_RUN_HORIZON:
            return False
        exhaustive, samples = best_plan(
            self.problem,
            self.arrays,
            sizes,
            most=_MAX_RUN_LABELS if runs else _MAX_LABELS,
            prune=prune,
            incumbent=(self.value, self.money),
        )
        if samples is not None:
            self.offer(samples)
        return exhaustive
