"""Where a first fit starts, and the scale of residuals that a loss with open parameters needs.

A loss that is far from quadratic needs a start near the data: counts of mean 300 seen from the score 0 show a curvature of 1
instead of 300. The best constant model is one that any rows show.
"""

import math
from dataclasses import replace

import numpy as np

from driftpace.adaptive.rows import DesignRows
from driftpace.adaptive.state import AdaptiveState
from driftpace.losses import LinearLoss, QuantileLoss
from driftpace.typing import FloatArray

SCALE_ROWS = 200.0
"""Rows that the scale of residuals is remembered over, so that it follows noise that grows."""

_NORMAL = 1.349  # the interquartile range of a standard normal variable
_LEAST_SHARE = 0.1  # of the mean deviation, where half of the residuals are equal
_REWEIGHTINGS, _LIMIT = 12, 0.1
_SCALE_ROWS_PER_COEFFICIENT = 3


def tuned_start(
    state: AdaptiveState, loss: LinearLoss, X: FloatArray, y: FloatArray, weights: FloatArray | None
) -> tuple[AdaptiveState, LinearLoss]:
    """Return the state before a first period with its start near the data, and the loss without open parameters.

    The start is the best constant model; that of a loss with a bounded slope, whose curvature vanishes far from the data, is least
    deviations moved to the best constant of its residuals. A start that the user gave is kept. ``X`` has the intercept's column
    first, if there is one.
    """
    if state.banks and (state.scale is not None or not loss.open):
        return state, loss if state.scale is None else loss.tuned(state.scale)
    fitted = _least_deviations(X, y) if loss.open or loss.curve.majorant is not None else None
    if len(y) and not state.banks and state.intercept and not state.model.any():
        model = state.model if fitted is None else fitted
        score = loss.constant_score(y - X @ model, weights)
        if score is not None:
            state = replace(state, model=np.append(model[0] + score, model[1:]))
    if not loss.open:
        return state, loss
    if state.scale is None and len(y):
        residuals = y if fitted is None else y - X @ fitted
        free = 1.0 if fitted is None else math.sqrt(len(y) / (len(y) - fitted.size))
        state = replace(state, scale=max(free * residual_scale(residuals), 1e-12), scale_rows=0.0)
    each = max(len(y), 1) / (X.shape[1] + math.log(max(len(y), 2)))
    return state, loss.tuned(1.0 if state.scale is None else state.scale, rows_per_coefficient=each)


def robust_start(
    loss: LinearLoss, X: FloatArray, y: FloatArray, weights: FloatArray | None
) -> tuple[FloatArray, float]:
    """Return a model near the data, the intercept last, and the scale of its residuals."""
    fitted = _least_deviations(X, y) if loss.open or loss.curve.majorant is not None else None
    model = np.zeros(X.shape[1]) if fitted is None else fitted
    model = np.append(model[:-1], model[-1] + (loss.constant_score(y - X @ model, weights) or 0.0))
    return model, max(residual_scale(y - X @ model), 1e-12)


def with_scale(state: AdaptiveState, rows: DesignRows) -> AdaptiveState:
    """Return the state after a period with the scale of its residuals, pooled with that of the last rows before."""
    count = len(rows)
    if count == 0:
        return state
    new = _later_scale(rows, state.model)
    if new is None:
        return state
    if state.scale is None or state.scale_rows == 0.0 or new <= 0.0:
        return replace(state, scale=max(new, 1e-12) if state.scale is None else state.scale, scale_rows=float(count))
    old = min(state.scale_rows, SCALE_ROWS)
    pooled = (old * math.log(state.scale) + count * math.log(new)) / (old + count)
    return replace(state, scale=math.exp(pooled), scale_rows=old + count)


def _later_scale(rows: DesignRows, model: FloatArray) -> float | None:
    """Return the scale of the residuals of a period; None where a quantile's rows are too few to show it.

    That of a quantile is about least deviations, as in the first period: where residuals spread unevenly, they spread more about an
    outer quantile, by how far it is from the middle of each row's targets.
    """
    if not isinstance(rows.loss, QuantileLoss):
        return residual_scale(rows.y - rows.X @ model)
    count, size = rows.X.shape
    middle = _least_deviations(rows.X, rows.y) if count >= _SCALE_ROWS_PER_COEFFICIENT * size else None
    if middle is None:
        return None
    return math.sqrt(count / (count - size)) * residual_scale(rows.y - rows.X @ middle)


def residual_scale(residuals: FloatArray) -> float:
    """Return the standard deviation of normal residuals with the same quartiles.

    >>> round(residual_scale(np.random.default_rng(0).standard_normal(10_000)), 1)
    1.0
    """
    if len(residuals) < 2:
        return 0.0
    low, high = np.quantile(residuals, (0.25, 0.75))
    return float(max((high - low) / _NORMAL, _LEAST_SHARE * np.abs(residuals - np.median(residuals)).mean()))


def _least_deviations(X: FloatArray, y: FloatArray) -> FloatArray | None:
    """Return the fit of least absolute deviations, nearly, by reweighted least squares; None where rows are too few for one.

    Weights are limited at residuals of a tenth of their scale, so that no row is passed through and outliers count little.
    """
    if len(y) < 2 * X.shape[1]:
        return None
    residuals, model = y - np.median(y), np.zeros(X.shape[1])
    for _ in range(_REWEIGHTINGS):
        least = max(_LIMIT * residual_scale(residuals), 1e-12 * float(np.abs(y).max()), 1e-150)
        root = np.sqrt(1.0 / np.maximum(np.abs(residuals), least))
        model = np.asarray(np.linalg.lstsq(X * root[:, None], y * root, rcond=None)[0], np.float64)
        residuals = y - X @ model
    return model
