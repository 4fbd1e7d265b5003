"""A ladder's tables are the outlook at its rungs, and between rungs lines stay below."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from driftpace.planning.course import gaps_over
from driftpace.planning.ladder import Ladder, below, build, corners, crowded, spread
from driftpace.planning.menu import Menu, menu
from driftpace.planning.problem import Problem
from driftpace.planning.risks import Risks
from driftpace.typing import FloatArray
from tests.reference.ends_of_plans import small_problem
from tests.reference.planning_problems import BOUNDS

every_bound = pytest.mark.parametrize("bound", BOUNDS, ids=[name.replace(" ", "-") for name in BOUNDS])


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    problem: Problem
    risks: Risks
    menu: Menu
    distances: FloatArray

    def ladder(self, *, smooth: bool = False, up: bool = False) -> Ladder:
        return build(self.problem, self.risks, self.menu, self.distances, smooth=smooth, up=up)


def cases(seed: int, bound: str, number: int = 8) -> Iterator[Case]:
    rng = np.random.default_rng([seed, list(BOUNDS).index(bound)])
    while number:
        problem = small_problem(rng, bound=bound)
        risks = Risks.of(problem.outlook, problem.horizon)
        served = menu(problem, risks, each=5, ratio=1.4)
        if len(served.counts) > 0:
            distances = spread(problem, risks, served, int(rng.integers(3, 20)))
            if rng.random() < 0.5:
                distances = np.geomspace(distances[0], distances[-1], 6)
            yield Case(problem=problem, risks=risks, menu=served, distances=distances)
            number -= 1


def close(value: float) -> object:
    return pytest.approx(value, rel=1e-10, abs=1e-300)


@every_bound
def test_tables_are_the_outlook_at_the_rungs(seed: int, bound: str) -> None:
    for case in cases(seed, bound, 4):
        outlook, epsilon, ladder = case.problem.outlook, case.problem.epsilon, case.ladder()
        assert (np.diff(ladder.rungs) > 0.0).all()
        assert ladder.size == len(ladder.rungs)
        for i, distance in enumerate(np.sqrt(ladder.rungs).tolist()):
            assert ladder.risk[i, -1] == close(outlook.bound(distance, 0))
            for a, count in enumerate(case.menu.plain.counts.tolist()):
                risk = outlook.bound(distance, count)
                assert ladder.risk[i, a] == close(risk)
                assert ladder.gap[i, a] == pytest.approx(gaps_over([risk], epsilon)[0], rel=1e-8, abs=1e-9 * epsilon)
                assert ladder.ahead[i, a] == close(outlook.idle_distance(outlook.reach(risk), 1) ** 2)
            for k in range(case.problem.horizon + 1):
                later = outlook.idle_distance(distance, k)
                assert ladder.later[i, k] == close(later**2)
                gap = gaps_over([outlook.bound(later, 0)], epsilon)[0]
                assert ladder.idle[i, k] == pytest.approx(gap, rel=1e-8, abs=1e-9 * epsilon)


@every_bound
def test_the_start_is_a_rung(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        ladder = case.ladder()
        assert ladder.rungs[ladder.first] == case.problem.outlook.first_distance(0) ** 2


@every_bound
def test_rungs_ahead_are_below_or_above_what_they_stand_for(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        down, up = case.ladder(), case.ladder(up=True)
        top = down.rungs[-1]
        for ladder, squares, at in (
            (down, down.ahead, down.ahead_rung),
            (down, down.later, down.later_rung),
            (up, np.minimum(up.ahead, top), up.ahead_rung),
            (up, np.minimum(up.later, top), up.later_rung),
        ):
            if ladder is down:
                reached = squares >= ladder.rungs[0]
                assert (ladder.rungs[at] <= squares * (1.0 + 1e-11))[reached].all()
                above = ladder.rungs[np.minimum(at + 1, ladder.size - 1)]
                assert ((above > squares) | (at == ladder.size - 1)).all()
            else:
                assert (ladder.rungs[at] >= squares * (1.0 - 1e-11)).all()
                under = ladder.rungs[np.maximum(at - 1, 0)]
                assert ((under < squares) | (at == 0)).all()


@every_bound
def test_no_distance_of_a_plan_is_below_the_lowest_rung(seed: int, rng: np.random.Generator, bound: str) -> None:
    for case in cases(seed, bound):
        outlook, ladder = case.problem.outlook, case.ladder()
        lowest = math.sqrt(ladder.rungs[0])
        most = int(case.menu.counts[-1])
        for _ in range(30):
            distance = outlook.first_distance(0)
            for count in rng.choice([0, 1, most, most], size=case.problem.horizon).tolist():
                assert distance >= lowest
                risk = outlook.bound(distance, count)
                distance = outlook.idle_distance(outlook.reach(risk) if count else distance, 1)


def smooth_cases(seed: int) -> Iterator[Case]:
    for bound in BOUNDS:
        yield from (case for case in cases(seed, bound) if case.ladder(smooth=True).smooth)


def line(ladder: Ladder, table: FloatArray, squares: FloatArray) -> FloatArray:
    return np.array([np.interp(squares, ladder.rungs, column) for column in table.T]).T


def true_gaps(case: Case, squares: FloatArray) -> tuple[FloatArray, FloatArray]:
    distances = np.sqrt(squares)
    after = case.risks.after(distances, case.menu.counts)
    if case.menu.beyond:
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
        ladder = case.ladder(smooth=True)
        squares = rng.uniform(ladder.rungs[0], ladder.rungs[-1], 200)
        gap, idle = true_gaps(case, squares)
        tiny = 1e-11 * (case.problem.epsilon + gap.max() + idle.max())
        assert (line(ladder, ladder.gap, squares) <= gap + tiny).all()
        assert (line(ladder, ladder.idle, squares) <= idle + tiny).all()
        risk = case.risks.after(np.sqrt(squares), case.menu.plain.counts)
        ahead = np.square(case.risks.moved(case.risks.reach(risk), 1))
        width = risk.shape[1]
        assert (line(ladder, ladder.ahead, squares)[:, :width] <= ahead * (1.0 + 1e-11)).all()
        found += 1
    assert found >= 20


def test_gaps_that_are_not_lowered_are_above_the_true_ones_between_rungs(seed: int, rng: np.random.Generator) -> None:
    """The control: without lowering, the line from 0 to the first gap lies above the corner."""
    above = 0
    for case in smooth_cases(seed):
        rough = case.ladder()
        squares = rng.uniform(rough.rungs[0], rough.rungs[-1], 200)
        gap, idle = true_gaps(case, squares)
        over = max((line(rough, rough.gap, squares) - gap).max(), (line(rough, rough.idle, squares) - idle).max())
        above += over > 1e-3 * case.problem.epsilon
    assert above >= 10


@every_bound
def test_the_gap_of_the_purchase_before_is_never_more(seed: int, bound: str) -> None:
    """``before`` is below the gap of every purchase that leads to a rung or above it."""
    for case in cases(seed, bound):
        ladder, epsilon = case.ladder(), case.problem.epsilon
        width = len(case.menu.plain.counts)
        gaps = np.maximum(ladder.risk[:, :width] - epsilon, 0.0)
        assert (ladder.before[ladder.ahead_rung[:, :width]] <= gaps + 1e-12 * epsilon).all()


@every_bound
def test_corners_are_where_gaps_begin(seed: int, bound: str) -> None:
    for case in cases(seed, bound):
        outlook, epsilon = case.problem.outlook, case.problem.epsilon
        if outlook.bound(min(outlook.diameter, 1e9), 0) < epsilon:
            continue  # no gap begins anywhere
        found = corners(case.problem, case.risks, 0.0)
        for distance in found.tolist():
            later = [outlook.bound(outlook.idle_distance(distance, k), 0) for k in range(case.problem.horizon)]
            assert any(risk == pytest.approx(epsilon, rel=1e-9) for risk in later)


def test_below_takes_the_first_rung_where_there_is_none() -> None:
    rungs = np.array([1.0, 4.0, 9.0])
    assert below(rungs, np.array([[0.5, 1.0, 3.9], [4.0, 4.0 * (1.0 - 1e-14), 100.0]])).tolist() == [
        [0, 0, 0],
        [1, 1, 2],
    ]


@pytest.mark.parametrize("visited", [[0.5, 0.9], [1.0, 1.0], [0.01, 0.02], [20.0, 30.0]], ids=str)
def test_crowded_ladders_reach_as_far_and_are_dense_where_plans_go(visited: list[float]) -> None:
    distances = np.geomspace(0.1, 10.0, 40)
    found = crowded(distances, np.array(visited), 400)
    assert found[0] == pytest.approx(0.1)
    assert found[-1] == pytest.approx(10.0)
    assert (np.diff(found) > 0.0).all()
    inside = (found >= max(0.1, visited[0] / 1.1)) & (found <= min(10.0, visited[1] * 1.1))
    if inside.any() and visited[0] < 10.0 and visited[1] > 0.1:
        assert inside.sum() >= 320


def test_a_spread_reaches_over_all_that_a_plan_can_meet(seed: int) -> None:
    for bound in BOUNDS:
        for case in cases(seed, bound, 3):
            found = spread(case.problem, case.risks, case.menu, 30)
            assert found[-1] == pytest.approx(case.risks.widest)
            assert found[0] <= case.problem.outlook.first_distance(0)
            assert len(found) >= 30
