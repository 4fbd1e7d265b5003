"""How many more rows bring the risk of a period down to its target.

A block of d_b coordinates known with variance t_b each, and K fresh rows with noise s^2 in each whitened coordinate, leave the
variance m_b. For random rows the harmonic rule of theory 1.5c holds with an effective number of rows,

    1/m_b = 1/t_b + (K/s^2) / (1 + delta),    delta = (1 + 1/d) sum_b d_b m_b / s^2,

the fixed point that random matrices converge to; from an unknown start (t infinite) it gives exactly s^2/(K - d - 1), the
variance of least squares on Gaussian rows (theory 1.5a). The risk is sum_b d_b m_b / 2. A row of several scores says as much of
each output as a row of one score: the numbers d and d_b in delta are then those of one output.
"""

import math
from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Criterion:
    """The target, and whether the risk is meant in the mean (``confidence`` None) or with a probability."""

    epsilon: float
    confidence: float | None

    def risk(self, sizes: FloatArray, variances: FloatArray) -> float:
        """Return what the target is compared with: the mean of the risk, or its quantile at the confidence."""
        if self.confidence is None:
            return 0.5 * float(sizes @ variances)
        return risk_quantile(sizes, variances, self.confidence)


def risk_quantile(sizes: FloatArray, variances: FloatArray, level: float) -> float:
    """Return the quantile of 1/2 sum_b v_b chi^2_(d_b): a Gamma law with the same mean and variance.

    >>> round(risk_quantile(np.array([10.0]), np.array([0.2]), 0.95), 3)  # chi^2_10 has 18.31 there
    1.831
    """
    return gamma_quantile(0.5 * float(sizes @ variances), 0.5 * float(sizes @ np.square(variances)), level)


def gamma_quantile(mean: float, variance: float, level: float) -> float:
    """Return the quantile of the Gamma law with this mean and variance; the mean itself where it is zero or infinite.

    >>> round(gamma_quantile(1.0, 1.0, 0.95), 3)  # an exponential law: -log(0.05)
    2.996
    """
    from scipy.special import gammaincinv  # slow to import, and not always needed

    if not 0.0 < mean < math.inf:
        return mean
    shape = mean * mean / variance
    return float(gammaincinv(shape, level)) * mean / shape


def variances_after(sizes: FloatArray, variances: FloatArray, noise: float, rows: int) -> FloatArray:
    """Return the variance of each block after ``rows`` fresh rows.

    >>> variances_after(np.array([3.0]), np.array([1e12]), 1.0, 14).round(4)  # least squares: 1 / (14 - 3 - 1)
    array([0.1])
    """
    from driftpace.adaptive.kernels import mean_risk

    left = 2.0 * mean_risk(sizes, *_certain(variances), float(noise), float(rows))
    return np.asarray(variances / (1.0 + variances * (rows / (noise + (1.0 + 1.0 / sizes.sum()) * left))))


def rows_needed(
    criterion: Criterion, sizes: FloatArray, variances: FloatArray, noise: float, most: int, outputs: int = 1
) -> int:
    """Return the fewest further rows that meet the criterion, or ``most`` when no fewer do.

    >>> criterion = Criterion(epsilon=0.05, confidence=None)
    >>> rows_needed(criterion, np.array([3.0]), np.array([1e12]), 0.99, 10**6)  # d + 1 + s^2 d / (2 epsilon)
    34
    """
    if criterion.confidence is None:
        from driftpace.adaptive.kernels import fewest_rows

        shares, each = _certain(variances)
        return int(fewest_rows(sizes / outputs, shares, each, float(noise), criterion.epsilon / outputs, int(most)))

    def met(rows: int) -> bool:
        return criterion.risk(sizes, variances_after(sizes / outputs, variances, noise, rows)) <= criterion.epsilon

    if most <= 0 or met(0):
        return 0
    low, high = 0, 1
    while not met(high):
        if high >= most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _certain(variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of blocks as mixtures of a single component: shares and variances, (blocks, 1)."""
    return np.ones((len(variances), 1)), variances[:, None]


def proven_samples(epsilon: float, size: int, noise: float, distance: float) -> int:
    """Return what the proven harmonic rule asks from a start at ``distance`` at most (theory 1.5c, Gaussian rows).

    1/(1/Bc + 1/V) <= epsilon with Bc = distance^2/2 and V = noise d/(2(K - d - 1)).

    >>> proven_samples(0.05, 3, 1.0, math.inf)
    34
    """
    cold = 0.5 * distance * distance
    if cold <= epsilon:
        return 0
    variance = 1.0 / (1.0 / epsilon - 1.0 / cold)
    return size + 1 + math.ceil(noise * size / (2.0 * variance) - 1e-9)
