"""One search for a plan: the problem, the best plan so far, and what is proven of the best there is."""

from dataclasses import dataclass

import numpy as np

from driftpace.planning.costs import budget_units
from driftpace.planning.course import course, gaps_over
from driftpace.planning.gaps import LargestRun
from driftpace.planning.labels import Hopeless, best_plan
from driftpace.planning.ladder import build
from driftpace.planning.levels import Levels
from driftpace.planning.menu import Menu, menu
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.planning.weights import Weights
from driftpace.typing import FloatArray, IntArray

SAFE = 1.0 - 1e-9
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
    risks: Risks
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
        value = value_of(problem, nothing)
        return cls(
            problem=problem,
            accuracy=accuracy,
            risks=Risks.of(problem.outlook, problem.horizon),
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

    def menu(self, *, fine: bool) -> Menu:
        """Return the numbers of samples to consider: all up to 2,000, or a coarser choice to begin with."""
        return menu(self.problem, self.risks, each=2000 if fine else 64, ratio=1.01 if fine else 1.03)

    def offer(self, samples: IntArray) -> None:
        """Take a plan into account if it is within the budget and the rules, valued as it is."""
        problem = self.problem
        money = float(problem.cost.units(samples).sum())
        if money > self.budget or not lawful(problem, samples):
            return
        value = value_of(problem, samples)
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

    def levels(self, menu: Menu, distances: FloatArray, *, runs: bool, up: bool) -> Levels:
        """Return the programme that bounds the money for a level from below, or (``up``) from above."""
        problem = self.problem
        ladder = build(problem, self.risks, menu.plain if up else menu, distances, up=up)
        return Levels(ladder, Weights.of(self.weights), runs, problem.adjacent, not problem.bought_before)

    def by_labels(self, menu: Menu, hopeless: Hopeless) -> bool:
        """Search all beginnings; return whether that was complete, so that what is found is the best there is."""
        if not menu.whole:
            return False
        runs = isinstance(self.problem.gap, LargestRun)
        if runs and self.problem.horizon > _RUN_HORIZON:
            return False
        complete, samples = best_plan(
            self.problem,
            self.risks,
            menu,
            most=_RUN_LABELS if runs else _LABELS,
            hopeless=hopeless,
            known=(self.value, self.money),
        )
        if samples is not None:
            self.offer(samples)
        return complete


def value_of(problem: Problem, samples: IntArray) -> float:
    """Return the value of a plan, as it is."""
    return problem.gap(gaps_over(course(problem.outlook, samples.tolist()), problem.epsilon))


def lawful(problem: Problem, samples: IntArray) -> bool:
    """Whether every purchase has a neighbour, where that is asked for (theory I12, I13)."""
    if not problem.adjacent:
        return True
    bought = samples > 0
    left = np.append(problem.bought_before, bought[:-1])
    right = np.append(bought[1:], False)
    return bool((~bought | left | right).all())
