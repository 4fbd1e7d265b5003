"""The best model under one Gaussian for each band, where the loss is not a quadratic: damped Newton steps.

Of one score a step is solved in the space of the rows. Of several, C classes having C - 1, a matrix of all rows and scores would
cost (C - 1)^3 times as much: steps are found by conjugate gradients in r <= min(rows, coordinates) coordinates v with

    scores = Z anchor + X v,    X X' = Z T Z',    X'X = diag(values),

where the loss and s^2/2 |v|^2 are to be least. With the mean second derivatives of scores, V diag(c) V', the matrix of a step is
about s^2 + c_a values_k in the directions of V: dividing by that leaves little to do.
"""

import numpy as np

from driftpace.typing import FloatArray
from driftpace.wide.quadratic import observed
from driftpace.wide.rows import WideRows, bends_along

_NEWTON = 50
_HALVINGS = 25
_GRADIENTS = 60
_EXACT = 1e-3
_LONGEST = 8.0
_GAIN = 1e-7
_ROUNDING = 1e-13


def mode(rows: WideRows, start: FloatArray, anchor: FloatArray, prior: FloatArray, noise: float) -> FloatArray:
    """Return the model at which loss and prior together are least; ``prior`` is the variance of each coordinate."""
    if rows.quadratic or not len(rows):
        return anchor
    return (_of_scores if rows.outputs > 1 else _of_one_score)(rows, start, anchor, prior, noise)


def _of_one_score(rows: WideRows, start: FloatArray, anchor: FloatArray, prior: FloatArray, noise: float) -> FloatArray:
    strength = noise / prior

    def objective(at: FloatArray) -> float:
        return float(rows.losses(rows.scores(at)).sum()) + 0.5 * float(strength @ np.square(at - anchor))

    now, at = objective(start), start
    for _ in range(_NEWTON):
        scores = rows.scores(at)
        bends = bends_along(rows.bends(scores), np.eye(1))[:, 0]
        gap = rows.Z @ (at - anchor) - rows.slopes(scores)[:, 0] / bends
        quadratic = observed(rows.Z, bends, gap, anchor, prior, noise)
        goal = anchor + prior * (quadratic.whitened.T @ quadratic.gap)
        share, after, moved = 1.0, now, at
        for _ in range(_HALVINGS):
            moved = at + share * (goal - at)
            after = objective(moved)
            if after <= now:
                break
            share *= 0.5
        else:
            break
        gain, at, now = now - after, moved, after
        if gain <= _GAIN * (1.0 + abs(now)):
            break
    return at


def _of_scores(rows: WideRows, start: FloatArray, anchor: FloatArray, prior: FloatArray, noise: float) -> FloatArray:
    outputs = rows.outputs
    root = np.sqrt(prior)
    X, values, back = _factor(rows.Z * root)
    fixed = rows.scores(anchor)
    at = (X.T @ (rows.Z @ (start - anchor).reshape(-1, outputs))) / values[:, None]

    def objective(v: FloatArray) -> float:
        return float(rows.losses(fixed + rows.scaled(X @ v)).sum()) + 0.5 * noise * float(np.square(v).sum())

    now = objective(at)
    for _ in range(_NEWTON):
        scores = fixed + rows.scaled(X @ at)
        bends = rows.bends(scores)
        gradient = X.T @ rows.slopes(scores) + noise * at
        step = _newton_step(X, values, bends, gradient, noise)
        reach = float(np.abs(X @ step).max())
        share, after, moved = min(1.0, _LONGEST / max(reach, 1e-300)), now, at
        for _ in range(_HALVINGS):
            moved = at - share * step
            after = objective(moved)
            if after <= now:
                break
            share *= 0.5
        else:
            break
        gain, at, now = now - after, moved, after
        if gain <= _GAIN * (1.0 + abs(now)):
            break
    found = anchor.reshape(-1, outputs) + root[:, None] * (back @ at)
    return found.ravel()


def _factor(B: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return X with X X' = B B' and X'X diagonal, that diagonal, and W with B W = X and W'W = I."""
    if len(B) <= B.shape[1]:
        values, left = np.linalg.eigh(B @ B.T)
        kept = values > _ROUNDING * max(float(values[-1]), 1e-300)
        values, left = values[kept], left[:, kept]
        return left * np.sqrt(values), values, (B.T @ left) / np.sqrt(values)
    values, right = np.linalg.eigh(B.T @ B)
    kept = values > _ROUNDING * max(float(values[-1]), 1e-300)
    values, right = values[kept], right[:, kept]
    return B @ right, values, right


def _newton_step(
    X: FloatArray, values: FloatArray, bends: FloatArray, gradient: FloatArray, noise: float
) -> FloatArray:
    """Return H^-1 gradient, by conjugate gradients with the matrix of mean second derivatives in place of H."""
    common, turn = np.linalg.eigh(bends.mean(axis=0))
    usual = noise + np.maximum(common, 0.0) * values[:, None]

    def relaxed(residual: FloatArray) -> FloatArray:
        return np.asarray(((residual @ turn) / usual) @ turn.T)

    step, residual = np.zeros_like(gradient), gradient
    direction = relaxed(residual)
    length = first = float((residual * direction).sum())
    for _ in range(_GRADIENTS):
        if length <= _EXACT * _EXACT * first or length <= 0.0:
            break
        along = (bends @ (X @ direction)[:, :, None])[:, :, 0]
        product = X.T @ along + noise * direction
        size = length / float((direction * product).sum())
        step, residual = step + size * direction, residual - size * product
        after = relaxed(residual)
        before, length = length, float((residual * after).sum())
        direction = after + (length / before) * direction
    return step
