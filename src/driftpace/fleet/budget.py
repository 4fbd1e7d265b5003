"""One budget for all segments of a fleet: what is left of it sizes their orders together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from driftpace import validation
from driftpace.adaptive import counted
from driftpace.errors import ParameterError
from driftpace.fleet.segments import Segment
from driftpace.planning import Budget, Demand, LinearCost, MeanGap, share_budget
from driftpace.planning.costs import Price, divisible, in_money
from driftpace.records import Money, Outcome
from driftpace.tracker.adaptive_method import AdaptiveMethod, AdaptiveMethodState
from driftpace.tracker.state import PeriodOrder


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetBudget:
    """One budget for the labels of all segments.

    Parameters
    ----------
    total : Money, Decimal, int, float or str
        The money for all segments and periods.
    horizon : int
        The number of periods that it is for.
    cost : LinearCost, optional
        The cost of the rows of a segment in a period; one unit of money for each row by default.
    costs : mapping of str to LinearCost, optional
        The costs of segments that differ from ``cost``.
    order_price : Money, Decimal, int, float or str, default 0
        What a period costs in which rows of any segment are ordered.
    weights : mapping of str to float, optional
        With weights, money that is short goes where it lowers the weighted mean of the gaps most; a segment without one has
        weight 1. By default all segments get the same relative gap.

    Examples
    --------
    >>> budget = FleetBudget(total=5_000, horizon=12, cost=LinearCost(per_sample="0.5", currency="EUR"))
    >>> str(budget.money), str(budget.price({"Oslo": 30, "Rome": 0}))
    ('5,000 EUR', '15 EUR')
    """

    total: Price
    horizon: int
    cost: LinearCost = field(default_factory=LinearCost)
    costs: Mapping[str, LinearCost] = field(default_factory=dict)
    order_price: Price = 0
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        owner = "FleetBudget"
        validation.count(owner, least=1, horizon=self.horizon)
        for name, cost in (("cost", self.cost), *(("costs", cost) for cost in self.costs.values())):
            if not isinstance(cost, LinearCost):
                raise ParameterError(f"must be a LinearCost; got {cost!r:.80}.", owner=owner, name=name)
        currencies = sorted({cost.currency for cost in (self.cost, *self.costs.values())} - {""})
        if len(currencies) > 1:
            raise ParameterError(
                f"must all be in one currency; got {', '.join(currencies)}.", owner=owner, name="costs"
            )
        for weight in (self.weights or {}).values():
            validation.positive(owner, weights=weight)
        object.__setattr__(self, "total", Money.of(self.total, *currencies, owner=owner, name="total"))
        object.__setattr__(
            self, "order_price", Money.of(self.order_price, self.currency, owner=owner, name="order_price")
        )

    @property
    def money(self) -> Money:
        """The total as money, in the currency of the prices."""
        assert isinstance(self.total, Money)
        return self.total

    @property
    def currency(self) -> str:
        """The currency; empty if there is none."""
        return self.money.currency

    @property
    def money_of_order(self) -> Money:
        """The price of the order itself as money."""
        assert isinstance(self.order_price, Money)
        return self.order_price

    def cost_of(self, segment: str) -> LinearCost:
        """Return the cost of the rows of a segment."""
        return self.costs.get(segment, self.cost)

    def in_batches(self, segment: str) -> bool:
        """Whether the rows of a segment may be requested in several batches: no price is paid once for an order."""
        return not self.money_of_order.amount and divisible(self.cost_of(segment))

    def price(self, rows: Mapping[str, int]) -> Money:
        """Return the price of a period in which segments have so many rows."""
        total = self.money_of_order.amount if any(rows.values()) else Decimal(0)
        return Money(sum((self.price_of(name, count).amount for name, count in rows.items()), total), self.currency)

    def price_of(self, segment: str, rows: int) -> Money:
        """Return the price of so many rows of a segment in a period."""
        cost = self.cost_of(segment)
        return in_money(cost, int(cost.units(np.array([rows]))[0]), self.currency)


def budget_of(budget: Any, method: AdaptiveMethod) -> FleetBudget | None:
    """Return the budget of a fleet; that of a single tracker counts for all segments together."""
    if budget is None:
        return None
    if isinstance(budget, Budget):
        if not isinstance(budget.cost, LinearCost) or budget.goal != MeanGap() or budget.adjacent or budget.batches:
            raise ParameterError(
                "must have a LinearCost, and gap, weights, adjacent and batches as by default; FleetBudget has weights.",
                owner="Fleet",
                name="budget",
            )
        budget = FleetBudget(total=budget.total, horizon=budget.horizon, cost=budget.cost)
    if not isinstance(budget, FleetBudget):
        raise ParameterError(f"must be a Budget or a FleetBudget; got {budget!r:.80}.", owner="Fleet", name="budget")
    for name, value in (("confidence", method.config.confidence), ("delay", method.config.delay)):
        if value is not None:
            raise ParameterError(f"must be None with a budget; got {value!r}.", owner="Fleet", name=name)
    return budget


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetShare:
    """How the budget was shared when orders were last sized.

    Parameters
    ----------
    enough : bool
        Whether every segment is bought to its target, with the usual margin.
    value : float
        What was minimised: the largest predicted risk relative to the target; with weights, the weighted mean gap.
    lower : float
        A proven lower bound on it.
    later : Money
        What is kept for later periods, to stay at the same level in them.
    weighted : bool, default False
        Whether the value is the weighted mean gap.
    """

    enough: bool
    value: float
    lower: float
    later: Money
    weighted: bool = False

    @property
    def proven_gap(self) -> float:
        """How much better any other way of sharing can be, as a share of the value."""
        return 0.0 if not self.value > self.lower else (self.value - self.lower) / self.value

    @property
    def sentence(self) -> str:
        """The share in words, with what any other way of sharing could gain at most."""
        if self.enough:
            return f"the money pays for the orders of all segments; {self.later} are kept for later periods"
        if math.isinf(self.value):
            return "the money does not pay for the initial samples of all segments"
        what = (
            f"weighted mean gap {self.value:.3g}"
            if self.weighted
            else f"the largest risk is {self.value:.3g} of its target"
        )
        return f"{what}, and no other way of sharing is better by more than {max(100 * self.proven_gap, 0.01):.2g} %"


def shared_orders(
    budget: FleetBudget,
    left: Money,
    period: int,
    segments: Mapping[str, Segment],
    before: Mapping[str, PeriodOrder | None],
    demands: Mapping[str, Demand],
) -> tuple[dict[str, PeriodOrder], BudgetShare | None]:
    """Return the orders of segments that were sized anew, within the money left, and how it is shared.

    ``before`` are their orders before that; what the others still have to bring was requested, and stays so.
    """
    if period > budget.horizon:
        return {name: _after_horizon(budget, segments[name], left) for name in before}, None
    needs = {}
    for name, segment in segments.items():
        state, order = segment.state, segment.state.order
        assert order is not None
        demand = replace(demands[name], gathered=state.gathered, cost=budget.cost_of(name))
        if name not in before:
            requested = order.total - order.after
            demand = replace(
                demand, least=requested, most=None if order.more and budget.in_batches(name) else requested
            )
        elif not budget.in_batches(name) and _placed(before[name]):
            demand = replace(demand, least=0, most=0)
        needs[name] = demand
    # the weighted mean gap is taken over the segments that can be compared
    shared = share_budget(
        needs,
        budget=Money(max(left.amount, Decimal(0)), left.currency),
        periods=budget.horizon - period + 1,
        weights=budget.weights,
        order_price=budget.money_of_order,
    )
    orders, slack = {}, left.amount - shared.spent.amount - shared.later.amount
    for name, last in before.items():
        state, need, rows, wanted = segments[name].state, needs[name], shared.rows[name], shared.wanted[name]
        assert state.order is not None
        least = state.order.total - state.gathered if budget.in_batches(name) and rows == wanted > 0 else rows
        more = (
            budget.price_of(name, state.gathered + least).amount - budget.price_of(name, state.gathered + rows).amount
        )
        if rows < least and more <= slack:  # a batch has a least size
            rows, slack = least, slack - more
        orders[name] = _within(state, last, need, rows, wanted, in_batches=budget.in_batches(name))
    share = BudgetShare(
        enough=shared.enough,
        value=shared.value,
        lower=shared.lower,
        later=shared.later,
        weighted=budget.weights is not None,
    )
    return orders, share


def _placed(order: PeriodOrder | None) -> bool:
    return order is not None and order.placed > 0


def _within(
    state: AdaptiveMethodState,
    last: PeriodOrder | None,
    demand: Demand,
    allowed: int,
    full: int,
    *,
    in_batches: bool,
) -> PeriodOrder:
    """Return the order of a segment that can have so many more rows, of those that would bring it to its goal."""
    order = state.order
    assert order is not None
    asked = order.total - order.after
    now = min(asked, allowed) if in_batches else allowed
    if now == asked and allowed >= full:
        return order
    gathered = state.gathered
    initial, short = math.isinf(demand.goal or 0.0), allowed < full
    placed = 0 if last is None else last.placed
    risk = math.inf if initial else _risk_after(demand, allowed)
    if initial:
        reason = f"the budget pays for {now} of {counted(asked)} of the initial sample"
    else:
        had = counted(gathered) + " so far" if gathered else "the last model"
        reason = f"expected excess loss {_risk_after(demand, 0):.2g} with {had}; "
        reason += f"{counted(allowed)} {'leave' if allowed != 1 else 'leaves'} {risk:.2g} (target {demand.epsilon:.3g})"
    if short and not initial:
        wanted = "wanted next" if full == demand.most else "that would reach the target"
        reason += f", of {full} {wanted}: the budget pays for no more"
    if demand.most == 0:
        reason = f"the period had its order, which has a fixed price: {reason}"
    outcome = Outcome.BUDGET if short else Outcome.SETTLING
    if risk <= demand.epsilon:
        outcome = Outcome.MET if gathered + allowed else Outcome.ENOUGH
    elif initial and not short:
        outcome = order.outcome
    total = gathered + now
    cut = replace(
        order,
        total=total,
        risk=risk,
        interval=(min(order.interval[0], total), gathered + max(now, allowed)),
        outcome=outcome,
        reason=reason,
        placed=placed + 1 if now and not initial else placed,
        more=now < allowed,
    )
    return cut.following(last, gathered)


def _risk_after(demand: Demand, rows: int) -> float:
    from driftpace.planning.kernels.shared import left_after

    squares = (demand.blocks[:, None] * demand.shares * demand.variances).ravel()
    size = float(demand.blocks.sum())
    return 0.5 * left_after(squares, demand.variances.ravel(), demand.noise, size, float(demand.kept + rows))


def _after_horizon(budget: FleetBudget, segment: Segment, left: Money) -> PeriodOrder:
    """Return an order for no rows, since the horizon has passed."""
    order, gathered = segment.state.order, segment.state.gathered
    assert order is not None
    return replace(
        order,
        total=gathered,
        interval=(gathered, gathered),
        outcome=order.outcome if order.total == gathered else Outcome.BUDGET,
        reason=f"the horizon of the budget, {budget.horizon} periods, has passed, and {left} remain of it",
        more=False,
    )
