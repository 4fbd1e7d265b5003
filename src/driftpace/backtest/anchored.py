"""Fits anchored at the last model, for a whole list of anchoring strengths at once.

A fit minimises the mean loss of the rows + (strength/2) sum_j scale_j (w_j - anchor_j)^2, ``scale`` being the spread of the
columns, so that a strength means the same in any units. Strength 0 is the fit of these rows that is nearest to the anchor;
an infinite strength keeps the anchor.
"""

import numpy as np

from driftpace.backtest.job import SplitRows
from driftpace.backtest.population import mean_gradients, mean_hessians, mean_losses
from driftpace.losses import LogLinkLoss, Loss, QuantileLoss, SquaredLoss
from driftpace.typing import BoolArray, FloatArray, IntArray

STRENGTHS: FloatArray = np.concatenate([[0.0], np.geomspace(1e-3, 1e2, 21), [np.inf]])
LEAST = 1e-9  # stands for strength 0: what the rows do not decide stays at the anchor
_MOST = 1e6  # stands for an infinite strength
_BARELY = 1e-6  # keeps an intercept finite where all rows are of one class
_DECREMENT = 1e-10
_MOST_STEPS = 60
_MOST_HALVINGS = 30
_SAFE_STEPS = 25
_ARMIJO = 1e-4


def fit_anchored(
    loss: Loss,
    X: FloatArray,
    y: FloatArray,
    anchors: FloatArray,
    strengths: FloatArray,
    scale: FloatArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return one model for each anchor and strength; without rows, the anchors. ``weights`` of rows have mean 1.

    >>> X, y = np.array([[1.0], [1.0]]), np.array([2.0, 2.0])
    >>> fit_anchored(SquaredLoss(), X, y, np.zeros((3, 1)), np.array([0.0, 1.0, np.inf]), np.ones(1)).ravel()
    array([2., 1., 0.])
    """
    models = anchors.copy()
    moving = np.isfinite(strengths)
    if len(y) > 0 and moving.any():
        pulls = np.maximum(strengths[moving], LEAST)[:, None] * scale
        models[moving] = _fit(loss, X, y, anchors[moving], pulls, weights)
    return models


def fit_fresh(
    loss: Loss, X: FloatArray, y: FloatArray, scale: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the model of rows alone: of those that fit them best, the nearest to zero, or to the constant that a fit starts at."""
    anchors = np.zeros((1, scale.size))
    anchors[:, -1] = _constant(loss, y, weights)
    fresh: FloatArray = fit_anchored(loss, X, y, anchors, np.zeros(1), scale, weights)[0]
    return fresh


def fit_shrunk(
    loss: Loss,
    X: FloatArray,
    y: FloatArray,
    strengths: FloatArray,
    scale: FloatArray,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return one model for each strength, its slopes pulled towards zero and its intercept free: a first fit of few rows."""
    pulls = np.clip(strengths, LEAST, _MOST)[:, None] * scale
    pulls[:, -max(loss.unpenalised, 1) :] = _BARELY
    anchors = np.zeros_like(pulls)
    anchors[:, -1] = _constant(loss, y, weights)
    return _fit(loss, X, y, anchors, pulls, weights) if len(y) else anchors


def _constant(loss: Loss, y: FloatArray, weights: FloatArray | None) -> float:
    """Return the intercept of the best constant model where the loss needs to start there, else zero."""
    if not isinstance(loss, LogLinkLoss | QuantileLoss) or not len(y):
        return 0.0
    return loss.constant_score(y, weights)


def follow_anchored(
    rows: tuple[SplitRows, ...],
    sizes: IntArray,
    strengths: FloatArray,
    scale: FloatArray,
    *,
    shrink_first: bool = False,
) -> FloatArray:
    """Return the models (strengths, periods, coefficients) of a run that buys ``sizes[n]`` rows in period n.

    Every period is fitted anchored at the model before. The first is fitted from nothing, with ``shrink_first`` shrunk.
    """
    models = np.zeros((len(strengths), len(rows), scale.size))
    for period, (now, size) in enumerate(zip(rows, sizes, strict=True)):
        loss, (X, y) = now.population.loss, now.bought(0, int(size))
        weights = mean_weights(now, int(size))
        if period > 0:
            models[:, period] = fit_anchored(loss, X, y, models[:, period - 1], strengths, scale, weights)
        elif shrink_first:
            models[:, period] = fit_shrunk(loss, X, y, strengths, scale, weights)
        else:
            models[:, period] = fit_fresh(loss, X, y, scale, weights)
    return models


def mean_weights(rows: SplitRows, size: int) -> FloatArray | None:
    """Return the weights of the first rows that are bought, of mean 1; None where rows have none."""
    weights = rows.weights_of(0, size)
    return weights if weights is None or not len(weights) else weights / weights.mean()


def _fit(
    loss: Loss,
    X: FloatArray,
    y: FloatArray,
    anchors: FloatArray,
    pulls: FloatArray,
    weights: FloatArray | None,
) -> FloatArray:
    """Return the minimiser for each anchor and each row of ``pulls``, the weight of every coefficient's squared distance."""
    if type(loss) is SquaredLoss:
        return _least_squares(loss, X, y, anchors, pulls, weights)
    return _newton(loss, X, y, anchors, pulls, weights)


def _least_squares(
    loss: SquaredLoss,
    X: FloatArray,
    y: FloatArray,
    anchors: FloatArray,
    pulls: FloatArray,
    weights: FloatArray | None,
) -> FloatArray:
    penalty = loss.penalty_weights(anchors.shape[1])
    counted = X if weights is None else X * weights[:, None]
    systems = counted.T @ X / len(y) + np.diag(penalty) + pulls[:, :, None] * np.eye(anchors.shape[1])
    right = (y - anchors @ X.T) @ counted / len(y) - penalty * anchors
    return anchors + _solve(systems, right)


def _solve(systems: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solution of each system, one right-hand side a row."""
    try:
        solved: FloatArray = np.linalg.solve(systems, right[:, :, None])[:, :, 0].astype(np.float64, copy=False)
    except np.linalg.LinAlgError:  # exponentials of scores may leave no digit to a small curvature
        return np.array(
            [np.linalg.lstsq(system, one, rcond=None)[0] for system, one in zip(systems, right, strict=True)]
        )
    return solved


def _newton(
    loss: Loss,
    X: FloatArray,
    y: FloatArray,
    anchors: FloatArray,
    pulls: FloatArray,
    weights: FloatArray | None,
) -> FloatArray:
    """Newton's method with halved steps; a model that has arrived is left alone, so that no model depends on the others."""
    models = anchors.copy()
    open_ = np.arange(len(models))
    safe = isinstance(loss, QuantileLoss)  # its curvature vanishes far from the data
    for step in range(_MOST_STEPS):
        now, anchor, pull = models[open_], anchors[open_], pulls[open_]
        gradients = mean_gradients(loss, now, X, y, weights) + pull * (now - anchor)
        systems = mean_hessians(loss, now, X, y, weights, majorant=safe and step < _SAFE_STEPS) + pull[
            :, :, None
        ] * np.eye(now.shape[1])
        steps = -_solve(systems, gradients)
        slopes: FloatArray = np.einsum("ij,ij->i", steps, gradients)
        arrived = (slopes > -_DECREMENT) & (
            not safe or step >= _SAFE_STEPS
        )  # what is left to gain is below rounding: one last step, without a search
        models[open_[arrived]] += steps[arrived]
        open_, left = open_[~arrived], np.flatnonzero(~arrived)
        if open_.size == 0:
            break
        moved, stuck = _search(loss, (X, y, weights), now[left], anchor[left], pull[left], steps[left], slopes[left])
        models[open_] = moved
        open_ = open_[~stuck]
        if open_.size == 0:
            break
    return models


def _search(
    loss: Loss,
    rows: tuple[FloatArray, FloatArray, FloatArray | None],
    models: FloatArray,
    anchors: FloatArray,
    pulls: FloatArray,
    steps: FloatArray,
    slopes: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Return each model moved along its step, halved until lower, and which of them could not be lowered."""

    def values(which: IntArray, at: FloatArray) -> FloatArray:
        away = np.square(at - anchors[which]) * pulls[which]
        pulled: FloatArray = away.sum(axis=1)
        return mean_losses(loss, at, *rows) + 0.5 * pulled

    moved, left = models.copy(), np.arange(len(models))
    before, share = values(left, models), 1.0
    for _ in range(_MOST_HALVINGS):
        tried = models[left] + share * steps[left]
        lower = values(left, tried) <= before[left] + _ARMIJO * share * slopes[left]
        moved[left[lower]] = tried[lower]
        left = left[~lower]
        if left.size == 0:
            break
        share *= 0.5
    stuck = np.zeros(len(models), dtype=np.bool_)
    stuck[left] = True
    return moved, stuck
