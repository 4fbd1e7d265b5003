"""What a path of models is worth: excess risk on the whole period, loss and AUC on the run's test rows."""

from dataclasses import dataclass

import numpy as np

from driftpace.backtest.auc import auc
from driftpace.backtest.rows import Rows
from driftpace.losses import Loss
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Measured:
    """One run of one strategy: arrays over periods. ``auc`` is NaN for regression and where a class is missing."""

    samples: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    auc: FloatArray


def measure(rows: tuple[Rows, ...], coefs: FloatArray, samples: FloatArray, *, classification: bool) -> Measured:
    """Measure the models of a run, ``coefs[n]`` being the one in use at the end of period n."""
    excess_risk, test_loss, areas = np.empty(len(rows)), np.empty(len(rows)), np.full(len(rows), np.nan)
    for period, (now, coef) in enumerate(zip(rows, coefs, strict=True)):
        X, y = now.test()
        excess_risk[period] = now.population.excess_risk(coef)[0]
        test_loss[period] = _held_out(now.population.loss, coef, X, y)
        if classification:
            areas[period] = auc(X @ coef, y)
    return Measured(
        samples=np.asarray(samples, dtype=np.float64), excess_risk=excess_risk, test_loss=test_loss, auc=areas
    )


def _held_out(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray) -> float:
    """Return the mean loss of rows, without the penalty."""
    return loss.value(coef, X, y) - _penalty(loss, coef)


def _penalty(loss: Loss, coef: FloatArray) -> float:
    penalised = coef[: max(coef.size - loss.unpenalised, 0)]
    return 0.5 * loss.l2 * float(penalised @ penalised)
