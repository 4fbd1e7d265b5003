"""Proven growth of gradients for losses phi(x'w, y) whose slope changes by at most c for a unit of score."""

import math

from driftpace.constants.growth import greatest_fourth
from driftpace.constants.row_moments import RowSummary


def smooth_growth(
    rows: RowSummary, *, curvature: float, l2: float, at_minimiser: float, confidence: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return (A, B) and (sigma^2, V) from E||g(w*)||^2 and the moments of plain rows, upper ends.

    g(w) - g(w*) is at most c|x'd| x + l2 d for d = w - w*, so E||g(w) - g(w*)||^2 <= d'(c^2 Q + 2 l2 c S + l2^2)d with
    S = E xx' and Q = E||x||^2 xx', and E||g||^2 is at most twice that plus twice E||g(w*)||^2.

    >>> import numpy as np
    >>> from driftpace.constants.row_moments import RowMoments
    >>> rows = RowMoments.none(1).add(np.array([[1.0], [-1.0]])).summary()
    >>> smooth_growth(rows, curvature=0.25, l2=0.0, at_minimiser=3.0, confidence=0.5)[0][0]
    6.0
    """
    fourth = greatest_fourth(rows, confidence).upper
    second = math.prod([float(rows.eigenvalues[-1]), rows.unit, rows.unit])
    moved = curvature * curvature * fourth
    whole = moved + 2.0 * l2 * curvature * second + l2 * l2
    return (2.0 * at_minimiser, 2.0 * whole), (2.0 * at_minimiser, 2.0 * moved)
