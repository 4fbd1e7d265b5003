"""Plans that anyone would try first, to hold the exact one against: all up front, every so many periods, the rule without a budget.

>>> from driftpace.bounds import Anchored
>>> from driftpace.planning.costs import LinearCost
>>> from driftpace.planning.gaps import MeanGap
>>> from driftpace.planning.outlook import Outlook
>>> from driftpace.records import Money
>>> problem = Problem(
...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.05,
...     budget=Money.of(200), horizon=4, cost=LinearCost(fixed=20), gap=MeanGap(),
... )
>>> for plan in (up_front(problem), periodic(problem, every=3), uniform(problem), risk_rule(problem)):
...     print(f"{plan.method:15} {plan.samples!s:16} costs {plan.spent}, {plan.goal} {plan.value:.3f}")
up front        (180, 0, 0, 0)   costs 200, mean gap 0.185
every 3 periods (80, 0, 0, 80)   costs 200, mean gap 0.086
every period    (30, 30, 30, 30) costs 200, mean gap 0.002
the risk rule   (34, 27, 26, 27) costs 194, mean gap 0.000
"""

from dataclasses import replace

from driftpace import validation
from driftpace.planning.costs import MAX_SAMPLES, affordable_units, budget_units, in_money
from driftpace.planning.problem import Problem, evaluate_plan
from driftpace.records import Plan

_ROUNDING = 1.0 + 5e-13  # sqrt and square do not cancel to the last bit; half of what counts as no gap
_NEARLY = 1.01


def up_front(problem: Problem) -> Plan:
    """Return the plan that buys all it can in the first period: K_1 = max{K : p(K) <= P}, and 0 after (eq. costUpFront)."""
    return _in_instants(problem, every=problem.horizon, method="up front", when="in the first period")


def periodic(problem: Problem, every: int) -> Plan:
    """Return the plan that buys in the first period and every ``every`` periods after, the same number for the same money.

    The budget is divided by the number of times that samples are bought, ceil(T/every): K = max{K : p(K) <= P/ceil(T/every)},
    and 0 where that buys none (eq. costPeriodic, corrected as theory I17).
    """
    validation.count("periodic", least=1, every=every)
    when = "every period" if every == 1 else f"every {every} periods"
    return _in_instants(problem, every=every, method=when, when=when)


def uniform(problem: Problem) -> Plan:
    """Return the plan that buys the same number in every period."""
    return periodic(problem, every=1)


def risk_rule(problem: Problem) -> Plan:
    """Return what the rule without a budget buys: in each period the least number that meets the target, whatever it costs.

    K_n = min{K : b(u_n, K) <= epsilon}, u_n being the distance as it is by then, and 0 while the risk is within the target
    without samples. The budget is ignored, so that one sees what holding the target would cost. Where no number up to 10^9
    meets the target, the least one is taken whose risk is within 1 % of what 10^9 reach.
    """
    outlook, bound = problem.outlook, problem.outlook.bound
    target = problem.epsilon * _ROUNDING
    samples: list[int] = []
    missed: list[int] = []
    reach, fitted = None, 0
    for index in range(problem.horizon):
        idle = outlook.first_distance(index) if reach is None else outlook.idle_distance(reach, index - fitted)
        if bound(idle, 0) <= target:
            samples.append(0)
            continue
        distance = idle if reach is None else outlook.fit_distance(reach, index - fitted)
        count = bound.smallest(distance, target, MAX_SAMPLES)
        if count is None:
            missed.append(index)
            count = bound.smallest(distance, _NEARLY * bound(distance, MAX_SAMPLES), MAX_SAMPLES) or 0
        samples.append(count)
        if count:
            reach, fitted = outlook.reach(bound(distance, count)), index
    plan = evaluate_plan(problem, samples, method="the risk rule", reason="", within_budget=False)
    return replace(plan, reason=_rule_in_words(problem, plan, missed))


def _in_instants(problem: Problem, *, every: int, method: str, when: str) -> Plan:
    instants = -(-problem.horizon // every)
    each = budget_units(problem.cost, problem.budget) // instants
    count = affordable_units(problem.cost, each)
    samples = [count if index % every == 0 else 0 for index in range(problem.horizon)]
    share = in_money(problem.cost, each, problem.budget.currency)
    if count == 0:
        reason = f"nothing is bought: one sample costs more than {share}, {_orders(instants)}"
    else:
        reason = f"{count} samples {when}, the most for {share}, {_orders(instants)}"
    return evaluate_plan(problem, samples, method=method, reason=reason + _beside(problem, samples))


def _orders(instants: int) -> str:
    return "the whole budget" if instants == 1 else f"the share of each of {instants} orders"


def _beside(problem: Problem, samples: list[int]) -> str:
    """Say so where a plan breaks the rule of adjacent periods, which none of these plans knows."""
    bought = [problem.bought_before, *(count > 0 for count in samples), False]
    alone = any(bought[n] and not (bought[n - 1] or bought[n + 1]) for n in range(1, len(samples) + 1))
    return "; it has samples with none in the period before or after" if problem.adjacent and alone else ""


def _rule_in_words(problem: Problem, plan: Plan, missed: list[int]) -> str:
    over = plan.spent - plan.budget
    money = f"{over} more than the budget" if over.amount > 0 else "within the budget"
    said = f"the least number of samples that meets the target in each period, whatever it costs: {plan.spent}, {money}"
    if missed:
        period = plan.first_period + missed[0]
        said += (
            f"; no number up to {MAX_SAMPLES} meets it in {len(missed)} of {plan.horizon} periods, the first being period "
            f"{period}: there it is the least one that comes within 1 % of the risk that {MAX_SAMPLES} reach"
        )
    return said + _beside(problem, list(plan.samples))
