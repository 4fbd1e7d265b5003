"""Exact minimisers of the mean loss of K rows, many replications at once."""

import numpy as np

from driftpace.losses import LinearLoss
from driftpace.typing import FloatArray


def least_squares(
    X: FloatArray, y: FloatArray, *, strength: float = 0.0, anchor: FloatArray | float = 0.0
) -> FloatArray:
    """Minimise the mean of (y - x'w)^2/2 plus (strength/2)||w - anchor||^2; X is (runs, rows, features)."""
    rows, features = X.shape[1:]
    right = np.einsum("rki,rk->ri", X, y - X @ np.broadcast_to(anchor, (features,))) / rows
    gram = np.swapaxes(X, 1, 2) @ X / rows + strength * np.eye(features)
    solved: FloatArray = anchor + np.linalg.solve(gram, right[..., None])[..., 0]
    return solved


def newton(
    loss: LinearLoss,
    X: FloatArray,
    y: FloatArray,
    *,
    anchoring: FloatArray | None = None,
    anchor: FloatArray | float = 0.0,
) -> FloatArray:
    """Minimise the mean loss plus (1/2)(w - anchor)'anchoring(w - anchor) by Newton's method with halving."""
    runs, rows, features = X.shape
    matrix = loss.l2 * np.eye(features)
    extra = np.zeros_like(matrix) if anchoring is None else anchoring
    curve, W = loss.curve, np.zeros((runs, features))

    def objective(W: FloatArray) -> FloatArray:
        off = W - anchor
        value: FloatArray = (
            curve.phi((X @ W[..., None])[..., 0], y).mean(axis=1)
            + 0.5 * np.einsum("ri,ij,rj->r", W, matrix, W)
            + 0.5 * np.einsum("ri,ij,rj->r", off, extra, off)
        )
        return value

    for _ in range(60):
        scores = (X @ W[..., None])[..., 0]
        gradient = (curve.slope(scores, y)[:, None, :] @ X)[:, 0] / rows + W @ matrix + (W - anchor) @ extra
        if np.abs(gradient).max() < 1e-9:
            return W
        bent = X * curve.bend(scores, y)[..., None]
        hessian = np.swapaxes(bent, 1, 2) @ X / rows + matrix + extra
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        now, share = objective(W), np.ones(runs)
        for _ in range(30):
            worse = objective(W - share[:, None] * step) > now + 1e-14 * np.abs(now)
            if not worse.any():
                break
            share = np.where(worse, 0.5 * share, share)
        W = W - share[:, None] * step
    raise AssertionError("Newton's method did not converge.")
