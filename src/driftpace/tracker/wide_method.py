"""The wide method: rows of thousands of columns, dense or sparse, followed in bands of principal components.

Rows become components when they are delivered, so that a state holds rows of at most a thousand numbers, whatever the number of
columns. Without a pool the components are those of the first period's rows, which are kept as they are until it is closed.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from driftpace import validation
from driftpace.adaptive import (
    AdaptiveConfig,
    PredictedBound,
    RowCounts,
    Supply,
    audit_of,
    audit_rows,
    count_rows,
    fresh_rows,
    held_out_rows,
    measured_risk,
)
from driftpace.constraints import WholeSpace
from driftpace.errors import DataError, ParameterError, TooEarlyError
from driftpace.losses import LinearLoss, SoftmaxLoss, SquaredLoss, VectorLoss, classifies
from driftpace.planning import Outlook
from driftpace.records import Assumption, Outcome, Request, StepReport
from driftpace.tracker.blank_rows import blank_order, nothing_shown
from driftpace.tracker.inputs import MOST_WIDE_COLUMNS
from driftpace.tracker.method import Folds, ModelMethod, TellEvent, check_classes, check_pool, require_order
from driftpace.tracker.spending import Spending
from driftpace.tracker.state import MethodState, ModelSpec, PeriodOrder, RowBatch
from driftpace.tracker.wide_order import (
    FIRST_ROWS,
    WideLook,
    WidePeriod,
    initial_wide_order,
    next_wide_order,
    planned_wide_order,
)
from driftpace.typing import BoolArray, FloatArray
from driftpace.wide import (
    Spectrum,
    WideRows,
    WideState,
    advance_wide,
    aim_of,
    audit_wide,
    drift_of,
    early_wide,
    first_wide_state,
    judge_wide,
    pilot_rows,
    risk_of,
    risk_with,
    spectrum_of,
    wide_certificate,
    wide_checks,
    wide_rows_missing,
    wide_status,
    with_classes,
)

MOST_WIDE_CLASSES = 100
"""The most classes: a look at 1,000 rows of so many takes some ten seconds, and its time grows with their cube."""

_FIRST_KEPT = 20
"""The first rows of a period are never kept from a decision: without them it sees nothing."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideMethodState(MethodState):
    """``wide`` is what is known of the drift, None before components are known; ``look`` caches what the rows show.

    Rows of ``batches`` are components, a column of ones first where there is an intercept. Those of a first period without a pool
    are columns as they were delivered, while ``raw``.
    """

    wide: WideState | None = None
    raw: bool = False
    look: WideLook | None = field(default=None, metadata={"saved": False})

    @property
    def row_coef(self) -> FloatArray | None:
        """The model in the units of the rows of ``batches``: of components, the intercept first."""
        if self.coef is None or self.wide is None or self.features is None or self.raw:
            return self.coef
        spectrum, first = self.wide.spectrum, 1 if self.wide.intercept else 0
        matrix = self.coef.reshape(self.features + first, -1)
        along = np.asarray(spectrum.basis, dtype=np.float64).T @ matrix[: self.features] * spectrum.variance[:, None]
        if not first:
            return along.ravel()
        return np.vstack([matrix[-1] + spectrum.center @ matrix[:-1], along]).ravel()

    def without_rows(self) -> Self:
        """Return the state without the rows of the open period."""
        return replace(self, batches=(), look=None)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideMethod(ModelMethod):
    """Follow every plausible drift in bands of components, and ask for rows until the remaining risk meets the target."""

    spec: ModelSpec
    config: AdaptiveConfig
    budgeted: bool = False

    decides_again = True
    linear = True
    most_columns = MOST_WIDE_COLUMNS
    state_type = WideMethodState

    @property
    def epsilon(self) -> float | None:
        """The target; None where a tolerance is given instead."""
        return self.config.epsilon

    @property
    def tolerance(self) -> float | None:
        """The target as a share of the best loss."""
        return self.config.tolerance

    @property
    def metric(self) -> None:
        """None: the target is one of the loss."""
        return

    @property
    def confidence(self) -> float | None:
        """The probability with which the target is met in each period."""
        return self.config.confidence

    @property
    def adjacent(self) -> bool:
        """No: the drift is estimated from any two periods."""
        return False

    def validate(self, owner: str) -> None:
        """Refuse a target, a loss or a setting that the method cannot work with."""
        spec, config = self.spec, self.config
        if config.metric is not None:
            raise ParameterError(
                f"must be None with the wide method, whose target is epsilon or tolerance; got {config.metric.metric!r}.",
                owner=owner,
                name="metric",
            )
        if (config.epsilon is None) == (config.tolerance is None):
            raise ParameterError(
                "must be given, or tolerance in its place; got " + ("neither." if config.epsilon is None else "both."),
                owner=owner,
                name="epsilon",
            )
        for name in ("epsilon", "tolerance"):
            if getattr(config, name) is not None:
                validation.positive(owner, **{name: getattr(config, name)})
        for name, value in (("confidence", config.confidence), ("certificate_level", config.certificate_level)):
            if value is not None:
                validation.fraction(owner, **{name: value})
        for name in ("season", "delay"):
            if getattr(config, name) is not None:
                raise ParameterError(
                    f"must be None with the wide method, which does not use it; got {getattr(config, name)!r}.",
                    owner=owner,
                    name=name,
                )
        if not fits_wide(spec.loss):
            raise ParameterError(
                f"must be {WIDE_LOSSES} for the wide method; got {spec.loss!r}.",
                owner=owner,
                name="loss",
            )
        if not isinstance(spec.domain, WholeSpace) or spec.start is not None:
            name = "start" if spec.start is not None else "domain"
            raise ParameterError("must be None with the wide method; got one.", owner=owner, name=name)

    def initial(self) -> WideMethodState:
        """Return the state before anything is known."""
        return WideMethodState()

    def with_model(self, state: WideMethodState, coef: FloatArray, start: FloatArray) -> WideMethodState:
        """Return the state with the model before the first rows: zero."""
        del start
        return replace(state, coef=coef)

    def with_pool(self, state: WideMethodState, X: Any) -> WideMethodState:
        """Return the state with the components of unlabelled rows; later pools change nothing, or every band would mean another."""
        if state.wide is not None or state.rows_seen:
            return state
        return self.with_spectrum(state, self.pool_spectrum(X))

    def pool_spectrum(self, X: Any) -> Spectrum:
        """Return the components of unlabelled rows; DataError where they are all equal."""
        spectrum = self._spectrum(X, from_pool=True)
        _require_directions(spectrum)
        return spectrum

    def with_spectrum(self, state: WideMethodState, spectrum: Spectrum) -> WideMethodState:
        """Return the state before the first rows with the components of a pool."""
        if state.features is None:
            state = self._with_features(state, spectrum.columns, None)
        return replace(state, wide=self._first(spectrum), raw=False)

    def _spectrum(self, X: Any, *, from_pool: bool) -> Spectrum:
        rng = np.random.default_rng((self.spec.entropy, 0, 3))
        return spectrum_of(X, intercept=self.spec.fit_intercept, rng=rng, from_pool=from_pool)

    def _first(self, spectrum: Spectrum) -> WideState:
        return first_wide_state(spectrum, intercept=self.spec.fit_intercept, rates=self.config.noise_rates)

    def gather(self, state: WideMethodState, event: TellEvent) -> WideMethodState:
        """Add rows to the open period, as components where these are known."""
        require_order(state)
        y = self.spec.loss.encode(event.y)
        if state.features is None:
            state = self._with_features(state, event.X.shape[1], event.columns)
        elif state.columns is None and event.columns is not None:
            state = replace(state, columns=event.columns)
        raw = state.wide is None
        X = event.X if raw or state.wide is None else self._coordinates(state.wide.spectrum, event.X)
        batches = (*state.batches, RowBatch(X=X, y=y))
        if isinstance(self.spec.loss, SoftmaxLoss):
            check_classes(batches)
            classes = 1 + max(int(y.max(initial=0.0)), self.spec.loss.outputs)
            if classes > MOST_WIDE_CLASSES:
                raise DataError(
                    f"must be at most {MOST_WIDE_CLASSES} classes for the wide method, whose time grows with their cube; got "
                    f"{classes:,}: merge rare ones.",
                    name="y",
                )
        return replace(state, batches=batches, raw=raw)

    def _coordinates(self, spectrum: Spectrum, X: Any) -> FloatArray:
        scores = spectrum.scores(X)
        return np.column_stack([np.ones(len(scores)), scores]) if self.spec.fit_intercept else scores

    def forget(self, state: WideMethodState) -> WideMethodState:
        """Withdraw the rows; the components of a pool stay."""
        if state.order is None or not state.batches:
            return state
        fresh = replace(state.without_rows(), raw=False)
        if state.period == 1 and state.wide is None:
            fresh = replace(self.begin(), order=state.order)
        return replace(fresh, order=replace(state.order, after=-1, batch=-1, decided=0, placed=0))

    def checks(self, state: WideMethodState) -> tuple[Assumption, ...]:  # noqa: ARG002
        """Return none: the order has them."""
        return ()

    def ask(self, state: WideMethodState, pool: int | None) -> tuple[WideMethodState, Request]:
        """Return how many rows to bring next; the same answer until rows are delivered or withdrawn."""
        check_pool(state, pool)
        order = state.order
        if order is not None and self.sized(state) and not self._settled(state):
            order = order.undelivered(state.gathered)
            state = replace(state, order=order)
        elif order is None or order.after != state.gathered:
            pool = (self.spec.pool if pool is None else pool) if order is None else order.pool
            period = self._period(state, pool)
            look = None
            blank = self._blank(state)
            if blank:
                new = self._blank_order(period, blank)
            elif self._known(state):
                look = self.look(state, decided=None if self._settled(state) else state.gathered)
                new = next_wide_order(period, look)
            else:
                new = initial_wide_order(period, state.wide)
            order = new.following(order, state.gathered)
            state = replace(state, order=order, look=look)
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

    def _known(self, state: WideMethodState) -> bool:
        """Whether there is anything to judge: rows that show something, or a past."""
        if state.wide is not None and state.wide.banks:
            return True
        return state.gathered > 0 and not self._blank(state)

    def _blank(self, state: WideMethodState) -> str | None:
        """Return what the rows of a first period do not show, in words; None where something is known."""
        if state.wide is not None and state.wide.banks:
            return None
        return nothing_shown(self.spec.loss, state.batches, classes=True)

    def _blank_order(self, period: WidePeriod, blank: str, limit: int | None = None) -> PeriodOrder:
        return blank_order(
            blank,
            gathered=period.counts.gathered,
            limit=period.limit if limit is None else limit,
            beyond=period.beyond,
            pool=period.pool,
            epsilon=self.config.epsilon,
            batch=period.batch,
        )

    def look(self, state: WideMethodState, *, decided: int | None = None) -> WideLook:
        """Return what the rows of the open period show; with ``decided``, without those that are kept for the audit."""
        wide, all_rows = self._rows(state)
        fitted = ~self._held_out_rows(state)
        rows = all_rows.select(fitted)
        count = len(rows)
        kept = None if decided is None else self._kept(state, wide, fitted, decided)
        if kept is not None:
            rows = rows.select(~kept)
        known = state.look
        same = known is not None and known.batches is state.batches and known.seen == len(rows)
        if known is not None and same:
            return replace(known, fitted=count)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                judged = judge_wide(self.config, wide, rows)
            except (FloatingPointError, np.linalg.LinAlgError):
                raise DataError(
                    "must be of a size that a fit can follow; got an overflow: rescale the columns.",
                    owner="Tracker.tell",
                    name="X",
                ) from None
        return WideLook(batches=state.batches, fitted=count, wide=wide, rows=rows, judged=judged)

    def _rows(self, state: WideMethodState) -> tuple[WideState, WideRows]:
        """Return the rows of the open period as components, and the state that has these."""
        loss = self.spec.loss
        assert isinstance(loss, LinearLoss | VectorLoss)
        y = np.concatenate([np.empty(0), *(batch.y for batch in state.batches)])
        wide = state.wide
        X = None
        if wide is None:
            X = stacked([batch.X for batch in state.batches])
            wide = self._first(self._spectrum(X, from_pool=False))
        if isinstance(loss, VectorLoss):
            most = int(y.max()) if len(y) and isinstance(loss, SoftmaxLoss) else 1
            wide = with_classes(wide, max(loss.outputs, most), y)
            loss = loss.with_outputs(wide.outputs)
        if X is not None:
            return wide, WideRows(loss=loss, Z=self._coordinates(wide.spectrum, X), y=y, scale=wide.scale)
        Z = np.concatenate([np.empty((0, wide.size)), *(batch.X for batch in state.batches)])
        return wide, WideRows(loss=loss, Z=Z, y=y, scale=wide.scale)

    def held_out(self, state: WideMethodState) -> BoolArray | None:
        """Return which rows of the open period are held out for the audit; None where none ever are."""
        return None if self.config.audit is None else self._held_out_rows(state)

    def _held_out_rows(self, state: WideMethodState) -> BoolArray:
        if self.config.audit is None:
            return np.zeros(state.gathered, dtype=np.bool_)
        return held_out_rows(state.gathered, self.config.audit)

    def _counts(self, state: WideMethodState) -> RowCounts:
        return count_rows(self.config.audit, state.gathered, None, 1.0)

    def _kept(self, state: WideMethodState, wide: WideState, fitted: BoolArray, decided: int) -> BoolArray:
        count = int(fitted.sum())
        if not wide.banks:
            return np.zeros(count, dtype=np.bool_)
        decided = int(fitted[:decided].sum())
        if early_wide(wide) or self.budgeted or (state.order is not None and state.order.whole):
            return fresh_rows(count, decided)
        return audit_rows(count, min(wide.size, _FIRST_KEPT), decided)

    def sized(self, state: WideMethodState) -> bool:
        """Whether an order is being delivered, or the period had all its orders."""
        return state.order is not None and state.order.is_sized(state.gathered, self.config.orders)

    def _settled(self, state: WideMethodState) -> bool:
        return self.sized(state) and state.order is not None and state.gathered >= state.order.total

    def _period(self, state: WideMethodState, pool: int | None) -> WidePeriod:
        limit, beyond = self.spec.limit(pool)
        return WidePeriod(
            config=self.config,
            pool=pool,
            limit=limit,
            beyond=beyond,
            counts=self._counts(state),
            last=state.order,
            settled=self._settled(state),
        )

    def close(self, state: WideMethodState) -> tuple[WideMethodState, StepReport]:
        """Return the state after the period is fitted on the rows delivered, and the report."""
        require_order(state)
        order, gathered = state.order, state.gathered
        assert order is not None
        after = replace(
            state, period=state.period + 1, order=None, batches=(), look=None, bought=gathered > 0, raw=False
        )
        limit, beyond = self.spec.limit(order.pool)
        if not self._known(state):
            outcome = self._missed(order, gathered, limit, beyond)
            if gathered and not self.budgeted:
                outcome = beyond if gathered >= limit else Outcome.SHORT
            return after, _report(state.period, order, gathered, math.inf, outcome)
        look = self.look(state)
        wide, rows, judged = look.wide, look.rows, look.judged
        _require_directions(wide.spectrum)
        if not look.finite:
            raise DataError(
                "must be of a size that a fit can follow; got an overflow: rescale the columns.",
                owner="Tracker.tell",
                name="X",
            )
        risk = risk_of(self.config, judged, judged.variances)
        if wide.rows + look.fitted < pilot_rows(wide):
            risk = math.inf
        met = risk <= judged.epsilon
        if met:
            outcome = Outcome.MET if gathered else Outcome.ENOUGH
        else:
            outcome = self._missed(order, gathered, limit, beyond)
        advanced, measured = advance_wide(wide, rows, judged), None
        if judged.fit is not None:
            held = self._held_out_rows(state)
            fresh = self._kept(state, wide, ~held, order.decided)
            decided = self.look(state, decided=order.decided).judged
            held_out = None if self.config.audit is None else self._rows(state)[1].select(held)
            advanced, measured = audit_wide(wide, advanced, rows, judged, decided, fresh, held_out)
        missing = (
            0
            if met
            else max(wide_rows_missing(self.config, wide, judged, gathered=look.fitted, seen=look.seen, batch=0).all, 1)
        )
        supply = Supply(gathered=look.fitted, missing=missing, exhausted=outcome is Outcome.POOL)
        audited = audit_of(advanced.audit, measured, judged.epsilon)
        rho, rho_upper = drift_of(advanced.banks, judged.counts) if wide.banks else (None, None)
        report = _report(
            state.period,
            order,
            gathered,
            risk,
            outcome,
            epsilon=judged.epsilon,
            rho=rho,
            rho_upper=rho_upper,
            measures="rho" if wide.banks else None,
            certificate=wide_certificate(self.config, wide, judged) if risk < math.inf else math.inf,
            audit=audited,
            status=wide_status(judged),
            assumptions=(*wide_checks(wide, rows, judged, supply), measured_risk(audited, judged.epsilon)),
        )
        model = rows.scaled(judged.model.reshape(-1, wide.outputs))
        coef = self._coefficients(wide.spectrum, model)
        return replace(after, wide=advanced, coef=coef, rows_seen=state.rows_seen + look.fitted), report

    def _coefficients(self, spectrum: Spectrum, model: FloatArray) -> FloatArray:
        """Return the model in the units of X, the intercept last."""
        if not self.spec.fit_intercept:
            return spectrum.coefficients(model).ravel()
        coef = spectrum.coefficients(model[1:])
        return np.append(coef, [model[0] - spectrum.center @ coef], axis=0).ravel()

    def _missed(self, order: PeriodOrder, gathered: int, limit: int, beyond: Outcome) -> Outcome:
        if not self.budgeted:
            if gathered >= limit:
                return beyond
            return Outcome.SHORT if gathered < order.total or order.more else Outcome.UNSUPPORTED
        if gathered < (order.total if order.plan is None else order.plan.samples[0]):
            return Outcome.SHORT
        return Outcome.SETTLING if order.outcome.promised else order.outcome

    def outlook(self, state: WideMethodState) -> Outlook:
        """Return the outlook of the open period, before any row of it; of a first period, with its initial sample."""
        return self._outlook(self._look_ahead(state))

    def _outlook(self, look: WideLook) -> Outlook:
        wide, judged = look.wide, look.judged
        after = advance_wide(wide, look.rows, judged)
        bound = PredictedBound(
            noise=judged.noise_upper / (1.0 - (self.config.audit or 0.0)),
            size=max(round(judged.effective), 1),
            scale=judged.epsilon / aim_of(self.config, wide, judged),
        )
        start = math.sqrt(2.0 * judged.risk)
        return Outlook(bound=bound, rho=drift_of(after.banks, judged.counts)[0], start=start, steps="walk")

    def target(self, state: WideMethodState) -> float:
        """Return the target of the open period."""
        return self._look_ahead(state).judged.epsilon if self.config.epsilon is None else self.config.epsilon

    def _look_ahead(self, state: WideMethodState) -> WideLook:
        wide = state.wide
        if wide is not None and wide.banks:
            state = state.without_rows()
        elif self._counts(state).fitted < (PILOT_BEFORE if wide is None else pilot_rows(wide)):
            raise TooEarlyError("there are no initial labels yet, which show the noise")
        blank = self._blank(state)
        if blank:
            raise TooEarlyError(blank)
        look = self.look(replace(state, look=None))
        if not look.finite:
            raise TooEarlyError("the rows delivered cannot be fitted")
        return look

    def forecast(self, state: WideMethodState, samples: int) -> float | None:
        """Return the risk predicted for a period of ``samples`` rows in all, computed as that of an order is."""
        counts = self._counts(state)
        if not self._known(state):
            return None
        look = self.look(state, decided=state.gathered)
        rows = counts.to_fitted(samples)
        if not look.finite or look.wide.rows + rows < pilot_rows(look.wide):
            return None
        risk = risk_with(self.config, look.wide, look.judged, max(rows - look.seen, 0))
        return risk if math.isfinite(risk) else None

    def order_within_budget(self, state: WideMethodState, spending: Spending, pool: int | None) -> PeriodOrder:
        """Return what the plan for the money left says; as long as nothing is known, the initial sample that it pays for."""
        period = self._period(state, pool)
        most = spending.most(period.limit)
        if most < period.limit:
            period = replace(period, limit=most, beyond=Outcome.BUDGET)
        wide, gathered = state.wide, period.counts.gathered
        first = wide is None or not wide.banks
        few = period.counts.fitted < (PILOT_BEFORE if wide is None else pilot_rows(wide))
        if first and few and gathered < max(period.limit, 1):
            return replace(initial_wide_order(period, wide), after=gathered)
        blank = self._blank(state)
        if blank:  # a period's share of the money, and not all of it
            return self._blank_order(period, blank, period.limit // max(spending.periods, 1))
        look = self.look(replace(state, look=None))
        return planned_wide_order(period, look, spending, self._outlook(look))

    def losses_left_out(self, state: WideMethodState, folds: Folds) -> FloatArray:
        """Raise: candidates are compared by the adaptive method only."""
        raise NotImplementedError


PILOT_BEFORE = FIRST_ROWS
"""The rows of a first batch before the components are known."""


WIDE_LOSSES = "SquaredLoss, SoftmaxLoss or a loss of two classes"
"""The losses that the wide method can fit, in words."""


def fits_wide(loss: Any) -> bool:
    """Whether the wide method can fit a loss: a squared one, or one of classes."""
    return isinstance(loss, SquaredLoss | SoftmaxLoss) or (isinstance(loss, LinearLoss) and classifies(loss))


def stacked(parts: list[Any]) -> Any:
    """Return batches of rows, dense or sparse, as one matrix."""
    if any(hasattr(part, "nnz") for part in parts):
        from scipy import sparse  # slow to import, and not always needed

        return sparse.vstack([sparse.csr_matrix(part) for part in parts], format="csr")
    return np.concatenate(parts)


def _require_directions(spectrum: Spectrum) -> None:
    """Refuse components of rows that are all equal: they would be those of all later periods."""
    if spectrum.explained <= 0.0:
        raise DataError(
            f"must have rows that differ, since the first rows show the directions; got {spectrum.rows} that do not.",
            name="X",
        )


def _report(period: int, order: PeriodOrder, gathered: int, risk: float, outcome: Outcome, **known: Any) -> StepReport:
    fields: dict[str, Any] = {
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
        samples_theory=order.theory,
        risk_bound=risk,
        outcome=outcome,
        seconds=0.0,
        **(fields | known),
    )
