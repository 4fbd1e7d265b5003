"""The scores of rows by the fit without them: one Newton step for each row, or group, exact for quadratic losses."""

import numpy as np

from driftpace.adaptive.coordinates import with_diagonal
from driftpace.adaptive.fit import AdaptiveFit, solved
from driftpace.adaptive.rows import DesignRows
from driftpace.losses import LogLinkLoss, VectorLoss
from driftpace.losses.vector import kronecker_forms
from driftpace.typing import FloatArray

_LEVERAGE = 0.98
_LOG_LEVERAGE = 0.75
"""The same where means are exponentials of scores, which a step too long would take beyond all measure."""


def left_out_scores(rows: DesignRows, fit: AdaptiveFit) -> FloatArray:
    """Return the score, or scores, of each row by the fit without it, or without its group."""
    if isinstance(rows.loss, VectorLoss):
        return _vector_scores(rows, fit)
    assert fit.whitened is not None, "rows have one score"
    most = _LOG_LEVERAGE if isinstance(rows.loss, LogLinkLoss) else _LEVERAGE
    bends, slopes = rows.bends(fit.model), rows.slopes(fit.model)
    hessian = with_diagonal((fit.whitened.T * bends) @ fit.whitened, fit.strength)
    inverse = solved(hessian, np.eye(len(hessian)))
    scores = np.asarray(rows.X @ fit.model)
    if rows.groups is None:
        reach = np.einsum("ij,jk,ik->i", fit.whitened, inverse, fit.whitened)
        return np.asarray(scores + reach * slopes / (1.0 - np.minimum(reach * bends, most)))
    for part in _groups(rows):
        z = fit.whitened[part]
        reached = z @ inverse @ z.T
        left = np.eye(len(part)) - reached * bends[part]
        scores[part] += _step(left, reached, slopes[part])
    return scores


def _vector_scores(rows: DesignRows, fit: AdaptiveFit) -> FloatArray:
    white, outputs = fit.coordinates, rows.outputs
    bends, slopes = rows.bends(fit.model), rows.slopes(fit.model)
    hessian = with_diagonal(white.white_matrix(rows.hessian_of(bends)), fit.strength)
    plain = white.inverse.T @ solved(hessian, np.eye(len(hessian))) @ white.inverse
    scores = rows.scores(fit.model)
    if rows.groups is None:
        reach = kronecker_forms(rows.X, plain, outputs)
        held = bends @ reach
        largest = np.sqrt(np.square(held).sum(axis=(1, 2)))  # at least the largest eigenvalue
        shrunk = np.minimum(1.0, _LEVERAGE / np.maximum(largest, 1e-300))[:, None, None]
        steps = np.linalg.solve(np.eye(outputs) - shrunk * held, slopes[:, :, None])
        return np.asarray(scores + (reach @ steps)[:, :, 0])
    for part in _groups(rows):
        z = np.kron(rows.X[part], np.eye(outputs))
        reached = z @ plain @ z.T
        bent = np.einsum("jia,iab->jib", reached.reshape(-1, len(part), outputs), bends[part])
        left = np.eye(len(z)) - bent.reshape(len(z), -1)
        scores[part] += _step(left, reached, slopes[part].ravel()).reshape(-1, outputs)
    return scores


def _groups(rows: DesignRows) -> list[np.ndarray]:
    assert rows.groups is not None
    order = np.argsort(rows.groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(rows.groups))[:-1])


def _step(left: FloatArray, reached: FloatArray, slopes: FloatArray) -> FloatArray:
    """Return how far the scores of a group move without it; as far as rows reach, where it alone determines a direction."""
    try:
        return np.asarray(reached @ np.linalg.solve(left.T, slopes))
    except np.linalg.LinAlgError:
        return np.asarray(reached @ slopes)
