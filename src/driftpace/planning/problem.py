"""A planning problem: how drift and samples act on a model, the risk bounds along a plan, and the evaluation of plans."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np

from driftpace import validation
from driftpace.bounds import RiskBound
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, budget_units, check_cost, in_money
from driftpace.planning.gaps import Gap
from driftpace.records import Money, Plan
from driftpace.typing import FloatArray, IntArray

Steps = Literal["worst", "walk", "printed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """Describe how the excess risk bound evolves over a plan, as a recursion of the model's distance from the optimum.

    Parameters
    ----------
    bound : RiskBound
        The bound b(d, K) on the excess risk after K samples from distance d.
    rho : float
        How far the optimum moves in a period.
    start : float
        The distance of the initial model from the optimum of the first period.
    diameter : float, default inf
        An upper bound on every distance.
    m : float, optional
        The strong convexity: a risk becomes the distance sqrt(2 risk/m), as in the paper. Without it, the bound's own
        conversion is used (theory S1).
    steps : {"worst", "walk", "printed"}, default "worst"
        How the distance grows over ``gap`` periods since a fit that left the model r away from its optimum:

        * ``"worst"``: r + gap rho, every step directly away from the model (theory I10, I11);
        * ``"walk"``: sqrt(r^2 + gap rho^2), steps in independent directions, in the mean;
        * ``"printed"``: sqrt(2 r^2 + 2 (gap rho)^2) before a fit and r + gap rho without one, as printed in the paper.

    Notes
    -----
    The four cases of section IV-A, with u the distance and e(u^2) = bound(u, 0): nothing bought so far, e(u^2) of the ``start``
    as it drifts away; first purchase, b(u, K); nothing bought now, e(u^2); bought again, b(u, K).

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0)
    >>> outlook.idle_distance(outlook.reach(0.1), 2)
    1.047214
    """

    bound: RiskBound
    rho: float
    start: float
    diameter: float = math.inf
    m: float | None = None
    steps: Steps = "worst"

    def __post_init__(self) -> None:
        validation.distance("Outlook", rho=self.rho, start=self.start)
        if not isinstance(self.bound, RiskBound):
            raise ParameterError(f"must be a risk bound; got {self.bound!r}.", owner="Outlook", name="bound")
        _check_diameter(self.diameter)
        if self.m is not None:
            validation.positive("Outlook", m=self.m)
            self._check_convexity(self.m)
        validation.choice("Outlook", ("worst", "walk", "printed"), steps=self.steps)
        if not math.isfinite(self.bound(self.first_distance(0), 0)):
            raise ParameterError(
                f"must be finite without samples; got infinity from {self.bound.name}.", owner="Outlook", name="bound"
            )
        if math.isinf(self.diameter) and math.isinf(self.reach(1.0)):
            raise ParameterError(
                f"must be given, or a finite diameter: {self.bound.name} does not bound distances; got {self.m!r}.",
                owner="Outlook",
                name="m",
            )

    def _check_convexity(self, m: float) -> None:
        """Reject an m above M: the risk bound of a model would then be smaller than the bound at its distance."""
        start = self.bound(math.sqrt(2.0 / m), 0)
        if start < 1.0 - 1e-9:
            raise ParameterError(
                f"must be at most M = {m * start:.6g}, the smoothness of the bound; got {m!r}.",
                owner="Outlook",
                name="m",
            )

    def reach(self, risk: float) -> float:
        """Return the largest distance from its optimum of a model whose excess risk is at most ``risk``."""
        return self.bound.reach(risk) if self.m is None else math.sqrt(2.0 * risk / self.m)

    def idle_distance(self, reach: float, gap: int) -> float:
        """Return the distance ``gap`` periods after a fit if nothing is bought (case 3)."""
        return self._capped(self._drifted(reach, gap))

    def fit_distance(self, reach: float, gap: int) -> float:
        """Return the distance ``gap`` periods after a fit, where the next fit starts (case 4)."""
        if self.steps == "printed":
            return self._capped(math.sqrt(2.0 * reach * reach + 2.0 * (gap * self.rho) ** 2))
        return self.idle_distance(reach, gap)

    def first_distance(self, index: int) -> float:
        """Return the distance in period ``index`` (from 0) if nothing was bought before it (cases 1 and 2)."""
        return self._capped(self._drifted(self.start, index))

    def _drifted(self, reach: float, gap: int) -> float:
        if self.steps == "walk":
            return math.sqrt(reach * reach + gap * self.rho * self.rho)
        return reach + gap * self.rho

    def _capped(self, distance: float) -> float:
        return min(distance, self.diameter)


def _check_diameter(diameter: object) -> None:
    if isinstance(diameter, bool) or not (isinstance(diameter, Real) and float(diameter) > 0.0):
        raise ParameterError(f"must be positive, or infinite; got {diameter!r}.", owner="Outlook", name="diameter")


def risk_trajectory(outlook: Outlook, samples: Sequence[int]) -> tuple[float, ...]:
    """Return the risk bound of every period of a plan: the bound b~ of section IV-A.

    Parameters
    ----------
    outlook : Outlook
        How drift and samples act on the model.
    samples : sequence of int
        The number of samples bought in each period.

    Returns
    -------
    tuple of float
        One risk bound per period.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=0.3, start=3.0)
    >>> [round(risk, 3) for risk in risk_trajectory(outlook, [0, 40, 0, 0, 40])]
    [4.5, 0.041, 0.173, 0.394, 0.039]
    """
    risks: list[float] = []
    reach, fitted = None, 0
    for index, count in enumerate(samples):
        if count == 0:
            distance = outlook.first_distance(index) if reach is None else outlook.idle_distance(reach, index - fitted)
            risks.append(outlook.bound(distance, 0))
            continue
        distance = outlook.first_distance(index) if reach is None else outlook.fit_distance(reach, index - fitted)
        risks.append(outlook.bound(distance, count))
        reach, fitted = outlook.reach(risks[-1]), index
    return tuple(risks)


def risk_gaps(risks: Sequence[float], epsilon: float) -> FloatArray:
    """Return the gaps xi_n = max(b~_n - epsilon, 0) of risk bounds above a target; rounding errors count as 0.

    Examples
    --------
    >>> risk_gaps([0.05, 0.3], 0.1)
    array([0. , 0.2])
    """
    excess = np.asarray(risks, dtype=np.float64) - epsilon
    return np.where(excess > 1e-12 * epsilon, excess, 0.0)


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
