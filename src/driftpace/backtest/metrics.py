"""Metrics of one run: excess risk on the whole period, loss and other metrics on the run's test rows."""

from dataclasses import dataclass

import numpy as np

from driftpace.backtest.job import SplitRows
from driftpace.backtest.population import mean_losses
from driftpace.losses import LinearLoss, Loss
from driftpace.metrics import evaluate
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunMetrics:
    """One run of one strategy: arrays over periods. ``metrics`` are NaN where they are not defined."""

    samples: FloatArray
    excess_risk: FloatArray
    test_loss: FloatArray
    metrics: dict[str, FloatArray]


def measure(rows: tuple[SplitRows, ...], coefs: FloatArray, samples: FloatArray) -> RunMetrics:
    """Measure the models of a run, ``coefs[n]`` being the one in use at the end of period n."""
    excess_risk, test_loss = np.empty(len(rows)), np.empty(len(rows))
    found = []
    for period, (now, coef) in enumerate(zip(rows, coefs, strict=True)):
        X, y = now.test()
        loss, weights = now.population.loss, now.test_weights()
        excess_risk[period] = now.population.excess_risk(coef)[0]
        test_loss[period] = _held_out(loss, coef, X, y, weights)
        with np.errstate(all="ignore"):
            found.append(evaluate(loss, y, X @ coef, weights) if isinstance(loss, LinearLoss) else {})
    return RunMetrics(
        samples=np.asarray(samples, dtype=np.float64),
        excess_risk=excess_risk,
        test_loss=test_loss,
        metrics={name: np.array([one[name] for one in found]) for name in found[0]},
    )


def _held_out(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
    """Return the mean loss of rows, without the penalty."""
    if weights is not None:
        return float(mean_losses(loss, coef[None], X, y, weights)[0]) - _penalty(loss, coef)
    return loss.value(coef, X, y) - _penalty(loss, coef)


def _penalty(loss: Loss, coef: FloatArray) -> float:
    penalised = coef[: max(coef.size - loss.unpenalised, 0)]
    return 0.5 * loss.l2 * float(penalised @ penalised)
