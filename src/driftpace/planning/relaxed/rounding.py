"""Round real-valued samples to integers within the true budget: down, then spend the rest where it helps most."""

import heapq
from dataclasses import dataclass, field

import numpy as np

from driftpace.planning.costs import budget_units
from driftpace.planning.problem import Problem, risk_gaps
from driftpace.typing import FloatArray

_WHOLE = 1e-6
"""A real number this close below an integer is rounded up to it."""

_SAME = 1e-12
"""Distances that differ by less than this share are equal: from there on a change has no effect."""


def round_samples(problem: Problem, real: FloatArray, *, most: int) -> tuple[int, ...]:
    """Return integer samples close to ``real``, at most ``most`` each, within the budget.

    Every number is rounded down; if that still exceeds the budget (after an early stop of the solver), all are scaled down by one
    factor. With ``adjacent``, isolated samples get a neighbour or are dropped. The remaining money is spent step by step where a
    step lowers the value most for its price (with the squared gaps as tie-breaker), until no step helps or none is affordable.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.problem import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(70), horizon=4, cost=LinearCost(fixed=10), gap=MeanGap(),
    ... )
    >>> round_samples(problem, np.array([17.4, 0.2, 20.3, 0.3]), most=60)
    (27, 0, 23, 0)
    """
    cost, budget = problem.cost, budget_units(problem.cost, problem.budget)

    def down(factor: float) -> list[int]:
        return [int(count) for count in np.minimum(np.floor(factor * real + _WHOLE), most)]

    def within(samples: list[int]) -> bool:
        return int(cost.units(np.array(samples, dtype=np.int64)).sum()) <= budget

    samples = down(1.0)
    if not within(samples):
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if within(down(middle)) else (low, middle)
        samples = down(low)
    if problem.adjacent:
        for index in range(len(samples)):
            if not _is_isolated(problem, samples, index):
                continue
            beside = [other for other in (index - 1, index + 1) if 0 <= other < len(samples)]
            pair = samples.copy()
            if beside:
                pair[max(beside, key=lambda other: float(real[other]))] = 1
            if within(pair) and not _is_isolated(problem, pair, index):
                samples = pair
            else:
                samples[index] = 0
    path = _PlanPath(problem, samples)
    _spend(path, budget - int(cost.units(np.array(samples, dtype=np.int64)).sum()), most)
    return tuple(path.samples)


def _is_isolated(problem: Problem, samples: list[int], index: int) -> bool:
    return samples[index] > 0 and not _has_neighbour(problem, samples, index)


def _has_neighbour(problem: Problem, samples: list[int], index: int) -> bool:
    before = samples[index - 1] > 0 if index > 0 else problem.bought_before
    return before or (index + 1 < len(samples) and samples[index + 1] > 0)


@dataclass(slots=True)
class _PlanPath:
    """A plan with its risk trajectory; a change is propagated only as far as it has an effect."""

    problem: Problem
    samples: list[int]
    gaps: FloatArray = field(init=False)
    states: list[tuple[float | None, int]] = field(
        init=False
    )  # before each period: reach of the last fit, and its period
    value: float = field(init=False)
    square: float = field(init=False)
    _prices: dict[int, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.gaps, self.states = np.zeros(len(self.samples)), [(None, 0)] * (len(self.samples) + 1)
        gaps, states = self._propagate(0, self.samples[0], to_the_end=True)
        self._store(0, gaps, states)

    def gain(self, index: int, count: int) -> tuple[float, float]:
        """Return by how much the value and the sum of squared gaps decrease if ``count`` are bought in period ``index``."""
        part, _ = self._propagate(index, count)
        gaps = self.gaps.copy()
        gaps[index : index + len(part)] = part
        return self.value - self.problem.gap(gaps), self.square - float(gaps @ gaps)

    def buy(self, index: int, count: int) -> None:
        """Buy ``count`` in period ``index``."""
        gaps, states = self._propagate(index, count)
        self.samples[index] = count
        self._store(index, gaps, states)

    def price(self, count: int) -> int:
        """Return the price of ``count`` samples, in units."""
        if count not in self._prices:
            self._prices[count] = int(self.problem.cost.units(np.array([count], dtype=np.int64))[0])
        return self._prices[count]

    def largest(self, now: int, units: int, most: int) -> int:
        """Return the most samples, from ``now`` (affordable) to ``most``, that ``units`` pay for."""
        low, high = now, min(now + 1, most)
        while low < most and self.price(high) <= units:
            low, high = high, min(high + 2 * (high - now), most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.price(middle) <= units else (low, middle)
        return low

    def _propagate(
        self, index: int, count: int, *, to_the_end: bool = False
    ) -> tuple[FloatArray, list[tuple[float | None, int]]]:
        """Return the gaps from ``index`` on and the states after each if ``count`` are bought there, until nothing changes."""
        outlook = self.problem.outlook
        (reach, fitted), risks, states = self.states[index], list[float](), list[tuple[float | None, int]]()
        for at in range(index, len(self.samples)):
            bought = count if at == index else self.samples[at]
            if reach is None:
                distance = outlook.first_distance(at)
            else:
                distance = (outlook.fit_distance if bought else outlook.idle_distance)(reach, at - fitted)
            risks.append(outlook.bound(distance, bought))
            if bought:
                reach, fitted = outlook.reach(risks[-1]), at
            states.append((reach, fitted))
            if not to_the_end and _same_state(self.states[at + 1], states[-1]):
                break
        return risk_gaps(risks, self.problem.epsilon), states

    def _store(self, index: int, gaps: FloatArray, states: list[tuple[float | None, int]]) -> None:
        self.gaps[index : index + len(gaps)] = gaps
        self.states[index + 1 : index + 1 + len(states)] = states
        self.value, self.square = self.problem.gap(self.gaps), float(self.gaps @ self.gaps)


def _same_state(state: tuple[float | None, int], other: tuple[float | None, int]) -> bool:
    if state[0] is None or other[0] is None:
        return state[0] is other[0]
    return state[1] == other[1] and (state[0] == other[0] or abs(state[0] - other[0]) <= _SAME * state[0])


@dataclass(frozen=True, slots=True, order=True)
class _Step:
    """A purchase ordered by its value per price, negated, and the number of samples of the period after it."""

    worth: float
    squares_worth: float
    index: int
    count: int


def _spend(path: _PlanPath, left: int, most: int) -> None:
    """Spend ``left`` units step by step, re-evaluating steps lazily, and all of them before stopping."""
    helped = True
    while helped:
        helped, bought = False, 0
        queue = [(step, bought) for index in range(len(path.samples)) if (step := _best_step(path, index, left, most))]
        heapq.heapify(queue)
        while queue and path.square > 0.0:
            step, evaluated = heapq.heappop(queue)
            if evaluated < bought:
                if (again := _best_step(path, step.index, left, most)) is not None:
                    heapq.heappush(queue, (again, bought))
                continue
            left -= path.price(step.count) - path.price(path.samples[step.index])
            path.buy(step.index, step.count)
            helped, bought = True, bought + 1
            if (following := _best_step(path, step.index, left, most)) is not None:
                heapq.heappush(queue, (following, bought))


def _best_step(path: _PlanPath, index: int, left: int, most: int) -> _Step | None:
    """Return the step in period ``index`` with the best value for its price: a small one or, if that does not help, a large one."""
    now, problem = path.samples[index], path.problem
    if problem.adjacent and now == 0 and not _has_neighbour(problem, path.samples, index):
        return None
    paid = path.price(now)
    largest = path.largest(now, paid + left, most)
    if largest == now:
        return None
    small = _step(path, index, min(now + 1 + (largest - now) // (4 * len(path.samples)), largest))
    large = _step(path, index, largest) if now == 0 or small is None else None
    return min((step for step in (small, large) if step is not None), default=None)


def _step(path: _PlanPath, index: int, count: int) -> _Step | None:
    value, squares = path.gain(index, count)
    if value < -_SAME * path.value or (value <= _SAME * path.value and squares <= _SAME * path.square):
        return None
    price = max(path.price(count) - path.price(path.samples[index]), 1e-9)
    return _Step(-value / price, -squares / price, index, count)
