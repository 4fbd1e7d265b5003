"""From a table to a job: the loss, the populations of all periods and the targets, or a refusal in a sentence."""

import numpy as np

from driftpace.backtest.following import Asked
from driftpace.backtest.job import Job
from driftpace.backtest.population import find_population
from driftpace.backtest.split import count_test_rows
from driftpace.backtest.table import Panel
from driftpace.errors import DataError
from driftpace.losses import LogisticLoss, Loss, SquaredLoss
from driftpace.typing import FloatArray

DEFAULT_L2 = 1e-3


def prepare(panel: Panel, *, loss: Loss | None, asked: Asked, test_fraction: float, seed: int, baselines: bool) -> Job:
    """Return the job of replaying a panel."""
    loss = _default_loss(panel) if loss is None else loss
    if len(panel.periods) < 2:
        raise DataError(f"backtest(period=...) must name at least two periods; got {len(panel.periods)}.")
    for label, X in zip(panel.periods, panel.X, strict=True):
        _enough(label, len(X), X.shape[1] + 1, test_fraction)
    populations = tuple(
        find_population(label, loss, X, y) for label, X, y in zip(panel.periods, panel.X, panel.y, strict=True)
    )
    if asked.epsilon is not None:
        epsilon = np.full(len(populations), float(asked.epsilon))
    else:
        assert asked.tolerance is not None
        epsilon = asked.tolerance * np.array([now.least for now in populations])
    return Job(
        loss=loss,
        classification=_classifies(loss),
        populations=populations,
        epsilon=epsilon,
        scale=_scale(panel.X),
        asked=asked,
        test_fraction=test_fraction,
        seed=seed,
        baselines=baselines,
    )


def _default_loss(panel: Panel) -> Loss:
    """Return the logistic loss for two classes and the squared loss for numbers."""
    return LogisticLoss(l2=DEFAULT_L2) if panel.two_classes else SquaredLoss()


def _classifies(loss: Loss) -> bool:
    return np.array_equal(loss.encode(np.array([0.0, 1.0])), [-1.0, 1.0])


def _enough(label: str, rows: int, coefficients: int, test_fraction: float) -> None:
    pool = rows - count_test_rows(rows, test_fraction) if rows > 1 else 0
    if pool <= coefficients:
        raise DataError(
            f"backtest(period=...) must give each period more training rows than the {coefficients} coefficients; period "
            f"{label!r} has {rows} rows, of which {pool} are for training: merge periods, or use fewer features."
        )


def _scale(X: tuple[FloatArray, ...]) -> FloatArray:
    """Return the variance of each column over the whole table, and 1 for the intercept; a constant column counts 1."""
    variances = np.concatenate(X).var(axis=0)
    return np.append(np.where(variances > 0.0, variances, 1.0), 1.0)
