"""Losses one row at a time, in plain Python: the obvious version of what driftpace.losses does with matrices."""

import math
from collections.abc import Callable

import numpy as np

from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.typing import FloatArray

Triple = tuple[float, float, float]


def squared(score: float, y: float) -> Triple:
    """Value, slope and bend of (y - s)^2/2."""
    return (y - score) ** 2 / 2, score - y, 1.0


def hinge(score: float, y: float) -> Triple:
    """Value, slope and bend of (1 - ys)_+^2/2."""
    if y * score >= 1.0:
        return 0.0, 0.0, 0.0
    return (1.0 - y * score) ** 2 / 2, -y * (1.0 - y * score), 1.0


def logistic(score: float, y: float) -> Triple:
    """Value, slope and bend of log(1 + e^-ys), for moderate scores."""
    odds = math.exp(-y * score)
    return math.log(1.0 + odds), -y * odds / (1.0 + odds), odds / (1.0 + odds) ** 2


def huber(threshold: float) -> Callable[[float, float], Triple]:
    """Value, slope and bend of the Huber function of s - y."""

    def triple(score: float, y: float) -> Triple:
        off = score - y
        if abs(off) <= threshold:
            return off**2 / 2, off, 1.0
        return threshold * abs(off) - threshold**2 / 2, math.copysign(threshold, off), 0.0

    return triple


def triple_of(loss: LinearLoss) -> Callable[[float, float], Triple]:
    """Return the slow version of a built-in loss."""
    if isinstance(loss, HuberLoss):
        return huber(loss.shape)
    return {SquaredLoss: squared, SmoothedHinge: hinge, LogisticLoss: logistic}[type(loss)]


def rows(loss: LinearLoss, coef: FloatArray, X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return values (rows,), gradients (rows, d) and Hessians (rows, d, d), the penalty included."""
    d = coef.size
    weights = [0.0 if j >= d - loss.unpenalised else loss.l2 for j in range(d)]
    values, gradients, hessians = [], [], []
    for x, target in zip(X, y, strict=True):
        phi, slope, bend = triple_of(loss)(sum(a * b for a, b in zip(x, coef, strict=True)), float(target))
        values.append(phi + sum(weight * c * c for weight, c in zip(weights, coef, strict=True)) / 2)
        gradients.append([slope * x[j] + weights[j] * coef[j] for j in range(d)])
        hessians.append([[bend * x[i] * x[j] + (weights[i] if i == j else 0.0) for j in range(d)] for i in range(d)])
    return np.array(values), np.array(gradients), np.array(hessians)
