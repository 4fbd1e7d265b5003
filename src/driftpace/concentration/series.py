"""When margins t_n shrink slowly enough for an almost sure statement (Theorem 1 of the paper, theory I5)."""

import math

from driftpace import require


def least_series_scale(*, diameter: float, m: float, G: float) -> float:
    """Return c0 = max(sqrt(18) diameter, sqrt(72) G / m): margins must be c sqrt(log n / (n-1)) with c above it.

    >>> least_series_scale(diameter=1.0, m=1.0, G=0.5)
    4.242640
    """
    require.positive("least_series_scale", diameter=diameter, m=m)
    require.nonnegative("least_series_scale", G=G)
    return max(math.sqrt(18.0) * diameter, math.sqrt(72.0) * G / m)


def series_converges(scale: float, *, diameter: float, m: float, G: float) -> bool:
    """Return whether sum_n exp(-(n-1) t_n^2/(18 diam^2)) + 2 exp(-m^2 (n-1) t_n^2/(72 G^2)) is finite.

    Here t_n = scale * sqrt(log n / (n-1)). The terms are powers of n, and the sum is finite exactly when both powers are
    below -1. The paper's footnote, t_n = 1/sqrt(n-1), keeps (n-1) t_n^2 at 1, so that the terms do not fall at all and the
    sum is infinite (theory I5).

    >>> series_converges(4.3, diameter=1.0, m=1.0, G=0.5), series_converges(4.2, diameter=1.0, m=1.0, G=0.5)
    (True, False)
    """
    require.nonnegative("series_converges", scale=scale)
    return scale > least_series_scale(diameter=diameter, m=m, G=G)
