"""ask and tell as a pure transition function: a state and what happened go in, a new state and the answer come out.

No clock, no files, no hidden randomness: folding the same events gives the same bits. The class around it only saves.
"""

from dataclasses import replace

import numpy as np

from driftpace.adaptive import AdaptiveConfig
from driftpace.errors import DataError, ParameterError, ProtocolError
from driftpace.records import Request, StepReport
from driftpace.tracker import budgeting, practical
from driftpace.tracker.assumptions import assumptions
from driftpace.tracker.closing import close
from driftpace.tracker.events import Asked, Closed, Event, Forgot, Told
from driftpace.tracker.ordering import place_order
from driftpace.tracker.state import Part, Settings, State
from driftpace.tracker.terms import terms_of

Answer = Request | StepReport | None


def begin(settings: Settings) -> State:
    """Return the state before the first period."""
    state = State(period=1, rule=None if isinstance(settings.method, AdaptiveConfig) else settings.rule.init())
    if settings.features is None:
        return state
    try:
        return _with_features(settings, state, settings.features, None)
    except DataError as error:
        raise ParameterError(f"{error}", owner="Tracker", name="features") from None


def apply(settings: Settings, state: State, event: Event) -> tuple[State, Answer]:
    """Return the state after an event, and the answer to it: a request, a report, or None for rows laid aside."""
    match event:
        case Asked():
            return _ask(settings, state, event.pool)
        case Told():
            return _gather(settings, state, event), None
        case Closed():
            _must_have_asked(state)
            return _close(settings, state)
        case Forgot():
            return _forgotten(settings, state), None


def _ask(settings: Settings, state: State, pool: int | None) -> tuple[State, Request]:
    """Decide once a period, the rows that came since taken off; the practical method decides anew when rows came."""
    order = state.order
    if order is not None and pool is not None and pool != order.pool:
        before = "without a pool" if order.pool is None else f"for {order.pool:,}"
        raise ProtocolError(
            f"must be the same as when period {state.period} was sized, {before}; got {pool}.",
            owner="Tracker.ask",
            name="pool",
        )
    if settings.budget is not None:
        return budgeting.ask(settings, state, settings.pool if pool is None else pool)
    if isinstance(settings.method, AdaptiveConfig):
        return practical.request(settings, settings.method, state, settings.pool if pool is None else pool)
    terms = terms_of(settings, state)
    if order is None:
        order = place_order(settings, state, terms, settings.pool if pool is None else pool)
        state = replace(state, order=order)
    request = Request(
        period=state.period,
        samples=max(0, order.total - state.gathered),
        samples_theory=order.theory,
        interval=order.interval,
        epsilon=settings.epsilon,
        risk_bound=order.risk,
        outcome=order.outcome,
        reason=order.reason,
        assumptions=assumptions(settings, state, terms),
    )
    return state, request


def _close(settings: Settings, state: State) -> tuple[State, StepReport]:
    if isinstance(settings.method, AdaptiveConfig):
        after, report = practical.close(settings, settings.method, state)
    else:
        after, report = close(settings, state)
    after = replace(after, bought=state.gathered > 0)
    return (after, report) if settings.budget is None else budgeting.closed(settings, state, after, report)


def _gather(settings: Settings, state: State, told: Told) -> State:
    """Lay rows of the period aside; targets are encoded by the loss here."""
    _must_have_asked(state)
    X, y = told.X, settings.loss.encode(told.y)
    if state.features is None:
        state = _with_features(settings, state, X.shape[1], told.columns)
    elif state.columns is None and told.columns is not None:
        state = replace(state, columns=told.columns)
    if settings.fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    return replace(state, parts=(*state.parts, Part(X=X, y=y)))


def _forgotten(settings: Settings, state: State) -> State:
    """Take the rows back. What was decided with them in sight is decided anew, as many as may come in their place.

    In the first period the columns go with them, which nothing else has shown.
    """
    if state.order is None or not state.parts:
        return state
    anew = replace(begin(settings), order=state.order) if state.period == 1 else replace(state, parts=())
    if settings.budget is not None:
        return replace(anew, order=budgeting.without_rows(state.order))
    return replace(anew, order=replace(state.order, after=-1, batch=-1))


def _must_have_asked(state: State) -> None:
    if state.order is None:
        raise ProtocolError(f"tell() came before ask() in period {state.period}; call ask() first.")


def _with_features(settings: Settings, state: State, features: int, columns: tuple[str, ...] | None) -> State:
    size = settings.dimension(features)
    told = f"{features} columns" + (" and an intercept" if settings.fit_intercept else "")
    if not settings.domain.fits(size):
        raise DataError(f"must fit the set of coefficients, {settings.domain!r}; got {told}.")
    start = np.zeros(size) if settings.start is None else settings.start
    if start.size != size:
        raise DataError(f"must give as many coefficients as start has, {start.size}; got {told}.")
    practical_method = isinstance(settings.method, AdaptiveConfig)
    return replace(
        state,
        features=features,
        columns=columns,
        coef=settings.domain.project(start),
        drift=None if practical_method else settings.drift.init(size),
        constants_state=None if practical_method else settings.constants_estimator.init(size),
        pace=practical.first(settings, start) if practical_method else None,
        gram=None if practical_method or settings.loss.l2 > 0.0 else np.zeros((size, size)),
    )
