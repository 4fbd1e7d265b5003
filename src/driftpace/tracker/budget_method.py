"""A budget around a method: the plan for the remaining money decides how many rows a period has.

While too little is known to plan, an initial sample is bought: what the method asks for without a budget, as far as the money
goes. Where batches cost no more than one order does, the rows of each batch are looked at and the rest is planned again: about
half of what is predicted is then enough when the data do not drift (docs/benchmarks.md).
"""

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

from driftpace.adaptive import MetricTarget
from driftpace.errors import TooEarlyError
from driftpace.planning import Budget, Outlook
from driftpace.records import Outcome, Request, StepReport, Verdict
from driftpace.tracker.method import Folds, ModelMethod, TellEvent, check_pool
from driftpace.tracker.spending import Spending, budget_check, in_full, in_words
from driftpace.tracker.state import MethodState, ModelSpec, PeriodOrder
from driftpace.typing import BoolArray, FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BudgetState:
    """The state of the ``inner`` method, and the cost of the closed periods."""

    inner: MethodState
    spent: Decimal = Decimal(0)

    @property
    def period(self) -> int:
        """The open period, from 1."""
        return self.inner.period

    @property
    def order(self) -> PeriodOrder | None:
        """What was decided for the period."""
        return self.inner.order

    @property
    def gathered(self) -> int:
        """The number of rows in the open period so far."""
        return self.inner.gathered

    @property
    def features(self) -> int | None:
        """The number of columns."""
        return self.inner.features

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns."""
        return self.inner.columns

    @property
    def coef(self) -> FloatArray | None:
        """The current model."""
        return self.inner.coef

    @property
    def row_coef(self) -> FloatArray | None:
        """The current model in the units of the rows."""
        return self.inner.row_coef

    @property
    def bought(self) -> bool:
        """Whether the last closed period had rows."""
        return self.inner.bought

    @property
    def rows_seen(self) -> int:
        """The number of rows that were fitted so far."""
        return self.inner.rows_seen

    @property
    def batches(self) -> tuple[Any, ...]:
        """The rows of the open period."""
        return self.inner.batches

    def without_rows(self) -> Self:
        """Return the state without the rows of the open period."""
        return replace(self, inner=self.inner.without_rows())

    def without_order(self) -> Self:
        """Return the state before the open period was sized."""
        return replace(self, inner=self.inner.without_order())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BudgetMethod:
    """Buy what the best plan for the remaining money says; ``inner`` fits and predicts."""

    inner: Any  # a ModelMethod with budgeted=True
    budget: Budget

    @property
    def spec(self) -> ModelSpec:
        """What is fitted."""
        spec: ModelSpec = self.inner.spec
        return spec

    @property
    def epsilon(self) -> float | None:
        """The target."""
        epsilon: float | None = self.inner.epsilon
        return epsilon

    @property
    def tolerance(self) -> float | None:
        """The target as a share of the best loss."""
        tolerance: float | None = self.inner.tolerance
        return tolerance

    @property
    def metric(self) -> MetricTarget | None:
        """The target in a metric."""
        metric: MetricTarget | None = self.inner.metric
        return metric

    @property
    def confidence(self) -> float | None:
        """The probability with which the target is met."""
        confidence: float | None = self.inner.confidence
        return confidence

    @property
    def adjacent(self) -> bool:
        """Whether rows are bought in neighbouring periods only."""
        return bool(self.inner.adjacent) if self.budget.adjacent is None else self.budget.adjacent

    def begin(self) -> BudgetState:
        """Return the state before the first period."""
        return BudgetState(inner=self.inner.begin())

    def ask(self, state: BudgetState, pool: int | None) -> tuple[BudgetState, Request]:
        """Return what to bring in this period, its cost and the plan ahead: decided once, or again with every batch."""
        check_pool(state, pool)
        spending = self.spending(state)
        order = state.order
        if order is None or self._outdated(state, order):
            pool = (self.spec.pool if pool is None else pool) if order is None else order.pool
            decided = self._decide(state, spending, pool)
            order = decided.following(order, state.gathered)
            state = replace(state, inner=replace(state.inner, order=order))
        return state, self._request(state, spending, order)

    def _outdated(self, state: BudgetState, order: PeriodOrder) -> bool:
        """Whether rows were delivered since an initial sample or a batch was requested, or were withdrawn."""
        if not self.inner.decides_again or order.after == state.gathered or self.inner.sized(state.inner):
            return False
        return order.plan is None or self.budget.in_batches

    def _decide(self, state: BudgetState, spending: Spending, pool: int | None) -> PeriodOrder:
        if spending.periods == 0:
            return self._after_horizon(state, spending, pool)
        order: PeriodOrder = self.inner.order_within_budget(state.inner, spending, pool)
        return order

    def _after_horizon(self, state: BudgetState, spending: Spending, pool: int | None) -> PeriodOrder:
        """Return an order for no rows, since the horizon has passed."""
        horizon = in_words(self.budget.horizon, "period")
        try:
            outlook, epsilon = self.inner.outlook(state.inner), self.inner.target(state.inner)
            risk = outlook.bound(outlook.first_distance(0), 0)
        except TooEarlyError:
            risk, epsilon = math.inf, math.nan if self.epsilon is None else self.epsilon
        met = risk <= epsilon
        sentence = f"The horizon of the budget, {horizon}, has passed" + ("." if met else ", and the target is missed.")
        return PeriodOrder(
            total=0,
            theory=0,
            pool=pool,
            risk=risk,
            interval=(0, 0),
            outcome=Outcome.ENOUGH if met else Outcome.BUDGET,
            reason=f"the horizon of the budget, {horizon}, has passed, and {in_full(spending.left)} remain of it",
            epsilon=epsilon,
            assumptions=(budget_check(Verdict.PASS if met else Verdict.FAIL, sentence),),
            after=state.gathered,
        )

    def _request(self, state: BudgetState, spending: Spending, order: PeriodOrder) -> Request:
        gathered = state.gathered
        samples = max(order.total - gathered, 0)
        beyond = spending.beyond_after(gathered) if gathered else None
        over = f"; the rows delivered exceed the budget by {in_full(beyond)}" if beyond is not None else ""
        return Request(
            period=state.period,
            samples=samples,
            samples_theory=order.theory,
            interval=order.interval,
            epsilon=order.epsilon,
            risk_bound=order.risk,
            outcome=order.outcome,
            reason=order.reason + over,
            assumptions=(*self.inner.checks(state.inner), *order.assumptions),
            status=order.status,
            cost=self.budget.price(gathered + samples) - self.budget.price(gathered),
            money_left=spending.left_after(gathered),
            plan=order.plan,
        )

    def gather(self, state: BudgetState, event: TellEvent) -> BudgetState:
        """Add rows to the open period."""
        return replace(state, inner=self.inner.gather(state.inner, event))

    def forget(self, state: BudgetState) -> BudgetState:
        """Withdraw the rows of the open period; what was decided with rows in sight is decided again."""
        order, inner = state.order, self.inner.forget(state.inner)
        if inner is state.inner or order is None:
            return state
        if order.after != 0:
            order = replace(order, after=-1, batch=-1, decided=0, placed=0, plan=None)
        return replace(state, inner=replace(inner, order=order))

    def close(self, state: BudgetState) -> tuple[BudgetState, StepReport]:
        """Fit the rows of the open period, and pay them."""
        inner, report = self.inner.close(state.inner)
        spent = self.spending(state).spent_after(state.gathered)
        return BudgetState(inner=inner, spent=spent.amount), replace(report, cost=self.budget.price(state.gathered))

    def outlook(self, state: BudgetState) -> Outlook:
        """Return how the risk develops from the open period on."""
        outlook: Outlook = self.inner.outlook(state.inner)
        return outlook

    def target(self, state: BudgetState) -> float:
        """Return the target of the open period."""
        return float(self.inner.target(state.inner))

    def forecast(self, state: BudgetState, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all."""
        risk: float | None = self.inner.forecast(state.inner, samples)
        return risk

    def spending(self, state: BudgetState) -> Spending:
        """Return the money in the open period."""
        return Spending(
            budget=self.budget, period=state.period, spent=state.spent, bought=state.bought, adjacent=self.adjacent
        )

    def losses_left_out(self, state: BudgetState, folds: Folds) -> FloatArray:
        """Return the loss of each row by a model that did not see its fold."""
        losses: FloatArray = self.inner.losses_left_out(state.inner, folds)
        return losses

    def scores_left_out(self, state: BudgetState) -> FloatArray | None:
        """Return the scores of the rows of the open period by the fit without each of them; None without a fit."""
        scores: FloatArray | None = self.inner.scores_left_out(state.inner)
        return scores

    def held_out(self, state: BudgetState) -> BoolArray | None:
        """Return which rows of the open period are held out from every fit."""
        held: BoolArray | None = self.inner.held_out(state.inner)
        return held

    def current(self, state: BudgetState) -> tuple["BudgetMethod", BudgetState]:
        """Return the method itself and its state."""
        return self, state


def within_budget(method: ModelMethod, state: MethodState, budget: Budget) -> tuple[BudgetMethod, BudgetState]:
    """Return a method and its state with a budget from now on; nothing was spent so far."""
    return BudgetMethod(inner=replace(method, budgeted=True), budget=budget), BudgetState(inner=state)  # type: ignore[type-var]
