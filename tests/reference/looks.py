"""Rows, views and looks put together by hand, for tests that need one look and no tracker."""

import numpy as np

from driftpace.adaptive import (
    AdaptiveConfig,
    AdaptiveState,
    DesignRows,
    PeriodJudgement,
    Supply,
    checks,
    first_state,
    judge,
)
from driftpace.adaptive.bank import Prediction
from driftpace.adaptive.fit import AdaptiveFit, fit_period, metric
from driftpace.adaptive.memory import Memory, no_memory
from driftpace.adaptive.noise import NoiseSums
from driftpace.losses import LinearLoss, SquaredLoss
from driftpace.records import Assumption
from driftpace.typing import FloatArray, IntArray

SQUARED = SquaredLoss()


def make_rows(
    X: FloatArray,
    y: FloatArray,
    *,
    intercept: bool = False,
    loss: LinearLoss = SQUARED,
    groups: IntArray | None = None,
) -> DesignRows:
    """Rows without a penalty on the intercept, which comes first."""
    if intercept:
        X = np.column_stack([np.ones(len(X)), X])
    penalty = np.full(X.shape[1], loss.l2)
    if intercept:
        penalty[0] = 0.0
    return DesignRows(loss=loss, X=X, y=y, penalty=penalty, groups=groups)


def foresee(mean: FloatArray, variance: float) -> Prediction:
    """One model, sure of its mean and variance."""
    return Prediction(shares=np.ones(1), mean=np.asarray(mean, dtype=float)[None], variance=np.array([variance]))


def remembered(size: int, noise: float, rng: np.random.Generator) -> Memory:
    """A memory of standard Gaussian rows with this noise, as full as it gets."""
    rows = 40 * size
    Z = rng.standard_normal((rows, size))
    sums = NoiseSums(rows=400.0, total=400.0 * noise, squares=800.0 * noise**2)
    return no_memory(size).with_rows(rows, Z.T @ Z, noise * (Z.T @ Z), sums)


def look_once(rows: DesignRows, variance: float, *, noise: float = 1.0, memory: Memory | None = None) -> AdaptiveFit:
    """The look at rows in one block, when zero with this variance was foretold."""
    size = rows.X.shape[1]
    memory = no_memory(size) if memory is None else memory
    view = foresee(np.zeros(size), variance)
    white = metric(rows, memory, np.zeros(size))
    return fit_period(rows, memory, white, (view,), (slice(0, size),), noise, floor=1e-12, margin=0.0)


def first_look(
    rows: DesignRows, *, epsilon: float = 0.05, intercept: bool = False
) -> tuple[AdaptiveState, PeriodJudgement]:
    """What a first period makes of rows."""
    pace = first_state(np.zeros(rows.X.shape[1]), intercept)
    return pace, judge(AdaptiveConfig(epsilon=epsilon), pace, rows)


def verdicts(
    pace: AdaptiveState, rows: DesignRows, judged: PeriodJudgement, supply: Supply | None = None
) -> dict[str, Assumption]:
    """The checks of a period by name."""
    supply = Supply(gathered=len(rows), missing=0, exhausted=False) if supply is None else supply
    return {check.name: check for check in checks(pace, rows, judged, supply)}
