"""Compiled loops of the sizing."""

from driftpace.compiled import compiled
from driftpace.typing import FloatArray

_ITERATIONS = 200
_TOLERANCE = 1e-7


@compiled()
def shrunk(sizes: FloatArray, variances: FloatArray, noise: float, rows: float) -> FloatArray:
    """Return the fixed point m of 1/m_b = 1/t_b + rows / (noise + (1 + 1/d) sum d_b m_b), from above."""
    now = variances.copy()
    more = 1.0 + 1.0 / sizes.sum()
    for _ in range(_ITERATIONS):
        total = 0.0
        for block in range(len(sizes)):
            total += sizes[block] * now[block]
        rate = rows / (noise + more * total)
        settled = True
        for block in range(len(sizes)):
            after = variances[block] / (1.0 + variances[block] * rate)
            if abs(after - now[block]) > _TOLERANCE * now[block]:
                settled = False
            now[block] = after
        if settled:
            break
    return now


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
