"""plan(): given two of target, budget and horizon, the third; given all three, the plan that comes nearest to the target."""

from dataclasses import replace
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.bounds import Anchored, RiskBound
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, LinearCost
from driftpace.planning.exact.planner import ACCURACY, plan_exact
from driftpace.planning.gaps import Gap, LargestGap, LargestRun, MeanGap
from driftpace.planning.outlook import Outlook
from driftpace.planning.problem import Problem
from driftpace.planning.tradeoffs import MAX_HORIZON, cheapest_plan, longest_plan, tightest_plan
from driftpace.records import Money, Plan

GAPS: dict[str, type[MeanGap] | type[LargestGap] | type[LargestRun]] = {
    "mean": MeanGap,
    "largest": LargestGap,
    "run": LargestRun,
}


def plan(
    outlook: Outlook | None = None,
    *,
    cost: Cost | None = None,
    epsilon: float | None = None,
    budget: Any = None,
    horizon: int | None = None,
    gap: Gap | str = "mean",
    weights: tuple[float, ...] | None = None,
    adjacent: bool = False,
    bought_before: bool = False,
    first_period: int = 1,
    accuracy: float = ACCURACY,
    noise: float | None = None,
    features: int | None = None,
    rho: float | None = None,
    start: float | None = None,
    bound: RiskBound | None = None,
) -> Plan:
    """Return when to buy how many samples, what that costs, and what it promises in every period.

    Give all of ``epsilon``, ``budget`` and ``horizon``: the plan whose gaps above the target are smallest, within the budget;
    where the money holds the target, the cheapest such plan. Give two of them: without ``budget`` the cheapest plan that
    holds the target in every period; without ``epsilon`` the lowest target that the money holds; without ``horizon`` as many
    periods as it can be held.

    What drift and samples do is an ``outlook`` (a tracker gives its own, :meth:`Tracker.outlook`), or plain numbers: ``noise``, the
    variance of what no model explains; ``features``, the number of coefficients; ``rho``, how far the best model moves in a period,
    in the norm of the Hessian (a step costs rho^2/2); ``start``, how far the first model is (3 standard deviations of the noise by
    default). ``cost`` is one unit of money for a sample by default.

    ``gap`` is what is made small: "mean", "largest", "run" (the largest sum over a run of gaps that never falls), or a goal
    of one's own. ``adjacent`` is the paper's rule that samples need neighbours in time. The best value there is lies between
    ``lower`` and ``value`` of the plan.

    >>> import driftpace
    >>> from driftpace.planning import LinearCost
    >>> cost = LinearCost(fixed=50, per_sample=2, currency="EUR")
    >>> found = driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, budget=1000, horizon=12)
    >>> found.samples, str(found.spent), round(found.value, 4)
    ((47, 0, 31, 0, 31, 0, 31, 0, 31, 0, 31, 0), '704 EUR', 0.0)
    >>> cheapest_plan = driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, horizon=12)
    >>> str(cheapest_plan.spent), cheapest_plan.holds
    ('704 EUR', True)
    """
    outlook = _outlook(outlook, noise=noise, features=features, rho=rho, start=start, bound=bound)
    cost = LinearCost() if cost is None else cost
    if isinstance(cost, type) or not isinstance(cost, Cost):
        raise ParameterError(f"must be a cost, with currency, unit and units; got {cost!r}.", owner="plan", name="cost")
    given = {"epsilon": epsilon, "budget": budget, "horizon": horizon}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) > 1:
        raise ParameterError(
            f"plan(epsilon=..., budget=..., horizon=...) must be given but for one of them; got neither {' nor '.join(missing)}."
        )
    if horizon is not None:
        validation.count("plan", least=1, horizon=horizon)
        if horizon > MAX_HORIZON:
            raise ParameterError(
                f"must be at most {MAX_HORIZON:,} periods; got {horizon}.", owner="plan", name="horizon"
            )
    problem = Problem(
        outlook=outlook,
        epsilon=1.0 if epsilon is None else epsilon,
        budget=Money.of(0 if budget is None else budget, cost.currency, owner="plan", name="budget"),
        horizon=1 if horizon is None else int(horizon),
        cost=cost,
        gap=_gap(gap, weights) if horizon is not None else LargestGap(),
        adjacent=adjacent,
        bought_before=bought_before,
        first_period=first_period,
    )
    if not missing:
        return plan_exact(problem, accuracy=accuracy)
    if weights is not None or not (isinstance(gap, str) and gap == "mean"):
        raise ParameterError(
            f"plan(gap=..., weights=...) must be left out where {missing[0]} is solved for: then every period holds the target; "
            f"got {gap!r}, {weights!r}."
        )
    problem = replace(problem, gap=LargestGap())
    if missing == ["budget"]:
        return cheapest_plan(problem, accuracy=accuracy)
    if missing == ["epsilon"]:
        return tightest_plan(problem, accuracy=accuracy)
    return longest_plan(problem, accuracy=accuracy)


def _gap(gap: Gap | str, weights: tuple[float, ...] | None) -> Gap:
    if isinstance(gap, str):
        validation.choice("plan", tuple(GAPS), gap=gap)
        return GAPS[gap](None if weights is None else tuple(validation.vector("plan", weights=weights).tolist()))
    if weights is not None:
        raise ParameterError(
            f"must be part of the goal where one is given; got {weights!r} beside {gap!r}.",
            owner="plan",
            name="weights",
        )
    return gap


def _outlook(outlook: Outlook | None, **numbers: Any) -> Outlook:
    given = [name for name, value in numbers.items() if value is not None]
    if outlook is not None:
        if given:
            raise ParameterError(f"plan({given[0]}=...) must be left out beside an outlook; got {numbers[given[0]]!r}.")
        return outlook
    rho, start, bound = numbers["rho"], numbers["start"], numbers["bound"]
    if rho is None:
        raise ParameterError(
            "must be given where there is no outlook: how far the best model moves; got None.",
            owner="plan",
            name="rho",
        )
    if bound is None:
        missing = [name for name in ("noise", "features") if numbers[name] is None]
        if missing:
            raise ParameterError(
                f"plan({missing[0]}=...) must be given where there is no outlook and no bound; got None."
            )
        validation.positive("plan", noise=numbers["noise"])
        bound = Anchored(noise=numbers["noise"], features=numbers["features"])
        start = 3.0 * float(np.sqrt(numbers["noise"])) if start is None else start
    elif beside := [name for name in ("noise", "features") if numbers[name] is not None]:
        raise ParameterError(f"plan({beside[0]}=...) must be left out beside a bound; got {numbers[beside[0]]!r}.")
    if start is None:
        raise ParameterError(
            "must be given beside a bound: how far the first model is; got None.",
            owner="plan",
            name="start",
        )
    return Outlook(bound=bound, rho=rho, start=start)
