"""One search for a plan: the problem, the best plan so far, and what is proven of the best there is."""

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
"""What rounding may add to a lower bound is taken off it."""

_SAME = 1e-12
_LABELS = 150_000
_RUN_LABELS = 400_000
_RUN_HORIZON = 12  # runs have no order that drops labels: beyond this there are too many


@dataclass(slots=True, eq=False)
class Search:
    """What is known of a problem; it only grows: the value falls, ``lower`` rises.

    ``least`` is the least value met; ``money`` breaks ties between values that differ by rounding; where the target is held,
    none that holds it costs less than ``money_lower``.
    """

    problem: Problem
    accuracy: float
    risks: OutlookArrays
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
        """Return a search that knows the plan to buy nothing."""
        nothing = np.zeros(problem.horizon, np.int64)
        value = objective_value(problem, nothing)
        return cls(
            problem=problem,
            accuracy=accuracy,
            risks=OutlookArrays.of(problem.outlook, problem.horizon),
            budget=float(budget_units(problem.cost, problem.budget)),
            samples=nothing,
            value=value,
            least=value,
        )

    @property
    def gap(self) -> float:
        """How far the value may lie above the best, as a share of it."""
        return 0.0 if self.value <= 0.0 else max(0.0, 1.0 - self.lower / self.value)

    @property
    def done(self) -> bool:
        """Whether that is as little as was asked for."""
        return self.gap <= self.accuracy

    @property
    def cut(self) -> float:
        """The value that a better plan must get under to matter; with an accuracy of 0 equal values do, since one may cost less."""
        return self.value * (1.0 - 0.9 * self.accuracy if self.accuracy else 1.0 + 1e-10)

    @property
    def weights(self) -> FloatArray:
        """What a gap of 1 in each period counts for."""
        shares: FloatArray = self.problem.gap.shares(self.problem.horizon)  # type: ignore[attr-defined]
        return shares

    def order_sizes(self, *, fine: bool) -> OrderSizes:
        """Return the numbers of samples to consider: all up to 2,000, or a coarser choice to begin with."""
        return order_sizes(self.problem, self.risks, each=2000 if fine else 64, ratio=1.01 if fine else 1.03)

    def offer(self, samples: IntArray) -> None:
        """Take a plan into account if it is within the budget and the rules, valued as it is."""
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
        """Return the distances that the best plan goes through, but for its first steps where there are more."""
        outlook = self.problem.outlook
        distance, seen = outlook.first_distance(0), []
        for count in self.samples.tolist():
            reach = outlook.reach(outlook.bound(distance, count)) if count else distance
            distance = outlook.idle_distance(reach, 1)
            seen.append(distance)
        return np.array(seen[2:] if len(seen) > 4 else seen)

    def prove(self, lower: float) -> None:
        """Take note that no plan falls under ``lower``, as far as that is news."""
        self.lower = max(self.lower, min(lower, self.value))

    def by_labels(self, sizes: OrderSizes, hopeless: PruneRule) -> bool:
        """Search all beginnings; return whether that was complete, so that what is found is the best there is."""
        if not sizes.whole:
            return False
        runs = isinstance(self.problem.gap, LargestRun)
        if runs and self.problem.horizon > _RUN_HORIZON:
            return False
        complete, samples = best_plan(
            self.problem,
            self.risks,
            sizes,
            most=_RUN_LABELS if runs else _LABELS,
            hopeless=hopeless,
            known=(self.value, self.money),
        )
        if samples is not None:
            self.offer(samples)
        return complete
