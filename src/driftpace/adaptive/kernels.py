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
