"""Intervals of new targets around their predicted means: numbers, counts and amounts."""

import numpy as np

from driftpace.typing import FloatArray

_POISSON = 1.0 + 1e-6
_MANY = 2000.0
"""Parts of an amount beyond which it is nearly a gamma variable."""
_TAIL = 9.0
_HALVINGS = 60
_GRID = 200


def normal_intervals(means: FloatArray, variance: float, level: float) -> FloatArray:
    """Return intervals that hold ``level`` of normal variables with these means and this variance.

    >>> normal_intervals(np.array([1.0]), 4.0, 0.9).round(2)
    array([[-2.29,  4.29]])
    """
    from scipy import stats  # slow to import, and not always needed

    half = float(stats.norm.ppf(0.5 + 0.5 * level)) * np.sqrt(variance)
    return np.column_stack([means - half, means + half])


def count_intervals(means: FloatArray, dispersion: FloatArray | float, level: float) -> FloatArray:
    """Return intervals that hold at least ``level`` of the counts with these means and the variance dispersion times the mean.

    Counts are negative binomial; Poisson where the dispersion is 1 or less.

    >>> count_intervals(np.array([4.0]), 1.0, 0.9), count_intervals(np.array([4.0]), 3.0, 0.9)
    (array([[1., 8.]]), array([[ 0., 11.]]))
    """
    from scipy import stats  # slow to import, and not always needed

    ends = np.array([[0.5 - 0.5 * level], [0.5 + 0.5 * level]])
    over = np.broadcast_to(np.asarray(dispersion, dtype=np.float64), means.shape)
    beyond = np.maximum(over, _POISSON) - 1.0
    counts = stats.nbinom.ppf(ends, np.maximum(means, 1e-300) / beyond, 1.0 / (1.0 + beyond))
    return np.asarray(np.where(over <= _POISSON, stats.poisson.ppf(ends, means), counts), np.float64).T


def amount_intervals(means: FloatArray, dispersion: FloatArray, power: float, level: float) -> FloatArray:
    """Return intervals that hold ``level`` of amounts with these means and the variance dispersion times mean^power.

    Amounts are gamma variables at a power of 2. Between 1 and 2 they are sums of a Poisson number of gamma variables (Tweedie),
    zero where there are none; where that is more likely than the lower tail of an interval, it begins at zero without one.

    >>> amount_intervals(np.array([2.0]), np.array([0.5]), 2.0, 0.9).round(2)
    array([[0.36, 4.74]])
    >>> amount_intervals(np.array([2.0]), np.array([2.0]), 1.5, 0.9).round(2)
    array([[0.  , 5.24]])
    """
    from scipy import stats  # slow to import, and not always needed

    ends = np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])
    relative = dispersion * means ** (power - 2.0)  # the variance of amounts over their squared mean
    found = np.asarray(stats.gamma.ppf(ends[:, None], 1.0 / relative, scale=means * relative), np.float64).T
    if power < 2.0:
        parts = means ** (2.0 - power) / (dispersion * (2.0 - power))
        few = parts <= _MANY
        scale = dispersion * (power - 1.0) * means ** (power - 1.0)
        found[few] = _sums(parts[few], (2.0 - power) / (power - 1.0), ends) * scale[few, None]
    return found


def _sums(parts: FloatArray, shape: float, ends: FloatArray) -> FloatArray:
    """Return quantiles of sums of a Poisson number of gamma variables of scale one, ``parts`` on average, (rows, ends).

    They are a smooth function of the average alone, and of many rows interpolated.
    """
    at = np.unique(parts)
    if at.size > _GRID:
        at = np.geomspace(at[0], at[-1], _GRID)
    known = np.array([_sum_quantiles(float(one), shape, ends) for one in at]).reshape(-1, len(ends))
    return np.column_stack([np.interp(np.log(parts), np.log(at), column) for column in known.T])


def _sum_quantiles(parts: float, shape: float, ends: FloatArray) -> FloatArray:
    """Return quantiles of one such sum by bisection."""
    from scipy import special, stats  # slow to import, and not always needed

    spread = _TAIL * np.sqrt(parts) + _TAIL
    numbers = np.arange(max(int(parts - spread), 1), int(parts + spread) + 1)
    chances = stats.poisson.pmf(numbers, parts)
    below, none = float(stats.poisson.cdf(numbers[0] - 1, parts)), float(np.exp(-parts))
    if none >= ends[0]:
        ends = np.array([ends[0], ends[1] - ends[0]])
    low, high = np.zeros(len(ends)), np.full(len(ends), (parts + spread) * (shape + spread * np.sqrt(shape)))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        share = below + special.gammainc(numbers * shape, middle[:, None]) @ chances
        low, high = np.where(share < ends, middle, low), np.where(share < ends, high, middle)
    return np.where(none >= ends, 0.0, high)
