"""The slope d phi / d score of the built-in losses, by their code."""

from driftpace.compiled import compiled
from driftpace.learners.kernels.instructions import nearest, two_to

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 in two parts: whole multiples of the first are exact
_LN2_LOW = 1.90821492927058770002e-10


@compiled(inline=True)
def exponential(x: float) -> float:
    """e^x to the last digit or two for |x| <= 700, and e^+-700 beyond.

    Written out, since a call to the system's function inside a pass would push every number of the pass out of the
    processor's registers, for every loss.
    """
    if x > 700.0:
        x = 700.0
    if x < -700.0:
        x = -700.0
    power = nearest(x * _LOG2_E)
    r = (
        x - power * _LN2_HIGH
    ) - power * _LN2_LOW  # |r| <= (ln 2)/2; Taylor's series in pairs, so that few wait in line
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (1.0 / 2.0 + r * (1.0 / 6.0)) * r2
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + (1.0 / 720.0 + r * (1.0 / 5040.0)) * r2
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) * r2
    top = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    return (low + middle * r4 + (high + top * r4) * (r4 * r4)) * two_to(power)


@compiled(inline=True)
def slope(loss: int, shape: float, score: float, y: float) -> float:
    """0 squared, 1 smoothed hinge, 2 logistic, 3 Huber with its threshold in ``shape``."""
    if loss == 0:
        return score - y
    if loss == 1:
        short = 1.0 - y * score
        if short <= 0.0:
            return 0.0
        return -y * short  # NaN too
    if loss == 2:
        return -y / (1.0 + exponential(y * score))
    residual = score - y
    if residual > shape:
        return shape
    if residual < -shape:
        return -shape
    return residual
