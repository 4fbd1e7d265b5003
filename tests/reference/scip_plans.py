"""The planning problem as a mixed-integer nonlinear programme, solved to proven optimality by SCIP.

Formulated from section IV-A (corrected: theory I10-I13, I16), independently of the planner: K_n integer,
y_n = 1{K_n > 0}, and for period n

    u_n        the distance of the model from the optimum before a purchase; u_1 is the start
    e_n        = (M/2) u_n^2, the risk without samples
    f_n        the risk after K_n >= 1 samples from distance u_n by the bound's formula, at most e_n
    b_n        = f_n if y_n else e_n
    v_n        = sqrt(2 f_n/m) if y_n else u_n, and u_(n+1) is v_n a period later, no more than the diameter

If nothing is bought, f_n is that of one sample, and unused. Supported problems: bounds ``Powers`` or ``Harmonic``,
steps "worst" or "walk", ``LinearCost`` without minimum orders.
"""

import math
from dataclasses import dataclass

from pyscipopt import Expr, Model, Variable, quicksum

from driftpace.planning.costs import LinearCost
from driftpace.planning.gaps import LargestGap, LargestRun, MeanGap
from driftpace.planning.problem import Problem
from tests.reference.planning_problems import Harmonic, Powers

FALL = 1e-5
"""A gap must fall by this much for SCIP to see it fall: well above the feasibility tolerance, which it would use otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What SCIP found: a plan, its value as SCIP computes it, and a value that no plan is below; ``proven`` when they meet."""

    samples: tuple[int, ...]
    primal: float
    dual: float
    proven: bool


def solve(problem: Problem, *, nodes: int = 10**6) -> Proof:
    """Solve to optimality, or until so many nodes were looked at (not for so long: every machine finds the same)."""
    model = Model()
    model.hideOutput()
    model.setParam("limits/totalnodes", nodes)
    model.setParam("limits/gap", 0.0)
    model.setParam("numerics/feastol", 1e-7)
    counts = _state(model, problem)
    model.optimize()
    solution = model.getBestSol()
    return Proof(
        samples=tuple(round(model.getSolVal(solution, count)) for count in counts),
        primal=float(model.getPrimalbound()),
        dual=float(model.getDualbound()),
        proven=model.getStatus() == "optimal",
    )


def _state(model: Model, problem: Problem) -> list[Variable]:
    outlook, horizon, cost = problem.outlook, problem.horizon, problem.cost
    bound = outlook.bound
    assert isinstance(cost, LinearCost)
    assert cost.minimum == 0
    assert isinstance(bound, Powers | Harmonic)
    assert outlook.steps in ("worst", "walk")
    fixed, each = float(cost.fixed), float(cost.per_sample)
    most = max(0, int((float(problem.budget) - fixed) / each + 1e-9))
    counts = [model.addVar(vtype="I", lb=0, ub=most, name=f"K{n}") for n in range(horizon)]
    bought = [model.addVar(vtype="B", name=f"y{n}") for n in range(horizon)]
    for count, any_bought in zip(counts, bought, strict=True):
        model.addCons(count >= any_bought)
        model.addCons(count <= most * any_bought)
    model.addCons(quicksum(fixed * y + each * k for y, k in zip(bought, counts, strict=True)) <= float(problem.budget))
    if problem.adjacent:
        _neighbours(model, bought, bought_before=problem.bought_before)
    risks = _risks(model, problem, bound, counts, bought, max(most, 1))
    _goal(model, problem, risks)
    return counts


def _neighbours(model: Model, bought: list[Variable], *, bought_before: bool) -> None:
    for n, here in enumerate(bought):
        before: Expr | Variable | float = bought[n - 1] if n > 0 else float(bought_before)
        after: Expr | Variable | float = bought[n + 1] if n + 1 < len(bought) else 0.0
        model.addCons(here - before - after <= 0.0)


def _risks(
    model: Model, problem: Problem, bound: Powers | Harmonic, counts: list[Variable], bought: list[Variable], most: int
) -> list[Variable]:
    outlook = problem.outlook
    m = bound.m if outlook.m is None else outlook.m
    cap = min(outlook.diameter, _furthest(problem, bound.M / m))
    risks: list[Variable] = []
    distance: Variable = model.addVar(lb=0.0, ub=cap, name="u0")
    model.addCons(distance == min(outlook.start, outlook.diameter))
    for n, (count, y) in enumerate(zip(counts, bought, strict=True)):
        stay = model.addVar(lb=0.0, ub=0.5 * bound.M * cap**2, name=f"e{n}")
        model.addCons(stay == 0.5 * bound.M * distance * distance)
        fitted = _fitted(model, bound, distance, stay, count + 1 - y, most)
        risk = _chosen(model, y, fitted, stay, ub=0.5 * bound.M * cap**2)
        risks.append(risk)
        if n + 1 == problem.horizon:
            break
        reach = model.addVar(lb=0.0, ub=cap * math.sqrt(bound.M / m), name=f"q{n}")
        model.addCons(reach * reach == (2.0 / m) * fitted)
        left = _chosen(model, y, reach, distance, ub=cap * math.sqrt(bound.M / m))
        distance = _moved(model, problem, left, cap)
    return risks


def _furthest(problem: Problem, ratio: float) -> float:
    """Return a distance that is never exceeded: a fit that gains nothing may cost a factor sqrt(M/m), once in each period."""
    furthest = problem.outlook.start
    for _ in range(problem.horizon):
        furthest = furthest * math.sqrt(ratio) + problem.outlook.rho
    return furthest


def _fitted(
    model: Model, bound: Powers | Harmonic, distance: Variable, stay: Variable, samples: Expr, most: int
) -> Variable:
    """Return the risk after at least one sample."""
    size = model.addVar(vtype="I", lb=1, ub=most)
    model.addCons(size == samples)
    fitted = model.addVar(lb=0.0)
    if isinstance(bound, Harmonic):
        model.addCons(fitted * (bound.c + size * stay) == bound.c * stay)
        model.addCons(fitted <= stay)
        return fitted
    model.addCons(fitted == bound.c1 * (distance / size) ** 2 + bound.c2 / size)
    return _least(model, fitted, stay)


def _least(model: Model, first: Variable, second: Variable) -> Variable:
    which = model.addVar(vtype="B")
    least = _chosen(model, which, first, second)
    model.addCons(least <= first)
    model.addCons(least <= second)
    return least


def _chosen(model: Model, which: Variable, first: Variable, second: Variable, ub: float | None = None) -> Variable:
    """Return ``first`` where ``which`` is 1, else ``second``."""
    chosen = model.addVar(lb=0.0, ub=ub)
    model.addCons(chosen == which * first + (1 - which) * second)
    return chosen


def _moved(model: Model, problem: Problem, left: Variable, cap: float) -> Variable:
    rho = problem.outlook.rho
    moved = model.addVar(lb=0.0)
    if problem.outlook.steps == "worst":
        model.addCons(moved == left + rho)
    else:
        model.addCons(moved * moved == left * left + rho**2)
    if math.isinf(problem.outlook.diameter):
        return moved
    border = model.addVar(lb=cap, ub=cap)
    return _least(model, moved, border)


def _goal(model: Model, problem: Problem, risks: list[Variable]) -> None:
    """Minimise phi of the gaps: xi_n >= b_n - epsilon is enough for a phi that never falls; the runs need xi_n itself."""
    gap, horizon = problem.gap, problem.horizon
    assert isinstance(gap, MeanGap | LargestGap | LargestRun)
    weights = [1.0] * horizon if gap.weights is None else list(gap.weights)
    gaps = [model.addVar(lb=0.0, name=f"xi{n}") for n in range(horizon)]
    for xi, risk in zip(gaps, risks, strict=True):
        model.addCons(xi >= risk - problem.epsilon)
    if isinstance(gap, MeanGap):
        model.setObjective(quicksum(w * xi for w, xi in zip(weights, gaps, strict=True)) * (1.0 / sum(weights)))
        return
    value = model.addVar(lb=0.0, name="value")
    model.setObjective(value)
    if isinstance(gap, LargestGap):
        for w, xi in zip(weights, gaps, strict=True):
            model.addCons(value >= w * xi)
        return
    _runs(model, problem, risks, gaps, weights, value)


def _runs(
    model: Model, problem: Problem, risks: list[Variable], gaps: list[Variable], weights: list[float], value: Variable
) -> None:
    """value >= the sum of every run: run_n = w_n xi_n, and run_(n-1) besides unless the gap falls at n."""
    previous: Variable | None = None
    for n, (xi, risk) in enumerate(zip(gaps, risks, strict=True)):
        above = model.addVar(vtype="B")
        model.addCons(xi == above * (risk - problem.epsilon))
        run = model.addVar(lb=0.0)
        if previous is None:
            model.addCons(run == weights[n] * xi)
        else:
            falls = model.addVar(vtype="B")
            model.addCons(falls * (gaps[n - 1] - xi - FALL) >= 0.0)
            model.addCons(run == weights[n] * xi + (1 - falls) * previous)
        model.addCons(value >= run)
        previous = run
