"""Rolled-out, spliced and improved plans: feasible, and never worse than the plans they are made of."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from driftpace.bounds import LastIterate, NoiseModel
from driftpace.planning.costs import LinearCost, affordable, budget_units
from driftpace.planning.exact.dual import LocalSearch, PricedProgramme, maximise_dual
from driftpace.planning.exact.grid import OutlookArrays, build_grid, order_sizes, spread_distances
from driftpace.planning.gaps import LargestRun
from driftpace.planning.problem import Outlook, Problem, Steps, risk_gaps, risk_trajectory
from driftpace.records import Money
from driftpace.schedules import InverseTime
from driftpace.typing import IntArray
from tests.reference.brute_force_plans import best_of_all, has_neighbours
from tests.reference.plan_completions import small_problem
from tests.reference.planning_problems import BOUNDS, GAPS

KINDS = [(bound, gap, adjacent) for bound in BOUNDS for gap in GAPS for adjacent in (False, True)]
every_kind = pytest.mark.parametrize(
    ("bound", "gap", "adjacent"),
    KINDS,
    ids=[f"{b}-{g}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, g, a in KINDS],
)
AFFINE = ("last iterate", "constant step")
SMOOTH = (*AFFINE, "anchored", "gaussian")
BY_SGD = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0))
every_affine_kind = pytest.mark.parametrize(
    ("bound", "gap"),
    [(b, g) for b in AFFINE for g in GAPS],
    ids=[f"{b}-{g}".replace(" ", "-") for b in AFFINE for g in GAPS],
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    problem: Problem
    local: LocalSearch

    @property
    def budget(self) -> int:
        return budget_units(self.problem.cost, self.problem.budget)

    @property
    def pricing(self) -> PricedProgramme:
        shares = self.problem.gap.shares(self.problem.horizon)  # type: ignore[attr-defined]
        return PricedProgramme(self.local.grid, shares, self.problem.adjacent, not self.problem.bought_before)

    @property
    def exact(self) -> bool:
        """Whether the workbench's own view of a plan is the true one: affine risks, and no fit that leads farther away."""
        outlook, widest = self.problem.outlook, float(np.sqrt(self.local.grid.points[-1]))
        return outlook.reach(outlook.bound(widest, 1)) <= widest * (1.0 + 1e-9)

    def samples(self, plan: IntArray) -> IntArray:
        return self.local.grid.sizes.samples(plan)

    def value(self, plan: IntArray) -> float:
        risks = risk_trajectory(self.problem.outlook, self.samples(plan).tolist())
        return self.problem.gap(risk_gaps(risks, self.problem.epsilon))

    def allowed(self, plan: IntArray) -> bool:
        bought_before, samples = self.problem.bought_before, self.samples(plan)
        return not self.problem.adjacent or has_neighbours(samples.tolist(), bought_before=bought_before)

    def sound(self, plan: IntArray) -> bool:
        """Whether a plan has an entry or none in every period, is lawful, and costs what the workbench says."""
        counts = len(self.local.tables.prices)
        entries = plan.shape == (self.problem.horizon,) and plan.min() >= -1 and plan.max() < counts
        return bool(
            entries
            and self.allowed(plan)
            and self.local.cost(plan) == self.problem.cost.units(self.samples(plan)).sum()
        )


def cases(seed: int, bound: str, gap: str, adjacent: bool = False, number: int = 6) -> Iterator[Case]:
    rng = np.random.default_rng([seed, KINDS.index((bound, gap, adjacent))])
    while number:
        problem = small_problem(rng, bound=bound, gap=gap, adjacent=adjacent, plans=400)
        if affordable(problem.cost, problem.budget) > 0:
            yield case_of(problem)
            number -= 1


def case_of(problem: Problem) -> Case:
    risks = OutlookArrays.of(problem.outlook, problem.horizon)
    served = order_sizes(problem, risks, each=2_000, ratio=1.01)
    grid = build_grid(problem, risks, served, spread_distances(problem, risks, served, 60), smooth=True)
    budget = float(budget_units(problem.cost, problem.budget))
    return Case(problem=problem, local=LocalSearch.of(problem, risks, grid, budget))


def random_plans(case: Case, rng: np.random.Generator, number: int = 12) -> list[IntArray]:
    """Lawful plans, dear and cheap."""
    counts = len(case.local.tables.prices)
    found = [np.full(case.problem.horizon, -1)]
    while len(found) < number:
        entries = rng.integers(0, counts, case.problem.horizon)
        plan = np.where(rng.random(case.problem.horizon) < rng.random(), entries, -1)
        found += [plan] if case.allowed(plan) else []
    return found


def affordable_plans(case: Case, rng: np.random.Generator) -> list[IntArray]:
    return [plan for plan in random_plans(case, rng) if case.local.cost(plan) <= case.budget]


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("steps", ["worst", "walk"])
def test_the_value_of_a_plan_is_the_true_one_where_risks_are_affine(
    rng: np.random.Generator, steps: Steps, gap: str
) -> None:
    """From 0.6 on, one sample brings the risk below that of none: no corner, and lines between grid points are the risk itself."""
    problem = Problem(
        outlook=Outlook(bound=BY_SGD, rho=0.6, start=1.5, steps=steps),
        epsilon=0.07,
        budget=Money.of(200),
        horizon=6,
        cost=LinearCost(fixed=2),
        gap=GAPS[gap](None),
    )
    case = case_of(problem)
    for plan in random_plans(case, rng, 60):
        value, same = case.local.improve(plan, enough=0.0, rounds=0)
        assert (same == plan).all()
        assert value == pytest.approx(case.value(plan), rel=1e-10, abs=0.0)


@pytest.mark.parametrize("gap", ["mean", "largest"])
@pytest.mark.parametrize("bound", SMOOTH, ids=[name.replace(" ", "-") for name in SMOOTH])
def test_the_value_of_a_plan_is_never_above_the_true_one_where_risks_are_concave(
    seed: int, rng: np.random.Generator, bound: str, gap: str
) -> None:
    for case in cases(seed, bound, gap):
        for plan in random_plans(case, rng):
            value, _ = case.local.improve(plan, enough=0.0, rounds=0)
            assert value <= case.value(plan) + 1e-11 * (case.value(plan) + case.problem.epsilon)


@every_kind
def test_improved_plans_are_within_the_budget_and_never_worse(
    seed: int, rng: np.random.Generator, bound: str, gap: str, adjacent: bool
) -> None:
    better = 0
    for case in cases(seed, bound, gap, adjacent):
        for plan in affordable_plans(case, rng):
            before, start = case.local.improve(plan, enough=0.0, rounds=0)[0], plan.copy()
            value, found = case.local.improve(plan, enough=0.0, rounds=40)
            assert (plan == start).all()
            assert case.sound(found)
            assert case.local.cost(found) <= case.budget
            assert value <= before * (1.0 + 1e-12)
            assert value == pytest.approx(case.local.improve(found, enough=0.0, rounds=0)[0], rel=1e-9, abs=1e-15)
            better += value < before
    assert better > 0 or adjacent or bound == "fresh rows"  # there few changes of a single period help


@every_affine_kind
def test_improved_plans_come_near_the_best_of_all(seed: int, rng: np.random.Generator, bound: str, gap: str) -> None:
    """Small changes from a dozen plans: the best of all is among them in most problems, and none is below it."""
    reached, asked = 0, 0
    for case in cases(seed, bound, gap, number=10):
        best = best_of_all(case.problem)
        found = [case.value(case.local.improve(plan, enough=0.0, rounds=80)[1]) for plan in affordable_plans(case, rng)]
        assert min(found) >= best.value * (1.0 - 1e-12)
        if best.value > 0.0:
            asked, reached = asked + 1, reached + (min(found) <= best.value * 1.02)
    assert reached >= asked // 2


def test_enough_is_enough(seed: int, rng: np.random.Generator) -> None:
    for case in cases(seed, "last iterate", "mean"):
        for plan in affordable_plans(case, rng):
            now = case.local.improve(plan, enough=0.0, rounds=0)[0]
            value, same = case.local.improve(plan, enough=2.0 * now + 1.0, rounds=40)
            assert value == now
            assert (same == plan).all()


@every_kind
def test_splices_follow_one_plan_first_and_the_other_later(
    seed: int, rng: np.random.Generator, bound: str, gap: str, adjacent: bool
) -> None:
    for case in cases(seed, bound, gap, adjacent, 3):
        plans = random_plans(case, rng, 5)
        for left in plans:
            for right in plans:
                value, found = case.local.splice(left, right)
                every = [np.concatenate([left[:cutoff], right[cutoff:]]) for cutoff in range(case.problem.horizon + 1)]
                may = [each for each in every if case.allowed(each) and case.local.cost(each) <= case.budget]
                if not may:
                    assert np.isinf(value)
                    continue
                assert any((found == each).all() for each in may)
                least = min(case.local.improve(each, enough=0.0, rounds=0)[0] for each in may)
                assert value == pytest.approx(least, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("adjacent", [False, True], ids=["free", "neighbours"])
@pytest.mark.parametrize("bound", BOUNDS, ids=[name.replace(" ", "-") for name in BOUNDS])
def test_solutions_and_layers_roll_out_to_feasible_plans(seed: int, bound: str, adjacent: bool) -> None:
    for case in cases(seed, bound, "mean", adjacent):
        dual = maximise_dual(case.pricing, float(case.budget), guess=None, accuracy=1e-3)
        for field in dual.solutions:
            assert case.sound(case.local.roll_out(field))
        if adjacent:
            continue
        layers = case.pricing.solve_by_orders(dual.price, case.problem.horizon)
        for orders in range(case.problem.horizon + 1):
            plan = case.local.roll_out_limited(dual.price, layers, orders)
            assert case.sound(plan)
            assert np.count_nonzero(plan >= 0) <= orders


@pytest.mark.parametrize("bound", AFFINE, ids=[name.replace(" ", "-") for name in AFFINE])
def test_a_plan_rolled_along_true_distances_is_worth_what_its_price_says(seed: int, bound: str) -> None:
    """gaps + price cost of the plan is at least the field's value, and on a fine grid hardly more."""
    excess = []
    for case in cases(seed, bound, "mean", number=12):
        if not case.exact:
            continue
        for field in maximise_dual(case.pricing, float(case.budget), guess=None, accuracy=1e-3).solutions:
            plan = case.local.roll_out(field)
            total = case.value(plan) + field.price * case.local.cost(plan)
            assert total >= field.value * (1.0 - 1e-9)
            excess.append(total / field.value - 1.0 if field.value > 0.0 else 0.0)
    assert np.median(excess) < 0.01


def test_saws_have_gaps_that_fall_between_their_teeth(seed: int) -> None:
    seen = 0
    for bound in AFFINE:
        for case in cases(seed, bound, "run", number=10):
            if not case.exact:
                continue
            nothing = case.value(np.full(case.problem.horizon, -1))
            for plan in case.local.sawtooth_plans(0.0, nothing):
                assert case.sound(plan)
                assert case.local.cost(plan) <= case.budget
                gaps = risk_gaps(
                    risk_trajectory(case.problem.outlook, case.samples(plan).tolist()), case.problem.epsilon
                )
                assert isinstance(case.problem.gap, LargestRun)
                seen += bool((gaps > 0.0).any())
    assert seen > 0


def test_a_workbench_that_knows_another_budget_spends_more(seed: int, rng: np.random.Generator) -> None:
    """The control: what holds plans within the money is the budget that the workbench was given."""
    over = 0
    for case in cases(seed, "last iterate", "mean"):
        risks = OutlookArrays.of(case.problem.outlook, case.problem.horizon)
        rich = LocalSearch.of(case.problem, risks, case.local.grid, 10.0 * case.budget)
        _, found = rich.improve(np.full(case.problem.horizon, -1), enough=0.0, rounds=40)
        over += case.local.cost(found) > case.budget
    assert over > 0
