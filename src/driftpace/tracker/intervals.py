"""Intervals of new counts around their predicted means."""

import numpy as np

from driftpace.typing import FloatArray

_POISSON = 1.0 + 1e-6


def count_intervals(means: FloatArray, dispersion: float, level: float) -> FloatArray:
    """Return intervals that hold at least ``level`` of the counts with these means and the variance dispersion times the mean.

    Counts are negative binomial; Poisson where the dispersion is 1 or less.

    >>> count_intervals(np.array([4.0]), 1.0, 0.9), count_intervals(np.array([4.0]), 3.0, 0.9)
    (array([[1., 8.]]), array([[ 0., 11.]]))
    """
    from scipy import stats  # slow to import, and not always needed

    ends = np.array([[0.5 - 0.5 * level], [0.5 + 0.5 * level]])
    if dispersion <= _POISSON:
        return np.asarray(stats.poisson.ppf(ends, means), np.float64).T
    return np.asarray(
        stats.nbinom.ppf(ends, np.maximum(means, 1e-300) / (dispersion - 1.0), 1.0 / dispersion), np.float64
    ).T
