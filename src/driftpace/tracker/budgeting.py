"""Orders within a budget: the plan says how many rows a period has, and the money says how many it can have.

While too little is known to plan, a pilot is bought: what the method asks for without a budget, as far as the money goes. Where
batches cost no more than one order does, the rows of each batch are looked at and the rest is planned anew: about half of what is
foretold is then enough in a world that stands still (docs/benchmarks.md).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from driftpace.adaptive import (
    PILOT,
    AdaptiveConfig,
    Supply,
    checks,
    judge,
    next_batch,
    outlook_from_here,
    rows_missing,
    status,
)
from driftpace.errors import TooEarlyError
from driftpace.planning import LinearCost, Outlook
from driftpace.records import Assumption, Outcome, Plan, Request, StepReport, Verdict
from driftpace.rules import RuleContext
from driftpace.rules.decision import risk_at
from driftpace.tracker.assumptions import assumptions
from driftpace.tracker.ordering import least_rows, place_order
from driftpace.tracker.outlooks import outlook_now, outlook_of_parts, proven_distance, target_now
from driftpace.tracker.practical import BEYOND, finite, in_pilot, limit_of, overflow, pilot, placed
from driftpace.tracker.spending import Spending, in_full, in_words, plan_ahead, plan_around, reason, said, verdict
from driftpace.tracker.state import Order, Settings, State
from driftpace.tracker.terms import terms_of


def ask(settings: Settings, state: State, pool: int | None) -> tuple[State, Request]:
    """Return what to bring in this period, what it costs and the plan ahead: decided once, or anew with every batch that came."""
    spending = Spending.of(settings, state)
    order = state.order
    if order is None or _stale(settings, state, order):
        pool = pool if order is None else order.pool
        order = _decided(settings, state, spending, pool).following(order, state.gathered)
        state = replace(state, order=order)
    return state, _request(settings, state, spending, order)


def _stale(settings: Settings, state: State, order: Order) -> bool:
    """Whether rows came since a pilot or a batch was asked for, or were taken back."""
    if not isinstance(settings.method, AdaptiveConfig) or order.after == state.gathered:
        return False
    assert settings.budget is not None
    return order.plan is None or settings.budget.in_batches


def _request(settings: Settings, state: State, spending: Spending, order: Order) -> Request:
    came = state.gathered
    samples = max(order.total - came, 0)
    told = order.assumptions
    if not isinstance(settings.method, AdaptiveConfig):
        told = (*assumptions(settings, state, terms_of(settings, state)), *told)
    beyond = spending.beyond_after(came) if came else None
    over = f"; the rows that came cost {in_full(beyond)} more than there was" if beyond is not None else ""
    return Request(
        period=state.period,
        samples=samples,
        samples_theory=order.theory,
        interval=order.interval,
        epsilon=order.epsilon,
        risk_bound=order.risk,
        outcome=order.outcome,
        reason=order.reason + over,
        assumptions=told,
        status=order.status,
        cost=spending.budget.price(came + samples) - spending.budget.price(came),
        money_left=spending.left_after(came),
        plan=order.plan,
    )


def without_rows(order: Order) -> Order:
    """Return an order whose rows are taken back; what was decided with rows in sight is decided anew."""
    return order if order.after == 0 else replace(order, after=-1, batch=-1, plan=None)


def closed(settings: Settings, state: State, after: State, report: StepReport) -> tuple[State, StepReport]:
    """Return the state and the report of a closed period with the true price of its rows."""
    assert settings.budget is not None
    cost = settings.budget.price(state.gathered)
    spent = Spending.of(settings, state).spent_after(state.gathered)
    return replace(after, spent=spent.amount), replace(report, cost=cost)


def _decided(settings: Settings, state: State, spending: Spending, pool: int | None) -> Order:
    if spending.periods == 0:
        return _over(settings, state, spending, pool)
    if isinstance(settings.method, AdaptiveConfig):
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return _practical(settings, settings.method, state, spending, pool)
    return _of_parts(settings, state, spending, pool)


def _over(settings: Settings, state: State, spending: Spending, pool: int | None) -> Order:
    """Return that nothing more is bought, since the horizon is over."""
    horizon = in_words(spending.budget.horizon, "period")
    try:
        outlook, epsilon = outlook_now(settings, state), target_now(settings, state)
        risk = outlook.bound(outlook.first_distance(0), 0)
    except TooEarlyError:
        risk, epsilon = math.inf, math.nan if settings.method.epsilon is None else settings.method.epsilon
    met = risk <= epsilon
    told = f"The horizon of the budget, {horizon}, is over" + ("." if met else ", and the target is missed.")
    return Order(
        total=0,
        theory=0,
        pool=pool,
        risk=risk,
        interval=(0, 0),
        outcome=Outcome.ENOUGH if met else Outcome.BUDGET,
        reason=f"the horizon of the budget, {horizon}, is over, and {in_full(spending.left)} are left of it",
        epsilon=epsilon,
        assumptions=(said(Verdict.PASS if met else Verdict.FAIL, told),),
        after=state.gathered,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Supply:
    """What a period can have: at most ``limit`` rows, what is ``beyond`` it, and the ``least`` that is of use, if any is bought.

    Of the rows that ``came`` the outlook has ``seen`` none or all.
    """

    limit: int
    beyond: Outcome
    came: int = 0
    seen: int = 0
    least: int = 0
    needed: int = 0


def _planned(spending: Spending, outlook: Outlook, epsilon: float, supply: _Supply) -> tuple[Plan, Outcome, Assumption]:
    """Return the plan, as the period can follow it, how it comes out, and what is to be said of the money."""
    seen = supply.seen
    problem = spending.problem(outlook, epsilon, seen)
    plan = spending.with_rows(plan_ahead(problem), seen)
    most = spending.most(supply.limit)
    rows = max(plan.samples[0], min(supply.needed, most))
    if rows > 0:
        rows = max(min(rows, supply.limit), min(supply.least, most))
    rows = max(rows, supply.came)
    unsure = seen > 0 and not isinstance(
        problem.cost, LinearCost
    )  # then what further rows cost is taken roughly: no proof
    if rows != plan.samples[0] or not plan.spent <= plan.budget or unsure:
        plan = spending.with_rows(plan_around(problem, rows - seen, spending.left_after(rows)), seen)
    if plan.gaps[0] == 0.0:
        outcome = Outcome.MET if rows else Outcome.ENOUGH
    elif rows >= supply.limit:
        outcome = supply.beyond
    elif outlook.bound.smallest(outlook.first_distance(0), epsilon, BEYOND) is None:
        outcome = Outcome.INFEASIBLE
    else:
        outcome = Outcome.BUDGET
    return plan, outcome, verdict(spending, problem, plan, came=supply.came, seen=seen)


# ---- a tracker made of parts


def _of_parts(settings: Settings, state: State, spending: Spending, pool: int | None) -> Order:
    terms = terms_of(settings, state)
    usual = place_order(settings, state, terms, pool)
    limit, beyond = limit_of(settings, pool)
    least = least_rows(settings.drift, settings, state)
    if state.period <= len(getattr(settings.rule, "first_samples", ())):
        most = spending.most(limit)
        return _pilot_of_parts(settings, state, terms, usual, most, "the size of the first periods is fixed")
    try:
        outlook = outlook_of_parts(settings, state, terms)
    except TooEarlyError as error:
        least = max(least, least_rows(settings.constants_estimator, settings, state), 1)
        most = max(spending.share(limit), min(least, spending.most(limit)))
        return _pilot_of_parts(settings, state, terms, usual, most, error.why)
    supply = _Supply(limit=limit, beyond=beyond, least=least)
    plan, outcome, told = _planned(spending, outlook, settings.epsilon, supply)
    return Order(
        total=plan.samples[0],
        theory=usual.theory,
        pool=pool,
        risk=plan.risks[0],
        interval=(plan.samples[0], plan.samples[0]),
        outcome=outcome,
        reason=reason(spending, plan, 0, plan.samples[0]),
        epsilon=settings.epsilon,
        assumptions=(told,),
        plan=plan,
    )


def _pilot_of_parts(settings: Settings, state: State, terms: RuleContext, usual: Order, most: int, why: str) -> Order:
    """Return what the rule asks for without a budget, as far as the money goes."""
    total = min(usual.total, most)
    order = replace(usual, total=total, interval=(total, total), assumptions=(_not_yet(why),))
    if total == usual.total:
        return order
    training = total - int(settings.drift.held_out * total)
    distance = proven_distance(settings, state, terms)
    return replace(
        order,
        risk=math.inf if terms.bound is None else risk_at(terms.bound, distance, training),
        outcome=Outcome.BUDGET,
        reason=f"{usual.total} samples are wanted ({usual.reason}) and the money pays for {total} in this period",
    )


# ---- the practical method


def _practical(settings: Settings, pacing: AdaptiveConfig, state: State, spending: Spending, pool: int | None) -> Order:
    came, pace = state.gathered, state.pace
    limit, beyond = limit_of(settings, pool)
    most = spending.most(limit)
    batch = 0 if state.order is None else state.order.batch + 1
    if most < limit:
        limit, beyond = most, Outcome.BUDGET
    if pace is None or (not pace.banks and in_pilot(pace, came) and came < limit):
        order = pilot(pacing, pace, pool, limit, beyond, batch)
        return replace(order, after=came, assumptions=(_not_yet("the pilot did not come yet"),))
    pace, rows = placed(settings, state, pace)
    judged = judge(pacing, pace, rows)
    if not finite(judged):
        return overflow(pool, came, batch, judged.epsilon)
    outlook, seen = outlook_from_here(pacing, pace, rows, judged)
    needed = PILOT * pace.size - pace.memory.rows
    supply = _Supply(limit=limit, beyond=beyond, came=came, seen=seen, needed=needed)
    plan, outcome, told = _planned(spending, outlook, judged.epsilon, supply)
    period, risk = plan.samples[0], plan.risks[0]
    if in_pilot(pace, period):
        outcome, risk = beyond, math.inf
    wanted = rows_missing(pacing, pace, judged, came=came, batch=batch, most=BEYOND)
    exhausted = outcome is Outcome.POOL and period == came
    total, interval = period, (period, period)
    if spending.budget.in_batches:
        last = batch > 0 and plan.gaps[0] > 0.0  # money that is short is spent anyway: one look is enough
        total = period if last else min(came + next_batch(pace, period - came, came=came, batch=batch), period)
        interval = (min(wanted.low, total), max(total, period, min(wanted.high, limit)))
    return Order(
        total=total,
        theory=wanted.theory,
        pool=pool,
        risk=risk,
        interval=interval,
        outcome=outcome,
        reason=reason(spending, plan, came, total - came),
        epsilon=judged.epsilon,
        assumptions=(
            *checks(pace, rows, judged, Supply(came=came, missing=wanted.all, exhausted=exhausted)),
            told,
        ),
        after=came,
        batch=batch,
        status=status(judged),
        plan=plan,
    )


def _not_yet(why: str) -> Assumption:
    return said(Verdict.WARN, f"Whether the money holds the target cannot be said yet, for {why}.")
