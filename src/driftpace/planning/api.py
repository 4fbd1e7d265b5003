"""The function :func:`plan`: when to buy how many samples, given two or three of target, budget and horizon."""

from dataclasses import replace
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.bounds import Anchored, RiskBound
from driftpace.errors import ParameterError
from driftpace.planning.costs import Cost, LinearCost, check_cost
from driftpace.planning.exact.planner import ACCURACY, plan_exact
from driftpace.planning.gaps import GAPS, Gap, LargestGap
from driftpace.planning.problem import Outlook, Problem
from driftpace.planning.tradeoffs import MAX_HORIZON, cheapest_plan, longest_plan, tightest_plan
from driftpace.records import Money, Plan

_DEFAULT_START = 3.0  # standard deviations of the noise


def plan(  # noqa: PLR0913  public API
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
    """Plan when to buy how many samples over a horizon.

    With all of ``epsilon``, ``budget`` and ``horizon``, minimise the gaps above the target within the budget; if the budget
    suffices to meet the target in every period, return the cheapest plan that does. With two of them, solve for the third:
    without ``budget`` the cheapest plan that meets the target in every period, without ``epsilon`` the lowest target that the
    budget can meet, without ``horizon`` the largest number of periods for which it can be met.

    Parameters
    ----------
    outlook : Outlook, optional
        How drift and samples act on the model; :meth:`driftpace.Tracker.outlook` returns that of a tracker. Without it, give
        ``rho`` and either ``noise`` and ``features`` or ``bound`` and ``start``.
    cost : Cost, optional
        The cost of an order; one unit of money per sample by default.
    epsilon : float, optional
        The target: the largest acceptable excess risk.
    budget : Money, Decimal, int, float or str, optional
        The money available for the whole horizon.
    horizon : int, optional
        The number of periods, at most 10,000.
    gap : {"mean", "largest", "run"} or Gap, default "mean"
        The objective: the mean gap, the largest gap, or the largest sum over a non-decreasing run of gaps.
    weights : tuple of float, optional
        One weight per period, for a named ``gap``.
    adjacent : bool, default False
        Require samples in a neighbouring period wherever there are samples, as the paper's drift estimate does.
    bought_before : bool, default False
        Whether samples were bought in the period before the first; used with ``adjacent``.
    first_period : int, default 1
        The number of the first period.
    accuracy : float, default 0.01
        The relative optimality gap at which the search stops; 0 searches until the optimum is proven.
    noise : float, optional
        The variance of the irreducible noise.
    features : int, optional
        The number of coefficients.
    rho : float, optional
        How far the optimal model moves in a period, in the norm of the Hessian: a step costs rho^2/2 in excess risk.
    start : float, optional
        The distance of the initial model from the optimum; 3 standard deviations of the noise by default.
    bound : RiskBound, optional
        A bound on the excess risk, in place of ``noise`` and ``features``.

    Returns
    -------
    Plan
        Samples, costs, risk bounds and gaps of every period. The optimal value lies between its ``lower`` and ``value``.

    Raises
    ------
    ParameterError
        If more than one of ``epsilon``, ``budget`` and ``horizon`` is missing, or a parameter is out of range.

    Examples
    --------
    >>> import driftpace
    >>> from driftpace.planning import LinearCost
    >>> cost = LinearCost(fixed=50, per_sample=2, currency="EUR")
    >>> plan = driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, budget=1000, horizon=12)
    >>> plan.samples, str(plan.spent), round(plan.value, 4)
    ((47, 0, 31, 0, 31, 0, 31, 0, 31, 0, 31, 0), '704 EUR', 0.0)
    >>> cheapest = driftpace.plan(noise=1.0, features=5, rho=0.1, cost=cost, epsilon=0.1, horizon=12)
    >>> str(cheapest.spent), cheapest.holds
    ('704 EUR', True)
    """
    outlook = _resolve_outlook(outlook, noise=noise, features=features, rho=rho, start=start, bound=bound)
    cost = LinearCost() if cost is None else cost
    check_cost(cost, owner="plan")
    missing = [
        name for name, value in (("epsilon", epsilon), ("budget", budget), ("horizon", horizon)) if value is None
    ]
    if len(missing) > 1:
        raise ParameterError(
            "plan(epsilon=..., budget=..., horizon=...) must include at least two of the three; "
            f"got neither {' nor '.join(missing)}."
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
        gap=_resolve_gap(gap, weights) if horizon is not None else LargestGap(),
        adjacent=adjacent,
        bought_before=bought_before,
        first_period=first_period,
    )
    if not missing:
        return plan_exact(problem, accuracy=accuracy)
    if weights is not None or not (isinstance(gap, str) and gap == "mean"):
        raise ParameterError(
            f"plan(gap=..., weights=...) must be omitted when solving for {missing[0]}: every period then meets the target; "
            f"got {gap!r}, {weights!r}."
        )
    solve = {"budget": cheapest_plan, "epsilon": tightest_plan, "horizon": longest_plan}[missing[0]]
    return solve(replace(problem, gap=LargestGap()), accuracy=accuracy)


def _resolve_gap(gap: Gap | str, weights: tuple[float, ...] | None) -> Gap:
    if isinstance(gap, str):
        validation.choice("plan", tuple(GAPS), gap=gap)
        return GAPS[gap](None if weights is None else tuple(validation.vector("plan", weights=weights).tolist()))
    if weights is not None:
        raise ParameterError(
            f"must be set on the objective when gap is an object; got {weights!r} beside {gap!r}.",
            owner="plan",
            name="weights",
        )
    return gap


def _resolve_outlook(
    outlook: Outlook | None,
    *,
    noise: float | None,
    features: int | None,
    rho: float | None,
    start: float | None,
    bound: RiskBound | None,
) -> Outlook:
    """Return the outlook given, or the one that the numbers describe."""
    described: dict[str, object] = {"noise": noise, "features": features, "rho": rho, "start": start, "bound": bound}
    if outlook is not None:
        _refuse_beside(described, "an outlook")
        return outlook
    if rho is None:
        raise ParameterError(
            "must be given without an outlook: how far the optimal model moves in a period; got None.",
            owner="plan",
            name="rho",
        )
    if bound is not None:
        _refuse_beside({"noise": noise, "features": features}, "a bound")
    else:
        for name, value in (("noise", noise), ("features", features)):
            if value is None:
                raise ParameterError("must be given without an outlook or a bound; got None.", owner="plan", name=name)
        assert noise is not None
        assert features is not None
        validation.positive("plan", noise=noise)
        bound = Anchored(noise=noise, features=features)
        start = _DEFAULT_START * float(np.sqrt(noise)) if start is None else start
    if start is None:
        raise ParameterError(
            "must be given beside a bound: the distance of the initial model; got None.", owner="plan", name="start"
        )
    return Outlook(bound=bound, rho=rho, start=start)


def _refuse_beside(values: dict[str, object], other: str) -> None:
    for name, value in values.items():
        if value is not None:
            raise ParameterError(f"must be omitted beside {other}; got {value!r}.", owner="plan", name=name)
