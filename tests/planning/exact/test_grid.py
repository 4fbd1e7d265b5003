"""Order sizes cover every affordable number, and grid tables are lower bounds between grid points."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.bounds import Anchored
from driftpace.planning.costs import Cost, CustomCost, LinearCost, TieredCost, affordable
from driftpace.planning.exact.grid import (
    DistanceGrid,
    OrderSizes,
    OutlookArrays,
    build_grid,
    concentrated_distances,
    corner_distances,
    order_sizes,
    point_below,
    spread_distances,
)
from driftpace.planning.gaps import MeanGap
from driftpace.planning.problem import Outlook, Problem, risk_gaps
from driftpace.records import Money
from driftpace.typing import FloatArray
from tests.reference.plan_completions import small_problem
from tests.reference.planning_problems import BOUNDS

BOUND = Anchored(noise=1.0, features=3)
COSTS: list[Cost] = [
    LinearCost(fixed=20),
    LinearCost(per_sample="0.5", minimum=37),
    TieredCost(tiers=((1, "2.00"), (11, "0.10"), (300, "5")), fixed=1),
    CustomCost(lambda samples: 10.0 * -(-samples // 8)),
]
every_cost = pytest.mark.parametrize("cost", COSTS, ids=["linear", "minimum", "tiers", "boxes"])


def problem_of(**changed: Any) -> Problem:
    parts: dict[str, Any] = {
        "outlook": Outlook(bound=BOUND, rho=0.3, start=3.0),
        "epsilon": 0.05,
        "budget": Money.of(500),
        "horizon": 6,
        "cost": LinearCost(fixed=20),
        "gap": MeanGap(),
    }
    return Problem(**(parts | changed))


def served(problem: Problem, *, each: int = 2_000, ratio: float = 1.01) -> OrderSizes:
    return order_sizes(problem, OutlookArrays.of(problem.outlook, problem.horizon), each=each, ratio=ratio)


@given(
    cost=st.sampled_from(COSTS),
    budget=st.integers(0, 30_000),
    each=st.integers(1, 400),
    ratio=st.floats(1.01, 2.5),
    epsilon=st.floats(1e-4, 10.0),
)
def test_every_number_is_covered_at_no_more_than_its_price(
    cost: Cost, budget: int, each: int, ratio: float, epsilon: float
) -> None:
    problem = problem_of(cost=cost, budget=Money.of(budget), epsilon=epsilon)
    found = served(problem, each=each, ratio=ratio)
    most = affordable(cost, problem.budget)
    if most == 0:
        assert len(found.counts) == 0
        return
    numbers = np.unique(np.concatenate([np.arange(1, min(most, 5_000) + 1), [most]]))
    assert found.beyond or found.counts[-1] == most
    at = np.minimum(
        np.searchsorted(found.counts, numbers), len(found.counts) - 1
    )  # the entry that stands for each number
    stands_for_itself = found.counts[at] == numbers
    assert (found.cheapest[at] <= cost.units(numbers)).all()
    assert (found.price[at] == cost.units(found.counts[at])).all()
    larger = found.counts[at] >= numbers
    assert larger[:-1].all() or found.beyond
    assert stands_for_itself[numbers <= min(each, most)].all()
    assert (np.diff(found.counts) > 0).all()
    assert (np.diff(found.cheapest) >= 0.0).all()
    assert found.complete == (not found.beyond and len(found.counts) == most)


@every_cost
def test_every_number_has_at_least_the_risk_of_its_entry(cost: Cost) -> None:
    problem = problem_of(cost=cost, budget=Money.of(200_000), epsilon=2.0)
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    found = served(problem, each=10, ratio=1.3)
    assert found.beyond
    grid = build_grid(problem, risks, found, np.array([0.3, 1.0, 4.0]))
    most = affordable(cost, problem.budget)
    numbers = np.unique(np.rint(np.geomspace(1, most, 400)).astype(np.int64))
    at = np.minimum(np.searchsorted(found.counts, numbers), len(found.counts) - 1)
    true = risks.after(np.sqrt(grid.points), numbers)
    assert (grid.risk[:, at] <= true).all()


def test_without_an_entry_for_all_beyond_large_numbers_are_not_covered() -> None:
    """The control: the last entry's own risk is above that of larger numbers."""
    problem = problem_of(budget=Money.of(10**6), epsilon=2.0)
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    found = served(problem)
    assert found.beyond
    last = found.counts[-1:]
    assert (risks.after(np.array([3.0]), last) > risks.after(np.array([3.0]), 2 * last)).all()


def test_plain_entries_stand_for_themselves() -> None:
    found = served(problem_of(budget=Money.of(10**6), epsilon=2.0), each=10, ratio=1.5)
    plain = found.plain
    assert not plain.beyond
    assert (plain.counts == found.counts[:-1]).all()
    assert (plain.price == plain.cheapest).all()
    assert (plain.price == found.price[:-1]).all()


def test_samples_of_entries_and_entries_of_samples() -> None:
    found = OrderSizes.of(LinearCost(), np.array([1, 2, 4, 8]))
    assert found.samples(np.array([-1, 0, 3])).tolist() == [0, 1, 8]
    assert found.entries(np.array([0, 1, 3, 8, 100])).tolist() == [-1, 0, 1, 3, 3]
    assert found.cheapest.tolist() == [1.0, 2.0, 3.0, 5.0]
    assert not found.complete
    assert OrderSizes.of(LinearCost(), np.arange(1, 5)).complete


def test_a_budget_below_one_order_serves_nothing() -> None:
    assert len(served(problem_of(budget=Money.of(20))).counts) == 0


def test_numbers_above_ten_million_are_covered() -> None:
    outlook = Outlook(bound=replace(BOUND, noise=1e3), rho=0.3, start=1e3)
    problem = problem_of(outlook=outlook, budget=Money.of(10**12), horizon=2)
    found = served(problem)
    assert found.beyond or found.counts[-1] == affordable(problem.cost, problem.budget)


every_bound = pytest.mark.parametrize("bound", BOUNDS, ids=[name.replace(" ", "-") for name in BOUNDS])


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    problem: Problem
    risks: OutlookArrays
    sizes: OrderSizes
    distances: FloatArray

    def grid(self, *, smooth: bool = False, up: bool = False) -> DistanceGrid:
        return build_grid(self.problem, self.risks, self.sizes, self.distances, smooth=smooth, up=up)


def cases(seed: int, bound: str, number: int = 8) -> Iterator[Case]:
    rng = np.random.default_rng([seed, list(BOUNDS).index(bound)])
    while number:
        problem = small_problem(rng, bound=bound)
        risks = OutlookArrays.of(problem.outlook, problem.horizon)
        served = order_sizes(problem, risks, each=5, ratio=1.4)
        if len(served.counts) > 0:
            distances = spread_distances(problem, risks, served, int(rng.integers(3, 20)))
            if rng.random() < 0.5:
                distances = np.geomspace(distances[0], distances[-1], 6)
            yield Case(problem=problem, risks=risks, sizes=served, distances=distances)
            number -= 1


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-10, abs=1e-300)


@every_bound
def test_tables_are_the_outlook_at_the_grid_points(seed: int, bound: str) -> None:
    for case in cases(seed, bound, 4):
        outlook, epsilon, grid = case.problem.outlook, case.problem.epsilon, case.grid()
        assert (np.diff(grid.points) > 0.0).all()
        assert grid.size == len(grid.points)
        for i, distance in enumerate(np.sqrt(grid.points).tolist()):
            assert grid.risk[i, -1] == close(outlook.bound(distance, 0))
            for a, count in enumerate(case.sizes.plain.counts.tolist()):
                risk = outlook.bound(distance, count)
                assert grid.risk[i, a] == close(risk)
                assert grid.gap[i, a] == pytest.approx(risk_gaps([risk], epsilon)[0], rel=1e-8, abs=1e-9 * epsilon)
                assert grid.ahead[i, a] == close(outlook.idle_distance(outlook.reach(risk), 1) ** 2)
            for k in range(case.problem.horizon + 1):
                later = outlook.idle_distance(distance, k)
                assert grid.later[i, k] == close(later**2)
                gap = risk_gaps([outlook.bound(later, 0)], epsilon)[0]
                assert grid.idle[i, k] == pytest.approx(gap, rel=1e-8, abs=1e-9 * epsilon)


@every_bound
def test_the_start_is_a_grid_point(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        grid = case.grid()
        assert grid.points[grid.first] == case.problem.outlook.first_distance(0) ** 2


@every_bound
def test_points_ahead_are_below_or_above_what_they_stand_for(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        down, up = case.grid(), case.grid(up=True)
        top = down.points[-1]
        for grid, squares, at in (
            (down, down.ahead, down.ahead_point),
            (down, down.later, down.later_point),
            (up, np.minimum(up.ahead, top), up.ahead_point),
            (up, np.minimum(up.later, top), up.later_point),
        ):
            if grid is down:
                reached = squares >= grid.points[0]
                assert (grid.points[at] <= squares * (1.0 + 1e-11))[reached].all()
                above = grid.points[np.minimum(at + 1, grid.size - 1)]
                assert ((above > squares) | (at == grid.size - 1)).all()
            else:
                assert (grid.points[at] >= squares * (1.0 - 1e-11)).all()
                under = grid.points[np.maximum(at - 1, 0)]
                assert ((under < squares) | (at == 0)).all()


@every_bound
def test_no_distance_of_a_plan_is_below_the_lowest_grid_point(seed: int, rng: np.random.Generator, bound: str) -> None:
    for case in cases(seed, bound):
        outlook, grid = case.problem.outlook, case.grid()
        lowest = math.sqrt(grid.points[0])
        most = int(case.sizes.counts[-1])
        for _ in range(30):
            distance = outlook.first_distance(0)
            for count in rng.choice([0, 1, most, most], size=case.problem.horizon).tolist():
                assert distance >= lowest
                risk = outlook.bound(distance, count)
                distance = outlook.idle_distance(outlook.reach(risk) if count else distance, 1)


def smooth_cases(seed: int) -> Iterator[Case]:
    for bound in BOUNDS:
        yield from (case for case in cases(seed, bound) if case.grid(smooth=True).smooth)


def line(grid: DistanceGrid, table: FloatArray, squares: FloatArray) -> FloatArray:
    return np.array([np.interp(squares, grid.points, column) for column in table.T]).T


def true_gaps(case: Case, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    distances = np.sqrt(squares)
    after = case.risks.after(distances, case.sizes.counts)
    if case.sizes.beyond:
        after[:, -1] = 0.0
    waited = case.risks.moved(distances[:, None], np.arange(case.problem.horizon + 1))
    return (
        np.maximum(after - case.problem.epsilon, 0.0),
        np.maximum(case.risks.idle(waited) - case.problem.epsilon, 0.0),
    )


def test_between_points_of_a_smooth_grid_lines_are_below_gaps_and_distances(
    seed: int, rng: np.random.Generator
) -> None:
    found = 0
    for case in smooth_cases(seed):
        grid = case.grid(smooth=True)
        squares = rng.uniform(grid.points[0], grid.points[-1], 200)
        gap, idle = true_gaps(case, squares)
        tiny = 1e-11 * (case.problem.epsilon + gap.max() + idle.max())
        assert (line(grid, grid.gap, squares) <= gap + tiny).all()
        assert (line(grid, grid.idle, squares) <= idle + tiny).all()
        risk = case.risks.after(np.sqrt(squares), case.sizes.plain.counts)
        ahead = np.square(case.risks.moved(case.risks.reach(risk), 1))
        width = risk.shape[1]
        assert (line(grid, grid.ahead, squares)[:, :width] <= ahead * (1.0 + 1e-11)).all()
        found += 1
    assert found >= 20


def test_gaps_that_are_not_lowered_are_above_the_true_ones_between_grid_points(
    seed: int, rng: np.random.Generator
) -> None:
    """The control: without lowering, the line from 0 to the first gap lies above the corner."""
    above = 0
    for case in smooth_cases(seed):
        rough = case.grid()
        squares = rng.uniform(rough.points[0], rough.points[-1], 200)
        gap, idle = true_gaps(case, squares)
        over = max((line(rough, rough.gap, squares) - gap).max(), (line(rough, rough.idle, squares) - idle).max())
        above += over > 1e-3 * case.problem.epsilon
    assert above >= 10


@every_bound
def test_the_gap_of_the_purchase_before_is_never_more(seed: int, bound: str) -> None:
    """``before`` is below the gap of every purchase that leads to a grid point or above it."""
    for case in cases(seed, bound):
        grid, epsilon = case.grid(), case.problem.epsilon
        width = len(case.sizes.plain.counts)
        gaps = np.maximum(grid.risk[:, :width] - epsilon, 0.0)
        assert (grid.before[grid.ahead_point[:, :width]] <= gaps + 1e-12 * epsilon).all()


@every_bound
def test_corners_are_where_gaps_begin(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        outlook, epsilon = case.problem.outlook, case.problem.epsilon
        if outlook.bound(min(outlook.diameter, 1e9), 0) < epsilon:
            continue  # no gap begins anywhere
        found = corner_distances(case.problem, case.risks, 0.0)
        for distance in found.tolist():
            later = [outlook.bound(outlook.idle_distance(distance, k), 0) for k in range(case.problem.horizon)]
            assert any(risk == pytest.approx(epsilon, rel=1e-9) for risk in later)


def test_below_takes_the_first_point_where_there_is_none() -> None:
    points = np.array([1.0, 4.0, 9.0])
    assert point_below(points, np.array([[0.5, 1.0, 3.9], [4.0, 4.0 * (1.0 - 1e-14), 100.0]])).tolist() == [
        [0, 0, 0],
        [1, 1, 2],
    ]


@pytest.mark.parametrize("visited", [[0.5, 0.9], [1.0, 1.0], [0.01, 0.02], [20.0, 30.0]], ids=str)
def test_concentrated_grids_have_the_same_range_and_are_dense_around_the_plan(visited: list[float]) -> None:
    distances = np.geomspace(0.1, 10.0, 40)
    found = concentrated_distances(distances, np.array(visited), 400)
    assert found[0] == pytest.approx(0.1)
    assert found[-1] == pytest.approx(10.0)
    assert (np.diff(found) > 0.0).all()
    inside = (found >= max(0.1, visited[0] / 1.1)) & (found <= min(10.0, visited[1] * 1.1))
    if inside.any() and visited[0] < 10.0 and visited[1] > 0.1:
        assert inside.sum() >= 320


def test_a_spread_reaches_over_all_that_a_plan_can_meet(seed: int) -> None:
    for bound in BOUNDS:
        for case in cases(seed, bound, 3):
            found = spread_distances(case.problem, case.risks, case.sizes, 30)
            assert found[-1] == pytest.approx(case.risks.widest)
            assert found[0] <= case.problem.outlook.first_distance(0)
            assert len(found) >= 30
