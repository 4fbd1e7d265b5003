"""Projected SGD as a textbook writes it, one row and one number at a time."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from driftpace.typing import FloatArray


def slope(loss: str, score: float, y: float, threshold: float) -> float:
    """The derivative of the loss by the score."""
    if loss == "squared":
        return score - y
    if loss == "hinge":
        return -y * max(0.0, 1.0 - y * score)
    if loss == "logistic":
        margin = y * score
        return -y / (1.0 + math.exp(margin)) if margin < 700.0 else 0.0
    return max(-threshold, min(threshold, score - y))


def mean_gradient(
    loss: str, w: FloatArray, X: FloatArray, y: FloatArray, *, l2: float, free: int, threshold: float
) -> FloatArray:
    """The gradient of the mean loss, penalty included."""
    total = np.zeros(w.size)
    for x, target in zip(X, y, strict=True):
        total = total + slope(loss, math.fsum(x * w), target, threshold) * x
    penalised = np.where(np.arange(w.size) < w.size - free, l2, 0.0)
    return total / len(y) + penalised * w


def naive_sgd(
    loss: str,
    X: FloatArray,
    y: FloatArray,
    start: FloatArray,
    steps: Sequence[float],
    project: Callable[[FloatArray], FloatArray],
    *,
    weights: Sequence[float] | None,
    batch: int = 1,
    l2: float = 0.0,
    free: int = 0,
    threshold: float = 1.0,
) -> FloatArray:
    """The last iterate, or with ``weights`` the average of the iterates before each update."""
    w, observed = np.array(start), []
    for k, begin in enumerate(range(0, len(y), batch)):
        rows = slice(begin, begin + batch)
        observed.append(w)
        w = project(w - steps[k] * mean_gradient(loss, w, X[rows], y[rows], l2=l2, free=free, threshold=threshold))
    if weights is None:
        return w
    average: FloatArray = np.average(np.array(observed), axis=0, weights=np.asarray(weights, dtype=float))
    return average


def ball(radius: float, center: FloatArray | float = 0.0) -> Callable[[FloatArray], FloatArray]:
    """The projection on a ball."""

    def project(w: FloatArray) -> FloatArray:
        away = w - center
        length = math.sqrt(math.fsum(away * away))
        return w if length <= radius else center + away * (radius / length)

    return project
