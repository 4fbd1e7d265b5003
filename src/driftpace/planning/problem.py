"""A planning problem: minimise the gaps over a horizon, within a budget."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, budget_units, in_money
from driftpace.planning.gaps import Gap
from driftpace.planning.outlook import Outlook, risk_gaps, risk_trajectory
from driftpace.records import Money, Plan
from driftpace.typing import IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """minimise gap(xi_1, ..., xi_T) over whole K_n >= 0 such that the costs p(K_1) + ... + p(K_T) are within the budget.

    ``adjacent``: samples at n only with samples at n-1 or n+1, as the paper's drift estimate needs it (corrected ends, theory
    I12, I13); ``bought_before`` then says whether the period before the first had samples. ``first_period`` only names periods.
    Money without a currency is taken to be in that of the other.

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
        if isinstance(self.cost, type) or not isinstance(self.cost, Cost):
            raise ParameterError(
                f"must be a cost, with currency, unit and units; got {self.cost!r}.",
                owner="plan",
                name="cost",
            )
        if isinstance(self.gap, type) or not isinstance(self.gap, Gap):
            raise ParameterError(f"must be a gap, such as MeanGap(); got {self.gap!r}.", owner="plan", name="gap")
        self.gap.check(self.horizon)
        object.__setattr__(self, "budget", Money.of(self.budget, self.cost.currency, owner="plan", name="budget"))
        budget_units(self.cost, self.budget)


_ROUNDING = 1e-9


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
    """Return the plan that buys ``samples``: its costs, risks, gaps and value are computed here and nowhere else.

    ``lower`` is what the planner proved that no plan within the budget can fall under; ``price`` what one more unit of money is
    worth. A plan above the budget, or below what was proven, is refused: it would be a mistake of the planner's.

    >>> from driftpace.bounds import Anchored
    >>> from driftpace.planning.costs import LinearCost
    >>> from driftpace.planning.gaps import MeanGap
    >>> from driftpace.planning.outlook import Outlook
    >>> from driftpace.records import Money
    >>> problem = Problem(
    ...     outlook=Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0), epsilon=0.1,
    ...     budget=Money.of(100, "EUR"), horizon=3, cost=LinearCost(fixed=20, currency="EUR"), gap=MeanGap(),
    ... )
    >>> plan = evaluate_plan(problem, [40, 0, 20], method="by hand", reason="an example")
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
            f"must be at most the value of the plan, {value!r}; got {lower!r}.",
            owner="evaluate_plan",
            name="lower",
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
    """Return the value of a plan, as it is."""
    return problem.gap(risk_gaps(risk_trajectory(problem.outlook, samples.tolist()), problem.epsilon))


def satisfies_adjacency(problem: Problem, samples: IntArray) -> bool:
    """Whether every purchase has a neighbour, where that is asked for (theory I12, I13)."""
    if not problem.adjacent:
        return True
    bought = samples > 0
    left = np.append(problem.bought_before, bought[:-1])
    right = np.append(bought[1:], False)
    return bool((~bought | left | right).all())
