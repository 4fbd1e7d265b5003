"""What is wrong with a plan, by what every plan there is says."""

import numpy as np

from driftpace.planning.outlook import risk_gaps, risk_trajectory
from driftpace.planning.problem import Problem
from driftpace.records import Plan
from tests.reference.plans_by_brute_force import TIE, Found, has_neighbours


def complaints(problem: Problem, plan: Plan, best: Found) -> list[str]:
    """What is wrong with a plan that is said to be the best one, and the cheapest of the best, with a proof."""
    wrong = unsound(problem, plan) + untrue(plan, best)
    if abs(plan.value - best.value) > TIE * best.value:
        wrong.append(f"value {plan.value!r} of {plan.samples}, but {best.samples} has {best.value!r}")
    elif (spent := int(plan.spent.amount / problem.cost.unit)) != best.units:
        wrong.append(f"costs {spent} units with {plan.samples}, but {best.samples} has the same value for {best.units}")
    if plan.lower < best.value * (1.0 - TIE):
        wrong.append(f"proves no more than {plan.lower!r}")
    return wrong


def untrue(plan: Plan, best: Found) -> list[str]:
    """Whether the interval that a plan states does not hold the best value."""
    if plan.lower > best.value * (1.0 + TIE):
        return [f"says that no plan is below {plan.lower!r}, but {best.samples} has {best.value!r}"]
    return [] if plan.value >= best.value * (1.0 - TIE) else [f"value {plan.value!r} is below that of every plan"]


def unsound(problem: Problem, plan: Plan) -> list[str]:
    """What a plan says that is not so, whether or not it is the best."""
    wrong = []
    risks = risk_trajectory(problem.outlook, plan.samples)
    units = problem.cost.units(np.array(plan.samples))
    if len(plan.samples) != problem.horizon or min(plan.samples) < 0:
        wrong.append(f"not a plan: {plan.samples}")
    if problem.adjacent and not has_neighbours(plan.samples, bought_before=problem.bought_before):
        wrong.append(f"samples without neighbours: {plan.samples}")
    if [cost.amount for cost in plan.costs] != [int(price) * problem.cost.unit for price in units]:
        wrong.append(f"costs {plan.costs}")
    if plan.spent.amount > problem.budget.amount:
        wrong.append(f"spends {plan.spent} of {problem.budget}")
    if plan.risks != risks or plan.gaps != tuple(risk_gaps(risks, problem.epsilon)):
        wrong.append(f"risks {plan.risks}, gaps {plan.gaps}")
    if plan.value != problem.gap(risk_gaps(risks, problem.epsilon)):
        wrong.append(f"value {plan.value!r}")
    return wrong
