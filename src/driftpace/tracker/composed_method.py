"""A method composed of a learner, a drift estimate, a sample-size rule and constants, such as the one of the paper."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftpace.drift import KnownDrift
from driftpace.errors import DataError, TooEarlyError
from driftpace.losses import LinearLoss
from driftpace.planning import Outlook
from driftpace.records import Assumption, DriftEstimate, Fit, Outcome, PeriodData, Request, StepReport
from driftpace.rules import RuleContext, RuleDecision, TrainedPeriod, meets
from driftpace.rules.decision import risk_at
from driftpace.selection import Design, losses_left_out
from driftpace.tracker.composed_checks import assumptions, check_composed
from driftpace.tracker.composed_context import (
    ComposedConfig,
    ComposedState,
    constants_of,
    context_of,
    outlook_of,
    proven_distance,
    rows_for,
    watch_columns,
)
from driftpace.tracker.method import Folds, ModelMethod, check_pool, require_order
from driftpace.tracker.spending import PeriodSupply, Spending, not_known_yet, plan_period, reason
from driftpace.tracker.state import PeriodOrder
from driftpace.typing import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ComposedMethod(ComposedConfig, ModelMethod):
    """Size a period once by the rule, from the learner's bound, the constants and the drift."""

    state_type = ComposedState

    @property
    def tolerance(self) -> float | None:
        """None: the target is a number."""
        return None

    @property
    def metric(self) -> None:
        """None: the target is an excess loss."""
        return

    @property
    def confidence(self) -> float | None:
        """None: the bound is on the mean."""
        return None

    @property
    def adjacent(self) -> bool:
        """Whether the drift is estimated from neighbouring periods, which then both must have rows."""
        return not isinstance(self.drift, KnownDrift) and bool(getattr(self.drift, "measures", "rho") == "rho")

    def validate(self, owner: str) -> None:
        """Refuse parts that lack methods, and combinations that can never give a bound."""
        check_composed(owner, self)

    def initial(self) -> ComposedState:
        """Return the state before anything is known."""
        return ComposedState(rule=self.rule.init())

    def with_model(self, state: ComposedState, coef: FloatArray, start: FloatArray) -> ComposedState:
        """Return the state with the model before the first rows."""
        size = start.size
        return replace(
            state,
            coef=coef,
            drift=self.drift.init(size),
            constants_state=self.constants_estimator.init(size),
            gram=None if self.spec.loss.l2 > 0.0 else np.zeros((size, size)),
        )

    def checks(self, state: ComposedState) -> tuple[Assumption, ...]:
        """Return what the bound assumes."""
        return assumptions(self, state, context_of(self, state))

    def ask(self, state: ComposedState, pool: int | None) -> tuple[ComposedState, Request]:
        """Size the period once; asked again, the answer is the rows that are still missing."""
        check_pool(state, pool)
        context = context_of(self, state)
        order = state.order
        if order is None:
            order = _place_order(self, state, context, self.spec.pool if pool is None else pool)
            state = replace(state, order=order)
        request = Request(
            period=state.period,
            samples=max(0, order.total - state.gathered),
            samples_theory=order.theory,
            interval=order.interval,
            epsilon=self.epsilon,
            risk_bound=order.risk,
            outcome=order.outcome,
            reason=order.reason,
            assumptions=assumptions(self, state, context),
        )
        return state, request

    def close(self, state: ComposedState) -> tuple[ComposedState, StepReport]:
        """Fit the rows of the open period and begin the next one."""
        require_order(state)
        return _close(self, state)

    def outlook(self, state: ComposedState) -> Outlook:
        """Return how the risk develops from the open period on."""
        return outlook_of(self, state, context_of(self, state))

    def target(self, state: ComposedState) -> float:  # noqa: ARG002
        """Return the target."""
        return self.epsilon

    def forecast(self, state: ComposedState, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all."""
        rows = max(samples, state.gathered)
        with np.errstate(all="ignore"):
            context = context_of(self, state)
            if context.bound is None:
                return None
            training = rows - int(self.drift.held_out * rows)
            risk = risk_at(context.bound, proven_distance(self, state, context), training)
        return risk if math.isfinite(risk) else None

    def order_within_budget(self, state: ComposedState, spending: Spending, pool: int | None) -> PeriodOrder:
        """Return what the plan for the money left says; while nothing can be planned, what the rule asks for and money pays."""
        context = context_of(self, state)
        usual = _place_order(self, state, context, pool)
        limit, beyond = self.spec.limit(pool)
        least = _least_rows(self.drift, self, state)
        if state.period <= len(getattr(self.rule, "first_samples", ())):
            most = spending.most(limit)
            return _pilot(self, state, context, usual, most, "the size of the first periods is fixed")
        try:
            outlook = outlook_of(self, state, context)
        except TooEarlyError as error:
            least = max(least, _least_rows(self.constants_estimator, self, state), 1)
            most = max(spending.share(limit), min(least, spending.most(limit)))
            return _pilot(self, state, context, usual, most, error.why)
        supply = PeriodSupply(limit=limit, beyond=beyond, least=least)
        plan, outcome, verdict = plan_period(spending, outlook, self.epsilon, supply)
        return PeriodOrder(
            total=plan.samples[0],
            theory=usual.theory,
            pool=pool,
            risk=plan.risks[0],
            interval=(plan.samples[0], plan.samples[0]),
            outcome=outcome,
            reason=reason(spending, plan, 0, plan.samples[0]),
            epsilon=self.epsilon,
            assumptions=(verdict,),
            plan=plan,
        )

    def losses_left_out(self, state: ComposedState, folds: Folds) -> FloatArray:
        """Fit the learner once for every fold, from the last model and on the rows of the other folds.

        A fit that overflows loses the comparison; whether the period can be closed is decided by the fit to all rows.
        """
        X = np.concatenate([batch.X for batch in state.batches])
        y = np.concatenate([batch.y for batch in state.batches])
        fold, score = folds.fold, folds.loss
        try:
            models = _fits_without(self, state, fold)
        except DataError:
            return np.full(len(fold), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(score, LinearLoss):
                return losses_left_out(Design(X=X, y=y, fold=fold), models, score)
            losses = np.empty(len(y))
            intercept = self.spec.fit_intercept
            for index, model in enumerate(models):
                out = fold == index
                penalised = model[:-1] if intercept else model
                penalty = 0.5 * score.l2 * float(penalised @ penalised)
                objective = score.with_unpenalised(1) if intercept else score
                losses[out] = objective.row_values(model, X[out], y[out]) - penalty
            return losses


def _place_order(config: ComposedConfig, state: ComposedState, context: RuleContext, pool: int | None) -> PeriodOrder:
    """Return what to bring this period. What it promises is judged from the proven start, not from the rule's assumption."""
    decision = config.rule.size(state.rule, context)
    wanted = rows_for(config.drift.held_out, decision.sizing.samples)
    if context.bound is None:
        wanted = max(wanted, _least_rows(config.constants_estimator, config, state))
    total = max(wanted, _least_rows(config.drift, config, state)) if wanted > 0 else 0
    order = PeriodOrder(
        total=total,
        theory=wanted,
        pool=pool,
        risk=decision.risk,
        interval=(
            rows_for(config.drift.held_out, decision.interval[0]),
            rows_for(config.drift.held_out, decision.interval[1]),
        ),
        outcome=_outcome(decision, context),
        reason=decision.sizing.reason,
        epsilon=config.epsilon,
    )
    if total > wanted:
        order = replace(order, reason=f"{order.reason}; the drift estimate needs at least {total} rows")
    if pool is None or total <= pool:
        return order
    training = pool - int(config.drift.held_out * pool)
    return replace(
        order,
        total=pool,
        risk=math.inf if context.bound is None else risk_at(context.bound, decision.distance, training),
        outcome=Outcome.POOL,
        reason=f"{total} rows needed ({order.reason}), but the pool of this period has {pool}",
    )


def _outcome(decision: RuleDecision, context: RuleContext) -> Outcome:
    if decision.sizing.outcome.promised and not meets(decision.risk, context.epsilon):
        return Outcome.SETTLING
    return decision.sizing.outcome


def _least_rows(estimator: Any, config: ComposedConfig, state: ComposedState) -> int:
    """Return the fewest rows from which an estimator can say anything; fewer would leave it silent for ever."""
    least = getattr(estimator, "least_rows", None)
    return 0 if least is None or state.features is None else int(least(config.spec.dimension(state.features)))


def _pilot(
    config: ComposedConfig, state: ComposedState, context: RuleContext, usual: PeriodOrder, most: int, why: str
) -> PeriodOrder:
    """Return what the rule asks for without a budget, as far as the money goes."""
    total = min(usual.total, most)
    order = replace(usual, total=total, interval=(total, total), assumptions=(not_known_yet(why),))
    if total == usual.total:
        return order
    training = total - int(config.drift.held_out * total)
    distance = proven_distance(config, state, context)
    return replace(
        order,
        risk=math.inf if context.bound is None else risk_at(context.bound, distance, training),
        outcome=Outcome.BUDGET,
        reason=f"{usual.total} rows needed ({usual.reason}), but the budget pays for {total} in this period",
    )


def _close(config: ComposedConfig, state: ComposedState) -> tuple[ComposedState, StepReport]:
    """Return the state after the period is fitted on the rows delivered, and the report.

    One start distance is proven before the fit; how many rows are used, how they are fitted and what is promised rely on it.
    """
    order = state.order
    assert order is not None
    X, y, _ = _visited(config, state)
    state = _with_constants(config, state, X, y)
    context = context_of(config, state)
    distance = proven_distance(config, state, context)
    training = len(y) - int(config.drift.held_out * len(y))
    used = _used(context, distance, training)
    fitted = _fit(config, state, distance, X[:used], y[:used])
    trained = TrainedPeriod(samples=training if context.bound is not None else 0, used=used, distance=distance)
    rule, risk = config.rule.close(state.rule, context, trained)
    state = _with_drift(config, state, context, trained, fitted, X, y)
    drift = None if state.drift is None else config.drift.estimate(state.drift)
    outcome = _closing_outcome(order, config.epsilon, len(y), risk, context, fitted)
    report = _report(state.period, order, outcome, len(y), risk, drift)
    idle = distance if len(y) == 0 and math.isfinite(distance) else None
    after = replace(
        state,
        period=state.period + 1,
        rule=rule,
        order=None,
        batches=(),
        first_rows=False,
        idle_distance=idle,
        bought=len(y) > 0,
    )
    return after, report


def _fits_without(config: ComposedConfig, state: ComposedState, fold: IntArray) -> FloatArray:
    """Return the models that the period would be closed with if the rows of a fold had not come, (folds, coefficients).

    Each starts from the last model, visits the other rows in the order in which all would be visited, and relies on the constants
    and the distance that all of them give.
    """
    assert state.coef is not None
    X, y, order = _visited(config, state)
    state = _with_constants(config, state, X, y)
    context = context_of(config, state)
    distance = proven_distance(config, state, context)
    models = []
    for one in range(int(fold.max()) + 1):
        keep = fold[order] != one
        count = int(keep.sum())
        used = _used(context, distance, count - int(config.drift.held_out * count))
        fitted = _fit(config, state, distance, X[keep][:used], y[keep][:used])
        models.append(state.coef if fitted is None else fitted.coef)
    return np.array(models)


def _visited(config: ComposedConfig, state: ComposedState) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return this period's rows in the order in which they are visited: a random one, since rows may come sorted."""
    width = 0 if state.features is None else config.spec.dimension(state.features)
    X = np.concatenate([np.empty((0, width)), *(batch.X for batch in state.batches)])
    y = np.concatenate([np.empty(0), *(batch.y for batch in state.batches)])
    order = np.random.default_rng((config.spec.entropy, state.period)).permutation(len(y))
    return X[order], y[order], order


def _with_constants(config: ComposedConfig, state: ComposedState, X: FloatArray, y: FloatArray) -> ComposedState:
    """Return the state with the constants as they look after these rows, which no model was trained on yet."""
    if state.coef is None or len(y) == 0:
        return state
    objective = config.spec.objective
    constants_state = config.constants_estimator.update(state.constants_state, objective, state.coef, X, y)
    return replace(
        state,
        gram=watch_columns(config, state, X),
        rows_seen=state.rows_seen + len(y),
        first_rows=state.rows_seen == 0,
        constants_state=constants_state,
        constants=config.constants_estimator.constants(constants_state, objective).updated(config.constants),
    )


def _used(context: RuleContext, distance: float, training: int) -> int:
    """Return how many rows to train on: as many as the bound says are of use, all from an infinite distance."""
    if context.bound is None or training == 0:
        return 0
    return context.bound.used(distance, training) if math.isfinite(distance) else training


def _fit(config: ComposedConfig, state: ComposedState, distance: float, X: FloatArray, y: FloatArray) -> Fit | None:
    """Return the next model, or None when there is nothing to fit."""
    if state.coef is None or len(y) == 0:
        return None
    constants = constants_of(config, state)
    fitted = config.learner.fit(
        config.spec.objective, config.spec.domain, state.coef, X, y, constants=constants, distance=distance
    )
    if fitted.outcome is Outcome.NONFINITE or not np.isfinite(fitted.coef).all():
        raise DataError(
            "must be of a size that a fit can follow; got an overflow: rescale the columns.",
            owner="Tracker.tell",
            name="X",
        )
    return fitted


def _with_drift(
    config: ComposedConfig,
    state: ComposedState,
    context: RuleContext,
    trained: TrainedPeriod,
    fitted: Fit | None,
    X: FloatArray,
    y: FloatArray,
) -> ComposedState:
    """Return the state with the new model, and the drift as it looks after the period.

    Rows that trained nothing are shown as held out; before the constants are known nothing is shown.
    """
    if state.coef is None:
        return state
    scatter = math.inf
    if context.bound is not None and math.isfinite(
        trained.distance
    ):  # theory 2, C_i(K): two runs differ by 2 D at most
        scatter = math.sqrt(2.0) * context.bound.reach(context.bound(trained.distance, trained.samples))
    shown = len(y) if context.bound is not None else 0
    seen = PeriodData(
        period=state.period,
        X=X[: trained.used],
        y=y[: trained.used],
        X_held=X[trained.used : shown],
        y_held=y[trained.used : shown],
        start=state.coef,
        coef=state.coef if fitted is None else fitted.coef,
        gradient=np.zeros_like(state.coef) if fitted is None else fitted.gradient,
        scatter=scatter,
        constants=constants_of(config, state),
    )
    return replace(
        state,
        coef=seen.coef,
        gradient=state.gradient if fitted is None else fitted.gradient,
        drift=config.drift.update(state.drift, seen, config.spec.objective),
    )


def _closing_outcome(
    order: PeriodOrder, epsilon: float, gathered: int, risk: float, context: RuleContext, fitted: Fit | None
) -> Outcome:
    if context.bound is None and gathered:
        return Outcome.PILOT
    if fitted is not None and fitted.outcome is Outcome.STALLED:
        return Outcome.STALLED
    if meets(risk, epsilon):
        return Outcome.MET if gathered else Outcome.ENOUGH
    if gathered < order.total:
        return Outcome.SHORT
    return Outcome.SETTLING if order.outcome.promised else order.outcome


def _report(
    period: int, order: PeriodOrder, outcome: Outcome, gathered: int, risk: float, drift: DriftEstimate | None
) -> StepReport:
    return StepReport(
        period=period,
        asked=order.total,
        samples=gathered,
        rho=None if drift is None else drift.value,
        rho_upper=None if drift is None else drift.upper,
        measures=None if drift is None else drift.measures,
        risk_bound=risk,
        certificate=None,
        outcome=outcome,
        samples_theory=order.theory,
        epsilon=order.epsilon,
        seconds=0.0,
    )
