"""The practical method inside a tracker: orders that are decided anew as rows come, and the closing of a period."""

import math
from dataclasses import replace

import numpy as np

from driftpace.adaptive import (
    FIRST_ROWS,
    PILOT,
    AdaptiveConfig,
    AdaptiveState,
    Judgement,
    PeriodRows,
    RowsNeeded,
    Supply,
    advance,
    centered_at,
    certificate,
    checks,
    counted,
    drift,
    first_state,
    judge,
    rows_missing,
    status,
    variances_after,
)
from driftpace.errors import DataError
from driftpace.losses import LinearLoss
from driftpace.records import Outcome, Request, StepReport
from driftpace.tracker.state import Looked, Order, Settings, State
from driftpace.typing import FloatArray

BEYOND = 10**9
"""Rows beyond which nobody counts: what is missing is said as it is, and the cap or the pool is named apart from it."""


def first(settings: Settings, start: FloatArray) -> AdaptiveState:
    """Return the pace before the first row."""
    return first_state(np.roll(start, 1) if settings.fit_intercept else start.copy(), settings.fit_intercept)


def request(settings: Settings, pacing: AdaptiveConfig, state: State, pool: int | None) -> tuple[State, Request]:
    """Return what to bring next. Asked again, the answer is the same until rows came or were taken back."""
    order = state.order
    if order is None or order.after != state.gathered:
        pool = pool if order is None else order.pool
        seen = (
            None
            if state.pace is None or (state.gathered == 0 and not state.pace.banks)
            else look(settings, pacing, state)
        )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            decided = _decided(settings, pacing, state, seen, pool, 0 if order is None else order.batch + 1)
        order = decided.following(order, state.gathered)
        state = replace(state, order=order, looked=seen)
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


def look(settings: Settings, pacing: AdaptiveConfig, state: State) -> Looked:
    """Return what is seen of the rows of the open period, which may be none; what was seen before is not looked at again."""
    if state.looked is not None and state.looked.parts is state.parts:
        return state.looked
    assert state.pace is not None
    pace, rows = placed(settings, state, state.pace)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        judged = judge(pacing, pace, rows)
    return Looked(parts=state.parts, pace=pace, rows=rows, judged=judged)


def _decided(
    settings: Settings, pacing: AdaptiveConfig, state: State, seen: Looked | None, pool: int | None, batch: int
) -> Order:
    came = state.gathered
    limit, beyond = limit_of(settings, pool)
    if seen is None:
        return pilot(pacing, state.pace, pool, limit, beyond, batch)
    pace, rows, judged = seen.pace, seen.rows, seen.judged
    if not finite(judged):
        return overflow(pool, came, batch, judged.epsilon)
    wanted = rows_missing(pacing, pace, judged, came=came, batch=batch, most=BEYOND)
    left = max(limit - came, 0)
    now = min(wanted.now, left)
    short = wanted.all > left
    outcome = Outcome.ENOUGH if wanted.all == 0 and came == 0 else Outcome.MET
    risk = wanted.risk
    if short:
        outcome, risk = beyond, _risk_after(pacing, pace, judged, left)
    if not short and in_pilot(pace, came):
        outcome, risk = Outcome.PILOT, math.inf
    return Order(
        total=came + now,
        theory=wanted.theory,
        pool=pool,
        risk=risk,
        interval=(min(wanted.low, came + left), min(max(wanted.high, came + now), came + left)),
        outcome=outcome,
        reason=_reason(pacing, pace, judged, wanted, came, limit if short else None, first_step=state.period == 2),
        epsilon=judged.epsilon,
        assumptions=checks(
            pace,
            rows,
            judged,
            Supply(came=came, missing=wanted.all, exhausted=outcome is Outcome.POOL and now == 0),
        ),
        after=came,
        batch=batch,
        status=status(judged),
    )


def limit_of(settings: Settings, pool: int | None) -> tuple[int, Outcome]:
    """Return the rows that a period can have, and what is to be said when they are too few."""
    if pool is not None and pool <= settings.cap:
        return pool, Outcome.POOL
    return settings.cap, Outcome.CAPPED


def in_pilot(pace: AdaptiveState, came: int) -> bool:
    """Whether fewer rows were ever seen than a pilot has: a model can pass through them and look certain."""
    return pace.memory.rows + came < PILOT * pace.size


def pilot(
    pacing: AdaptiveConfig, pace: AdaptiveState | None, pool: int | None, limit: int, beyond: Outcome, batch: int
) -> Order:
    """Return the first batch of all, when nothing is known."""
    wanted = FIRST_ROWS if pace is None else PILOT * pace.size
    shown = "the columns" if pace is None else f"the noise, {PILOT} for each of {pace.size} coefficients"
    gives = "the money pays for" if beyond is Outcome.BUDGET else "this period can give"
    then = "and then this period asks for more" if limit > wanted else f"and {gives} {limit} in all"
    return Order(
        total=min(wanted, limit),
        theory=wanted,
        pool=pool,
        risk=math.inf,
        interval=(min(wanted, limit), limit),
        outcome=Outcome.PILOT if limit >= wanted else beyond,
        reason=f"nothing is known yet: {wanted} rows show {shown}, {then}",
        epsilon=math.nan if pacing.epsilon is None else pacing.epsilon,
        batch=batch,
    )


def finite(judged: Judgement) -> bool:
    """Whether the numbers can be used: columns that differ in size beyond rounding even give negative variances."""
    variances = judged.variances
    return bool(np.isfinite(judged.model).all() and np.isfinite(variances).all() and (variances >= 0.0).all())


def overflow(pool: int | None, came: int, batch: int, epsilon: float) -> Order:
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


def _risk_after(pacing: AdaptiveConfig, pace: AdaptiveState, judged: Judgement, rows: int) -> float:
    """Return the risk that so many further rows leave."""
    after = variances_after(pace.sizes, judged.variances, judged.noise_upper, max(rows, 0))
    return pacing.criterion(judged).risk(pace.sizes, after)


def _reason(
    pacing: AdaptiveConfig,
    pace: AdaptiveState,
    judged: Judgement,
    wanted: RowsNeeded,
    came: int,
    limit: int | None,
    *,
    first_step: bool,
) -> str:
    """Return the decision in a sentence. What is compared with the target is a mean, or a quantile at the confidence.

    In the ``first_step``, before any row of the second period, what the model costs is a guess, and is called one.
    """
    risk = pacing.judged_by(judged.epsilon).risk(pace.sizes, judged.variances)
    cost = (
        f"is expected to cost {risk:.2g}"
        if pacing.confidence is None
        else f"costs at most {risk:.2g} with confidence {pacing.confidence:g}"
    )
    known = f"with the {counted(came)} that came the model {cost}" if came else f"the last model {cost} by now"
    if first_step and not came:
        known = f"how fast the world moves is not known yet, and a fast one is allowed for: {known}"
    if wanted.all == 0:
        return f"{known}, and the target is {judged.epsilon:.3g}: that is enough"
    rows = max(wanted.all, wanted.now)
    more = f"{rows} more {'row' if rows == 1 else 'rows'}" if came else counted(rows)
    bring, leave = ("brings", "leaves") if rows == 1 else ("bring", "leave")
    if risk > judged.epsilon:
        told = f"{known}; {more} {bring} that down to the target of {judged.epsilon:.3g}"
    elif in_pilot(pace, came):
        return f"{known}, which so few rows cannot show for {pace.size} coefficients: {more} {bring} them to a pilot"
    else:
        told = f"{known}, too near to the target of {judged.epsilon:.3g}; {more} {leave} a margin"
    if limit is not None:
        return f"{told}, and this period can give {limit} in all"
    if wanted.now < wanted.all:
        return f"{told}; {wanted.now} of them first, since they may show that fewer are enough"
    return told


def close(settings: Settings, pacing: AdaptiveConfig, state: State) -> tuple[State, StepReport]:
    """Return the state after the period is fitted on whatever came, and the report."""
    order, pace, came = state.order, state.pace, state.gathered
    assert order is not None
    after = replace(state, period=state.period + 1, order=None, parts=(), looked=None)
    limit, beyond = limit_of(settings, order.pool)
    if pace is None or (came == 0 and not pace.banks):
        outcome = _missed(settings, order, came, limit, beyond)
        return after, _report(state.period, order, came, math.inf, None, outcome)
    seen = look(settings, pacing, state)
    pace, rows, judged = seen.pace, seen.rows, seen.judged
    if not finite(judged):
        raise DataError(
            "must be of a size that a fit can follow; got an overflow: rescale the columns.",
            owner="Tracker.tell",
            name="X",
        )
    risk = pacing.judged_by(judged.epsilon).risk(pace.sizes, judged.variances)
    if risk <= judged.epsilon and in_pilot(pace, came):
        risk = math.inf
    met = risk <= judged.epsilon
    if met:
        outcome = Outcome.MET if came else Outcome.ENOUGH
    else:
        outcome = _missed(settings, order, came, limit, beyond)
    moved = advance(pace, rows, judged)
    report = _report(state.period, order, came, risk, judged, outcome)
    wanted = rows_missing(pacing, pace, judged, came=came, batch=order.batch, most=BEYOND)
    missing = 0 if met else max(wanted.all, 1)
    rho, rho_upper = drift(moved.banks) if pace.banks else (None, None)
    report = replace(
        report,
        samples_theory=order.theory if pace.banks else wanted.theory,
        rho=rho,
        rho_upper=rho_upper,
        measures="rho" if pace.banks else None,
        certificate=certificate(pacing, pace, judged) if risk < math.inf else math.inf,
        status=status(judged),
        assumptions=checks(pace, rows, judged, Supply(came=came, missing=missing, exhausted=outcome is Outcome.POOL)),
    )
    coef = _coefficients(settings, pace, judged.model)
    return replace(after, pace=moved, coef=coef, rows_seen=state.rows_seen + came), report


def _missed(settings: Settings, order: Order, came: int, limit: int, beyond: Outcome) -> Outcome:
    """Return why a target was missed: too few rows came, or all that could be had; with a budget, all that were planned."""
    if settings.budget is None:
        return beyond if came >= limit else Outcome.SHORT
    if came < (order.total if order.plan is None else order.plan.samples[0]):
        return Outcome.SHORT
    return Outcome.SETTLING if order.outcome.promised else order.outcome


def placed(settings: Settings, state: State, pace: AdaptiveState) -> tuple[AdaptiveState, PeriodRows]:
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
        return pace, PeriodRows(loss=settings.loss, X=X, y=y, penalty=penalty)
    X[:, 0] = 1.0
    at = 0
    for part in state.parts:
        X[at : at + len(part.y), 1:] = part.X[:, :-1]
        at += len(part.y)
    place = _middle(X[:, 1:]) if pace.place is None else pace.place
    pace = pace if pace.place is not None else centered_at(pace, place)
    X[:, 1:] -= place
    return pace, PeriodRows(loss=settings.loss, X=X, y=y, penalty=np.roll(penalty, 1))


def _middle(X: FloatArray) -> FloatArray:
    """Return the means of columns; of one that never changes its value itself, or what rounding leaves looks like a column."""
    return np.asarray(np.where((X[:1] == X).all(axis=0), X[0], X.mean(axis=0)))


def _coefficients(settings: Settings, pace: AdaptiveState, model: FloatArray) -> FloatArray:
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
        asked=order.asked or order.total,  # a state that was saved before may not know it
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
