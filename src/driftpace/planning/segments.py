"""Divide one budget among segments that drift independently."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.planning.allocation import SegmentModel, WeightedModel, allocate, common_unit, needs_coarse_sizes
from driftpace.planning.costs import Cost, LinearCost, in_money
from driftpace.planning.exact.planner import ACCURACY, plan_exact
from driftpace.planning.gaps import MAX_WEIGHT, MeanGap
from driftpace.planning.problem import Outlook, Problem, evaluate_plan
from driftpace.planning.tariff import MAX_UNITS
from driftpace.records import Money, Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """A segment with its own model, drift, target, horizon and prices.

    Parameters
    ----------
    outlook : Outlook
        How drift and samples act on the segment's model.
    epsilon : float
        The target.
    horizon : int
        The number of periods.
    cost : Cost, optional
        The cost of an order; one unit of money per sample by default.
    weight : float, default 1.0
        The weight of the segment's mean gap in the objective.
    weights : tuple of float, optional
        One weight per period.
    adjacent, bought_before : bool, default False
        As for :class:`Problem`.
    """

    outlook: Outlook
    epsilon: float
    horizon: int
    cost: Cost = field(default_factory=LinearCost)
    weight: float = 1.0
    weights: tuple[float, ...] | None = None
    adjacent: bool = False
    bought_before: bool = False

    def __post_init__(self) -> None:
        validation.positive("Segment", weight=self.weight)
        if self.weight > MAX_WEIGHT:
            raise ParameterError(
                f"must be at most {MAX_WEIGHT:.0e}; got {self.weight!r}.", owner="Segment", name="weight"
            )

    def problem(self, budget: Money) -> Problem:
        """Return the planning problem of this segment with a budget."""
        return Problem(
            outlook=self.outlook,
            epsilon=self.epsilon,
            budget=budget,
            horizon=self.horizon,
            cost=self.cost,
            gap=MeanGap(self.weights),
            adjacent=self.adjacent,
            bought_before=self.bought_before,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SegmentPlans:
    """The plan of each segment, and bounds on the optimal division of the budget.

    Parameters
    ----------
    plans : dict of str to Plan
        The plan of each segment; its budget is the segment's share.
    budget : Money
        The budget of all segments.
    value : float
        The weighted mean of the segments' mean gaps; the optimum lies between ``lower`` and ``value``.
    lower : float
        A proven lower bound.
    price : float
        The marginal value of one unit of money.
    """

    plans: dict[str, Plan]
    budget: Money
    value: float
    lower: float
    price: float

    @property
    def spent(self) -> Money:
        """The total cost of all plans."""
        total = Money(Decimal(0), self.budget.currency)
        for plan in self.plans.values():
            total += plan.spent
        return total

    @property
    def left(self) -> Money:
        """The unspent part of the budget."""
        return self.budget - self.spent

    @property
    def proven_gap(self) -> float:
        """The relative optimality gap, (value - lower)/value."""
        return 0.0 if self.value <= self.lower else (self.value - self.lower) / self.value


def plan_segments(
    segments: Mapping[str, Segment], *, budget: Money | float | str, accuracy: float = ACCURACY
) -> SegmentPlans:
    """Divide one budget among segments and plan each of them.

    Parameters
    ----------
    segments : mapping of str to Segment
        The segments by name; all prices must be in one currency.
    budget : Money, float or str
        The money for all segments.
    accuracy : float, default 0.01
        The relative optimality gap at which the search stops.

    Returns
    -------
    SegmentPlans
        The plan of each segment, with a proven lower bound on the objective.

    Examples
    --------
    >>> from driftpace.bounds import Anchored
    >>> def country(rho):
    ...     outlook = Outlook(bound=Anchored(noise=1.0, features=3), rho=rho, start=3.0)
    ...     return Segment(outlook=outlook, epsilon=0.1, horizon=12, cost=LinearCost(fixed=20, currency="EUR"))
    >>> shared = plan_segments({"fast": country(0.3), "slow": country(0.03)}, budget=250)
    >>> shared.plans["fast"].spent.amount > shared.plans["slow"].spent.amount, shared.proven_gap < 0.05
    (True, True)
    """
    validation.nonnegative("plan_segments", accuracy=accuracy)
    money = _check_segments(segments, budget)
    if len(segments) == 1:
        return _plan_single(segments, money, accuracy)
    unit = common_unit([segment.cost.unit for segment in segments.values()])
    limit = int(money.amount // unit)
    if limit > MAX_UNITS:
        raise ParameterError(
            f"must be at most {MAX_UNITS} times the largest unit that all prices are multiples of, {unit}; got {money}.",
            owner="plan_segments",
            name="budget",
        )
    models = _weighted_models(segments, money, unit)
    allocation = allocate(models, float(limit), accuracy)
    plans = {
        name: evaluate_plan(
            segment.problem(
                in_money(segment.cost, int(models[name].model.plans[allocation.plans[name]][0]), money.currency)
            ),
            allocation.plans[name],
            method="exact, shared budget",
            reason="the segment's share of the budget",
        )
        for name, segment in segments.items()
    }
    value = sum(weighted.share * plans[name].value for name, weighted in models.items())
    lower = allocation.lower
    if all(weighted.model.is_empty for weighted in models.values()):
        lower = value  # nothing can be bought in any segment
    return SegmentPlans(
        plans=plans, budget=money, value=value, lower=min(lower, value), price=allocation.price / float(unit)
    )


def even_split(
    segments: Mapping[str, Segment], *, budget: Money | float | str, accuracy: float = ACCURACY
) -> dict[str, Plan]:
    """Plan every segment with an equal share of the budget, for comparison with :func:`plan_segments`.

    Parameters
    ----------
    segments : mapping of str to Segment
        The segments by name.
    budget : Money, float or str
        The money for all segments.
    accuracy : float, default 0.01
        The relative optimality gap at which each search stops.

    Returns
    -------
    dict of str to Plan
        The plan of each segment.
    """
    money = _check_segments(segments, budget)
    share = {
        name: in_money(segment.cost, int(money.amount / len(segments) / segment.cost.unit), money.currency)
        for name, segment in segments.items()
    }
    return {name: plan_exact(segment.problem(share[name]), accuracy=accuracy) for name, segment in segments.items()}


def _plan_single(segments: Mapping[str, Segment], money: Money, accuracy: float) -> SegmentPlans:
    """Return the plan of a single segment, which has the whole budget."""
    ((name, segment),) = segments.items()
    plan = plan_exact(segment.problem(money), accuracy=accuracy)
    return SegmentPlans(
        plans={name: plan},
        budget=money,
        value=plan.value,
        lower=plan.lower,
        price=0.0 if plan.price is None else plan.price,
    )


def _weighted_models(segments: Mapping[str, Segment], money: Money, unit: Decimal) -> dict[str, WeightedModel]:
    """Return the model of each segment; segments that differ only in their weight share one."""
    total = sum(segment.weight for segment in segments.values())
    kinds = {name: _kind(segment) for name, segment in segments.items()}
    coarse = needs_coarse_sizes(len(set(kinds.values())))
    models: dict[object, SegmentModel] = {}
    weighted: dict[str, WeightedModel] = {}
    for name, segment in segments.items():
        kind = kinds[name]
        if kind not in models:
            models[kind] = SegmentModel(segment.problem(money), coarse=coarse)
        weighted[name] = WeightedModel(models[kind], segment.weight / total, int(segment.cost.unit / unit))
    return weighted


def _kind(segment: Segment) -> object:
    """Return a key that segments with the same planning problem share."""
    try:
        hash(segment)
    except TypeError:  # a user-defined cost or bound that is not hashable
        return id(segment)
    return replace(segment, weight=1.0)


def _check_segments(segments: Mapping[str, Segment], budget: Money | float | str) -> Money:
    """Return the budget in the currency of all segments."""
    if not isinstance(segments, Mapping) or not segments:
        raise ParameterError(
            f"must map names to one or more segments; got {segments!r}.", owner="plan_segments", name="segments"
        )
    for name, segment in segments.items():
        if not isinstance(segment, Segment):
            raise ParameterError(
                f"must contain segments; got {segment!r} for {name!r}.", owner="plan_segments", name="segments"
            )
        if not isinstance(name, str):
            raise ParameterError(f"must be named by strings; got {name!r}.", owner="plan_segments", name="segments")
    currencies = sorted({segment.cost.currency for segment in segments.values()} - {""})
    if len(currencies) > 1:
        raise ParameterError(
            f"must all have prices in one currency; got {', '.join(currencies)}.",
            owner="plan_segments",
            name="segments",
        )
    return Money.of(budget, *currencies, owner="plan_segments", name="budget")
