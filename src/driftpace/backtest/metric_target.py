"""The excess risk that a target in a metric affords in hindsight, when all rows of a table are known."""

from collections.abc import Sequence

import numpy as np

from driftpace.adaptive import MetricTarget, affordable, allowed_error
from driftpace.backtest.population import Population
from driftpace.losses import LinearLoss, VectorLoss
from driftpace.metrics import added_error, constant_model, measure, score_directions

_CURVE_ROWS = 1000
"""Rows of a period that show what an excess risk adds to an error, at most about twice as many."""


def affordable_excess(target: MetricTarget, populations: Sequence[Population]) -> float:
    """Return the excess risk that a target in a metric affords in hindsight, on average over the periods.

    Models about the best one of a period err in the directions in which few rows leave them uncertain: those of the inverse
    Hessian.
    """
    noise = float(np.mean([now.noise for now in populations]))
    grid = noise * 2.0 ** np.arange(-14.0, 5.0)
    best, added = 0.0, np.zeros(len(grid))
    for now in populations:
        assert isinstance(now.loss, LinearLoss | VectorLoss)
        scores = now.X @ now.best if isinstance(now.loss, LinearLoss) else now.loss.scores(now.best, now.X)
        scale = _scale(target, now)
        found = measure(target.metric, now.loss, now.y, scores, scale=scale, weights=now.weights)
        values, basis = np.linalg.eigh(now.hessian)
        root = basis / np.sqrt(np.maximum(values, 1e-12 * values[-1]))
        some = slice(None, None, max(len(scores) // _CURVE_ROWS, 1))
        directions = score_directions(now.loss, now.X[some], root) * np.sqrt(2.0 / len(now.best))
        weights = None if now.weights is None else now.weights[some]
        best += (0.0 if np.isnan(found.error) else found.error) / len(populations)
        more = added_error(
            target.metric, now.loss, now.y[some], scores[some], directions, grid, scale=scale, weights=weights
        )
        added += more / len(populations)
    return affordable(grid, np.maximum.accumulate(added), allowed_error(target, best))


def _scale(target: MetricTarget, now: Population) -> float:
    """Return what the metric is relative to in a period."""
    assert isinstance(now.loss, LinearLoss | VectorLoss)
    if not target.spec.relative:
        return 1.0
    if target.metric == "r2":
        return float(np.average(np.square(now.y - np.average(now.y, weights=now.weights)), weights=now.weights))
    return constant_model(now.loss, now.y, np.ones(len(now.y)) if now.weights is None else now.weights).mean
