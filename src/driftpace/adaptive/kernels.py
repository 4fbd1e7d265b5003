"""Compiled loops of the sizing."""

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

_BISECTIONS = 60


@compiled()
def shrunk(sizes: FloatArray, variances: FloatArray, noise: float, rows: float) -> FloatArray:
    """Return m with 1/m_b = 1/t_b + rate, rate = rows / (noise + (1 + 1/d) sum d_b m_b).

    The sum x = sum d_b m_b(x) is where a concave increasing function crosses the diagonal: one root, found by bisection.
    """
    more = 1.0 + 1.0 / sizes.sum()
    low, high = 0.0, (sizes * variances).sum()
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        rate = rows / (noise + more * middle)
        total = 0.0
        for block in range(len(sizes)):
            total += sizes[block] * variances[block] / (1.0 + variances[block] * rate)
        if total > middle:
            low = middle
        else:
            high = middle
    rate = rows / (noise + more * high)
    return variances / (1.0 + variances * rate)


@compiled()
def fewest_rows(sizes: FloatArray, variances: FloatArray, noise: float, target: float, most: int) -> int:
    """Return the fewest rows whose mean risk is at most ``target``, or ``most``."""
    if most <= 0 or 0.5 * (sizes * variances).sum() <= target:
        return 0
    low, high = 0, 1
    while 0.5 * (sizes * shrunk(sizes, variances, noise, float(high))).sum() > target:
        if high >= most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if 0.5 * (sizes * shrunk(sizes, variances, noise, float(middle))).sum() <= target:
            high = middle
        else:
            low = middle
    return high


@compiled()
def mean_risk(sizes: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, rows: float) -> float:
    """Return the mean over the components of each block of the risk that ``rows`` leave, sum_b d_b sum_j w_bj m_bj / 2.

    The rule of :func:`shrunk` for each component, with the effective number of rows of their mean.
    """
    more = 1.0 + 1.0 / sizes.sum()
    blocks, models = shares.shape
    low, high = 0.0, 0.0
    for block in range(blocks):
        for model in range(models):
            high += sizes[block] * shares[block, model] * variances[block, model]
    if rows <= 0.0:
        return 0.5 * high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        rate = rows / (noise + more * middle)
        total = 0.0
        for block in range(blocks):
            for model in range(models):
                variance = variances[block, model]
                total += sizes[block] * shares[block, model] * variance / (1.0 + variance * rate)
        if total > middle:
            low = middle
        else:
            high = middle
    return 0.5 * high


@compiled()
def fewest_rows_on_average(
    sizes: FloatArray, shares: FloatArray, variances: FloatArray, noise: float, target: float, most: int
) -> int:
    """Return the fewest rows whose risk, averaged over the components, is at most ``target``, or ``most``."""
    if most <= 0 or mean_risk(sizes, shares, variances, noise, 0.0) <= target:
        return 0
    low, high = 0, 1
    while mean_risk(sizes, shares, variances, noise, float(high)) > target:
        if high >= most:
            return most
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if mean_risk(sizes, shares, variances, noise, float(middle)) <= target:
            high = middle
        else:
            low = middle
    return high


@compiled()
def left_by_one(information: FloatArray, noise: float, variance: float) -> float:
    """Return the mean over directions of noise t / (noise + t g): what a prior variance t leaves."""
    total = 0.0
    for value in information:
        total += noise * variance / (noise + variance * value)
    return total / len(information)


@compiled()
def variance_that_leaves(information: FloatArray, noise: float, left: float, most: float) -> float:
    """Return the prior variance that leaves ``left``, at most ``most``, by bisection in its logarithm."""
    if left_by_one(information, noise, most) <= left:
        return most
    low, high = left, most
    for _ in range(_BISECTIONS):
        middle = low**0.5 * high**0.5
        if left_by_one(information, noise, middle) <= left:
            low = middle
        else:
            high = middle
    return high
