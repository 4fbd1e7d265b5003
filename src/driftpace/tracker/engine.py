"""ask and tell as a pure transition function: a state and what happened go in, a new state and the answer come out.

No clock, no files, no hidden randomness: replaying the same calls gives the same bits. The class around it only saves.
"""

import math
from dataclasses import replace

import numpy as np

from driftpace.bounds import RiskBound
from driftpace.errors import DataError, ProtocolError, UnknownConstantError
from driftpace.records import Constants, DriftEstimate, Fit, Outcome, Request, Seen, StepReport
from driftpace.rules import Terms
from driftpace.tracker.assumptions import assumptions
from driftpace.tracker.independence import after_more_rows
from driftpace.tracker.state import Order, Part, Settings, State
from driftpace.typing import FloatArray

_ROUNDING = 1.0 + 1e-12


def begin(settings: Settings) -> State:
    """Return the state before the first period."""
    state = State(period=1, rule=settings.rule.init())
    return state if settings.features is None else _with_features(settings, state, settings.features, None)


def ask(settings: Settings, state: State, pool: int | None = None) -> tuple[State, Request]:
    """Return how many rows to bring; the decision is made once a period, and the rows that came are taken off it."""
    constants, terms = _terms(settings, state)
    if state.order is None:
        state = replace(state, order=_order(settings, state, terms, settings.pool if pool is None else pool))
    order = state.order
    assert order is not None
    request = Request(
        period=state.period,
        samples=max(0, order.total - state.gathered),
        samples_theory=order.total,
        interval=order.interval,
        epsilon=settings.epsilon,
        risk_bound=order.risk,
        outcome=order.outcome,
        reason=order.reason,
        assumptions=assumptions(settings, state, constants, terms),
    )
    return state, request


def gather(settings: Settings, state: State, X: FloatArray, y: FloatArray, columns: tuple[str, ...] | None) -> State:
    """Return the state with more rows of this period laid aside; ``y`` is encoded by the loss here."""
    if state.order is None:
        raise ProtocolError(f"tell() came before ask() in period {state.period}; call ask() first.")
    encoded = settings.loss.encode(y)
    if state.features is None:
        state = _with_features(settings, state, X.shape[1], columns)
    elif state.columns is None and columns is not None:
        state = replace(state, columns=columns)
    if settings.fit_intercept:
        X = np.column_stack([X, np.ones(len(X))])
    return replace(state, parts=(*state.parts, Part(X=X, y=encoded)))


def close(settings: Settings, state: State) -> tuple[State, StepReport]:
    """Return the state after the period is fitted on whatever came, and the report."""
    order = state.order
    if order is None:
        raise ProtocolError(f"tell() came before ask() in period {state.period}; call ask() first.")
    objective = settings.objective
    X, y = _visited(settings, state)
    came = len(y)
    if state.coef is not None and came:
        evidence = settings.evidence.update(state.evidence, objective, state.coef, X, y)
        state = replace(
            state,
            gram=after_more_rows(settings, state, X),
            rows_seen=state.rows_seen + came,
            evidence=evidence,
            constants=settings.evidence.constants(evidence, objective).updated(settings.constants),
        )
    constants, terms = _terms(settings, state)
    training = came - int(settings.drift.held_out * came)
    fitted = _fit(settings, state, terms.bound, constants, order.distance, X[:training], y[:training])
    trained = training if fitted is not None else 0
    if state.coef is not None:
        seen = _seen(state, constants, fitted, X, y, trained, terms.bound, order.distance)
        state = replace(
            state,
            coef=seen.coef,
            gradient=seen.gradient if trained else state.gradient,
            drift=settings.drift.update(state.drift, seen, objective),
        )
    estimate = _drift(settings, state)
    rule, risk = settings.rule.close(state.rule, replace(terms, drift=estimate), trained)
    report = StepReport(
        period=state.period,
        asked=order.total,
        samples=came,
        rho=None if estimate is None else estimate.value,
        rho_upper=None if estimate is None else estimate.upper,
        risk_bound=risk,
        certificate=None,
        outcome=_closing_outcome(order, came, risk, settings.epsilon, fitted is not None or came == 0),
        seconds=0.0,
    )
    return replace(state, period=state.period + 1, rule=rule, order=None, parts=()), report


def _with_features(settings: Settings, state: State, features: int, columns: tuple[str, ...] | None) -> State:
    dimension = settings.dimension(features)
    if not settings.domain.fits(dimension):
        raise DataError(
            f"tell(X=...) must fit the set of coefficients; got {dimension} coefficients with the intercept."
        )
    start = np.zeros(dimension) if settings.start is None else settings.start
    if start.size != dimension:
        raise DataError(f"tell(X=...) must give as many coefficients as start has, {start.size}; got {dimension}.")
    return replace(
        state,
        features=features,
        columns=columns,
        coef=settings.domain.project(start),
        drift=settings.drift.init(dimension),
        evidence=settings.evidence.init(dimension),
        gram=np.zeros((dimension, dimension)) if settings.loss.l2 == 0.0 else None,
    )


def _terms(settings: Settings, state: State) -> tuple[Constants, Terms]:
    constants = settings.constants if state.constants is None else state.constants
    m = constants.m.lower if constants.m is not None else 0.0
    diameter = settings.domain.diameter
    if not math.isfinite(diameter) and constants.diameter is not None:
        diameter = constants.diameter.upper
    terms = Terms(
        period=state.period,
        epsilon=settings.epsilon,
        bound=_bound(settings, state, constants),
        m=m,
        drift=_drift(settings, state),
        diameter=diameter,
        cap=settings.cap,
    )
    return constants, terms


def _bound(settings: Settings, state: State, constants: Constants) -> RiskBound | None:
    """Return what the learner promises, or None while a constant it needs is unknown or the curvature is not yet seen."""
    if state.features is None or constants.m is None or constants.m.lower <= 0.0:
        return None
    try:
        return settings.learner.bound(constants, settings.dimension(state.features))
    except UnknownConstantError:
        return None


def _drift(settings: Settings, state: State) -> DriftEstimate | None:
    return None if state.drift is None else settings.drift.estimate(state.drift)


def _order(settings: Settings, state: State, terms: Terms, pool: int | None) -> Order:
    decision = settings.rule.size(state.rule, terms)
    sizing = decision.sizing
    order = Order(
        total=_with_held_out(settings, sizing.samples),
        training=sizing.samples,
        distance=decision.distance,
        risk=sizing.risk,
        interval=(_with_held_out(settings, decision.interval[0]), _with_held_out(settings, decision.interval[1])),
        outcome=sizing.outcome,
        reason=sizing.reason,
    )
    if pool is None or order.total <= pool:
        return order
    training = pool - int(settings.drift.held_out * pool)
    finite = terms.bound is not None and math.isfinite(order.distance)
    return replace(
        order,
        total=pool,
        training=training,
        risk=terms.bound(order.distance, training) if finite and terms.bound is not None else math.inf,
        outcome=Outcome.POOL,
        reason=f"the target would take {order.total} samples and the pool of this period has {pool}",
    )


def _with_held_out(settings: Settings, training: int) -> int:
    """Return how many rows to bring so that ``training`` are left when the held-out share is taken off."""
    total = math.ceil(training / (1.0 - settings.drift.held_out))
    while total - int(settings.drift.held_out * total) < training:
        total += 1
    return total


def _visited(settings: Settings, state: State) -> tuple[FloatArray, FloatArray]:
    """Return this period's rows in the order in which they are visited: a random one, since rows may come sorted."""
    width = 0 if state.features is None else settings.dimension(state.features)
    X = np.concatenate([np.empty((0, width)), *(part.X for part in state.parts)])
    y = np.concatenate([np.empty(0), *(part.y for part in state.parts)])
    order = np.random.default_rng((settings.entropy, state.period)).permutation(len(y))
    return X[order], y[order]


def _fit(
    settings: Settings,
    state: State,
    bound: RiskBound | None,
    constants: Constants,
    distance: float,
    X: FloatArray,
    y: FloatArray,
) -> Fit | None:
    """Return the next model, or None when nothing can be fitted: no rows, or constants that are not known yet."""
    if bound is None or state.coef is None or len(y) == 0:
        return None
    used = bound.used(distance, len(y)) if math.isfinite(distance) else len(y)
    fitted = settings.learner.fit(
        settings.objective, settings.domain, state.coef, X[:used], y[:used], constants=constants, distance=distance
    )
    if fitted.outcome is Outcome.NONFINITE or not np.isfinite(fitted.coef).all():
        raise DataError(
            "tell(X=...) must be of a size that the fit can follow; got a fit that overflowed: rescale the columns."
        )
    return fitted


def _seen(
    state: State,
    constants: Constants,
    fitted: Fit | None,
    X: FloatArray,
    y: FloatArray,
    trained: int,
    bound: RiskBound | None,
    distance: float,
) -> Seen:
    """Return what the period shows to the estimator of drift; rows that trained nothing are not shown."""
    assert state.coef is not None
    scatter = math.inf
    if bound is not None and math.isfinite(distance):
        scatter = math.sqrt(2.0) * bound.reach(
            bound(distance, trained)
        )  # theory 2, C_i(K): two runs differ by 2 D at most
    shown = len(y) if trained else 0
    return Seen(
        period=state.period,
        X=X[:trained],
        y=y[:trained],
        X_held=X[trained:shown],
        y_held=y[trained:shown],
        start=state.coef,
        coef=state.coef if fitted is None else fitted.coef,
        gradient=np.zeros_like(state.coef) if fitted is None else fitted.gradient,
        scatter=scatter,
        constants=constants,
    )


def _closing_outcome(order: Order, came: int, risk: float, epsilon: float, fitted: bool) -> Outcome:
    if not fitted:
        return Outcome.PILOT
    if risk <= epsilon * _ROUNDING:
        return Outcome.MET if came else Outcome.ENOUGH
    if came < order.total:
        return Outcome.SHORT
    return Outcome.SETTLING if order.outcome.promised else order.outcome
