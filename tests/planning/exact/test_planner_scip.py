"""The exact planner against SCIP, which solves the same problem by branch and bound and proves its optimum."""

import math
from collections.abc import Iterable
from functools import cache

import pytest

from driftpace.planning.costs import LinearCost
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Outlook, Problem, Steps, evaluate_plan
from driftpace.records import Money
from tests.reference.brute_force_plans import best_of_all, has_neighbours
from tests.reference.planning_problems import Harmonic, Powers
from tests.reference.scip_plans import Proof, solve

CLOSE = 1e-6
"""SCIP's feasibility tolerance is 1e-7; its effect on a value of order 1 is below this."""

SMALL = Powers(c1=4.0, c2=1.0)
ROWS = Harmonic(c=1.0)
CAREFUL = Harmonic(c=1.0, m=0.6)


def case(
    bound: Powers | Harmonic,
    gap: MeanGap | LargestGap | LargestRun,
    *,
    horizon: int,
    budget: int,
    steps: Steps = "worst",
    fixed: int = 5,
    rho: float = 0.3,
    epsilon: float = 0.1,
    diameter: float = math.inf,
    m: float | None = None,
    adjacent: bool = False,
    bought_before: bool = False,
) -> Problem:
    return Problem(
        outlook=Outlook(bound=bound, rho=rho, start=3.0, diameter=diameter, m=m, steps=steps),
        epsilon=epsilon,
        budget=Money.of(budget),
        horizon=horizon,
        cost=LinearCost(fixed=fixed, per_sample=1),
        gap=gap,
        adjacent=adjacent,
        bought_before=bought_before,
    )


# Small enough for brute force too.
THREE_WAYS = {
    "mean-3": case(ROWS, MeanGap(), horizon=3, budget=25),
    "mean-3-neighbours": case(SMALL, MeanGap(), horizon=3, budget=30, adjacent=True),
    "mean-4-weights": case(ROWS, MeanGap((1.0, 0.0, 2.0, 5.0)), horizon=4, budget=25, rho=0.5),
    "mean-4-neighbours-before": case(ROWS, MeanGap(), horizon=4, budget=25, adjacent=True, bought_before=True),
    "mean-5-walk": case(CAREFUL, MeanGap(), horizon=5, budget=20, steps="walk", fixed=2, rho=0.6),
    "mean-6": case(SMALL, MeanGap(), horizon=6, budget=20),
    "largest-3-cautious": case(CAREFUL, LargestGap(), horizon=3, budget=25),
    "largest-4-diameter": case(SMALL, LargestGap(), horizon=4, budget=25, diameter=2.5, rho=1.0),
    "largest-4-no-fixed-cost": case(ROWS, LargestGap(), horizon=4, budget=14, fixed=0, rho=1.0),
    "largest-5-neighbours": case(ROWS, LargestGap(), horizon=5, budget=25, adjacent=True),
    "largest-6-walk-weights": case(
        ROWS, LargestGap((1.0, 1.0, 2.0, 2.0, 3.0, 3.0)), horizon=6, budget=20, steps="walk", rho=0.7
    ),
    "run-3": case(CAREFUL, LargestRun(), horizon=3, budget=25),
    "run-4-neighbours": case(ROWS, LargestRun(), horizon=4, budget=30, adjacent=True),
    "run-4-no-fixed-cost": case(SMALL, LargestRun(), horizon=4, budget=18, fixed=0, rho=0.8),
    "run-5-weights": case(ROWS, LargestRun((2.0, 1.0, 0.5, 1.0, 1.0)), horizon=5, budget=22),
    "run-6-walk": case(CAREFUL, LargestRun(), horizon=6, budget=20, steps="walk"),
    "met-3": case(ROWS, MeanGap(), horizon=3, budget=30, steps="walk", epsilon=0.3),
}

# Too many plans for brute force.
PROVEN = {
    "mean-5-sixty": case(ROWS, MeanGap(), horizon=5, budget=60),
    "mean-6-sixty": case(SMALL, MeanGap(), horizon=6, budget=60),
    "mean-6-sixty-walk-neighbours": case(SMALL, MeanGap(), horizon=6, budget=60, steps="walk", adjacent=True),
    "largest-5-sixty-strong-convexity": case(ROWS, LargestGap(), horizon=5, budget=60, m=0.8),
    "largest-6-sixty": case(SMALL, LargestGap(), horizon=6, budget=60),
    "largest-6-sixty-walk": case(SMALL, LargestGap(), horizon=6, budget=60, steps="walk"),
    "run-5-sixty": case(SMALL, LargestRun(), horizon=5, budget=60),
    "run-5-sixty-walk": case(SMALL, LargestRun(), horizon=5, budget=60, steps="walk"),
    "met-6-sixty": case(ROWS, LargestGap(), horizon=6, budget=60, steps="walk"),
}

# SCIP does not finish within the node limit: the optimum lies between its bound and its plan.
BOUNDED = {
    "mean-6-eighty": case(ROWS, MeanGap(), horizon=6, budget=80, rho=0.6, epsilon=0.02),
    "largest-6-eighty": case(CAREFUL, LargestGap(), horizon=6, budget=80, rho=0.6, epsilon=0.02),
    "run-6-eighty": case(CAREFUL, LargestRun(), horizon=6, budget=80, rho=0.6, epsilon=0.02),
}


CASES = THREE_WAYS | PROVEN | BOUNDED
LONG = {
    "mean-5-walk",
    "mean-6",
    "largest-4-diameter",
    "largest-6-walk-weights",
    "run-4-no-fixed-cost",
    "run-6-walk",
    *PROVEN,
    *BOUNDED,
}  # for SCIP: seconds to minutes


def by_name(cases: Iterable[str]) -> pytest.MarkDecorator:
    """Parametrise by the name of a case; those that take SCIP long are slow tests."""
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in cases]
    )


@cache
def proof_of(name: str) -> Proof:
    return solve(CASES[name], nodes=3_000 if name in BOUNDED else 10**6)


def planned_by_scip(problem: Problem, proof: Proof) -> float:
    """Return the value of SCIP's plan in our arithmetic, after checking that it is feasible.

    Without a proof SCIP may overestimate the value of its plan: it is not yet pressed down to that of the gaps.
    """
    plan = evaluate_plan(problem, proof.samples, method="SCIP", reason="branch and bound")
    assert not problem.adjacent or has_neighbours(plan.samples, bought_before=problem.bought_before)
    assert plan.value <= proof.primal + CLOSE
    assert not proof.proven or plan.value >= proof.primal - CLOSE
    return plan.value


def check(name: str) -> None:
    from driftpace.planning.exact.planner import plan_exact

    problem, proof = CASES[name], proof_of(name)
    plan = plan_exact(problem, accuracy=0.0)
    assert plan.value <= planned_by_scip(problem, proof) * (1.0 + 1e-12)
    assert plan.value >= proof.dual - CLOSE
    assert plan.lower == pytest.approx(plan.value, rel=1e-12, abs=0.0)
    assert not problem.adjacent or has_neighbours(plan.samples, bought_before=problem.bought_before)


@by_name(THREE_WAYS)
def test_scip_and_brute_force_agree(name: str) -> None:
    problem, proof, best = CASES[name], proof_of(name), best_of_all(CASES[name])
    assert proof.proven
    assert planned_by_scip(problem, proof) == pytest.approx(best.value, rel=1e-12, abs=0.0)
    assert best.value == pytest.approx(proof.dual, abs=CLOSE)


@by_name(THREE_WAYS | PROVEN)
def test_equals_what_scip_proves(name: str) -> None:
    proof = proof_of(name)
    assert proof.proven
    assert proof.primal - proof.dual <= CLOSE
    check(name)


@by_name(BOUNDED)
def test_lies_between_what_scip_found_and_what_it_proved(name: str) -> None:
    assert proof_of(name).dual > 0.0
    check(name)


@pytest.mark.parametrize(
    ("name", "bound", "horizon", "budget"),
    [("mean-3", ROWS, 3, 25), pytest.param("mean-6-sixty", SMALL, 6, 60, marks=pytest.mark.slow)],
)
def test_the_plan_for_another_drift_is_detected(name: str, bound: Powers | Harmonic, horizon: int, budget: int) -> None:
    """The control: the optimal plan for a drift of 0.1 is not within SCIP's proof for a drift of 0.3."""
    slow = solve(case(bound, MeanGap(), horizon=horizon, budget=budget, rho=0.1))
    mistaken = evaluate_plan(CASES[name], slow.samples, method="mistaken", reason="for a slower drift")
    assert mistaken.value > proof_of(name).primal + 100.0 * CLOSE
