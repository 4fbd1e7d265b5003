"""Closing a period: look at its rows, fit them, see how far the world moved, say what is promised."""

import math
from dataclasses import replace

import numpy as np

from driftpace.errors import DataError
from driftpace.records import DriftEstimate, Fit, Outcome, PeriodData, StepReport
from driftpace.rules import RuleContext, TrainedPeriod, meets
from driftpace.tracker.independence import after_more_rows
from driftpace.tracker.outlooks import proven_distance
from driftpace.tracker.state import Order, Settings, State
from driftpace.tracker.terms import constants_of, terms_of
from driftpace.typing import FloatArray, IntArray


def close(settings: Settings, state: State) -> tuple[State, StepReport]:
    """Return the state after the period is fitted on whatever came, and the report.

    One start distance is proven before the fit; how many rows are used, how they are fitted and what is promised rely on it.
    """
    order = state.order
    assert order is not None
    X, y, _ = _visited(settings, state)
    state = _with_constants(settings, state, X, y)
    terms = terms_of(settings, state)
    distance = proven_distance(settings, state, terms)
    training = len(y) - int(settings.drift.held_out * len(y))
    used = _used(terms, distance, training)
    fitted = _fit(settings, state, distance, X[:used], y[:used])
    trained = TrainedPeriod(samples=training if terms.bound is not None else 0, used=used, distance=distance)
    rule, risk = settings.rule.close(state.rule, terms, trained)
    state = _with_drift(settings, state, terms, trained, fitted, X, y)
    drift = None if state.drift is None else settings.drift.estimate(state.drift)
    outcome = _outcome(order, settings.epsilon, len(y), risk, terms, fitted)
    report = _report(state.period, order, outcome, len(y), risk, drift)
    idle = distance if len(y) == 0 and math.isfinite(distance) else None
    after = replace(
        state, period=state.period + 1, rule=rule, order=None, parts=(), first_rows=False, idle_distance=idle
    )
    return after, report


def fits_without(settings: Settings, state: State, fold: IntArray) -> FloatArray:
    """Return the models that the period would be closed with if the rows of a fold had not come, (folds, coefficients).

    Each starts from the last model, visits the other rows in the order in which all would be visited, and relies on the constants
    and the distance that all of them give.
    """
    assert state.coef is not None
    X, y, order = _visited(settings, state)
    state = _with_constants(settings, state, X, y)
    terms = terms_of(settings, state)
    distance = proven_distance(settings, state, terms)
    models = []
    for one in range(int(fold.max()) + 1):
        keep = fold[order] != one
        count = int(keep.sum())
        used = _used(terms, distance, count - int(settings.drift.held_out * count))
        fitted = _fit(settings, state, distance, X[keep][:used], y[keep][:used])
        models.append(state.coef if fitted is None else fitted.coef)
    return np.array(models)


def _visited(settings: Settings, state: State) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return this period's rows in the order in which they are visited: a random one, since rows may come sorted."""
    width = 0 if state.features is None else settings.dimension(state.features)
    X = np.concatenate([np.empty((0, width)), *(part.X for part in state.parts)])
    y = np.concatenate([np.empty(0), *(part.y for part in state.parts)])
    order = np.random.default_rng((settings.entropy, state.period)).permutation(len(y))
    return X[order], y[order], order


def _with_constants(settings: Settings, state: State, X: FloatArray, y: FloatArray) -> State:
    """Return the state with the constants as they look after these rows, which no model was trained on yet."""
    if state.coef is None or len(y) == 0:
        return state
    objective = settings.objective
    constants_state = settings.constants_estimator.update(state.constants_state, objective, state.coef, X, y)
    return replace(
        state,
        gram=after_more_rows(settings, state, X),
        rows_seen=state.rows_seen + len(y),
        first_rows=state.rows_seen == 0,
        constants_state=constants_state,
        constants=settings.constants_estimator.constants(constants_state, objective).updated(settings.constants),
    )


def _used(terms: RuleContext, distance: float, training: int) -> int:
    """Return how many rows to train on: as many as the bound says are of use, all from an infinite distance."""
    if terms.bound is None or training == 0:
        return 0
    return terms.bound.used(distance, training) if math.isfinite(distance) else training


def _fit(settings: Settings, state: State, distance: float, X: FloatArray, y: FloatArray) -> Fit | None:
    """Return the next model, or None when there is nothing to fit."""
    if state.coef is None or len(y) == 0:
        return None
    constants = constants_of(settings, state)
    fitted = settings.learner.fit(
        settings.objective, settings.domain, state.coef, X, y, constants=constants, distance=distance
    )
    if fitted.outcome is Outcome.NONFINITE or not np.isfinite(fitted.coef).all():
        raise DataError(
            "must be of a size that a fit can follow; got an overflow: rescale the columns.",
            owner="Tracker.tell",
            name="X",
        )
    return fitted


def _with_drift(
    settings: Settings,
    state: State,
    terms: RuleContext,
    trained: TrainedPeriod,
    fitted: Fit | None,
    X: FloatArray,
    y: FloatArray,
) -> State:
    """Return the state with the new model, and the drift as it looks after the period.

    Rows that trained nothing are shown as held out; before the constants are known nothing is shown.
    """
    if state.coef is None:
        return state
    scatter = math.inf
    if terms.bound is not None and math.isfinite(trained.distance):  # theory 2, C_i(K): two runs differ by 2 D at most
        scatter = math.sqrt(2.0) * terms.bound.reach(terms.bound(trained.distance, trained.samples))
    shown = len(y) if terms.bound is not None else 0
    seen = PeriodData(
        period=state.period,
        X=X[: trained.used],
        y=y[: trained.used],
        X_held=X[trained.used : shown],
        y_held=y[trained.used : shown],
        start=state.coef,
        coef=state.coef if fitted is None else fitted.coef,
        gradient=np.zeros_like(state.coef) if fitted is None else fitted.gradient,
        scatter=scatter,
        constants=constants_of(settings, state),
    )
    return replace(
        state,
        coef=seen.coef,
        gradient=state.gradient if fitted is None else fitted.gradient,
        drift=settings.drift.update(state.drift, seen, settings.objective),
    )


def _outcome(order: Order, epsilon: float, came: int, risk: float, terms: RuleContext, fitted: Fit | None) -> Outcome:
    if terms.bound is None and came:
        return Outcome.PILOT
    if fitted is not None and fitted.outcome is Outcome.STALLED:
        return Outcome.STALLED
    if meets(risk, epsilon):
        return Outcome.MET if came else Outcome.ENOUGH
    if came < order.total:
        return Outcome.SHORT
    return Outcome.SETTLING if order.outcome.promised else order.outcome


def _report(
    period: int, order: Order, outcome: Outcome, came: int, risk: float, drift: DriftEstimate | None
) -> StepReport:
    return StepReport(
        period=period,
        asked=order.total,
        samples=came,
        rho=None if drift is None else drift.value,
        rho_upper=None if drift is None else drift.upper,
        measures=None if drift is None else drift.measures,
        risk_bound=risk,
        certificate=None,
        outcome=outcome,
        samples_theory=order.theory,
        epsilon=order.epsilon,
        seconds=0.0,
    )
