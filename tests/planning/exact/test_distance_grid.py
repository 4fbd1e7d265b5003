"""A ladder's tables are the outlook at its rungs, and between rungs lines stay below."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from driftpace.planning.exact.grid import (
    DistanceGrid,
    OrderSizes,
    build_grid,
    concentrated_distances,
    corner_distances,
    order_sizes,
    point_below,
    spread_distances,
)
from driftpace.planning.exact.outlook_arrays import OutlookArrays
from driftpace.planning.outlook import risk_gaps
from driftpace.planning.problem import Problem
from driftpace.typing import FloatArray
from tests.reference.ends_of_plans import small_problem
from tests.reference.planning_problems import BOUNDS

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
def test_tables_are_the_outlook_at_the_rungs(seed: int, bound: str) -> None:
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
def test_the_start_is_a_rung(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        grid = case.grid()
        assert grid.points[grid.first] == case.problem.outlook.first_distance(0) ** 2


@every_bound
def test_rungs_ahead_are_below_or_above_what_they_stand_for(seed: int, bound: str) -> None:
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
def test_no_distance_of_a_plan_is_below_the_lowest_rung(seed: int, rng: np.random.Generator, bound: str) -> None:
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


def test_between_rungs_of_a_smooth_ladder_lines_are_below_gaps_and_distances(
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


def test_gaps_that_are_not_lowered_are_above_the_true_ones_between_rungs(seed: int, rng: np.random.Generator) -> None:
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
    """``before`` is below the gap of every purchase that leads to a rung or above it."""
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


def test_below_takes_the_first_rung_where_there_is_none() -> None:
    points = np.array([1.0, 4.0, 9.0])
    assert point_below(points, np.array([[0.5, 1.0, 3.9], [4.0, 4.0 * (1.0 - 1e-14), 100.0]])).tolist() == [
        [0, 0, 0],
        [1, 1, 2],
    ]


@pytest.mark.parametrize("visited", [[0.5, 0.9], [1.0, 1.0], [0.01, 0.02], [20.0, 30.0]], ids=str)
def test_crowded_ladders_reach_as_far_and_are_dense_where_plans_go(visited: list[float]) -> None:
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
