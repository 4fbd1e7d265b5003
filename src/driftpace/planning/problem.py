"""A planning problem, and the evaluation of plans for it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, budget_units, check_cost, in_money
from driftpace.planning.gaps import Gap
from driftpace.planning.outlook import Outlook, risk_gaps, risk_trajectory
from driftpace.records import Money, Plan
from driftpace.typing import IntArray

_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Minimise gap(xi_1, ..., xi_T) over integers K_n >= 0 with total cost p(K_1) + ... + p(K_T) within the budget.

    Parameters
    ----------
    outlook : Outlook
        How drift and samples act on the model.
    epsilon : float
        The target: the largest acceptable excess risk.
    budget : Money
        The money available; without a currency it is taken to be in that of the cost, and vice versa.
    horizon : int
        The number of periods.
    cost : Cost
        The cost of an order.
    gap : Gap
        The objective.
    adjacent : bool, default False
        Allow samples at n only with samples at n-1 or n+1, as the paper's drift estimate needs (ends corrected, theory I12, I13).
    bought_before : bool, default False
        Whether samples were bought in the period before the first; used with ``adjacent``.
    first_period : int, default 1
        The number of the first period.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(500), horizon=12, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> str(problem.budget)
    '500 EUR'
    """

    outlook: Outlook
    epsilon: float
    budget: Money
    horizon: int
    cost: Cost
    gap: Gap
    adjacent: bool = False
    bought_before: bool = False
    first_period: int = 1

    def __post_init__(self) -> None:
        validation.positive("plan", epsilon=self.epsilon)
        validation.count("plan", least=1, horizon=self.horizon)
        validation.count("plan", first_period=self.first_period)
        validation.switch("plan", adjacent=self.adjacent, bought_before=self.bought_before)
        if not isinstance(self.outlook, Outlook):
            raise ParameterError(f"must be an Outlook; got {self.outlook!r}.", owner="plan", name="outlook")
        check_cost(self.cost, owner="plan")
        if isinstance(self.gap, type) or not isinstance(self.gap, Gap):
            raise ParameterError(f"must be an objective such as MeanGap(); got {self.gap!r}.", owner="plan", name="gap")
        self.gap.check(self.horizon)
        object.__setattr__(self, "budget", Money.of(self.budget, self.cost.currency, owner="plan", name="budget"))
        budget_units(self.cost, self.budget)


def evaluate_plan(
    problem: Problem,
    samples: Sequence[int],
    *,
    method: str,
    reason: str,
    lower: float = 0.0,
    price: float | None = None,
    within_budget: bool = True,
) -> Plan:
    """Return the plan that buys ``samples``, with its costs, risk bounds, gaps and value.

    Parameters
    ----------
    problem : Problem
        The problem the plan is for.
    samples : sequence of int
        One number of samples per period.
    method : str
        The name of the planner.
    reason : str
        A sentence on the result.
    lower : float, default 0.0
        A proven lower bound on the value of every plan within the budget.
    price : float, optional
        The marginal value of one unit of money.
    within_budget : bool, default True
        Whether the plan must be within the budget.

    Raises
    ------
    ParameterError
        If the plan exceeds the budget, or its value is below ``lower``: either is an error of the planner.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(100, "EUR"), horizon=3, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> plan = evaluate_plan(problem, [40, 0, 20], method="manual", reason="an example")
    >>> plan.gaps, plan.value, str(plan.spent), str(plan.left)
    ((0.0, 0.072, 0.0), 0.024, '100 EUR', '0 EUR')
    """
    counts = validation.counts("evaluate_plan", samples=list(samples))
    if len(counts) != problem.horizon:
        raise ParameterError(
            f"must be one number for each of the {problem.horizon} periods; got {len(counts)}.",
            owner="evaluate_plan",
            name="samples",
        )
    units = [int(cost) for cost in problem.cost.units(np.array(counts, dtype=np.int64))]
    if within_budget and sum(units) > budget_units(problem.cost, problem.budget):
        spent = in_money(problem.cost, sum(units), problem.budget.currency)
        raise ParameterError(f"must cost at most {problem.budget}; got {spent}.", owner="evaluate_plan", name="samples")
    risks = risk_trajectory(problem.outlook, counts)
    gaps = risk_gaps(risks, problem.epsilon)
    value = problem.gap(gaps)
    if lower > value + _ROUNDING * (value + problem.epsilon):
        raise ParameterError(
            f"must be at most the value of the plan, {value!r}; got {lower!r}.", owner="evaluate_plan", name="lower"
        )
    return Plan(
        first_period=problem.first_period,
        samples=counts,
        costs=tuple(in_money(problem.cost, cost, problem.budget.currency) for cost in units),
        risks=risks,
        gaps=tuple(gaps.tolist()),
        epsilon=problem.epsilon,
        budget=problem.budget,
        goal=problem.gap.name,
        value=value,
        lower=min(lower, value),
        method=method,
        reason=reason,
        price=price,
    )


def objective_value(problem: Problem, samples: IntArray) -> float:
    """Return the objective at a plan."""
    return problem.gap(risk_gaps(risk_trajectory(problem.outlook, samples.tolist()), problem.epsilon))


def satisfies_adjacency(problem: Problem, samples: IntArray) -> bool:
    """Whether every purchase has a neighbouring purchase, if the problem requires it (theory I12, I13)."""
    if not problem.adjacent:
        return True
    bought = samples > 0
    left = np.append(problem.bought_before, bought[:-1])
    right = np.append(bought[1:], False)
    return bool((~bought | left | right).all())
