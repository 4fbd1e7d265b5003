"""The priced programme is a lower bound: at every grid point, between grid points, at every price, for every kind of bound."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

from driftpace.bounds import Anchored, LastIterate, NoiseModel
from driftpace.planning.costs import LinearCost, affordable, budget_units
from driftpace.planning.exact.dual import PricedProgramme, PricedSolution, maximise_dual
from driftpace.planning.exact.grid import (
    DistanceGrid,
    OrderSizes,
    OutlookArrays,
    build_grid,
    order_sizes,
    spread_distances,
)
from driftpace.planning.gaps import MeanGap
from driftpace.planning.problem import Outlook, Problem
from driftpace.records import Money
from driftpace.schedules import InverseTime
from driftpace.typing import FloatArray
from tests.reference.plan_completions import Completions, completions, on_grid, slow_values, small_problem
from tests.reference.planning_problems import BOUNDS

ROUNDING = 1e-12
KINDS = [(bound, adjacent) for bound in BOUNDS for adjacent in (False, True)]
every_kind = pytest.mark.parametrize(
    ("bound", "adjacent"), KINDS, ids=[f"{b}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, a in KINDS]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A small problem on a coarse grid, and prices from next to nothing to prohibitive."""

    problem: Problem
    grid: DistanceGrid
    most: int
    prices: FloatArray

    @property
    def pricing(self) -> PricedProgramme:
        return PricedProgramme(self.grid, self.weights, self.problem.adjacent, not self.problem.bought_before)

    @property
    def weights(self) -> FloatArray:
        assert isinstance(self.problem.gap, MeanGap)
        return self.problem.gap.shares(self.problem.horizon)

    @property
    def tiny(self) -> float:
        return ROUNDING * self.problem.outlook.bound(math.sqrt(self.grid.points[-1]), 0)

    def priced(self, found: Completions, price: float, first: int = 0) -> FloatArray:
        return found.gaps @ self.weights[first:] + price * found.units


def cases(seed: int, bound: str, adjacent: bool, number: int = 6) -> Iterator[Case]:
    rng = np.random.default_rng([seed, KINDS.index((bound, adjacent))])
    while number:
        problem = small_problem(rng, bound=bound, adjacent=adjacent)
        risks = OutlookArrays.of(problem.outlook, problem.horizon)
        served = order_sizes(problem, risks, each=2_000 if rng.random() < 0.6 else 3, ratio=1.4)
        most = affordable(problem.cost, problem.budget)
        if most == 0:
            continue
        distances = spread_distances(problem, risks, served, int(rng.integers(4, 14)))
        if rng.random() < 0.5:
            distances = np.geomspace(
                distances[0], distances[-1], 7
            )  # the corners of the gaps lie between the grid points
        worth = problem.outlook.bound(risks.widest, 0) / max(budget_units(problem.cost, problem.budget), 1)
        yield Case(
            problem=problem,
            grid=build_grid(problem, risks, served, distances, smooth=True),
            most=most,
            prices=worth * 10.0 ** rng.uniform(-3.0, 0.5, 3),
        )
        number -= 1


@every_kind
def test_no_plan_is_below_the_value_of_the_start(seed: int, bound: str, adjacent: bool) -> None:
    for case in cases(seed, bound, adjacent):
        every = completions(case.problem, case.most)
        for price in case.prices:
            field = case.pricing.solve(price)
            assert field.value <= case.priced(every, price).min() + case.tiny


def points(case: Case, rng: np.random.Generator) -> FloatArray:
    """Some grid points, and distances between grid points."""
    points = np.sqrt(case.grid.points)
    return np.concatenate([rng.choice(points, 3), np.exp(rng.uniform(math.log(points[0]), math.log(points[-1]), 5))])


@every_kind
def test_no_end_of_a_plan_is_below_the_values_on_the_way(
    seed: int, rng: np.random.Generator, bound: str, adjacent: bool
) -> None:
    for case in cases(seed, bound, adjacent, 3):
        solutions = [case.pricing.solve(price) for price in case.prices]
        for first in range(max(0, case.problem.horizon - 3), case.problem.horizon):
            for distance in points(case, rng).tolist():
                found = completions(case.problem, case.most, first=first, distance=distance)
                for field in solutions:
                    claimed = on_grid(case.grid, field.values.free[first], distance)
                    assert claimed <= case.priced(found, field.price, first).min() + case.tiny


@every_kind
def test_no_plan_is_below_the_bound_of_its_order_count(
    seed: int, rng: np.random.Generator, bound: str, adjacent: bool
) -> None:
    for case in cases(seed, bound, adjacent, 3):
        least = float(case.grid.sizes.cheapest[0])
        every = completions(case.problem, case.most)
        for price in case.prices[:2]:
            layers = case.pricing.solve_by_orders(price, case.problem.horizon)
            above = case.priced(every, price) - price * least * every.orders
            for number, layer in enumerate(layers):
                assert layer.value <= above[every.orders <= number].min() + case.tiny
            first = int(rng.integers(max(0, case.problem.horizon - 3), case.problem.horizon))
            for distance in points(case, rng)[2:6].tolist():
                found = completions(case.problem, case.most, first=first, distance=distance)
                rest = case.priced(found, price, first) - price * least * found.orders
                for number, layer in enumerate(layers):
                    claimed = on_grid(case.grid, layer.values.free[first], distance)
                    assert claimed <= rest[found.orders <= number].min() + case.tiny


@every_kind
def test_the_best_bound_over_prices_is_below_every_plan_within_the_budget(
    seed: int, bound: str, adjacent: bool
) -> None:
    for case in cases(seed, bound, adjacent):
        budget = budget_units(case.problem.cost, case.problem.budget)
        every = completions(case.problem, case.most)
        best = float((every.gaps[every.units <= budget] @ case.weights).min())
        dual = maximise_dual(case.pricing, float(budget), guess=None, accuracy=1e-3)
        assert dual.lower <= best + case.tiny
        assert dual.lower == max(each.value - each.price * budget for each in dual.solutions)
        assert dual.price in [each.price for each in dual.solutions]


def rough_ladder(case: Case) -> DistanceGrid:
    """The same grid points without lines between them."""
    risks = OutlookArrays.of(case.problem.outlook, case.problem.horizon)
    return build_grid(case.problem, risks, case.grid.sizes, np.sqrt(case.grid.points))


def rises(values: list[float], tiny: float) -> bool:
    return all(before <= after + tiny for before, after in pairwise(values))


@every_kind
def test_values_rise_with_the_price(seed: int, bound: str, adjacent: bool) -> None:
    for case in cases(seed, bound, adjacent, 3):
        rough = replace(case.pricing, grid=rough_ladder(case))
        solutions = [rough.solve(price) for price in np.geomspace(case.prices.min(), 10.0 * case.prices.max(), 9)]
        assert rises([field.value for field in solutions], case.tiny)
        for before, after in pairwise(solutions):
            assert (before.values.free <= after.values.free + case.tiny).all()


@every_kind
def test_values_fall_with_the_orders_allowed_and_rise_with_the_distance(seed: int, bound: str, adjacent: bool) -> None:
    for case in cases(seed, bound, adjacent, 3):
        rough = replace(case.pricing, grid=rough_ladder(case))
        layers = rough.solve_by_orders(case.prices[0], case.problem.horizon)
        assert rises([layer.value for layer in reversed(layers)], case.tiny)
        for layer in layers:
            assert (np.diff(layer.values.free, axis=1) >= -case.tiny).all()


def test_what_is_chosen_costs_what_is_reported(seed: int) -> None:
    for case in cases(seed, "anchored", False):
        for price in case.prices:
            field = case.pricing.solve(price)
            assert field.cost == case.grid.sizes.cheapest[field.chosen[field.chosen >= 0]].sum()
            assert len(field.chosen) == case.problem.horizon


def test_a_prohibitive_price_buys_nothing_and_a_price_of_nothing_everything() -> None:
    pricing, _ = smooth_case(Anchored(noise=1.0, features=3), horizon=6)
    nothing = pricing.solve(1e6)
    assert (nothing.chosen == -1).all()
    assert nothing.cost == 0.0
    assert pricing.solve(1e-12).cost > 0.0


# Short cuts lose nothing, and controls that must fail.

BY_SGD = LastIterate(
    m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0)
)  # affine in d^2
BY_SQUARES = Anchored(noise=0.5, features=2)  # concave in d^2
smooth_bounds = pytest.mark.parametrize("bound", [BY_SGD, BY_SQUARES], ids=["affine", "concave"])


def smooth_case(
    bound: LastIterate | Anchored, *, horizon: int = 3, size: int = 9, most: int = 40
) -> tuple[PricedProgramme, Problem]:
    problem = Problem(
        outlook=Outlook(bound=bound, rho=0.25, start=1.5),
        epsilon=0.07,
        budget=Money.of(10_000),
        horizon=horizon,
        cost=LinearCost(fixed=3),
        gap=MeanGap(),
    )
    risks = OutlookArrays.of(problem.outlook, horizon)
    served = OrderSizes.of(problem.cost, np.arange(1, most + 1))
    distances = np.geomspace(0.26, risks.widest, size)
    return PricedProgramme(
        build_grid(problem, risks, served, distances, smooth=True), np.full(horizon, 1.0 / horizon), False, True
    ), problem


PRICES = np.geomspace(1e-4, 1e-1, 7)


@smooth_bounds
def test_skipping_loses_nothing_where_steps_have_the_value_of_their_lower_end(bound: LastIterate | Anchored) -> None:
    pricing, problem = smooth_case(bound, horizon=5, most=100)
    rough = build_grid(problem, OutlookArrays.of(problem.outlook, 5), pricing.grid.sizes, np.sqrt(pricing.grid.points))
    for price in PRICES:
        slow = slow_values(rough, pricing.weights, price)
        np.testing.assert_allclose(replace(pricing, grid=rough).solve(price).values.free, slow, rtol=1e-13, atol=1e-16)


@smooth_bounds
def test_skipping_only_raises_values_between_straight_lines(bound: LastIterate | Anchored) -> None:
    """A whole chunk is left out where the true value of it cannot be less: then the bound may be higher, never lower."""
    pricing, _ = smooth_case(bound, horizon=4, most=100)
    for price in PRICES:
        slow = slow_values(pricing.grid, pricing.weights, price)
        assert (pricing.solve(price).values.free >= slow - 1e-13).all()


def least_at(problem: Problem, pricing: PricedProgramme, price: float, first: int, distance: float) -> float:
    found = completions(problem, int(pricing.grid.sizes.counts[-1]), first=first, distance=distance)
    return float((found.gaps @ pricing.weights[first:] + price * found.units).min())


def worst_excess(
    problem: Problem, pricing: PricedProgramme, free: FloatArray, price: float, distances: FloatArray
) -> float:
    """How far the lines claim more than the best end of a plan has, as a share of the target."""
    first = problem.horizon - 2
    over = [
        on_grid(pricing.grid, free[first], d) - least_at(problem, pricing, price, first, d) for d in distances.tolist()
    ]
    return max(over) / problem.epsilon


BETWEEN = np.linspace(0.27, 1.9, 40)


@smooth_bounds
def test_gaps_that_are_not_lowered_at_their_corners_claim_too_much(bound: LastIterate | Anchored) -> None:
    pricing, problem = smooth_case(bound, size=6, most=12)
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    grid = pricing.grid
    raw = replace(
        grid,
        gap=np.maximum(grid.risk[:, :-1] - problem.epsilon, 0.0),
        idle=np.maximum(risks.idle(np.sqrt(grid.later)) - problem.epsilon, 0.0),
    )
    honest = [worst_excess(problem, pricing, free_of(pricing, price), price, BETWEEN) for price in PRICES[::2]]
    assert max(honest) <= ROUNDING
    control = replace(pricing, grid=raw)
    assert max(worst_excess(problem, control, free_of(control, price), price, BETWEEN) for price in PRICES[::2]) > 1e-3


def free_of(pricing: PricedProgramme, price: float) -> FloatArray:
    field: PricedSolution = pricing.solve(price)
    return field.values.free


def test_reading_values_off_the_lines_where_a_move_crosses_grid_points_claims_too_much() -> None:
    """A gap begins at a grid point that a purchase crosses: values are convex there, and the chord of the move is above them."""
    problem = Problem(
        outlook=Outlook(bound=BY_SGD, rho=0.05, start=1.5),
        epsilon=0.4,
        budget=Money.of(10_000),
        horizon=2,
        cost=LinearCost(fixed=3),
        gap=MeanGap(),
    )
    edge = math.sqrt(2.0 * problem.epsilon)
    distances = edge * np.array([0.3, 0.6, 1.0, 1.6, 2.5, 4.0, 6.0])
    served = OrderSizes.of(problem.cost, np.arange(1, 4))
    grid = build_grid(problem, OutlookArrays.of(problem.outlook, 2), served, distances, smooth=True)
    pricing = PricedProgramme(grid, np.full(2, 0.5), False, True)
    between = np.linspace(distances[0], distances[-1], 60)
    over, honest = [], []
    for price in (1e-3, 3e-3, 4e-3, 6e-3):
        read_off = slow_values(grid, pricing.weights, price, flattest=False)
        over.append(worst_excess(problem, pricing, read_off, price, between))
        honest.append(worst_excess(problem, pricing, free_of(pricing, price), price, between))
    assert max(honest) <= ROUNDING
    assert max(over) > 1e-3
