"""The least cost of a level: a lower bound on every plan, and on a grid that rounds up a feasible plan."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.planning.costs import affordable
from driftpace.planning.exact.grid import OutlookArrays, build_grid, order_sizes, spread_distances
from driftpace.planning.exact.largest_gap import LevelProgramme, WeightClasses
from driftpace.planning.problem import Problem, risk_gaps, risk_trajectory
from driftpace.typing import FloatArray, IntArray
from tests.reference.brute_force_plans import has_neighbours, values_of
from tests.reference.plan_completions import Completions, completions, on_grid, small_problem
from tests.reference.planning_problems import BOUNDS

TIE = 1.0 + 1e-9
KINDS = [(bound, gap, adjacent) for bound in BOUNDS for gap in ("largest", "run") for adjacent in (False, True)]
every_kind = pytest.mark.parametrize(
    ("bound", "gap", "adjacent"),
    KINDS,
    ids=[f"{b}-{g}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, g, a in KINDS],
)
SINGLES = [(bound, adjacent) for bound in BOUNDS for adjacent in (False, True)]
every_single_kind = pytest.mark.parametrize(
    ("bound", "adjacent"), SINGLES, ids=[f"{b}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, a in SINGLES]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A small problem with all its plans, on coarse grids rounded down and up, and levels: of plans, between them, and none."""

    problem: Problem
    down: LevelProgramme
    up: LevelProgramme
    most: int
    every: Completions
    values: FloatArray
    levels: FloatArray

    def cheapest(self, level: float) -> float:
        holds = self.values <= level
        return float(self.every.units[holds].min()) if holds.any() else math.inf

    def value(self, samples: IntArray) -> float:
        return self.problem.gap(
            risk_gaps(risk_trajectory(self.problem.outlook, samples.tolist()), self.problem.epsilon)
        )

    @property
    def wanders(self) -> bool:
        """Whether a fit may leave a model farther away than it was, so that distances are met which no grid has."""
        outlook = self.problem.outlook
        widest = math.sqrt(self.down.grid.points[-1])
        return outlook.idle_distance(outlook.reach(outlook.bound(widest, 1)), 0) > widest * TIE


@cache
def cases(seed: int, bound: str, gap: str, adjacent: bool) -> list[Case]:
    rng = np.random.default_rng([seed, KINDS.index((bound, gap, adjacent))])
    return [case for case in (_case(rng, bound, gap, adjacent) for _ in range(8)) if case is not None]


def _case(rng: np.random.Generator, bound: str, gap: str, adjacent: bool) -> Case | None:
    problem = small_problem(rng, bound=bound, gap=gap, adjacent=adjacent)
    most = affordable(problem.cost, problem.budget)
    if most == 0:
        return None
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    served = order_sizes(problem, risks, each=2_000 if rng.random() < 0.6 else 3, ratio=1.4)
    distances = spread_distances(problem, risks, served, int(rng.integers(4, 20)))
    weights = WeightClasses.of(problem.gap.shares(problem.horizon))  # type: ignore[attr-defined]
    rest = (weights, gap == "run", adjacent, not problem.bought_before)
    every = completions(problem, most)
    values = values_of(problem, every.gaps)
    levels = np.concatenate([[0.0], rng.choice(values, 4), rng.choice(values, 3) * rng.uniform(0.8, 1.2, 3)])
    return Case(
        problem=problem,
        down=LevelProgramme(build_grid(problem, risks, served, distances), *rest),
        up=LevelProgramme(build_grid(problem, risks, served.plain, distances, up=True), *rest),
        most=most,
        every=every,
        values=values,
        levels=np.sort(levels) * TIE,
    )


@every_kind
def test_no_plan_holds_a_level_for_less(seed: int, bound: str, gap: str, adjacent: bool) -> None:
    for case in cases(seed, bound, gap, adjacent):
        for level in case.levels.tolist():
            assert case.down.min_cost(level).money <= case.cheapest(level)


@every_single_kind
def test_no_end_of_a_plan_holds_a_level_for_less_than_the_money_on_the_way(
    seed: int, rng: np.random.Generator, bound: str, adjacent: bool
) -> None:
    for case in cases(seed, bound, "largest", adjacent)[:4]:
        grid = case.down.grid
        holdings = [(level, case.down.min_cost(level)) for level in case.levels.tolist()]
        shares = case.down.weights.each
        for first in range(max(0, case.problem.horizon - 2), case.problem.horizon):
            low, high = np.sqrt(grid.points[[0, -1]])
            for distance in [*np.exp(rng.uniform(math.log(low), math.log(high), 4)).tolist(), float(low), float(high)]:
                found = completions(case.problem, case.most, first=first, distance=distance)
                largest = (found.gaps * shares[first:]).max(axis=1)
                for level, holding in holdings:
                    holds = largest <= level
                    least = found.units[holds].min() if holds.any() else math.inf
                    assert on_grid(grid, holding.free[first], distance) <= least


def plans_that_hold(found: list[Case]) -> Iterator[tuple[Case, float, float, IntArray]]:
    for case in found:
        for level in case.levels.tolist():
            holding = case.up.min_cost(level)
            if holding.chosen is not None:
                yield case, level, holding.money, case.up.grid.sizes.samples(holding.chosen)


@every_kind
def test_what_is_chosen_is_a_plan_at_the_price_that_is_reported(
    seed: int, bound: str, gap: str, adjacent: bool
) -> None:
    for case, level, money, samples in plans_that_hold(cases(seed, bound, gap, adjacent)):
        problem = case.problem
        assert money == problem.cost.units(samples).sum()
        assert not adjacent or has_neighbours(samples.tolist(), bought_before=problem.bought_before)
        assert money >= case.down.min_cost(level).money


@every_single_kind
def test_rounded_up_what_is_chosen_holds_the_level(seed: int, bound: str, adjacent: bool) -> None:
    found = [case for case in cases(seed, bound, "largest", adjacent) if not case.wanders]
    assert bound == "gaussian" or found
    for case, level, _, samples in plans_that_hold(found):
        assert case.value(samples) <= level * TIE


def test_rounded_up_what_is_chosen_holds_the_level_where_a_fit_may_lead_farther_away(seed: int) -> None:
    """With m < M few samples may leave a model farther off than it was: its risk is known in one norm, its distance in another."""
    found = [case for bound, adjacent in SINGLES for case in cases(seed, bound, "largest", adjacent) if case.wanders]
    assert all(case.value(samples) <= level * TIE for case, level, _, samples in plans_that_hold(found))


@every_kind
def test_a_higher_level_never_costs_more(seed: int, bound: str, gap: str, adjacent: bool) -> None:
    for case in cases(seed, bound, gap, adjacent):
        for levels in (case.down, case.up):
            money = [levels.min_cost(level).money for level in case.levels.tolist()]
            assert all(before >= after for before, after in pairwise(money))


def test_finer_grids_bracket_the_cheapest_plan_more_narrowly(seed: int) -> None:
    """On the way the bracket closes: that is what the planners of levels rely on."""
    gaps = {8: [], 64: [], 512: []}  # type: dict[int, list[float]]
    for case in cases(seed, "anchored", "largest", False):
        risks = OutlookArrays.of(case.problem.outlook, case.problem.horizon)
        for size, found in gaps.items():
            served = order_sizes(case.problem, risks, each=2_000, ratio=1.01)
            distances = spread_distances(case.problem, risks, served, size)
            level = float(np.median(case.levels))
            cheapest = case.cheapest(level)
            if not math.isfinite(cheapest) or cheapest == 0.0:
                continue
            for up in (False, True):
                grid = build_grid(case.problem, risks, served.plain if up else served, distances, up=up)
                held = LevelProgramme(grid, case.up.weights, False, False, True).min_cost(level).money
                found.append(abs(min(held, 2.0 * cheapest) - cheapest) / cheapest)
    assert len(gaps[8]) >= 4
    assert np.mean(gaps[512]) <= np.mean(gaps[64]) <= np.mean(gaps[8])
    assert np.mean(gaps[512]) < 0.05


# Controls that must fail.


def test_rounded_up_the_money_is_no_lower_bound(seed: int) -> None:
    above = sum(
        case.up.min_cost(level).money > case.cheapest(level)
        for bound in BOUNDS
        for case in cases(seed, bound, "largest", False)
        for level in case.levels.tolist()
    )
    assert above > 0


def test_rounded_down_what_is_chosen_need_not_hold_the_level(seed: int) -> None:
    missed = 0
    for bound in BOUNDS:
        for case in cases(seed, bound, "largest", False):
            for level in case.levels.tolist():
                holding = case.down.min_cost(level)
                if holding.chosen is not None:
                    missed += case.value(case.down.grid.sizes.samples(holding.chosen)) > level * TIE
    assert missed > 0


def test_single_gaps_do_not_bound_the_money_of_runs_from_above(seed: int) -> None:
    """Holding every single gap costs less than holding runs of them, somewhere: the run is what is counted."""
    cheaper = 0
    for bound in BOUNDS:
        for case in cases(seed, bound, "run", False):
            single = LevelProgramme(case.down.grid, case.down.weights, False, False, True)
            cheaper += any(
                single.min_cost(level).money < case.down.min_cost(level).money for level in case.levels.tolist()
            )
            assert all(
                single.min_cost(level).money <= case.down.min_cost(level).money for level in case.levels.tolist()
            )
    assert cheaper > 0


WEIGHTS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=300).map(np.array)


@given(weights=WEIGHTS)
def test_no_class_is_above_the_weights_in_it(weights: np.ndarray) -> None:
    found = WeightClasses.of(weights)
    assert found.each is weights
    assert (found.lowered <= weights).all()
    assert (found.lowered == found.of_class[found.classes]).all()
    assert len(found.of_class) <= 48
    assert (np.diff(found.of_class) > 0.0).all()


@given(weights=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=200).map(np.array))
def test_few_weights_stay_what_they_are(weights: np.ndarray) -> None:
    assert (WeightClasses.of(weights).lowered == weights).all()


def test_the_largest_weight_of_many_is_not_lost() -> None:
    """A class is lowered to its least, so one heavy period among light ones keeps at least the weight of the next below it."""
    weights = np.append(np.linspace(1.0, 2.0, 500), 1e6)
    found = WeightClasses.of(weights)
    assert found.lowered[-1] >= 1.9
    assert (found.lowered[:-1] >= weights[:-1] - 2.0 / 47.0).all()


def test_rounding_to_the_nearest_class_would_not_be_lower() -> None:
    weights = np.linspace(1.0, 2.0, 500)
    found = WeightClasses.of(weights)
    nearest = found.of_class[np.abs(weights[:, None] - found.of_class).argmin(axis=1)]
    assert (nearest > weights).any()
