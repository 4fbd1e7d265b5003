"""Metrics of one run: excess risk on the whole period, and excess risk, loss and other metrics on the run's test rows."""

from dataclasses import dataclass

import numpy as np

from driftpace.backtest.job import SplitRows
from driftpace.backtest.population import mean_losses
from driftpace.losses import LinearLoss, Loss, SoftmaxLoss
from driftpace.metrics import evaluate
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunMetrics:
    """One run of one strategy: arrays over periods. ``metrics`` are NaN where they are not defined.

    ``excess_risk`` compares with the best model of the period's rows, ``held_out_risk`` with the best model of the world that
    they are a sample of: the loss above the best model's on test rows, less what that model owes to having seen them. It is
    unbiased for models that did not, noisy, and may be negative.
    """

    samples: FloatArray
    excess_risk: FloatArray
    held_out_risk: FloatArray
    test_loss: FloatArray
    metrics: dict[str, FloatArray]


def measure(rows: tuple[SplitRows, ...], coefs: FloatArray, samples: FloatArray) -> RunMetrics:
    """Measure the models of a run, ``coefs[n]`` being the one in use at the end of period n."""
    excess_risk, held_out_risk, test_loss = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    found = []
    for period, (now, coef) in enumerate(zip(rows, coefs, strict=True)):
        X, y = now.test()
        population, weights = now.population, now.test_weights()
        loss = population.loss
        excess_risk[period] = population.excess_risk(coef)[0]
        own, best = (_value(loss, model, X, y, weights) for model in (coef, population.best))
        held_out_risk[period] = own - best - population.model_error
        test_loss[period] = own - _penalty(loss, coef)
        with np.errstate(all="ignore"):
            found.append(_metrics(loss, coef, X, y, weights))
    return RunMetrics(
        samples=np.asarray(samples, dtype=np.float64),
        excess_risk=excess_risk,
        held_out_risk=held_out_risk,
        test_loss=test_loss,
        metrics={name: np.array([one[name] for one in found]) for name in found[0]},
    )


def _metrics(
    loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None
) -> dict[str, float]:
    if isinstance(loss, SoftmaxLoss):
        return evaluate(loss, y, loss.scores(coef, X), weights)
    return evaluate(loss, y, X @ coef, weights) if isinstance(loss, LinearLoss) else {}


def _value(loss: Loss, coef: FloatArray, X: FloatArray, y: FloatArray, weights: FloatArray | None) -> float:
    """Return the mean loss of rows, the penalty included; of a loss that smooths another, the other."""
    loss = loss.exact if isinstance(loss, LinearLoss) else loss
    return loss.value(coef, X, y) if weights is None else float(mean_losses(loss, coef[None], X, y, weights)[0])


def _penalty(loss: Loss, coef: FloatArray) -> float:
    penalised = coef[: max(coef.size - loss.unpenalised, 0)]
    return 0.5 * loss.l2 * float(penalised @ penalised)
