"""From a rule's decision to an order: rows for training and for holding out, within what the pool can give."""

import math
from dataclasses import replace
from typing import Any

from driftpace.records import Outcome
from driftpace.rules import RuleContext, RuleDecision, meets
from driftpace.rules.decision import risk_at
from driftpace.tracker.state import Order, Settings, State


def place_order(settings: Settings, state: State, terms: RuleContext, pool: int | None) -> Order:
    """Return what to bring this period. What it promises is judged from the proven start, not from the rule's assumption."""
    decision = settings.rule.size(state.rule, terms)
    wanted = rows_for(settings.drift.held_out, decision.sizing.samples)
    if terms.bound is None:
        wanted = max(wanted, least_rows(settings.constants_estimator, settings, state))
    total = max(wanted, least_rows(settings.drift, settings, state)) if wanted > 0 else 0
    order = Order(
        total=total,
        theory=wanted,
        pool=pool,
        risk=decision.risk,
        interval=(
            rows_for(settings.drift.held_out, decision.interval[0]),
            rows_for(settings.drift.held_out, decision.interval[1]),
        ),
        outcome=_outcome(decision, terms),
        reason=decision.sizing.reason,
        epsilon=settings.epsilon,
    )
    if total > wanted:
        order = replace(order, reason=f"{order.reason}; the drift estimate needs at least {total} rows")
    if pool is None or total <= pool:
        return order
    training = pool - int(settings.drift.held_out * pool)
    return replace(
        order,
        total=pool,
        risk=math.inf if terms.bound is None else risk_at(terms.bound, decision.distance, training),
        outcome=Outcome.POOL,
        reason=f"{total} samples are wanted ({order.reason}) and the pool of this period has {pool}",
    )


def _outcome(decision: RuleDecision, terms: RuleContext) -> Outcome:
    if decision.sizing.outcome.promised and not meets(decision.risk, terms.epsilon):
        return Outcome.SETTLING
    return decision.sizing.outcome


def least_rows(estimator: Any, settings: Settings, state: State) -> int:
    """Return the fewest rows from which an estimator can say anything; fewer would leave it silent for ever."""
    least = getattr(estimator, "least_rows", None)
    return 0 if least is None or state.features is None else int(least(settings.dimension(state.features)))


def rows_for(held_out: float, training: int) -> int:
    """Return how many rows to bring so that ``training`` are left when the held-out share is taken off."""
    total = math.ceil(training / (1.0 - held_out))
    while total - int(held_out * total) < training:
        total += 1
    return total
