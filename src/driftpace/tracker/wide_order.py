"""The orders of the wide method: how many rows to bring next in the open period, and why."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.adaptive import AdaptiveConfig, RowCounts, Supply, audit_of, counted, measured_risk
from driftpace.planning import Outlook
from driftpace.records import Outcome
from driftpace.tracker.spending import PeriodSupply, Spending, plan_period, reason
from driftpace.tracker.state import PeriodOrder, RowBatch
from driftpace.wide import (
    WideJudgement,
    WideRows,
    WideRowsNeeded,
    WideState,
    next_wide_batch,
    pilot_rows,
    risk_with,
    unlike_first_rows,
    wide_checks,
    wide_rows_missing,
    wide_status,
)

FIRST_ROWS = 90
"""Rows of the first batch, before the components are known."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WideLook:
    """What the rows of the open period show. ``fitted`` of them are fitted when it is closed; the look may have fewer."""

    batches: tuple[RowBatch, ...]
    fitted: int
    wide: WideState
    rows: WideRows
    judged: WideJudgement

    @property
    def seen(self) -> int:
        """The number of rows looked at."""
        return len(self.rows)

    @property
    def finite(self) -> bool:
        """Whether the numbers can be used."""
        judged = self.judged
        return bool(np.isfinite(judged.model).all() and np.isfinite(judged.variances).all())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WidePeriod:
    """The open period as its next order needs it: what it can have, the rows delivered, and its last order, if any."""

    config: AdaptiveConfig
    pool: int | None
    limit: int
    beyond: Outcome
    counts: RowCounts
    last: PeriodOrder | None
    settled: bool = False

    @property
    def batch(self) -> int:
        """The number of the decision, from 0."""
        return 0 if self.last is None else self.last.batch + 1

    @property
    def placed(self) -> int:
        """The number of orders so far."""
        return 0 if self.last is None else self.last.placed

    def within(self, fitted: int) -> int:
        """Return how many rows in all so many fitted ones are, within what the period can have."""
        return min(self.counts.to_total(fitted), max(self.limit, self.counts.gathered))


def initial_wide_order(period: WidePeriod, wide: WideState | None) -> PeriodOrder:
    """Return the first batch of all, when nothing is known."""
    wanted = FIRST_ROWS if wide is None else pilot_rows(wide)
    total, limit = period.within(wanted), period.limit
    shown = "the columns and the noise" if wide is None else f"the noise and which of {wide.size} coordinates matter"
    gives = "the budget pays for" if period.beyond is Outcome.BUDGET else "this period can have"
    then = "more are requested afterwards" if limit > total else f"{gives} {limit} in all"
    return PeriodOrder(
        total=total,
        theory=wanted,
        pool=period.pool,
        risk=math.inf,
        interval=(total, limit),
        outcome=Outcome.PILOT if period.counts.to_fitted(limit) >= wanted else period.beyond,
        reason=f"no initial labels yet: {wanted} rows show {shown}; {then}",
        epsilon=math.nan if period.config.epsilon is None else period.config.epsilon,
        batch=period.batch,
        more=limit > total,
    )


def next_wide_order(period: WidePeriod, look: WideLook) -> PeriodOrder:
    """Return the order after what was seen."""
    config, counts, wide, judged = period.config, period.counts, look.wide, look.judged
    gathered, fitted = counts.gathered, counts.fitted
    if not look.finite:
        return _overflow(period, judged.epsilon)
    batch = period.placed if config.orders is not None else period.batch
    wanted = wide_rows_missing(config, wide, judged, gathered=fitted, seen=look.seen, batch=batch)
    left = 0 if period.settled else max(counts.to_fitted(period.limit) - fitted, 0)
    missing = 0 if period.settled or unlike_first_rows(wide, look.rows) else wanted.all
    now = min(wanted.now if missing else 0, left)
    total = period.within(fitted + now)
    initial = wide.rows + fitted < pilot_rows(wide)
    short = missing > left
    rest = risk_with(config, wide, judged, fitted - look.seen)
    outcome, risk = Outcome.ENOUGH if missing == 0 and gathered == 0 else Outcome.MET, wanted.risk
    if missing == 0:
        risk = rest
    if short:
        outcome, risk = period.beyond, risk_with(config, wide, judged, fitted + left - look.seen)
    elif risk > judged.epsilon:
        outcome = Outcome.UNSUPPORTED
    if initial and not short:
        outcome, risk = Outcome.PILOT, math.inf
    supply = Supply(gathered=fitted, missing=missing, exhausted=outcome is Outcome.POOL and now == 0)
    return PeriodOrder(
        total=total,
        theory=wanted.theory,
        pool=period.pool,
        risk=risk,
        interval=(
            period.within(min(wanted.low, fitted + left)),
            period.within(min(max(wanted.high, fitted + now), fitted + left)),
        ),
        outcome=outcome,
        reason=_reason(period, look, wanted, rest, missing=missing, short=short),
        epsilon=judged.epsilon,
        assumptions=(
            *wide_checks(wide, look.rows, judged, supply),
            measured_risk(audit_of(wide.audit, None, judged.epsilon), judged.epsilon),
        ),
        after=gathered,
        batch=period.batch,
        decided=period.last.decided if period.settled and period.last is not None else gathered,
        placed=period.placed if now == 0 or (initial and not wide.banks) else period.placed + 1,
        more=initial or (not short and now < missing),
        status=wide_status(judged),
    )


def planned_wide_order(period: WidePeriod, look: WideLook, spending: Spending, outlook: Outlook) -> PeriodOrder:
    """Return what the plan for the money left says."""
    config, counts, wide, judged = period.config, period.counts, look.wide, look.judged
    gathered = counts.gathered
    if not look.finite:
        return _overflow(period, judged.epsilon)
    supply = PeriodSupply(
        limit=period.limit,
        beyond=period.beyond,
        gathered=gathered,
        seen=gathered,
        least=0,
        needed=counts.to_total(pilot_rows(wide) - wide.rows),
    )
    earlier = None if period.last is None else period.last.plan
    plan, outcome, verdict = plan_period(spending, outlook, judged.epsilon, supply, earlier)
    samples, risk = plan.samples[0], plan.risks[0]
    total = samples
    if spending.budget.in_batches and config.orders != 1:
        done = period.batch if config.orders is None else period.placed
        more = next_wide_batch(wide, samples - gathered, gathered=gathered, batch=done, orders=config.orders)
        total = min(gathered + more, samples)
    have = Supply(
        gathered=counts.fitted, missing=samples - total, exhausted=outcome is Outcome.POOL and samples == gathered
    )
    return PeriodOrder(
        total=total,
        theory=samples,
        pool=period.pool,
        risk=risk,
        interval=(total, samples),
        outcome=outcome,
        reason=reason(spending, plan, gathered, total - gathered),
        epsilon=judged.epsilon,
        assumptions=(*wide_checks(wide, look.rows, judged, have), verdict),
        after=gathered,
        batch=period.batch,
        decided=gathered,
        placed=period.placed + (total > gathered),
        status=wide_status(judged),
        plan=plan,
    )


def _overflow(period: WidePeriod, epsilon: float) -> PeriodOrder:
    gathered = period.counts.gathered
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


def _reason(
    period: WidePeriod, look: WideLook, wanted: WideRowsNeeded, risk: float, *, missing: int, short: bool
) -> str:
    """Return the decision in a sentence."""
    fitted, judged = period.counts.fitted, look.judged
    loss = f"expected excess loss {risk:.2g}"
    if period.config.confidence is not None:
        loss = f"excess loss at most {risk:.2g} with probability {period.config.confidence:g}"
    known = f"{loss} with {counted(fitted)} so far" if fitted else f"{loss} with the last model"
    target = f"target {judged.epsilon:.3g}, {judged.effective:.0f} effective coefficients"
    if period.settled:
        return f"{known}; {target}: the period has had its {'order' if period.placed == 1 else 'orders'}"
    if missing == 0 and risk > judged.epsilon:
        return f"{known}; {target}: more rows that vary as little along the components would not reach it"
    if missing == 0:
        return f"{known}; {target}: no {'more ' if fitted else ''}rows needed"
    rows = max(missing, wanted.now)
    more = f"{rows} more {'row' if rows == 1 else 'rows'}" if fitted else counted(rows)
    sentence = f"{known}; {more} for the {target}"
    if short:
        return f"{sentence}, and this period can have {period.limit} in all"
    if wanted.now < missing:
        return f"{sentence}; {wanted.now} of them first, since fewer may turn out to be enough"
    return sentence
