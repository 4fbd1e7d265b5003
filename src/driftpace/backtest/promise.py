"""The promise that excess risks over runs and periods meet a target."""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.typing import BoolArray, FloatArray

STANDARD_ERRORS = 2.0
MOST_ABOVE = 0.1  # at most one period in ten


@dataclass(frozen=True, kw_only=True, slots=True)
class Promise:
    """Whether a target was met: the ``mean`` excess risk, the number of periods significantly above the target, the verdict."""

    mean: float
    periods_above: int
    kept: bool


def promise(excess_risk: FloatArray, epsilon: float | FloatArray) -> Promise:
    """Judge excess risks of shape (runs, periods) against a target, one number or one for each period.

    Kept when the average over runs and periods is at most the target, and the run-average of at most one period in ten is
    above it by more than two standard errors. A single run has no standard error: then the average alone decides.

    >>> promise(np.array([[0.01, 0.02], [0.01, 0.03]]), 0.02)
    Promise(mean=0.0175, periods_above=0, kept=True)
    >>> promise(np.array([[0.01, 0.030], [0.01, 0.031]]), 0.03)
    Promise(mean=0.02025, periods_above=0, kept=True)
    >>> promise(np.array([[0.01, 0.033], [0.01, 0.034]]), 0.03)
    Promise(mean=0.02175, periods_above=1, kept=False)
    """
    risks = np.asarray(excess_risk, dtype=np.float64)
    target = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), risks.shape[1:])
    above = int(np.count_nonzero(surely_above(risks, target)))
    mean = float(risks.mean())
    kept = mean <= float(target.mean()) and above <= MOST_ABOVE * risks.shape[1]
    return Promise(mean=mean, periods_above=above, kept=bool(kept))


def promise_kept(excess_risk: FloatArray, epsilon: float | FloatArray, confidence: float | None = None) -> bool:
    """Return whether the promise was kept: in the mean or, with a confidence, in that share of runs and periods.

    >>> promise_kept(np.array([[0.01, 0.02, 0.03, 0.01]]), 0.02, confidence=0.7)
    True
    """
    if confidence is None:
        return promise(excess_risk, epsilon).kept
    return float((excess_risk <= np.asarray(epsilon)).mean()) >= confidence


def surely_above(risks: FloatArray, target: FloatArray) -> BoolArray:
    """Return the periods whose mean over runs is above the target by more than chance explains; none for a single run."""
    runs = len(risks)
    if runs < 2:
        return np.zeros(target.shape, dtype=np.bool_)
    error = risks.std(axis=0, ddof=1) / math.sqrt(runs)
    return np.asarray(risks.mean(axis=0) > target + STANDARD_ERRORS * error)
