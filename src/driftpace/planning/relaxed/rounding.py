"""From real to whole numbers of samples within the true budget: rounded down, the rest spent where it helps most."""

import heapq
from dataclasses import dataclass, field

import numpy as np

from driftpace.planning.costs import budget_units
from driftpace.planning.outlook import risk_gaps
from driftpace.planning.problem import Problem
from driftpace.typing import FloatArray

_WHOLE = 1e-6
"""A real number this near below a whole one is that one."""

_SAME = 1e-12
"""Distances that differ by less than this share are one: from there on a change has no effect."""


def round_samples(problem: Problem, real: FloatArray, *, most: int) -> tuple[int, ...]:
    """Return whole numbers of samples near ``real``, of at most ``most`` each, that the budget pays for.

    Every number is rounded down; where that still costs too much (a solver that stopped early leaves such numbers) all are
    scaled down by one factor. Where the problem wants samples next to samples, one that is alone gets a neighbour, or goes.
    What is left of the money is then spent step by step where a step lowers the value most for its price (the squared gaps, where
    two do so alike), until no step helps or none can be paid.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.outlook import Outlook
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
            if not _is_alone(problem, samples, index):
                continue
            beside = [other for other in (index - 1, index + 1) if 0 <= other < len(samples)]
            pair = samples.copy()
            if beside:
                pair[max(beside, key=lambda other: float(real[other]))] = 1
            if within(pair) and not _is_alone(problem, pair, index):
                samples = pair
            else:
                samples[index] = 0
    walk = _Walk(problem, samples)
    _spend(walk, budget - int(cost.units(np.array(samples, dtype=np.int64)).sum()), most)
    return tuple(walk.samples)


def _is_alone(problem: Problem, samples: list[int], index: int) -> bool:
    return samples[index] > 0 and not _has_neighbour(problem, samples, index)


def _has_neighbour(problem: Problem, samples: list[int], index: int) -> bool:
    before = samples[index - 1] > 0 if index > 0 else problem.bought_before
    return before or (index + 1 < len(samples) and samples[index + 1] > 0)


@dataclass(slots=True)
class _Walk:
    """A plan, and the course of its risks, of which a change is followed only as far as it has an effect."""

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
        gaps, states = self._followed(0, self.samples[0], to_the_end=True)
        self._take(0, gaps, states)

    def gain(self, index: int, count: int) -> tuple[float, float]:
        """Return by how much the value and the sum of squared gaps fall were ``count`` bought in period ``index``."""
        part, _ = self._followed(index, count)
        gaps = self.gaps.copy()
        gaps[index : index + len(part)] = part
        return self.value - self.problem.gap(gaps), self.square - float(gaps @ gaps)

    def buy(self, index: int, count: int) -> None:
        """Buy ``count`` in period ``index``."""
        gaps, states = self._followed(index, count)
        self.samples[index] = count
        self._take(index, gaps, states)

    def price(self, count: int) -> int:
        """Return the price of ``count`` samples, in units."""
        if count not in self._prices:
            self._prices[count] = int(self.problem.cost.units(np.array([count], dtype=np.int64))[0])
        return self._prices[count]

    def largest(self, now: int, units: int, most: int) -> int:
        """Return the most samples, from ``now`` (which can be paid) to ``most``, that ``units`` pay for."""
        low, high = now, min(now + 1, most)
        while low < most and self.price(high) <= units:
            low, high = high, min(high + 2 * (high - now), most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.price(middle) <= units else (low, middle)
        return low

    def _followed(
        self, index: int, count: int, *, to_the_end: bool = False
    ) -> tuple[FloatArray, list[tuple[float | None, int]]]:
        """Return the gaps from ``index`` on and the states after each, were ``count`` bought there, until they are as before."""
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
            if not to_the_end and _alike(self.states[at + 1], states[-1]):
                break
        return risk_gaps(risks, self.problem.epsilon), states

    def _take(self, index: int, gaps: FloatArray, states: list[tuple[float | None, int]]) -> None:
        self.gaps[index : index + len(gaps)] = gaps
        self.states[index + 1 : index + 1 + len(states)] = states
        self.value, self.square = self.problem.gap(self.gaps), float(self.gaps @ self.gaps)


def _alike(one: tuple[float | None, int], other: tuple[float | None, int]) -> bool:
    if one[0] is None or other[0] is None:
        return one[0] is other[0]
    return one[1] == other[1] and (one[0] == other[0] or abs(one[0] - other[0]) <= _SAME * one[0])


@dataclass(frozen=True, slots=True, order=True)
class _Step:
    """One more purchase, the best first: what it is worth for its price, negative, and how many samples the period then has."""

    worth: float
    squares_worth: float
    index: int
    count: int


def _spend(walk: _Walk, left: int, most: int) -> None:
    """Spend ``left`` units step by step, looking at a step again when its turn comes; and at all of them before giving up."""
    helped = True
    while helped:
        helped, bought = False, 0
        queue = [(step, bought) for index in range(len(walk.samples)) if (step := _best_step(walk, index, left, most))]
        heapq.heapify(queue)
        while queue and walk.square > 0.0:
            step, seen = heapq.heappop(queue)
            if seen < bought:
                if (again := _best_step(walk, step.index, left, most)) is not None:
                    heapq.heappush(queue, (again, bought))
                continue
            left -= walk.price(step.count) - walk.price(walk.samples[step.index])
            walk.buy(step.index, step.count)
            helped, bought = True, bought + 1
            if (following := _best_step(walk, step.index, left, most)) is not None:
                heapq.heappush(queue, (following, bought))


def _best_step(walk: _Walk, index: int, left: int, most: int) -> _Step | None:
    """Return the step in period ``index`` that helps most for its price: a small one, or, where that is no use, a large one."""
    now, problem = walk.samples[index], walk.problem
    if problem.adjacent and now == 0 and not _has_neighbour(problem, walk.samples, index):
        return None
    paid = walk.price(now)
    largest = walk.largest(now, paid + left, most)
    if largest == now:
        return None
    small = _step(walk, index, min(now + 1 + (largest - now) // (4 * len(walk.samples)), largest))
    large = _step(walk, index, largest) if now == 0 or small is None else None
    return min((step for step in (small, large) if step is not None), default=None)


def _step(walk: _Walk, index: int, count: int) -> _Step | None:
    value, squares = walk.gain(index, count)
    if value < -_SAME * walk.value or (value <= _SAME * walk.value and squares <= _SAME * walk.square):
        return None
    price = max(walk.price(count) - walk.price(walk.samples[index]), 1e-9)
    return _Step(-value / price, -squares / price, index, count)
