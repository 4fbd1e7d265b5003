"""A plan in plain words: what to do now, what is spent, whether the target is held, and how sure it is that nothing does better."""

import math

from driftpace.cli.output import plural
from driftpace.cli.plan.answer import EXHAUSTED, SKIP, Answer
from driftpace.planning import price
from driftpace.records import Plan

NAMES = {
    "exact": "this plan",
    "up front": "all up front",
    "every 2 periods": "every second period",
    "every 5 periods": "every five periods",
    "every period": "the same every period",
    "the risk rule": "the risk rule, without a budget",
}


def summary(answer: Answer) -> list[tuple[str, str]]:
    """Return the answer in a few lines, each with the word it is about."""
    found = [
        ("Asked", asked(answer)),
        ("World", world(answer)),
        ("Now", now(answer)),
        ("Cost", cost(answer.plan)),
        ("Target", target(answer.plan)),
        ("Proof", proof(answer)),
        ("Money", money(answer)),
    ]
    return [(name, text) for name, text in found if text]


def asked(answer: Answer) -> str:
    """Say what was given and what was wanted."""
    plan = answer.plan
    horizon = plural(plan.horizon, "period")
    goal = f"a risk of at most {number(plan.epsilon)}"
    since = f", from period {plan.first_period} on" if plan.first_period != 1 else ""
    return {
        None: f"{goal} over {horizon}{since}, for {plan.budget}",
        "budget": f"the least money for {goal} over {horizon}{since}",
        "epsilon": f"the lowest risk that {plan.budget} can hold over {horizon}{since}",
        "horizon": f"for how long {plan.budget} can hold {goal}{since}",
    }[answer.solved]


def world(answer: Answer) -> str:
    """Say what is taken for granted of the world."""
    outlook = answer.problem.outlook
    source = f"as {answer.world.name} knows it: " if answer.world.name else ""
    how = {
        "worst": "at worst straight away from the model",
        "walk": "in any direction",
        "printed": "as the paper adds it up",
    }
    return (
        f"{source}the best model moves by {number(outlook.rho)} a period, {how[outlook.steps]}; "
        f"the model at hand is {number(outlook.start)} away from it"
    )


def now(answer: Answer) -> str:
    """Say what to do in the first period, as the exit code does."""
    plan = answer.plan
    first = plan.first_period
    if answer.code == EXHAUSTED:
        return f"nothing can be bought: one sample costs {price(answer.problem.cost, 1)}, and there is {plan.budget}"
    if answer.code == SKIP:
        later = next((first + index for index, samples in enumerate(plan.samples) if samples), None)
        return f"buy nothing in period {first}" + (f"; the first order is in period {later}" if later else "")
    return f"buy {plural(plan.samples[0], 'sample')} in period {first}, for {plan.costs[0]}"


def cost(plan: Plan) -> str:
    """Say what is spent on what, and what is left."""
    orders = sum(samples > 0 for samples in plan.samples)
    if not orders:
        return f"nothing is spent of {plan.budget}"
    left = f"; {plan.left} of {plan.budget} left" if plan.left.amount > 0 else ""
    return f"{plan.spent} for {plural(sum(plan.samples), 'sample')} in {plural(orders, 'order')}{left}"


def target(plan: Plan) -> str:
    """Say whether the target is held, and if not, where and by how much."""
    if plan.holds:
        where = f"every one of {plural(plan.horizon, 'period')}" if plan.horizon > 1 else "the one period"
        return f"held in {where}: the risk is at most {number(plan.largest_risk)}"
    missed = sum(gap > 0.0 for gap in plan.gaps)
    where = f"in {missed} of {plural(plan.horizon, 'period')}" if plan.horizon > 1 else "in the one period"
    mean = math.fsum(plan.gaps) / plan.horizon
    return f"missed {where}, by {number(max(plan.gaps))} at most and {number(mean)} on average over all periods"


def proof(answer: Answer) -> str:
    """Say how near the plan is to the best there is."""
    plan = answer.plan
    if plan.holds and not any(plan.samples):
        return "the target is met in every period without any samples"
    if plan.value <= 0.0 or not answer.pays_an_order:
        return plan.reason
    if plan.proven_gap <= 1e-9:
        return f"no plan for {plan.budget} has a smaller {plan.goal} than this one, {number(plan.value)}"
    return (
        f"no plan for {plan.budget} can have a {plan.goal} below {number(plan.lower)}; "
        f"this one has {number(plan.value)}, within {100.0 * plan.proven_gap:.2g} % of the best"
    )


def money(answer: Answer) -> str:
    """Say what the money could hold, and what money would hold the target."""
    plan = answer.plan
    said = []
    if answer.could_hold is not None:
        even = "even " if plan.holds else ""
        said.append(f"{plan.budget} could {even}hold {number(answer.could_hold.epsilon)} in every period")
    if answer.enough is not None:
        said.append(f"holding {number(plan.epsilon)} in every period takes {answer.enough.spent}")
    if answer.hopeless:
        said.append(f"no money was found to hold {number(plan.epsilon)} in every period")
    return "; ".join(said)


def number(value: float) -> str:
    """Write a risk with the four digits that matter.

    >>> number(0.0178309), number(0.1), number(51234.5), number(math.inf)
    ('0.01783', '0.1', '51,234', 'infinite')
    """
    if not math.isfinite(value):
        return "infinite"
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e7 else f"{value:.4g}"
