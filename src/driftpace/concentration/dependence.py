"""The standard error of a mean whose values lean on their neighbours."""

import math
from collections.abc import Sequence


def standard_error(autocovariances: Sequence[float], count: int) -> float:
    """Return the standard error of the mean of ``count`` values, allowing for dependence up to the lags given.

    sqrt((g_0 + 2 sum_{l=1}^{L} (1 - l/(L+1)) g_l) / (count - 1)), where g_l = (1/count) sum_i (x_i - mean)(x_{i+l} - mean).
    One-step estimates of drift that are neighbours share a period's samples, so L = 1 at least (theory 3.1). The weights
    are Bartlett's, with which the sum cannot be negative. Infinite for fewer than two values: nothing is known of spread.

    >>> standard_error([4.0], 101)
    0.2
    >>> standard_error([4.0, 2.0], 101)
    0.2449
    >>> standard_error([0.0], 1)
    inf
    """
    if count < 2:
        return math.inf
    lags = len(autocovariances) - 1
    total = autocovariances[0] + 2.0 * sum(
        (1.0 - lag / (lags + 1)) * autocovariances[lag] for lag in range(1, lags + 1)
    )
    return math.sqrt(max(0.0, total) / (count - 1))
