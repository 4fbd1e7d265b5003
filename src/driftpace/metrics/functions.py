"""Metrics of predictions on rows, weighted where rows have weights.

Classes are labels of any kind. Probabilities are those of the second class, (rows,), or a column for each class in sorted order,
(rows, classes).
"""

import math
from typing import Any

import numpy as np

from driftpace.typing import BoolArray, FloatArray

_LEAST_PROBABILITY = 1e-15


def accuracy(y: Any, predicted: Any, weights: FloatArray | None = None) -> float:
    """Return the share of rows whose class is predicted.

    >>> accuracy([0, 1, 2, 2], [0, 1, 1, 2])
    0.75
    """
    return _mean(np.asarray(y) == np.asarray(predicted), weights)


def macro_f1(y: Any, predicted: Any, weights: FloatArray | None = None) -> float:
    """Return the mean over classes of 2 TP / (2 TP + FP + FN); classes that are neither present nor predicted are left out.

    >>> round(macro_f1([0, 0, 1, 1], [0, 1, 1, 1]), 4)
    0.7333
    """
    y, predicted = np.asarray(y), np.asarray(predicted)
    mass = np.ones(len(y)) if weights is None else weights
    scores = []
    for label in np.unique(np.concatenate([y, predicted])):
        true, called = y == label, predicted == label
        total = float(mass @ true + mass @ called)
        scores.append(2.0 * float(mass @ (true & called)) / total if total > 0.0 else 0.0)
    return float(np.mean(scores)) if scores else math.nan


def log_loss(y: Any, probabilities: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the mean of -log P(class of the row).

    With a column for each class, ``y`` are the numbers of the columns; with the probability of the second class alone, rows
    of it have a ``y`` above 0.

    >>> round(log_loss([0, 1], [0.5, 0.5]), 6), round(log_loss([0, 2], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]), 6)
    (0.693147, 1.039721)
    """
    y, probabilities = np.asarray(y), np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim == 1:
        own = np.where(y > 0.0, probabilities, 1.0 - probabilities)
    else:
        own = probabilities[np.arange(len(y)), y.astype(np.int64)]
    return _mean(-np.log(np.clip(own, _LEAST_PROBABILITY, 1.0)), weights)


def auc(y: Any, scores: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the probability that a row of the second class has a higher score than one of the first, ties counting half.

    Rows of the second class have a ``y`` above 0. With a column of scores for each class, ``y`` are the numbers of the columns,
    and the result is the mean over classes of each against the rest, those left out that have all rows or none. NaN where no
    class can be compared.

    >>> auc([-1, -1, 1, 1], np.array([0.1, 0.4, 0.4, 0.9]))
    0.875
    """
    y, scores = np.asarray(y), np.asarray(scores, dtype=np.float64)
    if scores.ndim == 2:
        each = [_auc(y == label, scores[:, label], weights) for label in range(scores.shape[1])]
        known = [area for area in each if not math.isnan(area)]
        return float(np.mean(known)) if known else math.nan
    return _auc(y > 0.0, scores, weights)


def _auc(positive: BoolArray, scores: FloatArray, weights: FloatArray | None) -> float:
    mass = np.ones(len(scores)) if weights is None else weights
    ones, zeros = mass * positive, mass * ~positive
    pairs = float(ones.sum()) * float(zeros.sum())
    if not pairs > 0.0:
        return math.nan
    _, of_row = np.unique(scores, return_inverse=True)
    at = np.bincount(of_row, zeros)
    below = np.cumsum(at) - 0.5 * at
    return float(ones @ below[of_row]) / pairs


def mae(y: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the mean absolute error.

    >>> mae(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    1.0
    """
    return _mean(np.abs(predicted - y), weights)


def rmse(y: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the root of the mean squared error.

    >>> rmse(np.array([1.0, 2.0]), np.array([1.0, 4.0])).__round__(6)
    1.414214
    """
    return math.sqrt(_mean(np.square(predicted - y), weights))


def r2(y: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the share of the variance of ``y`` that is explained; NaN where ``y`` does not vary.

    >>> r2(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    0.5
    """
    total = _mean(np.square(y - _mean(y, weights)), weights)
    return 1.0 - _mean(np.square(predicted - y), weights) / total if total > 0.0 else math.nan


def pinball(y: FloatArray, predicted: FloatArray, quantile: float, weights: FloatArray | None = None) -> float:
    """Return the mean pinball loss of predictions of a quantile.

    >>> pinball(np.array([1.0, 2.0]), np.array([2.0, 0.0]), 0.9)
    0.95
    """
    under = y - predicted
    return _mean(np.maximum(quantile * under, (quantile - 1.0) * under), weights)


def share_below(y: FloatArray, predicted: FloatArray, weights: FloatArray | None = None) -> float:
    """Return the share of rows that are not above their prediction: of a good model of the quantile q it is about q.

    >>> share_below(np.array([1.0, 2.0, 5.0]), np.array([2.0, 2.0, 2.0])).__round__(3)
    0.667
    """
    return _mean(y <= predicted, weights)


def deviance_explained(deviance: float, constant: float) -> float:
    """Return the share of the deviance of the best constant prediction that a model explains; NaN where that has none.

    >>> deviance_explained(0.3, 0.6)
    0.5
    """
    return 1.0 - deviance / constant if constant > 0.0 else math.nan


def _mean(values: Any, weights: FloatArray | None) -> float:
    if not len(values):
        return math.nan
    if weights is None:
        return float(np.mean(values))
    total = float(weights.sum())
    return float(weights @ np.asarray(values, dtype=np.float64)) / total if total > 0.0 else math.nan
