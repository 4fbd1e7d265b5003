"""Ends of an interval around a positive number that is estimated by a mean."""

import math

from driftpace.concentration.quantiles import chi_squared_quantile


def positive_ends(value: float, error: float, confidence: float) -> tuple[float, float]:
    """Return a lower and an upper end for a positive quantity, each with one-sided ``confidence``.

    Means of squares lean to the right, so value +- z error misses above too often. A chi-squared variable with the same mean and
    spread, nu = 2 (value/error)^2 degrees of freedom, is taken instead: value nu/chi^2. Exact for variances of Gaussian
    noise. An unknown error leaves both ends open.

    >>> positive_ends(1.0, 0.2, 0.95)
    (0.7407, 1.4383)
    >>> positive_ends(1.0, 0.0, 0.95)
    (1.0, 1.0)
    """
    if not math.isfinite(error):
        return 0.0, math.inf
    if not (value > 0.0 and error > 0.0):
        return value, value
    ratio = value / error
    if ratio > 1e7:  # the two ends agree to all digits that matter
        return value, value
    freedom = max(2.0 * ratio * ratio, 0.5)
    lower = value * (freedom / chi_squared_quantile(confidence, freedom))
    return lower, value * (freedom / chi_squared_quantile(1.0 - confidence, freedom))
