"""Solving for budget, target or horizon, against brute force, each other, and replanning."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from driftpace.bounds import Anchored, ConstantStep, LastIterate, NoiseModel
from driftpace.errors import ParameterError
from driftpace.planning import (
    LargestGap,
    LinearCost,
    MeanGap,
    Outlook,
    Problem,
    TieredCost,
    cheapest_plan,
    longest_plan,
    plan_exact,
    tightest_plan,
    trade_off,
)
from driftpace.planning.costs import affordable
from driftpace.planning.problem import Steps
from driftpace.records import Money, Plan
from driftpace.schedules import InverseTime
from tests.reference.brute_force_plans import best_of_all, every_plan, has_neighbours
from tests.reference.plan_completions import completions
from tests.reference.planning_problems import BOUNDS, Powers, random_problem

KINDS = [(bound, adjacent) for bound in BOUNDS for adjacent in (False, True)]
every_kind = pytest.mark.parametrize(
    ("bound", "adjacent"), KINDS, ids=[f"{b}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, a in KINDS]
)
TIE = 1e-9
one_or_more = pytest.mark.parametrize("number", [1, pytest.param(3, marks=pytest.mark.slow)])


def drawn(seed: int, bound: str, adjacent: bool, number: int = 3) -> Iterator[Problem]:
    rng = np.random.default_rng([seed, KINDS.index((bound, adjacent))])
    for _ in range(number):
        problem = random_problem(rng, bound=bound, gap="largest", adjacent=adjacent, plans=300)
        yield replace(problem, gap=LargestGap())


def units_of(problem: Problem, plan: Plan) -> int:
    return int(plan.spent.amount / problem.cost.unit)


def holds(problem: Problem, units: int) -> bool:
    """Whether any plan at all holds the target for so many units of money."""
    money = Money.of(max(units, 0) * problem.cost.unit, problem.cost.currency)
    return best_of_all(replace(problem, budget=money)).value == 0.0


# Against every plan.


@every_kind
def test_the_cheapest_plan_holds_the_target_and_no_plan_does_for_less(seed: int, bound: str, adjacent: bool) -> None:
    for problem in drawn(seed, bound, adjacent):
        best = best_of_all(problem)
        if best.value > 0.0:
            continue
        plan = cheapest_plan(problem, accuracy=0.0)
        assert plan.holds
        assert plan.spent == plan.budget
        assert units_of(problem, plan) == best.units
        assert holds(problem, best.units)
        assert best.units == 0 or not holds(problem, best.units - 1)


@one_or_more
@every_kind
def test_the_best_target_is_the_least_of_all_largest_risks(seed: int, bound: str, adjacent: bool, number: int) -> None:
    for problem in drawn(seed, bound, adjacent, number):
        plans, risks, _ = every_plan(problem)
        may = [not adjacent or has_neighbours(each, bought_before=problem.bought_before) for each in plans.tolist()]
        plan = tightest_plan(problem, accuracy=0.0)
        assert plan.epsilon == pytest.approx(risks[may].max(axis=1).min(), rel=TIE)
        assert plan.epsilon == max(plan.risks)
        assert plan.holds
        assert plan.spent.amount <= problem.budget.amount


def short_problem(**changed: Any) -> Problem:
    """A problem whose budget lasts for a few periods only."""
    parts: dict[str, Any] = {
        "outlook": Outlook(bound=Anchored(noise=0.5, features=2), rho=0.4, start=1.2),
        "epsilon": 0.1,
        "budget": Money.of(40),
        "horizon": 1,
        "cost": LinearCost(fixed=3),
        "gap": LargestGap(),
    }
    return Problem(**(parts | changed))


SHORT = {
    "anchored": short_problem(),
    "walk": short_problem(
        outlook=Outlook(bound=Powers(), rho=0.5, start=1.0, steps="walk"), epsilon=0.2, budget=Money.of(35)
    ),
    "printed": short_problem(
        outlook=Outlook(bound=Powers(), rho=0.3, start=1.0, steps="printed"), epsilon=0.3, budget=Money.of(35)
    ),
    "tiers": short_problem(cost=TieredCost(tiers=((1, 1), (6, "2.5"))), budget=Money.of("41.3")),
    "waits first": short_problem(
        outlook=Outlook(bound=Anchored(noise=0.5, features=2), rho=0.3, start=0.1), budget=Money.of(16)
    ),
    "neighbours": short_problem(adjacent=True),
    "neighbours before": short_problem(adjacent=True, bought_before=True),
    "two at once": short_problem(adjacent=True, budget=Money.of(24)),
}
LONGER = {"printed", "neighbours", "neighbours before"}  # "two at once" has neighbours too
each_short = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in LONGER else name for name in SHORT],
    ids=[name.replace(" ", "-") for name in SHORT],
)


def lasts(problem: Problem, horizon: int) -> bool:
    return best_of_all(replace(problem, horizon=horizon)).value == 0.0


@each_short
def test_the_longest_horizon_is_held_and_one_more_is_not(name: str) -> None:
    problem = SHORT[name]
    plan = longest_plan(problem, accuracy=0.0)
    assert plan.holds
    assert 1 <= plan.horizon <= 4
    assert plan.spent.amount <= problem.budget.amount
    assert lasts(problem, plan.horizon)
    assert not lasts(problem, plan.horizon + 1)
    if problem.adjacent:
        assert plan.horizon > 3 or not lasts(problem, plan.horizon + 2)


def test_neighbours_may_hold_two_periods_where_one_cannot_be_held() -> None:
    """The control: a single period can have no neighbour, so a search that stops at one period finds nothing."""
    problem = SHORT["two at once"]
    assert not lasts(problem, 1)
    assert lasts(problem, 2)
    assert longest_plan(problem).horizon == 2


def test_a_target_that_is_always_met_is_held_for_any_horizon() -> None:
    plan = longest_plan(short_problem(outlook=Outlook(bound=Powers(), rho=0.0, start=0.1), budget=Money.of(0)))
    assert plan.horizon > 5_000
    assert "for at least" in plan.reason
    assert plan.spent == Money.of(0)


# The three against each other, on problems too large for brute force.

BY_SGD = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=InverseTime(scale=2.0, shift=8.0))
WORLDS = {
    "anchored": Outlook(bound=Anchored(noise=1.0, features=5), rho=0.1, start=3.0),
    "sgd": Outlook(bound=BY_SGD, rho=0.3, start=2.0),
    "walk": Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=1.0, steps="walk"),
    "far": Outlook(bound=BY_SGD, rho=0.5, start=1.0, m=0.5, diameter=4.0),
}
each_world = pytest.mark.parametrize("world", WORLDS)
ACCURACY = 0.01


def larger_problem(world: str, **changed: Any) -> Problem:
    parts: dict[str, Any] = {
        "outlook": WORLDS[world],
        "epsilon": 0.1,
        "budget": Money.of(500, "EUR"),
        "horizon": 12,
        "cost": LinearCost(fixed=20, per_sample="0.5", currency="EUR"),
        "gap": MeanGap(),
    }
    return Problem(**(parts | changed))


@each_world
@pytest.mark.parametrize("budget", [500, *(pytest.param(each, marks=pytest.mark.slow) for each in (300, 2_000))])
def test_the_best_target_can_be_held_for_its_budget(world: str, budget: int) -> None:
    problem = larger_problem(world, budget=Money.of(budget, "EUR"))
    target = tightest_plan(problem, accuracy=ACCURACY)
    again = cheapest_plan(replace(problem, epsilon=target.epsilon * (1.0 + TIE)), accuracy=ACCURACY)
    assert float(again.spent) <= budget * (1.0 + ACCURACY)
    assert longest_plan(replace(problem, epsilon=target.epsilon * (1.0 + TIE)), accuracy=ACCURACY).horizon >= 12


@each_world
@pytest.mark.parametrize("epsilon", [0.4, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.05, 0.1))])
def test_the_cheapest_budget_holds_no_much_better_target(world: str, epsilon: float) -> None:
    problem = larger_problem(world, epsilon=epsilon)
    plan = cheapest_plan(problem, accuracy=ACCURACY)
    assert plan.holds
    assert max(plan.risks) <= epsilon * (1.0 + TIE)
    kept = replace(problem, budget=plan.spent)
    assert plan_exact(kept, accuracy=ACCURACY).value == 0.0
    assert tightest_plan(kept, accuracy=ACCURACY).epsilon <= epsilon * (1.0 + 2.0 * ACCURACY)
    assert longest_plan(kept, accuracy=ACCURACY).horizon >= 12
    if plan.spent.amount > 0:
        less = Money.of(round(float(plan.spent) * (1.0 - 2.0 * ACCURACY), 1), "EUR")
        assert plan_exact(replace(kept, budget=less), accuracy=ACCURACY).value > 0.0


@each_world
def test_more_money_never_holds_a_higher_target(world: str) -> None:
    problem = larger_problem(world, cost=LinearCost(fixed=5, currency="EUR"))
    curve = trade_off(problem, points=7, accuracy=ACCURACY)
    assert [point.budget.amount for point in curve] == sorted(point.budget.amount for point in curve)
    assert str(curve[-1].budget) == "1,000 EUR"
    for point in curve:
        assert 0.0 <= point.lower <= point.epsilon
    for less, more in pairwise(curve):
        assert more.lower <= less.epsilon
        assert more.epsilon <= less.epsilon * (1.0 + 2.0 * ACCURACY)
    assert curve[-1].epsilon < 0.5 * curve[0].epsilon


def test_a_curve_needs_two_points() -> None:
    with pytest.raises(ParameterError, match=r"trade_off\(points=\.\.\.\) must be a whole number of at least 2; got 1"):
        trade_off(larger_problem("sgd"), points=1)


# Planning again on the way.


def replanned(problem: Problem, accuracy: float) -> tuple[Plan, float, float]:
    """Plan, buy what the first period says, and plan again with what is left, to the end.

    Returns the first plan, what the gaps that were lived through amount to, and the most that they may, as far as is proven.
    """
    first = plan_exact(problem, accuracy=accuracy)
    outlook = problem.outlook
    mean = isinstance(problem.gap, MeanGap)
    shares = problem.gap.shares(problem.horizon)  # type: ignore[attr-defined]
    left, distance, bought = problem.budget, outlook.first_distance(0), problem.bought_before
    weighted, slack = [], 1.0
    for n in range(problem.horizon):
        rest = replace(
            problem,
            outlook=replace(outlook, start=distance),
            horizon=problem.horizon - n,
            budget=left,
            gap=problem.gap.later(n),
            bought_before=bought,
            first_period=problem.first_period + n,
        )
        plan = first if n == 0 else plan_exact(rest, accuracy=accuracy)
        slack *= 1.0 if n == 0 else 1.0 - plan.proven_gap
        weighted.append(shares[n] * plan.gaps[0])
        left -= plan.costs[0]
        bought = plan.samples[0] > 0
        distance = outlook.idle_distance(outlook.reach(plan.risks[0]) if bought else distance, 1)
    lived = sum(weighted) if mean else max(weighted)
    return first, float(lived), first.value / slack


def small_worlds(seed: int, bound: str, adjacent: bool) -> Iterator[Problem]:
    """Small problems of both goals, in the forms in which the distance is all that is carried from period to period."""
    rng = np.random.default_rng([seed, KINDS.index((bound, adjacent))])
    walks: tuple[Steps, ...] = ("worst", "walk")
    for gap in ("mean", "largest"):
        problem = random_problem(rng, bound=bound, gap=gap, adjacent=adjacent, plans=300)
        yield replace(problem, outlook=replace(problem.outlook, steps=walks[rng.choice(2)]))


@every_kind
def test_planning_again_in_every_period_reproduces_the_first_value(seed: int, bound: str, adjacent: bool) -> None:
    for problem in small_worlds(seed, bound, adjacent):
        first, lived, _ = replanned(problem, 0.0)
        assert lived == pytest.approx(first.value, rel=TIE, abs=1e-12 * problem.epsilon)


@pytest.mark.parametrize(
    "gap",
    [
        pytest.param(MeanGap(), marks=pytest.mark.slow),
        LargestGap(),
        pytest.param(MeanGap(tuple(range(1, 13))), marks=pytest.mark.slow),
    ],
    ids=["mean", "largest", "weights"],
)
@each_world
def test_planning_again_stays_within_what_is_proven(world: str, gap: MeanGap | LargestGap) -> None:
    problem = larger_problem(world, budget=Money.of(110, "EUR"), gap=gap)
    first, lived, most = replanned(problem, ACCURACY)
    assert first.value > 0.0
    assert first.lower * (1.0 - TIE) <= lived <= most * (1.0 + TIE)


def test_planning_again_with_all_the_money_again_is_detected() -> None:
    """The control: a planner that forgets what it spent lives through smaller gaps than any plan within the budget has."""
    problem = larger_problem("sgd", budget=Money.of(110, "EUR"))
    first = plan_exact(problem)
    outlook, distance, lived = problem.outlook, problem.outlook.first_distance(0), 0.0
    for n in range(problem.horizon):
        plan = plan_exact(replace(problem, outlook=replace(outlook, start=distance), horizon=problem.horizon - n))
        lived += plan.gaps[0] / problem.horizon
        distance = outlook.idle_distance(outlook.reach(plan.risks[0]) if plan.samples[0] else distance, 1)
    assert lived < first.lower


# What cannot be solved is said.


def test_a_target_below_what_samples_reach_is_rejected() -> None:
    noisy = Outlook(bound=ConstantStep(m=1.0, M=1.0, noise=NoiseModel(A=1.0, B=4.0), step=0.3), rho=0.1, start=1.0)
    with pytest.raises(
        ParameterError, match=r"plan\(epsilon=\.\.\.\) must be attainable with orders of at most 10,000,000 samples"
    ):
        cheapest_plan(larger_problem("sgd", outlook=noisy, epsilon=0.01))
    with pytest.raises(ParameterError, match=r"plan\(epsilon=\.\.\.\) must be attainable; got 0\.1"):
        cheapest_plan(short_problem(adjacent=True))  # a single period has no neighbour


def test_a_target_that_needs_more_samples_than_its_own_risk_is_found() -> None:
    """One period after a risk of epsilon no number of samples holds it, but with more samples the model gets nearer first."""
    bound = ConstantStep(m=1.0, M=1.0, noise=NoiseModel(A=0.01, B=4.0), step=0.3)
    problem = short_problem(outlook=Outlook(bound=bound, rho=0.1, start=0.3), epsilon=0.02, horizon=3)
    plan = cheapest_plan(problem, accuracy=0.0)
    most = affordable(problem.cost, plan.budget)
    every = completions(problem, min(most, 20))
    held = (every.gaps == 0.0).all(axis=1)
    assert plan.holds
    assert every.units[held].min() == units_of(problem, plan)


def test_a_budget_that_holds_nothing_is_rejected() -> None:
    with pytest.raises(
        ParameterError, match=r"plan\(budget=\.\.\.\) must meet the target of 0\.1 for at least one period; got 4"
    ):
        longest_plan(short_problem(budget=Money.of(4)))
