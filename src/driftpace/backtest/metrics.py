"""Metrics of one run: excess risk on the whole period; loss, and for classes AUC, accuracy and F1, on the run's test rows."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.backtest.job import SplitRows
from driftpace.backtest.population import mean_losses
from driftpace.losses import Loss, SoftmaxLoss
from driftpace.typing import FloatArray


def auc(scores: FloatArray, y: FloatArray) -> float:
    """Return the chance that a row of class 1 scores above a row of class -1, ties counting half; NaN without both.

    By ranks, ties averaged: (sum of the ranks of class 1 - n1 (n1 + 1)/2) / (n1 n0).

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([-1.0, -1.0, 1.0, 1.0]))
    0.875
    """
    positive = y > 0.0
    ones = int(np.count_nonzero(positive))
    zeros = len(y) - ones
    if ones == 0 or zeros == 0:
        return math.nan
    ordered = np.sort(scores)
    ranks = 0.5 * (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right") + 1)
    return float((ranks[positive].sum() - 0.5 * ones * (ones + 1)) / (ones * zeros))


def macro_auc(probabilities: FloatArray, y: FloatArray) -> float:
    """Return the mean over classes of the AUC of one class against the others; NaN where no two classes are present.

    >>> macro_auc(np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.5, 0.3]]), np.array([0.0, 1.0, 2.0]))
    1.0
    """
    areas = [auc(probabilities[:, int(one)], np.where(y == one, 1.0, -1.0)) for one in np.unique(y)]
    return float(np.mean(areas)) if len(areas) > 1 else math.nan


def macro_f1(predicted: FloatArray, y: FloatArray) -> float:
    """Return the mean of the F1 of the classes that occur or are predicted.

    >>> macro_f1(np.array([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0]))  # 1, 2/3 and 0
    0.5555555555555555
    """
    classes = np.union1d(predicted, y)
    hits = np.array([np.count_nonzero((predicted == one) & (y == one)) for one in classes])
    sizes = np.array([np.count_nonzero(predicted == one) + np.count_nonzero(y == one) for one in classes])
    return float(np.mean(2.0 * hits / sizes)) if classes.size else math.nan


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunMetrics:
    """One run of one strategy: arrays over periods, as in :class:`~driftpace.backtest.Strategy`; NaN where not measured."""

    samples: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    auc: FloatArray
    accuracy: FloatArray
    macro_f1: FloatArray


def measure(rows: tuple[SplitRows, ...], coefs: FloatArray, samples: FloatArray, *, classification: bool) -> RunMetrics:
    """Measure the models of a run, ``coefs[n]`` being the one in use at the end of period n."""
    excess_risk, test_loss = np.empty(len(rows)), np.empty(len(rows))
    of_classes = np.full((3, len(rows)), np.nan)
    for period, (now, coef) in enumerate(zip(rows, coefs, strict=True)):
        X, y = now.test()
        loss = now.population.loss
        excess_risk[period] = now.population.excess_risk(coef)[0]
        test_loss[period] = _held_out(loss, coef, X, y, now.test_weights())
        if isinstance(loss, SoftmaxLoss):
            predicted = loss.predict(coef, X)
            of_classes[0, period] = macro_auc(loss.probabilities(loss.scores(coef, X)), y)
            of_classes[1, period] = float(np.mean(predicted == y))
            of_classes[2, period] = macro_f1(predicted, y)
        elif classification:
            of_classes[0, period] = auc(X @ coef, y)
    return RunMetrics(
        samples=np.asarray(samples, dtype=np.float64),
        excess_risk=excess_risk,
        test_loss=test_loss,
        auc=of_classes[0],
        accuracy=of_classes[1],
        macro_f1=of_classes[2],
    )


def _held_out(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
    """Return the mean loss of rows, without the penalty."""
    if weights is not None:
        return float(mean_losses(loss, coef[None], X, y, weights)[0]) - _penalty(loss, coef)
    return loss.value(coef, X, y) - _penalty(loss, coef)


def _penalty(loss: Loss, coef: FloatArray) -> float:
    penalised = coef[: max(coef.size - loss.unpenalised, 0)]
    return 0.5 * loss.l2 * float(penalised @ penalised)
