"""The practical method inside a tracker: orders that are decided anew as rows come, and the closing of a period."""

import math
from dataclasses import replace

import numpy as np

from driftpace.errors import DataError
from driftpace.losses import LinearLoss
from driftpace.pacing import (
    FIRST_ROWS,
    PILOT,
    Judgement,
    Need,
    Pace,
    Pacing,
    Rows,
    Supply,
    certificate,
    checks,
    closed,
    drift,
    first_pace,
    judge,
    need,
    seen_from,
    status,
    variances_after,
)
from driftpace.records import Outcome, Request, StepReport
from driftpace.tracker.independence import after_more_rows
from driftpace.tracker.state import Order, Settings, State
from driftpace.typing import FloatArray

_BEYOND = 10**9
"""Rows beyond which nobody counts: what is missing is said as it is, and the cap or the pool is named apart from it."""


def first(settings: Settings, start: FloatArray) -> Pace:
    """Return the pace before the first row."""
    return first_pace(np.roll(start, 1) if settings.fit_intercept else start.copy(), settings.fit_intercept)


def request(settings: Settings, pacing: Pacing, state: State, pool: int | None) -> tuple[State, Request]:
    """Return what to bring next. Asked again, the answer is the same until rows came or were taken back."""
    order = state.order
    if order is None or order.after != state.gathered:
        pool = pool if order is None else order.pool
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            order = _decided(settings, pacing, state, pool, 0 if order is None else order.batch + 1)
        state = replace(state, order=order)
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


def _decided(settings: Settings, pacing: Pacing, state: State, pool: int | None, batch: int) -> Order:
    came = state.gathered
    limit = settings.cap if pool is None else min(pool, settings.cap)
    pace = state.pace
    if pace is None or (came == 0 and not pace.banks):
        return _pilot(pacing, pace, pool, limit, batch)
    pace, rows = _placed(settings, state, pace)
    judged = judge(pacing, pace, rows)
    if not _finite(judged):
        return _overflow(pool, came, batch, judged.epsilon)
    wanted = need(pacing, pace, judged, came=came, batch=batch, most=_BEYOND)
    now = min(wanted.now, max(limit - came, 0))
    short = wanted.all > limit - came
    outcome = Outcome.ENOUGH if wanted.all == 0 and came == 0 else Outcome.MET
    if short:
        outcome = Outcome.POOL if pool is not None and limit == pool else Outcome.CAPPED
    return Order(
        total=came + now,
        theory=wanted.theory,
        pool=pool,
        risk=_risk_after(pacing, pace, judged, limit - came) if short else wanted.risk,
        interval=(min(wanted.low, limit), min(wanted.high, limit)),
        outcome=outcome,
        reason=_reason(pace, judged, wanted, came, limit if short else None),
        epsilon=judged.epsilon,
        assumptions=checks(
            pace,
            rows,
            judged,
            Supply(came=came, missing=wanted.all - now, exhausted=outcome is Outcome.POOL and now == 0),
        ),
        after=came,
        batch=batch,
        status=status(judged),
    )


def _pilot(pacing: Pacing, pace: Pace | None, pool: int | None, limit: int, batch: int) -> Order:
    """Return the first batch of all, when nothing is known."""
    wanted = FIRST_ROWS if pace is None else PILOT * pace.size
    shown = "the columns" if pace is None else f"the noise, {PILOT} for each of {pace.size} coefficients"
    return Order(
        total=min(wanted, limit),
        theory=wanted,
        pool=pool,
        risk=math.inf,
        interval=(min(wanted, limit), limit),
        outcome=Outcome.PILOT if limit >= wanted else Outcome.POOL,
        reason=f"nothing is known yet: {wanted} rows show {shown}, and then this period asks for more",
        epsilon=math.nan if pacing.epsilon is None else pacing.epsilon,
        batch=batch,
    )


def _finite(judged: Judgement) -> bool:
    return bool(np.isfinite(judged.model).all() and np.isfinite(judged.variances).all())


def _overflow(pool: int | None, came: int, batch: int, epsilon: float) -> Order:
    """Return that nothing more is asked: the rows that came cannot be fitted, which closing the period refuses."""
    return Order(
        total=came,
        theory=came,
        pool=pool,
        risk=math.inf,
        interval=(came, came),
        outcome=Outcome.NONFINITE,
        reason=f"a number overflowed with the {came} rows that came: rescale the columns, or take the rows back",
        epsilon=epsilon,
        after=came,
        batch=batch,
    )


def _risk_after(pacing: Pacing, pace: Pace, judged: Judgement, rows: int) -> float:
    """Return the risk that so many further rows leave."""
    after = variances_after(pace.sizes, judged.variances, judged.noise_upper, max(rows, 0))
    return pacing.criterion(judged).risk(pace.sizes, after)


def _reason(pace: Pace, judged: Judgement, wanted: Need, came: int, limit: int | None) -> str:
    """Return the decision in a sentence."""
    cost = 0.5 * float(pace.sizes @ judged.variances)
    known = (
        f"with the {came} rows that came the model is expected to cost {cost:.2g}"
        if came
        else f"the last model is expected to cost {cost:.2g} by now"
    )
    if wanted.all == 0:
        return f"{known}, and the target is {judged.epsilon:.3g}: that is enough"
    more = "more rows bring" if came else "rows bring"
    told = f"{known}; {wanted.all} {more} that down to the target of {judged.epsilon:.3g}"
    if limit is not None:
        return f"{told}, and this period can give {limit} in all"
    if wanted.now < wanted.all:
        return f"{told}; {wanted.now} of them first, since they may show that fewer are enough"
    return told


def close(settings: Settings, pacing: Pacing, state: State) -> tuple[State, StepReport]:
    """Return the state after the period is fitted on whatever came, and the report."""
    order, pace, came = state.order, state.pace, state.gathered
    assert order is not None
    after = replace(state, period=state.period + 1, order=None, parts=())
    if pace is None or (came == 0 and not pace.banks):
        return after, _report(state.period, order, came, math.inf, None, Outcome.SHORT)
    pace, rows = _placed(settings, state, pace)
    gram = None
    if state.gram is not None:
        gram = after_more_rows(settings, state, np.roll(rows.X, -1, axis=1) if settings.fit_intercept else rows.X)
    judged = judge(pacing, pace, rows)
    if not _finite(judged):
        raise DataError(
            "Tracker.tell(X=...) must be of a size that a fit can follow; got an overflow: rescale the columns."
        )
    risk = pacing.judged_by(judged.epsilon).risk(pace.sizes, judged.variances)
    met = risk <= judged.epsilon
    if met:
        outcome = Outcome.MET if came else Outcome.ENOUGH
    elif order.outcome in (Outcome.POOL, Outcome.CAPPED) and came >= order.total:
        outcome = order.outcome
    else:
        outcome = Outcome.SHORT
    moved = closed(pace, rows, judged)
    report = _report(state.period, order, came, risk, judged, outcome)
    missing = 0 if met else max(need(pacing, pace, judged, came=came, batch=order.batch, most=_BEYOND).all, 1)
    rho, rho_upper = drift(moved.banks) if pace.banks else (None, None)
    report = replace(
        report,
        rho=rho,
        rho_upper=rho_upper,
        measures="rho" if pace.banks else None,
        certificate=certificate(pacing, pace, judged),
        status=status(judged),
        assumptions=checks(pace, rows, judged, Supply(came=came, missing=missing, exhausted=outcome is Outcome.POOL)),
    )
    coef = _coefficients(settings, pace, judged.model)
    return replace(after, pace=moved, coef=coef, gram=gram, rows_seen=state.rows_seen + came), report


def _placed(settings: Settings, state: State, pace: Pace) -> tuple[Pace, Rows]:
    """Return the rows that came in this period, the intercept's column first, and the pace with the place they are seen from.

    With an intercept every column is taken from its mean in the first period, for ever: a column of years then loses no
    digits, and the problem stays the same.
    """
    assert isinstance(settings.loss, LinearLoss)
    X = np.empty((state.gathered, pace.size))
    y = np.concatenate([np.empty(0), *(part.y for part in state.parts)])
    penalty: FloatArray = settings.objective.penalty_weights(pace.size)  # type: ignore[attr-defined]
    if not settings.fit_intercept:
        np.concatenate([np.empty((0, pace.size)), *(part.X for part in state.parts)], out=X)
        return pace, Rows(loss=settings.loss, X=X, y=y, penalty=penalty)
    X[:, 0] = 1.0
    at = 0
    for part in state.parts:
        X[at : at + len(part.y), 1:] = part.X[:, :-1]
        at += len(part.y)
    place = X[:, 1:].mean(axis=0) if pace.place is None else pace.place
    pace = pace if pace.place is not None else seen_from(pace, place)
    X[:, 1:] -= place
    return pace, Rows(loss=settings.loss, X=X, y=y, penalty=np.roll(penalty, 1))


def _coefficients(settings: Settings, pace: Pace, model: FloatArray) -> FloatArray:
    """Return the model in the units of X, the intercept last."""
    if not settings.fit_intercept:
        return model
    assert pace.place is not None
    return np.append(model[1:], model[0] - pace.place @ model[1:])


def _report(
    period: int, order: Order, came: int, risk: float, judged: Judgement | None, outcome: Outcome
) -> StepReport:
    return StepReport(
        period=period,
        asked=order.total,
        samples=came,
        samples_theory=order.theory,
        epsilon=order.epsilon if judged is None else judged.epsilon,
        rho=None,
        rho_upper=None,
        measures=None,
        risk_bound=risk,
        certificate=None,
        outcome=outcome,
        seconds=0.0,
    )
