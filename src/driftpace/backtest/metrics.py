"""Metrics of one run: excess risk on the whole period, loss and AUC on the run's test rows."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.backtest.job import SplitRows
from driftpace.backtest.population import mean_losses
from driftpace.losses import LinearLoss, Loss
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


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunMetrics:
    """One run of one strategy: arrays over periods. ``auc`` is NaN for regression and where a class is missing."""

    samples: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    auc: FloatArray


def measure(rows: tuple[SplitRows, ...], coefs: FloatArray, samples: FloatArray, *, classification: bool) -> RunMetrics:
    """Measure the models of a run, ``coefs[n]`` being the one in use at the end of period n."""
    excess_risk, test_loss, areas = np.empty(len(rows)), np.empty(len(rows)), np.full(len(rows), np.nan)
    for period, (now, coef) in enumerate(zip(rows, coefs, strict=True)):
        X, y = now.test()
        excess_risk[period] = now.population.excess_risk(coef)[0]
        test_loss[period] = _held_out(now.population.loss, coef, X, y, now.test_weights())
        if classification:
            areas[period] = auc(X @ coef, y)
    return RunMetrics(
        samples=np.asarray(samples, dtype=np.float64), excess_risk=excess_risk, test_loss=test_loss, auc=areas
    )


def _held_out(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
    """Return the mean loss of rows, without the penalty; of a loss that smooths another, the other."""
    loss = loss.exact if isinstance(loss, LinearLoss) else loss
    if weights is not None:
        return float(mean_losses(loss, coef[None], X, y, weights)[0]) - _penalty(loss, coef)
    return loss.value(coef, X, y) - _penalty(loss, coef)


def _penalty(loss: Loss, coef: FloatArray) -> float:
    penalised = coef[: max(coef.size - loss.unpenalised, 0)]
    return 0.5 * loss.l2 * float(penalised @ penalised)
