"""The default method: banks of drift models, and periods that are sized again as rows arrive."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.adaptive import (
    AdaptiveConfig,
    AdaptiveState,
    Decision,
    DesignRows,
    MetricTarget,
    RowCounts,
    Supply,
    advance,
    audit_of,
    audit_period,
    audit_rows,
    centered_at,
    certificate,
    checks,
    close_metric,
    count_rows,
    drift,
    early,
    first_state,
    fresh_rows,
    held_out_rows,
    judge,
    label_sums,
    left_out_scores,
    leverages,
    measured_risk,
    metric_check,
    number_groups,
    outlook_from_here,
    outlook_of,
    status,
    tuned_start,
    with_closed_order,
    with_outputs,
    with_scale,
)
from driftpace.constraints import WholeSpace
from driftpace.errors import DataError, ParameterError, TooEarlyError
from driftpace.losses import LinearLoss, SoftmaxLoss, VectorLoss
from driftpace.planning import Outlook
from driftpace.records import Assumption, LabelSums, Outcome, Request, StepReport
from driftpace.selection import Design, Held, left_out, losses_left_out
from driftpace.tables.expansion import band_sizes
from driftpace.tracker.adaptive_order import (
    OpenPeriod,
    PeriodLook,
    PeriodRows,
    finite,
    in_pilot,
    metric_outcome,
    next_order,
    planned_order,
)
from driftpace.tracker.blank_rows import blank_order, nothing_shown
from driftpace.tracker.method import Folds, ModelMethod, TellEvent, check_classes, check_pool, require_order
from driftpace.tracker.row_labels import labels_of
from driftpace.tracker.spending import Spending
from driftpace.tracker.state import MethodState, ModelSpec, PeriodOrder, RowBatch, groups_of, mean_one, weights_of
from driftpace.typing import BoolArray, FloatArray, IntArray

MOST_COEFFICIENTS = 1_500
"""The most coefficients of a loss of several scores: a look then takes some ten seconds, and its time grows with their cube."""

MOST_RISK = 1.5
"""A period that can have more rows ends with at most so many targets of risk, those rows included that were kept for the audit."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AdaptiveMethodState(MethodState):
    """``adaptive`` is what is known of the drift; ``looks`` cache what the rows of the open period show, and are not saved."""

    adaptive: AdaptiveState | None = None
    looks: tuple[PeriodLook, ...] = field(default=(), metadata={"saved": False})

    def without_rows(self) -> Self:
        """Return the state without the rows of the open period."""
        return replace(self, batches=(), looks=())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AdaptiveMethod(ModelMethod):
    """Follow every plausible drift at once, and ask for rows until the remaining risk meets the target."""

    spec: ModelSpec
    config: AdaptiveConfig
    budgeted: bool = False

    decides_again = True
    uses_groups = True
    uses_weights = True
    linear = True
    state_type = AdaptiveMethodState

    @property
    def epsilon(self) -> float | None:
        """The target; None where a tolerance is given instead."""
        return self.config.epsilon

    @property
    def tolerance(self) -> float | None:
        """The target as a share of the best loss."""
        return self.config.tolerance

    @property
    def metric(self) -> MetricTarget | None:
        """The target in a metric, where it is given in one."""
        return self.config.metric

    @property
    def confidence(self) -> float | None:
        """The probability with which the target is met in each period."""
        return self.config.confidence

    @property
    def adjacent(self) -> bool:
        """No: the drift is estimated from any two periods."""
        return False

    def validate(self, owner: str) -> None:
        """Refuse a target, a loss or a set that the method cannot work with."""
        spec, config = self.spec, self.config
        _check_kind(owner, config)
        if config.epsilon is not None:
            validation.positive(owner, epsilon=config.epsilon)
        if config.tolerance is not None:
            validation.positive(owner, tolerance=config.tolerance)
        for name, value in (("confidence", config.confidence), ("certificate_level", config.certificate_level)):
            if value is not None:
                validation.fraction(owner, **{name: value})
        for name, part, kind in (("loss", spec.loss, LinearLoss | VectorLoss), ("domain", spec.domain, WholeSpace)):
            if not isinstance(part, kind):
                wanted = "a LinearLoss" if name == "loss" else "WholeSpace()"
                raise ParameterError(
                    f"must be {wanted} for the adaptive method, or come with learner=, drift= and rule=; got {part!r}.",
                    owner=owner,
                    name=name,
                )

    def initial(self) -> AdaptiveMethodState:
        """Return the state before anything is known."""
        return AdaptiveMethodState()

    def with_model(self, state: AdaptiveMethodState, coef: FloatArray, start: FloatArray) -> AdaptiveMethodState:
        """Return the state with the model before the first rows; inside, the intercept is first."""
        intercept, outputs = self.spec.fit_intercept, self.spec.outputs
        start = np.roll(start, outputs) if intercept else start.copy()
        expanded = self.config.expanded
        bands = band_sizes(state.columns) if expanded else self.config.bands
        adaptive = first_state(start, intercept, self.config.noise_rates, outputs, bands, expanded=expanded)
        return replace(state, coef=coef, adaptive=adaptive)

    def checks(self, state: AdaptiveMethodState) -> tuple[Assumption, ...]:  # noqa: ARG002
        """Return none: the order has them."""
        return ()

    def ask(self, state: AdaptiveMethodState, pool: int | None) -> tuple[AdaptiveMethodState, Request]:
        """Return how many rows to bring next; the same answer until rows are delivered or withdrawn."""
        check_pool(state, pool)
        order = state.order
        if order is not None and self.delivering(state):
            order = order.undelivered(state.gathered)
            state = replace(state, order=order)
        elif order is None or order.after != state.gathered:
            pool = (self.spec.pool if pool is None else pool) if order is None else order.pool
            blank = self._blank_after_pilot(state)
            unknown = state.adaptive is None or blank or (state.gathered == 0 and not state.adaptive.banks)
            decided = None if self._settled(state) else state.gathered
            look = None if unknown else self.look(state, decided=decided)
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                period = self._open_period(state, pool)
                new = self._blank_order(period, blank) if blank else next_order(period, state.adaptive, look)
                if look is not None and new.total == state.gathered:
                    new, look = self._with_all_rows(state, new, look)
            order = new.following(order, state.gathered)
            state = replace(state, order=order, looks=() if look is None else (look,))
        return state, Request(
            period=state.period,
            samples=order.total - order.after,
            samples_theory=order.theory,
            interval=order.interval,
            epsilon=order.epsilon,
            risk_bound=order.risk,
            outcome=order.outcome,
            reason=order.reason,
            assumptions=order.assumptions,
            status=order.status,
        )

    def _blank(self, state: AdaptiveMethodState) -> str | None:
        """Return what the rows of a first period do not show, in words; None where something is known."""
        if state.adaptive is None or state.adaptive.banks:
            return None
        one_class = self.config.tolerance is not None  # a share of a loss that such rows do not show
        return nothing_shown(self.spec.loss, state.batches, classes=one_class)

    def _blank_after_pilot(self, state: AdaptiveMethodState) -> str | None:
        """Return the same once the initial sample is complete."""
        adaptive = state.adaptive
        if adaptive is None or in_pilot(adaptive, self._counts(state).fitted):
            return None
        return self._blank(state)

    def _blank_order(self, period: OpenPeriod, blank: str, limit: int | None = None) -> PeriodOrder:
        return blank_order(
            blank,
            gathered=period.gathered,
            limit=period.limit if limit is None else limit,
            beyond=period.beyond,
            pool=period.pool,
            epsilon=self.config.epsilon,
            batch=period.batch,
        )

    def gather(self, state: AdaptiveMethodState, event: TellEvent) -> AdaptiveMethodState:
        """Add rows to the open period; too many coefficients of several scores are refused."""
        after: AdaptiveMethodState = ModelMethod.gather(self, state, event)
        if isinstance(self.spec.loss, VectorLoss) and after.adaptive is not None:
            columns, outputs = after.adaptive.columns, self._outputs(after, after.adaptive)
            several = isinstance(self.spec.loss, SoftmaxLoss)
            if several:
                check_classes(after.batches)
            if columns * outputs > MOST_COEFFICIENTS:
                got = f"{outputs + 1:,} classes" if several else f"{outputs:,} targets"
                instead = ": merge rare classes, or give method='wide'" if several else ""
                raise DataError(
                    f"must have at most {MOST_COEFFICIENTS:,} coefficients, as the method keeps a matrix of all of them; got {got} "
                    f"and {columns:,} columns, the intercept included, {columns * outputs:,} coefficients{instead}.",
                    name="y" if several and columns <= MOST_COEFFICIENTS else "X",
                )
        return after

    def _with_all_rows(
        self, state: AdaptiveMethodState, order: PeriodOrder, look: PeriodLook
    ) -> tuple[PeriodOrder, PeriodLook]:
        """Return an order that ends a period, unless all its rows show far too large a risk: then the order after all of them.

        A row that was kept for the audit may be so wrong that the model is spoilt when it is fitted.
        """
        if self.config.orders is not None or not look.adaptive.banks:
            return order, look
        whole = self.look(state)
        fitted = self._counts(state).fitted
        if whole is look or whole.risk_after(self.config, fitted) <= MOST_RISK * order.epsilon:
            return order, look
        period = self._open_period(state, order.pool)
        return replace(next_order(period, state.adaptive, whole), whole=True), whole

    def look(
        self, state: AdaptiveMethodState, *, decided: int | None = None, whole: PeriodLook | None = None
    ) -> PeriodLook:
        """Return what the rows of the open period show, which may be none; computed once for the same rows.

        A look that a decision is taken on has the first ``decided`` rows without those that are kept for the audit. Rows that are
        held out are in none. ``whole`` is a look at all others, where there is one.
        """
        seen = self.rows_to_judge(state, decided=decided, whole=whole)
        if isinstance(seen, PeriodLook):
            return seen
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return seen.judged(judge(self.config, seen.adaptive, seen.rows))

    def rows_to_judge(
        self, state: AdaptiveMethodState, *, decided: int | None = None, whole: PeriodLook | PeriodRows | None = None
    ) -> PeriodLook | PeriodRows:
        """Return a look where it is known, or the rows that it is to be taken at; parameters are those of :meth:`look`."""
        adaptive = state.adaptive
        assert adaptive is not None
        fitted = ~self._held_out_rows(state)
        count = int(np.count_nonzero(fitted))
        kept = None if decided is None else self._kept(state, fitted, decided)
        seen = count if kept is None else count - int(np.count_nonzero(kept))
        until = count if decided is None or seen == count else int(np.count_nonzero(fitted[:decided]))
        looks: list[PeriodLook] = [*state.looks, *([whole] if isinstance(whole, PeriodLook) else [])]
        outputs = self._outputs(state, adaptive)
        for known in looks:
            if known.adaptive.outputs == outputs and known.same_rows(state.batches, until, seen):
                return known  # a look before a class appeared has no coefficients for it
        if whole is not None:
            adaptive, rows = whole.adaptive, whole.rows
        else:
            adaptive, rows = self._period_rows(state, adaptive, fitted)
        if kept is not None:
            rows = rows.select(~kept)
        return PeriodRows(batches=state.batches, fitted=until, adaptive=adaptive, rows=rows)

    def open_rows(self, state: AdaptiveMethodState) -> tuple[AdaptiveState, DesignRows]:
        """Return the rows of the open period that are fitted, and the state with the center of their columns."""
        assert state.adaptive is not None
        return self._period_rows(state, state.adaptive, ~self._held_out_rows(state))

    def held_out(self, state: AdaptiveMethodState) -> BoolArray | None:
        """Return which rows of the open period are held out for the audit; None where none ever are."""
        return None if self.config.audit is None else self._held_out_rows(state)

    def _held_out_rows(self, state: AdaptiveMethodState) -> BoolArray:
        if self.config.audit is None:
            return np.zeros(state.gathered, dtype=np.bool_)
        return held_out_rows(state.gathered, self.config.audit, _numbered_groups(state))

    def _counts(self, state: AdaptiveMethodState) -> RowCounts:
        """Return how many rows of the open period were delivered, and how many of them are fitted."""
        seen = None if state.adaptive is None else state.adaptive.memory.noise.estimate()
        usual = 1.0 if seen is None or seen.rows == 0.0 else seen.rows / seen.units
        groups = None if self.config.audit is None else _numbered_groups(state)
        return count_rows(self.config.audit, state.gathered, groups, usual)

    def _kept(self, state: AdaptiveMethodState, fitted: BoolArray, decided: int) -> BoolArray:
        """Return which of the ``fitted`` rows its decisions did not see, the last of which could see ``decided`` rows of all.

        In early periods, under a budget and after a whole order decisions see every row that is there; a first period has nothing
        to audit.
        """
        adaptive, count = state.adaptive, int(fitted.sum())
        assert adaptive is not None
        if not adaptive.banks:
            return np.zeros(count, dtype=np.bool_)
        groups = groups_of(state.batches)
        numbered = None if groups is None else number_groups(groups[fitted])
        decided = int(fitted[:decided].sum())
        if early(adaptive) or self.budgeted or (state.order is not None and state.order.whole):
            return fresh_rows(count, decided, numbered)
        return audit_rows(count, adaptive.columns, decided, numbered)

    def sized(self, state: AdaptiveMethodState) -> bool:
        """Whether an order is being delivered, or the period had all its orders."""
        return state.order is not None and state.order.is_sized(state.gathered, self.config.orders)

    def delivering(self, state: AdaptiveMethodState) -> bool:
        """Whether an order is being delivered: it is complete before the period is sized again."""
        return self.sized(state) and not self._settled(state)

    def _settled(self, state: AdaptiveMethodState) -> bool:
        """Whether the period had all its orders, and they were delivered."""
        return self.sized(state) and state.order is not None and state.gathered >= state.order.total

    def _open_period(self, state: AdaptiveMethodState, pool: int | None) -> OpenPeriod:
        limit, beyond = self.spec.limit(pool)
        return OpenPeriod(
            config=self.config,
            period=state.period,
            pool=pool,
            limit=limit,
            beyond=beyond,
            counts=self._counts(state),
            last=state.order,
            settled=self._settled(state),
        )

    def forget(self, state: AdaptiveMethodState) -> AdaptiveMethodState:
        """Withdraw the rows; where no other rows were ever fitted, the columns that they showed too."""
        after: AdaptiveMethodState = ModelMethod.forget(self, state)
        if after is state or state.rows_seen or state.period == 1:
            return after
        fresh = self.begin()
        return replace(after, features=fresh.features, columns=fresh.columns, coef=fresh.coef, adaptive=fresh.adaptive)

    def close(self, state: AdaptiveMethodState) -> tuple[AdaptiveMethodState, StepReport]:
        """Return the state after the period is fitted on the rows delivered, and the report."""
        require_order(state)
        order, adaptive, gathered = state.order, state.adaptive, state.gathered
        assert order is not None
        after = replace(state, period=state.period + 1, order=None, batches=(), looks=(), bought=gathered > 0)
        limit, beyond = self.spec.limit(order.pool)
        blank = self._blank(state)
        if adaptive is None or blank or (gathered == 0 and not adaptive.banks):
            outcome = self._missed(order, gathered, limit, beyond)
            if blank and not self.budgeted:
                outcome = beyond if gathered >= limit else Outcome.SHORT
            return self._unknown(state, after), _report(state.period, order, gathered, math.inf, outcome)
        look = self.look(state)
        adaptive, rows, judged = look.adaptive, look.rows, look.judged
        fitted, held = look.fitted, self._held_out_rows(state)
        decision = Decision(
            judged=self.look(state, decided=order.decided, whole=look).judged,
            first=order.first - int(np.count_nonzero(held[: order.first])),
            fresh=self._kept(state, ~held, order.decided),
        )
        if not finite(judged):
            raise DataError(
                "must be of a size that a fit can follow; got an overflow: rescale the columns.",
                owner="Tracker.tell",
                name="X",
            )
        risk = self.config.judged_by(judged.epsilon).risk(adaptive.sizes, judged.variances)
        if risk <= judged.epsilon and in_pilot(adaptive, fitted - look.lost):
            risk = math.inf
        met = risk <= judged.epsilon
        held_out = None if self.config.audit is None else self._period_rows(state, adaptive, held)[1]
        metric, known = None, judged.metric
        if known is not None:
            memory, metric = close_metric(known, held_out, judged.model)
            known = replace(known, memory=memory)
        if met:
            outcome = Outcome.MET if gathered else Outcome.ENOUGH
            if known is not None:
                outcome = metric_outcome(known, risk, outcome)
        else:
            outcome = self._missed(order, gathered, limit, beyond)
        advanced = advance(self.config, adaptive, rows, judged)
        if isinstance(self.spec.loss, LinearLoss) and self.spec.loss.open:
            advanced = with_scale(advanced, rows)
        advanced, measured = audit_period(adaptive, advanced, rows, judged, decision, held_out)
        advanced = with_closed_order(self.config, advanced, order.total, _arrived(state))
        if known is not None:
            advanced = replace(advanced, metric=known.memory)
        missing, theory = 0, order.theory
        if not met or not adaptive.banks:
            wanted = look.rows_missing(self.config, order.batch if self.config.orders is None else order.placed)
            missing, theory = 0 if met else max(wanted.all, 1), theory if adaptive.banks else wanted.theory
        rho, rho_upper = drift(advanced.banks) if adaptive.banks else (None, None)
        supply = Supply(gathered=fitted, missing=missing, exhausted=outcome is Outcome.POOL)
        audited = audit_of(advanced.audit, measured, judged.epsilon)
        report = _report(
            state.period,
            order,
            gathered,
            risk,
            outcome,
            epsilon=judged.epsilon,
            samples_theory=theory,
            rho=rho,
            rho_upper=rho_upper,
            measures="rho" if adaptive.banks else None,
            certificate=certificate(self.config, adaptive, judged) if risk < math.inf else math.inf,
            audit=audited,
            metric=metric,
            effective_samples=None if rows.weights is None else rows.effective,
            label_sums=_label_sums(state.batches, look, ~held),
            status=status(judged),
            assumptions=(
                *checks(adaptive, rows, judged, supply),
                measured_risk(audited, judged.epsilon),
                *(() if known is None or metric is None else (metric_check(known, metric),)),
            ),
        )
        coef = self._coefficients(adaptive, judged.model)
        return replace(after, adaptive=advanced, coef=coef, rows_seen=state.rows_seen + fitted), report

    def _unknown(self, state: AdaptiveMethodState, after: AdaptiveMethodState) -> AdaptiveMethodState:
        """Return the state ``after`` a period that showed nothing; of counts that are zero, with half a count in all rows."""
        level = None
        if state.batches and isinstance(self.spec.loss, LinearLoss):
            y = np.concatenate([batch.y for batch in state.batches])
            level = self.spec.loss.constant_score(y, weights_of(state.batches))
        if level is not None and state.coef is not None and self.spec.fit_intercept:
            after = replace(after, coef=np.append(np.zeros_like(state.coef[:-1]), level))
        if state.adaptive is None or state.order is None:
            return after
        return replace(
            after, adaptive=with_closed_order(self.config, state.adaptive, state.order.total, _arrived(state))
        )

    def _missed(self, order: PeriodOrder, gathered: int, limit: int, beyond: Outcome) -> Outcome:
        """Return why a target was missed: too few rows, or all that the period can have; with a budget, all that were planned."""
        if not self.budgeted:
            if gathered >= limit:
                return beyond
            shared = order.outcome in (Outcome.BUDGET, Outcome.SETTLING) and gathered >= order.total
            if order.outcome is Outcome.LATE or (shared and not order.more):
                return order.outcome
            return Outcome.SHORT if gathered < order.total or order.more else Outcome.UNSUPPORTED
        if gathered < (order.total if order.plan is None else order.plan.samples[0]):
            return Outcome.SHORT
        return Outcome.SETTLING if order.outcome.promised else order.outcome

    def outlook(self, state: AdaptiveMethodState) -> Outlook:
        """Return the outlook of the open period, before any row of it; of a first period, with its initial sample."""
        look = self._look_ahead(state)
        return outlook_of(self.config, look.adaptive, look.rows, look.judged)

    def target(self, state: AdaptiveMethodState) -> float:
        """Return the target of the open period."""
        return self._look_ahead(state).judged.epsilon if self.config.epsilon is None else self.config.epsilon

    def _look_ahead(self, state: AdaptiveMethodState) -> PeriodLook:
        adaptive = state.adaptive
        if adaptive is not None and adaptive.banks:
            state = state.without_rows()
        if adaptive is None or (not adaptive.banks and in_pilot(adaptive, self._counts(state).fitted)):
            raise TooEarlyError("there are no initial labels yet, which show the noise")
        blank = self._blank(state)
        if blank:
            raise TooEarlyError(blank)
        look = self.look(replace(state, looks=()))
        if not finite(look.judged):
            raise TooEarlyError("the rows delivered cannot be fitted")
        return look

    def forecast(self, state: AdaptiveMethodState, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all, computed as that of an order is."""
        gathered, adaptive, counts = state.gathered, state.adaptive, self._counts(state)
        rows = counts.to_fitted(samples)
        pilot = (
            adaptive is None or in_pilot(adaptive, rows) or (not adaptive.banks and in_pilot(adaptive, counts.fitted))
        )
        if adaptive is None or pilot or self._blank(state):
            return None  # a model passes through so few rows, and looks certain
        with np.errstate(all="ignore"):
            sized = self.sized(state) and state.order is not None
            look = self.look(state, decided=state.order.decided if sized and state.order else gathered)
            if not finite(look.judged):
                return None
            if self.budgeted:
                outlook, seen = outlook_from_here(self.config, look.adaptive, look.rows, look.judged)
                risk = outlook.bound(outlook.start, max(samples, gathered) - (gathered if seen else 0))
            else:
                risk = look.risk_in_use(self.config, rows)
        return risk if math.isfinite(risk) else None

    def order_within_budget(self, state: AdaptiveMethodState, spending: Spending, pool: int | None) -> PeriodOrder:
        """Return what the plan for the money left says; as long as nothing is known, the initial sample that it pays for."""
        adaptive = state.adaptive
        period = self._open_period(state, pool)
        most = spending.most(period.limit)
        if most < period.limit:
            period = replace(period, limit=most, beyond=Outcome.BUDGET)
        blank = self._blank_after_pilot(state)
        if blank:  # a period's share of the money, and not all of it
            return self._blank_order(period, blank, period.limit // max(spending.periods, 1))
        pilot = adaptive is not None and not adaptive.banks and in_pilot(adaptive, period.counts.fitted)
        unknown = adaptive is None or (pilot and period.gathered < max(period.limit, 1))
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            look = None if unknown else self.look(replace(state, looks=()))
            return planned_order(period, adaptive, look, spending)

    def losses_left_out(self, state: AdaptiveMethodState, folds: Folds) -> FloatArray:
        """Leave folds out of the fit in closed form, or nearly: held to the past as strongly as the whole period was.

        Candidates that see the same columns share the sums over rows.
        """
        look = self.look(state)
        rows, judged, score = look.rows, look.judged, folds.loss
        assert isinstance(score, LinearLoss | VectorLoss)
        if isinstance(score, VectorLoss):
            score = score.with_outputs(rows.outputs)
        if folds.key not in folds.designs:
            folds.designs[folds.key] = Design(X=rows.X, y=rows.y, fold=folds.fold, weights=rows.weights)
        design = folds.designs[folds.key]
        if not finite(judged) or judged.fit is None:
            return np.full(len(folds.fold), np.nan)
        white = judged.coordinates
        strength = (white.factor * judged.fit.strength) @ white.factor.T
        held = Held(loss=rows.loss, model=judged.model, strength=strength, penalty=rows.penalty)
        return losses_left_out(design, left_out(design, held), score)

    def scores_left_out(self, state: AdaptiveMethodState) -> FloatArray | None:
        """Return the scores of the rows of the open period, (rows, outputs), by the fit without each; None without a fit."""
        if self._blank(state):
            return None
        look, held = self.look(state), self._held_out_rows(state)
        rows, judged = look.rows, look.judged
        if judged.fit is None or not finite(judged):
            return None
        scores = np.empty((len(held), rows.outputs))
        scores[~held] = left_out_scores(rows, judged.fit).reshape(-1, rows.outputs)
        if held.any():
            unseen = self._period_rows(state, look.adaptive, held)[1]
            scores[held] = unseen.scores(judged.model).reshape(-1, rows.outputs)
        return scores

    def _period_rows(
        self, state: AdaptiveMethodState, adaptive: AdaptiveState, chosen: BoolArray
    ) -> tuple[AdaptiveState, DesignRows]:
        """Return chosen rows of the open period, the intercept's column first, and the state with the center of the columns.

        With an intercept every column is centered at its mean in the first period, for ever: a column of years then loses no
        digits, and the problem stays the same.
        """
        adaptive, loss = self._with_classes(state, adaptive)
        groups = groups_of(state.batches)
        groups = None if groups is None else groups[chosen]
        weights = mean_one(weights_of(state.batches), chosen)
        parts = _chosen_rows(state.batches, chosen)
        X = np.empty((sum(len(y) for _, y in parts), adaptive.columns))
        y = np.concatenate([y for _, y in parts]) if parts else np.empty(0)
        penalty = loss.penalty_weights(adaptive.size)
        if not self.spec.fit_intercept:
            np.concatenate([np.empty((0, adaptive.columns)), *(rows for rows, _ in parts)], out=X)
            adaptive, loss = self._tuned(adaptive, loss, X, y, weights)
            return adaptive, DesignRows(
                loss=loss, X=X, y=y, penalty=penalty, groups=groups, weights=weights, names=state.columns
            )
        X[:, 0] = 1.0
        at = 0
        for rows, _ in parts:
            X[at : at + len(rows), 1:] = rows[:, :-1]
            at += len(rows)
        center = _middle(X[:, 1:]) if adaptive.place is None else adaptive.place
        adaptive = adaptive if adaptive.place is not None else centered_at(adaptive, center)
        X[:, 1:] -= center
        adaptive, loss = self._tuned(adaptive, loss, X, y, weights)
        penalty = np.concatenate([penalty[-adaptive.outputs :], penalty[: -adaptive.outputs]])  # the intercept's first
        names = None if state.columns is None else ("intercept", *state.columns)
        return adaptive, DesignRows(loss=loss, X=X, y=y, penalty=penalty, groups=groups, weights=weights, names=names)

    def _with_classes(
        self, state: AdaptiveMethodState, adaptive: AdaptiveState
    ) -> tuple[AdaptiveState, LinearLoss | VectorLoss]:
        """Return the state and the objective for all classes of the open period, those that appear in it included."""
        loss = self.spec.objective
        if not isinstance(loss, VectorLoss):
            assert isinstance(loss, LinearLoss)
            return adaptive, loss
        outputs = self._outputs(state, adaptive)
        adaptive = with_outputs(adaptive, outputs)
        loss = loss.with_outputs(outputs)
        return adaptive, loss.with_unpenalised(outputs) if self.spec.fit_intercept else loss

    def _tuned(
        self,
        adaptive: AdaptiveState,
        loss: LinearLoss | VectorLoss,
        X: FloatArray,
        y: FloatArray,
        weights: FloatArray | None,
    ) -> tuple[AdaptiveState, LinearLoss | VectorLoss]:
        """Return the state with its start near the data, and the loss without open parameters."""
        return (adaptive, loss) if isinstance(loss, VectorLoss) else tuned_start(adaptive, loss, X, y, weights)

    def _outputs(self, state: AdaptiveMethodState, adaptive: AdaptiveState) -> int:
        """Return the number of scores of a row, that of classes which appear in the open period included."""
        if not isinstance(self.spec.loss, SoftmaxLoss):
            return adaptive.outputs
        return max([adaptive.outputs, *(int(batch.y.max()) for batch in state.batches if len(batch.y))])

    def _coefficients(self, adaptive: AdaptiveState, model: FloatArray) -> FloatArray:
        """Return the model in the units of X, the intercept last."""
        if not self.spec.fit_intercept:
            return model
        assert adaptive.place is not None
        if adaptive.outputs == 1:
            return np.append(model[1:], model[0] - adaptive.place @ model[1:])
        matrix = model.reshape(-1, adaptive.outputs)
        return np.append(matrix[1:], [matrix[0] - adaptive.place @ matrix[1:]], axis=0).ravel()


def _label_sums(batches: tuple[RowBatch, ...], look: PeriodLook, fitted: BoolArray) -> LabelSums | None:
    """Return what the fitted rows with several labels show; None where labels have no annotators."""
    labels = labels_of(batches, np.flatnonzero(fitted))
    if labels is None or look.judged.fit is None:
        return None
    fit = look.judged.fit
    return label_sums(look.rows, fit.model, leverages(look.rows, fit), *labels)


def _chosen_rows(batches: tuple[RowBatch, ...], chosen: BoolArray) -> list[tuple[FloatArray, FloatArray]]:
    """Return the chosen rows of each batch; not copied where all are."""
    if chosen.all():
        return [(batch.X, batch.y) for batch in batches]
    ends = np.cumsum([len(batch.y) for batch in batches])[:-1]
    pieces = np.split(chosen, ends)
    return [(batch.X[piece], batch.y[piece]) for batch, piece in zip(batches, pieces, strict=True)]


def _numbered_groups(state: AdaptiveMethodState) -> IntArray | None:
    """Return the groups of the rows of the open period, numbered in the order of their first rows; None where rows are alone."""
    groups = groups_of(state.batches)
    return None if groups is None else number_groups(groups)


def _arrived(state: AdaptiveMethodState) -> tuple[tuple[int, int], ...]:
    """Return how many rows of the open period arrived how many periods late."""
    rows: Counter[int] = Counter()
    for batch in state.batches:
        rows[batch.late] += len(batch.y)
    return tuple(sorted(rows.items()))


def _middle(X: FloatArray) -> FloatArray:
    """Return the means of columns; of one that never changes its value itself, or what rounding leaves looks like a column."""
    return np.asarray(np.where((X[:1] == X).all(axis=0), X[0], X.mean(axis=0)))


def _report(period: int, order: PeriodOrder, gathered: int, risk: float, outcome: Outcome, **known: Any) -> StepReport:
    """Return the report of a period, with what is ``known`` of it beyond its order."""
    fields: dict[str, Any] = {
        "samples_theory": order.theory,
        "epsilon": order.epsilon,
        "rho": None,
        "rho_upper": None,
        "measures": None,
        "certificate": None,
    }
    return StepReport(
        period=period,
        asked=order.asked or order.total,
        samples=gathered,
        risk_bound=risk,
        outcome=outcome,
        seconds=0.0,
        **(fields | known),
    )


def _check_kind(owner: str, config: AdaptiveConfig) -> None:
    """Refuse a target that is given in no way, or in several, and a confidence where it is that of a mean."""
    kinds = {"epsilon": config.epsilon, "tolerance": config.tolerance, "metric": config.metric}
    given = [name for name, value in kinds.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise ParameterError(
            f"must be given, or tolerance or metric in its place, and only one of them; got {got}.",
            owner=owner,
            name="epsilon",
        )
    if config.metric is not None and config.confidence is not None:
        raise ParameterError(
            f"must be None with metric, whose target is met on average; got {config.confidence!r}.",
            owner=owner,
            name="confidence",
        )
