"""The orders of the adaptive method: how many rows to bring next in the open period, and why."""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive import (
    FIRST_EXPANDED,
    FIRST_ROWS,
    LEAST_HELD_OUT,
    PILOT,
    AdaptiveConfig,
    AdaptiveState,
    DesignRows,
    MetricLook,
    PeriodJudgement,
    RowCounts,
    RowsInUse,
    RowsNeeded,
    Supply,
    audit_of,
    checks,
    counted,
    in_words,
    measured_risk,
    metric_check,
    metric_report,
    next_batch,
    outlook_from_here,
    risk_after,
    risk_in_use,
    rows_missing,
    status,
)
from driftpace.formatting import plural
from driftpace.records import Assumption, Outcome
from driftpace.tracker.spending import PeriodSupply, Spending, not_known_yet, plan_period, reason
from driftpace.tracker.state import PeriodOrder, RowBatch

LATE_PILOT = 10
"""Rows for each coefficient in an initial sample whose labels may be late: no second batch can follow it in the period."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PeriodRows:
    """Rows of the open period that are to be looked at; the fields are those of :class:`PeriodLook`."""

    batches: tuple[RowBatch, ...]
    fitted: int
    adaptive: AdaptiveState
    rows: DesignRows

    def judged(self, judgement: PeriodJudgement) -> "PeriodLook":
        """Return the look at them."""
        return PeriodLook(
            batches=self.batches, fitted=self.fitted, adaptive=self.adaptive, rows=self.rows, judged=judgement
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PeriodLook:
    """What the rows of the open period show: the state with its center, the rows as they are fitted, and the judgement.

    A look that a decision is taken on may have fewer rows than it could have seen, which are ``fitted`` when the period is closed:
    the others are kept for the audit. Rows that are held out are in none.
    """

    batches: tuple[RowBatch, ...]
    fitted: int
    adaptive: AdaptiveState
    rows: DesignRows
    judged: PeriodJudgement

    def same_rows(self, batches: tuple[RowBatch, ...], fitted: int, seen: int) -> bool:
        """Whether it has the rows of a look at ``seen`` of the first ``fitted`` rows of these batches."""
        return (
            self.fitted == fitted
            and len(self.rows) == seen
            and all(one is other for one, other in zip(self.batches, batches, strict=False))
        )

    @property
    def lost(self) -> int:
        """How many rows fewer of equal weight would say as much."""
        return len(self.rows) - int(self.rows.effective)

    def rows_missing(self, config: AdaptiveConfig, batch: int) -> RowsNeeded:
        """Return how many rows are missing, the number of batches or orders before this one given."""
        return rows_missing(
            config,
            self.adaptive,
            self.judged,
            gathered=self.fitted,
            seen=len(self.rows),
            batch=batch,
            lost=self.lost,
        )

    def risk_after(self, config: AdaptiveConfig, rows: int) -> float:
        """Return the risk that so many fitted rows in all leave."""
        criterion = config.judged_by(self.judged.epsilon)
        return risk_after(criterion, self.adaptive, self.judged, max(rows - len(self.rows), 0))

    def risk_in_use(self, config: AdaptiveConfig, rows: int) -> float:
        """Return the same for the model in use when the labels are known, where they may be late."""
        if config.delay is None:
            return self.risk_after(config, rows)
        return risk_in_use(config, self.adaptive, self.judged, rows)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OpenPeriod:
    """The open period as its next order needs it: what it can have, the counts of rows delivered, and its last order, if any.

    It can have ``limit`` rows at most; ``beyond`` is the outcome when they are too few. A ``settled`` period had all its orders.
    """

    config: AdaptiveConfig
    period: int
    pool: int | None
    limit: int
    beyond: Outcome
    counts: RowCounts
    last: PeriodOrder | None
    settled: bool = False

    @property
    def gathered(self) -> int:
        """The number of rows delivered."""
        return self.counts.gathered

    @property
    def batch(self) -> int:
        """The number of the decision, from 0."""
        return 0 if self.last is None else self.last.batch + 1

    @property
    def placed(self) -> int:
        """The number of orders so far."""
        return 0 if self.last is None else self.last.placed


def next_order(period: OpenPeriod, adaptive: AdaptiveState | None, look: PeriodLook | None) -> PeriodOrder:
    """Return the order after what was seen; ``look`` is None while nothing is known."""
    if look is None:
        return _initial_order(period, adaptive)
    config, counts, placed = period.config, period.counts, period.placed
    gathered, fitted = counts.gathered, counts.fitted
    adaptive, judged = look.adaptive, look.judged
    if not finite(judged):
        return _overflow(period, judged.epsilon)
    wanted = look.rows_missing(config, placed if config.orders is not None else period.batch)
    left = max(counts.to_fitted(period.limit) - fitted, 0)
    decided = gathered
    if period.settled:
        assert period.last is not None
        left, decided = 0, period.last.decided
        wanted = replace(wanted, now=0, all=0, risk=look.risk_in_use(config, fitted))
    now = min(wanted.now, left)
    total = _within(period, fitted + now)
    initial = not adaptive.banks and in_pilot(adaptive, fitted - look.lost)
    short = wanted.all > left
    outcome = Outcome.ENOUGH if wanted.all == 0 and gathered == 0 else Outcome.MET
    risk = wanted.risk
    if short:
        outcome, risk = period.beyond, look.risk_in_use(config, fitted + left)
    elif risk > judged.epsilon:
        outcome = Outcome.UNSUPPORTED if wanted.in_use is None else _late_outcome(wanted.in_use)
    elif judged.metric is not None:
        outcome = metric_outcome(judged.metric, risk, outcome)
    if not short and in_pilot(adaptive, fitted - look.lost):
        outcome, risk = Outcome.PILOT, math.inf
    reason = _had_orders(period, look) if period.settled else _reason(period, look, wanted, short=short)
    supply = Supply(gathered=fitted, missing=wanted.all, exhausted=outcome is Outcome.POOL and now == 0)
    return PeriodOrder(
        total=total,
        theory=wanted.theory,
        pool=period.pool,
        risk=risk,
        interval=(
            _within(period, min(wanted.low, fitted + left)),
            _within(period, min(max(wanted.high, fitted + now), fitted + left)),
        ),
        outcome=outcome,
        reason=reason + _held_out(total - gathered - now),
        epsilon=judged.epsilon,
        assumptions=(
            *checks(adaptive, look.rows, judged, supply),
            measured_risk(audit_of(adaptive.audit, None, judged.epsilon), judged.epsilon),
            *_metric_checks(judged),
        ),
        after=gathered,
        batch=period.batch,
        decided=decided,
        placed=placed if now == 0 or initial else placed + 1,
        more=initial or (not short and now < wanted.all),
        status=status(judged),
    )


def _metric_checks(judged: PeriodJudgement) -> tuple[Assumption, ...]:
    if judged.metric is None:
        return ()
    return (metric_check(judged.metric, metric_report(judged.metric, judged.metric.memory, None)),)


def metric_outcome(metric: MetricLook, risk: float, outcome: Outcome) -> Outcome:
    """Return the outcome where the target is in a metric: the excess loss that is aimed at may be more than the target affords."""
    if metric.out_of_reach:
        return Outcome.UNREACHABLE
    return outcome if metric.within(risk) else Outcome.UNDECIDED


def _within(period: OpenPeriod, fitted: int) -> int:
    """Return how many rows in all so many fitted ones are, within what the period can have."""
    return min(period.counts.to_total(fitted), max(period.limit, period.gathered))


def _held_out(rows: int) -> str:
    """Return the end of a sentence on an order of which some rows are held out."""
    return f"; {rows} more {'is' if rows == 1 else 'are'} held out for the audit" if rows > 0 else ""


def _of_them(counts: RowCounts, total: int) -> str:
    """Return the same where the rows held out are among those of the sentence."""
    rows = total - counts.gathered - (counts.to_fitted(total) - counts.fitted)
    return f"; {rows} of the rows requested {'is' if rows == 1 else 'are'} held out for the audit" if rows > 0 else ""


def _initial_order(period: OpenPeriod, adaptive: AdaptiveState | None) -> PeriodOrder:
    """Return the first batch of all, when nothing is known; ``adaptive`` is None before the number of columns is."""
    limit, beyond = period.limit, period.beyond
    each = PILOT if period.config.delay is None else LATE_PILOT
    expanded = 0 if adaptive is None else adaptive.expanded_columns
    first = FIRST_EXPANDED if period.config.expanded else FIRST_ROWS
    wanted = first * each // PILOT if adaptive is None else adaptive.pilot + (each - PILOT) * adaptive.columns
    purpose = "the number of columns" if adaptive is None else f"the noise ({each} for each of {in_words(adaptive)})"
    if adaptive is not None and expanded:
        plain = adaptive.columns - expanded
        purpose = f"the noise ({each} for each of {plain} coefficients, fewer for {expanded} of expanded columns)"
    total = _within(period, wanted)
    gives = "the budget pays for" if beyond is Outcome.BUDGET else "this period can have"
    enough = period.counts.to_fitted(limit) >= wanted
    then = "more are requested afterwards" if limit > total else f"{gives} {limit} in all"
    return PeriodOrder(
        total=total,
        theory=wanted,
        pool=period.pool,
        risk=math.inf,
        interval=(total, limit),
        outcome=Outcome.PILOT if enough else beyond,
        reason=f"no initial labels yet: {wanted} rows show {purpose}; {then}{_held_out(total - wanted)}",
        epsilon=math.nan if period.config.epsilon is None else period.config.epsilon,
        batch=period.batch,
        more=limit > total,
    )


def planned_order(
    period: OpenPeriod, adaptive: AdaptiveState | None, look: PeriodLook | None, spending: Spending
) -> PeriodOrder:
    """Return what the plan for the money left says; ``look`` is None before the initial sample is complete."""
    counts, limit, beyond = period.counts, period.limit, period.beyond
    gathered = counts.gathered
    if look is None:
        order = _initial_order(period, adaptive)
        return replace(order, after=gathered, assumptions=(not_known_yet("there are no initial labels yet"),))
    config, batch, placed = period.config, period.batch, period.placed
    adaptive, rows, judged = look.adaptive, look.rows, look.judged
    if not finite(judged):
        return _overflow(period, judged.epsilon)
    outlook, seen = outlook_from_here(config, adaptive, rows, judged)
    supply = PeriodSupply(
        limit=limit,
        beyond=beyond,
        gathered=gathered,
        seen=gathered if seen else 0,
        least=0 if config.audit is None else 2 * LEAST_HELD_OUT,
        needed=counts.to_total(adaptive.pilot - adaptive.memory.rows),
    )
    earlier = None if period.last is None else period.last.plan
    plan, outcome, verdict = plan_period(spending, outlook, judged.epsilon, supply, earlier)
    samples, risk = plan.samples[0], plan.risks[0]
    if in_pilot(adaptive, counts.to_fitted(samples)):
        outcome, risk = beyond, math.inf
    wanted = look.rows_missing(config, batch)
    exhausted = outcome is Outcome.POOL and samples == gathered
    total, interval = samples, (samples, samples)
    if spending.budget.in_batches and config.orders != 1:
        last = batch > 0 and plan.gaps[0] > 0.0  # too little money is spent anyway: one look is enough
        done = batch if config.orders is None else placed
        more = next_batch(adaptive, samples - gathered, gathered=gathered, batch=done, orders=config.orders)
        total = samples if last else min(gathered + more, samples)
        interval = (min(counts.to_total(wanted.low), total), max(total, samples, _within(period, wanted.high)))
    have = Supply(gathered=counts.fitted, missing=wanted.all, exhausted=exhausted)
    return PeriodOrder(
        total=total,
        theory=wanted.theory,
        pool=period.pool,
        risk=risk,
        interval=interval,
        outcome=outcome,
        reason=reason(spending, plan, gathered, total - gathered) + _of_them(counts, total),
        epsilon=judged.epsilon,
        assumptions=(*checks(adaptive, rows, judged, have), verdict),
        after=gathered,
        batch=batch,
        decided=gathered,
        placed=placed + (total > gathered),
        status=status(judged),
        plan=plan,
    )


def in_pilot(adaptive: AdaptiveState, rows: int) -> bool:
    """Whether fewer rows were ever seen than an initial sample has: a model can pass through them and look certain."""
    return adaptive.memory.rows + rows < adaptive.pilot


def finite(judged: PeriodJudgement) -> bool:
    """Whether the numbers can be used: columns that differ in size beyond rounding even give negative variances."""
    variances = judged.variances
    return bool(np.isfinite(judged.model).all() and np.isfinite(variances).all() and (variances >= 0.0).all())


def _overflow(period: OpenPeriod, epsilon: float) -> PeriodOrder:
    """Return an order for no more rows: those delivered cannot be fitted, and closing the period refuses them."""
    gathered = period.gathered
    return PeriodOrder(
        total=gathered,
        theory=gathered,
        pool=period.pool,
        risk=math.inf,
        interval=(gathered, gathered),
        outcome=Outcome.NONFINITE,
        reason=f"a number overflowed with the {gathered} rows delivered: rescale the columns, or withdraw the rows",
        epsilon=epsilon,
        after=gathered,
        batch=period.batch,
    )


def _reason(period: OpenPeriod, look: PeriodLook, wanted: RowsNeeded, *, short: bool) -> str:
    """Return the decision in a sentence. What is compared with the target is a mean, or a quantile at the confidence.

    Before any row of the second period the drift is a guess. A period that falls ``short`` cannot have what it needs.
    """
    gathered, adaptive, judged = look.fitted, look.adaptive, look.judged
    risk = look.risk_after(period.config, gathered)
    loss = _loss_in_words(period.config, judged, risk)
    known = f"{loss} with {counted(gathered)} so far" if gathered else f"{loss} with the last model"
    if period.period == 2 and not gathered:
        known = f"{known} (the drift is not known yet, so a fast one is assumed)"
    target = _target_in_words(judged)
    if wanted.in_use is not None and not in_pilot(adaptive, gathered - look.lost):
        above = wanted.risk > judged.epsilon
        return f"{known}; {_reason_in_use(period, wanted, wanted.in_use, target, short=short, above=above)}"
    if wanted.all == 0:
        return f"{known}; {target}: no {'more ' if gathered else ''}rows needed"
    rows = max(wanted.all, wanted.now)
    more = f"{rows} more {'row' if rows == 1 else 'rows'}" if gathered else counted(rows)
    if risk > judged.epsilon:
        sentence = f"{known}; {more} to reach the {target}"
    elif in_pilot(adaptive, gathered - look.lost):
        return f"{known}, too few rows to estimate {in_words(adaptive)}: {more} to complete the initial sample"
    else:
        sentence = f"{known}, too close to the {target}; {more} for a margin"
    if short:
        return f"{sentence}, and this period can have {period.limit} in all"
    if wanted.now < wanted.all:
        return f"{sentence}; {wanted.now} of them first, since fewer may turn out to be enough"
    return sentence


def _late_outcome(sized: RowsInUse) -> Outcome:
    """Return why an order does not meet the target in use: its labels are too late, or the drift is not known well enough."""
    return Outcome.LATE if sized.refused else Outcome.SETTLING


def _reason_in_use(
    period: OpenPeriod, wanted: RowsNeeded, sized: RowsInUse, target: str, *, short: bool, above: bool
) -> str:
    """Return the decision where labels may be late; ``above`` says that more than the target is expected in use."""
    assert period.config.delay is not None
    late = f"labels up to {plural(period.config.delay, 'period')} late"
    rows = counted(max(wanted.all, wanted.now))
    if sized.refused:
        return f"no number of rows reaches the {target} with {late}: {rows} as for labels in time"
    if wanted.all == 0:
        return f"{target}: no rows needed with {late}"
    sentence = f"{rows} to reach the {target} with {late}"
    if short:
        return f"{sentence}, and this period can have {period.limit} in all"
    return f"{sentence}, if the drift allows: {wanted.risk:.2g} is expected in use" if above else sentence


def _target_in_words(judged: PeriodJudgement) -> str:
    if judged.metric is None:
        return f"target {judged.epsilon:.3g}"
    return f"target {judged.metric.target.value:g}"


def _loss_in_words(config: AdaptiveConfig, judged: PeriodJudgement, risk: float) -> str:
    if judged.metric is not None:
        metric = judged.metric
        known = f"expected {metric.target.spec.title} {metric.value_at(risk):.3g}"
        return f"{known}, {metric.sentence()}" if metric.out_of_reach else known
    if config.confidence is None:
        return f"expected excess loss {risk:.2g}"
    return f"excess loss at most {risk:.2g} with probability {config.confidence:g}"


def _had_orders(period: OpenPeriod, look: PeriodLook) -> str:
    """Return why a period that had all its orders requests no more rows."""
    loss = _loss_in_words(period.config, look.judged, look.risk_after(period.config, look.fitted))
    had = "its one order" if period.placed == 1 else f"its {period.placed} orders"
    return f"{loss} with {counted(look.fitted)}; {_target_in_words(look.judged)}: the period has had {had}"
