"""The exact planner against brute force, on small problems of every kind."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from driftpace.bounds import LastIterate, NoiseModel
from driftpace.planning.costs import CustomCost, TieredCost
from driftpace.planning.gaps import CustomGap, LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, evaluate_plan, risk_gaps
from driftpace.records import Money
from driftpace.schedules import InverseTime
from driftpace.typing import FloatArray
from tests.reference.brute_force_plans import (
    BruteForceOptimum,
    best_of_all,
    complaints,
    every_plan,
    has_neighbours,
    has_the_rows_on_values,
    unsound,
    untrue,
    values_of,
)
from tests.reference.planning_problems import BOUNDS, GAPS, Powers, random_problem

EACH = 6
KINDS = [(bound, gap, adjacent) for bound in BOUNDS for gap in GAPS for adjacent in (False, True)]
every_kind = pytest.mark.parametrize(
    ("bound", "gap", "adjacent"),
    KINDS,
    ids=[f"{b}-{g}-{'neighbours' if a else 'free'}".replace(" ", "-") for b, g, a in KINDS],
)


one_or_more = pytest.mark.parametrize("number", [1, pytest.param(EACH, marks=pytest.mark.slow)])


@cache
def drawn(
    seed: int, bound: str, gap: str, adjacent: bool, number: int = EACH
) -> list[tuple[Problem, BruteForceOptimum]]:
    """Return random problems of one kind with their optimal plans; the first ones are the same for every number."""
    rng = np.random.default_rng([seed, KINDS.index((bound, gap, adjacent))])
    problems = [random_problem(rng, bound=bound, gap=gap, adjacent=adjacent) for _ in range(number)]
    return [(problem, best_of_all(problem)) for problem in problems]


@one_or_more
@every_kind
def test_equals_the_best_of_all_plans(seed: int, bound: str, gap: str, adjacent: bool, number: int) -> None:
    from driftpace.planning.exact.planner import plan_exact

    wrong = []
    for problem, best in drawn(seed, bound, gap, adjacent, number):
        found = complaints(problem, plan_exact(problem, accuracy=0.0), best)
        wrong += [f"{complaint}\n    {problem}" for complaint in found]
    assert not wrong, "\n".join(wrong)


@one_or_more
@every_kind
def test_the_interval_contains_the_optimum(seed: int, bound: str, gap: str, adjacent: bool, number: int) -> None:
    from driftpace.planning.exact.planner import plan_exact

    wrong = []
    for problem, best in drawn(seed, bound, gap, adjacent, number)[::4]:
        plan = plan_exact(problem, accuracy=0.05)
        found = unsound(problem, plan) + untrue(plan, best)
        if plan.proven_gap > 0.05:
            found.append(f"stops at a gap of {plan.proven_gap}")
        wrong += [f"{complaint}\n    {problem}" for complaint in found]
    assert not wrong, "\n".join(wrong)


SCHEDULE = InverseTime(scale=2.0, shift=8.0)
BY_SGD = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=0.16, B=4.0), schedule=SCHEDULE)
UP_TO_12 = TieredCost(tiers=((1, 1), (13, 10_000)), fixed=2)


@pytest.mark.parametrize("gap", [MeanGap(), LargestGap(), LargestRun()], ids=["mean", "largest", "run"])
@pytest.mark.parametrize("horizon", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_equals_the_best_of_all_plans_of_up_to_12_samples(gap: MeanGap | LargestGap | LargestRun, horizon: int) -> None:
    """Up to five periods (371,293 plans) with 0 to 12 samples each; the budget pays for 12 samples in every period."""
    from driftpace.planning.exact.planner import plan_exact

    problem = Problem(
        outlook=Outlook(bound=BY_SGD, rho=0.6, start=1.5),
        epsilon=0.07,
        budget=Money.of(14 * horizon),
        horizon=horizon,
        cost=UP_TO_12,
        gap=gap,
    )
    best = best_of_all(problem)
    assert best.tried == 13**horizon
    assert not complaints(problem, plan_exact(problem, accuracy=0.0), best)


def two_worst(gaps: FloatArray) -> float:
    return float(np.sort(gaps)[-2:].sum())


def squares(gaps: FloatArray) -> float:
    return float((gaps * gaps).sum())


@pytest.mark.parametrize(
    "bounds", [("anchored",), pytest.param(tuple(BOUNDS), marks=pytest.mark.slow)], ids=["one-bound", "every-bound"]
)
@pytest.mark.parametrize("adjacent", [False, True], ids=["free", "neighbours"])
@pytest.mark.parametrize(
    "own",
    [CustomGap(two_worst, "the two largest gaps"), CustomGap(squares, "squared gaps")],
    ids=["two-worst", "squares"],
)
def test_the_interval_of_a_custom_goal_holds_the_best_value(
    seed: int, own: CustomGap, adjacent: bool, bounds: tuple[str, ...]
) -> None:
    """A custom objective is only known to be monotone: the proven bound may be weak, but it must be valid."""
    from driftpace.planning.exact.planner import plan_exact

    wrong = []
    for bound in bounds:
        for problem, _ in drawn(seed, bound, "mean", adjacent, 1):
            custom = replace(problem, gap=own)
            plan, best = plan_exact(custom), best_of_all(custom)
            found = unsound(custom, plan) + untrue(plan, best)
            wrong += [f"{complaint}\n    {custom}" for complaint in found]
    assert not wrong, "\n".join(wrong)


# The references themselves, and controls that must fail.


@every_kind
def test_brute_force_counts_as_the_plan_does(seed: int, bound: str, gap: str, adjacent: bool) -> None:
    for problem, _ in drawn(seed, bound, gap, adjacent, 1):
        plans, risks, units = every_plan(problem)
        values = values_of(problem, risk_gaps(risks, problem.epsilon))  # type: ignore[arg-type]
        for row in range(0, len(plans), max(1, len(plans) // 40)):
            plan = evaluate_plan(problem, plans[row].tolist(), method="by hand", reason="one of all")
            assert plan.risks == tuple(risks[row])
            assert plan.value == pytest.approx(values[row], rel=1e-13, abs=0.0)
            assert plan.spent.amount == int(units[row]) * problem.cost.unit


def test_problems_are_of_every_sort(seed: int) -> None:
    """Plans that buy nothing, that reach the target, that idle between orders, that stay above it: all are among the best ones."""
    bests = [pair for bound, gap, adjacent in KINDS[::3] for pair in drawn(seed, bound, gap, adjacent)]
    sorts = {
        "nothing is bought": sum(not any(best.samples) for _, best in bests),
        "the target is met": sum(best.value == 0.0 and any(best.samples) for _, best in bests),
        "the target is missed": sum(best.value > 0.0 and any(best.samples) for _, best in bests),
        "a period is left out": sum(0 in best.samples[np.argmax(np.array(best.samples) > 0) :] for _, best in bests),
        "money is left": sum(2 * best.units < p.budget.amount / p.cost.unit for p, best in bests),
        "the first period is not the first bought": sum(
            best.samples[0] == 0 and any(best.samples) for _, best in bests
        ),
    }
    assert all(count >= len(bests) // 40 for count in sorts.values()), sorts


def test_neighbours_have_corrected_ends() -> None:
    for samples, alone, after_samples in (
        ((0, 0, 0), True, True),
        ((1, 0, 0), False, True),
        ((0, 0, 1), False, False),
        ((0, 1, 1), True, True),
        ((1, 1, 0), True, True),
        ((1, 0, 1), False, False),
        ((0, 1, 0), False, False),
    ):
        assert has_neighbours(samples, bought_before=False) is alone
        assert has_neighbours(samples, bought_before=True) is after_samples


def test_a_planner_with_another_bound_is_detected(seed: int) -> None:
    told, asked = 0, 0
    for gap in GAPS:
        for problem, best in drawn(seed, "powers", gap, False):
            bound = problem.outlook.bound
            assert isinstance(bound, Powers)
            if best.value == 0.0:
                continue
            mistaken = replace(problem.outlook, bound=replace(bound, c2=4.0 * bound.c2))
            samples = best_of_all(replace(problem, outlook=mistaken)).samples
            plan = evaluate_plan(problem, samples, method="mistaken", reason="of another bound", lower=best.value)
            asked, told = asked + 1, told + bool(complaints(problem, plan, best))
    assert asked >= 5
    assert told >= asked // 3


def test_a_plan_that_is_not_the_cheapest_of_the_best_is_detected() -> None:
    problem = Problem(
        outlook=Outlook(bound=Powers(), rho=0.3, start=1.0),
        epsilon=0.4,
        budget=Money.of(40),
        horizon=2,
        cost=CustomCost(lambda samples: 2.0 * math.ceil(samples / 5)),
        gap=MeanGap(),
    )
    best = best_of_all(problem)
    assert best.value == 0.0
    dear = evaluate_plan(problem, [20, 20], method="dear", reason="the target is met")
    assert dear.value == 0.0
    assert any("same value" in complaint for complaint in complaints(problem, dear, best))
    cheap = evaluate_plan(problem, best.samples, method="cheap", reason="the target is met")
    assert not complaints(problem, cheap, best)


def rows_too(samples: Sequence[int]) -> bool:
    return has_neighbours(samples, bought_before=False) and has_the_rows_on_values(samples)


def test_the_rows_of_the_relaxation_cut_off_the_best_plans(seed: int) -> None:
    """K_1 <= K_2 and K_n <= K_(n-1) + K_(n+1), on values, is what the paper relaxes the neighbours to: it is no relaxation."""
    ratios = []
    for bound in ("powers", "anchored", "last iterate"):
        for problem, best in drawn(seed, bound, "mean", True):
            if not problem.bought_before and problem.horizon >= 3 and best.value > 0.0:
                ratios.append(best_of_all(problem, rows_too).value / best.value)
    assert len(ratios) >= 5
    assert min(ratios) >= 1.0
    assert max(ratios) > 1.02
