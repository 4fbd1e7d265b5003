"""References for the planner's tables: all completions of a plan from a distance, and the priced programme without shortcuts."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from driftpace.planning.costs import affordable
from driftpace.planning.exact.grid import DistanceGrid
from driftpace.planning.problem import Problem, risk_gaps, risk_trajectory
from driftpace.typing import FloatArray, IntArray
from tests.reference.brute_force_plans import has_neighbours
from tests.reference.planning_problems import GAPS, STEPS, random_problem


@dataclass(frozen=True, kw_only=True, slots=True)
class Completions:
    """All lawful plans for some periods, one a row: their samples, the gaps of their periods, and what they cost in units."""

    samples: IntArray
    gaps: FloatArray
    units: IntArray

    @property
    def orders(self) -> IntArray:
        """How many purchases each has."""
        return np.asarray(np.count_nonzero(self.samples, axis=1))


def completions(problem: Problem, most: int, *, first: int = 0, distance: float | None = None) -> Completions:
    """Return all plans of at most ``most`` samples a period for the periods from index ``first`` on, whatever they cost.

    With a ``distance`` they start from there, with samples in the period before; without it as the problem says.
    """
    outlook, bought_before = problem.outlook, problem.bought_before
    if distance is not None:
        outlook, bought_before = replace(outlook, start=distance), True
    choices = itertools.product(range(most + 1), repeat=problem.horizon - first)
    samples = [each for each in choices if not problem.adjacent or has_neighbours(each, bought_before=bought_before)]
    risks = np.array([risk_trajectory(outlook, each) for each in samples])
    counts = np.array(samples)
    return Completions(
        samples=counts,
        gaps=risk_gaps(risks, problem.epsilon),  # type: ignore[arg-type]
        units=problem.cost.units(counts).sum(axis=1),
    )


def small_problem(
    rng: np.random.Generator, *, bound: str, gap: str = "mean", adjacent: bool = False, plans: int = 120
) -> Problem:
    """Draw a problem of few plans, even if money were no limit, in a form that has a programme over the distance."""
    problem = random_problem(rng, bound=bound, gap=gap, adjacent=adjacent, plans=plans)
    if problem.outlook.steps == "printed":
        problem = replace(problem, outlook=replace(problem.outlook, steps=STEPS[rng.choice(2)]))
    most = affordable(problem.cost, problem.budget)
    horizon = next(n for n in range(problem.horizon, 0, -1) if n == 1 or (most + 1) ** n <= 20 * plans)
    if horizon < problem.horizon:
        problem = replace(problem, horizon=horizon, gap=GAPS[gap](None))
    return problem


def on_grid(grid: DistanceGrid, values: FloatArray, distance: float) -> float:
    """Return a value between grid points: on the straight line where the grid is smooth, else that of the grid point below."""
    square = distance * distance
    if grid.smooth:
        return float(np.interp(square, grid.points, values))
    return float(values[max(int(np.searchsorted(grid.points, square * (1.0 + 1e-12), side="right")) - 1, 0)])


def slow_values(grid: DistanceGrid, weights: FloatArray, price: float, *, flattest: bool = True) -> FloatArray:
    """Return the values of the priced programme with every move looked at (without the duty of a neighbour).

    ``flattest`` False reads values off the lines themselves where a move crosses grid points, which is not allowed.
    """
    horizon, size = len(weights), grid.size
    free, buy = np.zeros((horizon + 1, size)), np.full((horizon + 1, size), np.inf)
    prices = price * grid.sizes.cheapest

    def ahead(values: FloatArray, at: float, below: float) -> float:
        value = on_grid(grid, values, np.sqrt(at))
        if not (grid.smooth and flattest):
            return value
        low = on_grid(grid, values, np.sqrt(below))
        crossed = [j for j in range(size) if below * (1.0 + 1e-12) < grid.points[j] <= at]
        lines = [low + (values[j] - low) * (at - below) / (grid.points[j] - below) for j in crossed]
        return float(min([value, *lines]))

    for n in range(horizon - 1, -1, -1):
        for i in range(size):
            j = max(i - 1, 0)
            buy[n, i] = min(
                prices[a] + weights[n] * grid.gap[i, a] + ahead(free[n + 1], grid.ahead[i, a], grid.ahead[j, a])
                for a in range(len(prices))
            )
        for i in range(size):
            j = max(i - 1, 0)
            waited = np.cumsum(weights[n:] * grid.idle[i, : horizon - n])
            moves = [
                waited[k - 1] + ahead(buy[n + k], grid.later[i, k], grid.later[j, k]) for k in range(1, horizon - n)
            ]
            free[n, i] = min(buy[n, i], waited[-1], *moves)
    return free
