"""Metrics of one run: excess risk on the whole period, and excess risk, loss and AUC on the run's test rows."""

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
    """One run of one strategy: arrays over periods. ``auc`` is NaN for regression and where a class is missing.

    ``excess_risk`` compares with the best model of the period's rows, ``held_out_risk`` with the best model of the world that
    they are a sample of: the loss above the best model's on test rows, less what that model owes to having seen them. It is
    unbiased for models that did not, noisy, and may be negative.
    """

    samples: FloatArray
    excess_risk: FloatArray
    held_out_risk: FloatArray
    test_loss: FloatArray
    auc: FloatArray


def measure(rows: tuple[SplitRows, ...], coefs: FloatArray, samples: FloatArray, *, classification: bool) -> RunMetrics:
    """Measure the models of a run, ``coefs[n]`` being the one in use at the end of period n."""
    excess_risk, held_out_risk, test_loss = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    areas = np.full(len(rows), np.nan)
    for period, (now, coef) in enumerate(zip(rows, coefs, strict=True)):
        X, y = now.test()
        population, weights = now.population, now.test_weights()
        excess_risk[period] = population.excess_risk(coef)[0]
        own, best = (_value(population.loss, model, X, y, weights) for model in (coef, population.best))
        held_out_risk[period] = own - best - population.model_error
        test_loss[period] = own - _penalty(population.loss, coef)
        if classification:
            areas[period] = auc(X @ coef, y)
    return RunMetrics(
        samples=np.asarray(samples, dtype=np.float64),
        excess_risk=excess_risk,
        held_out_risk=held_out_risk,
        test_loss=test_loss,
        auc=areas,
    )


def _value(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
    """Return the mean loss of rows, the penalty included; of a loss that smooths another, the other."""
    loss = loss.exact if isinstance(loss, LinearLoss) else loss
    return loss.value(coef, X, y) if weights is None else float(mean_losses(loss, coef[None], X, y, weights)[0])


def _penalty(loss: Loss, coef: FloatArray) -> float:
    penalised = coef[: max(coef.size - loss.unpenalised, 0)]
    return 0.5 * loss.l2 * float(penalised @ penalised)
