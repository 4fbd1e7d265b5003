"""How well scores put one class above the other."""

import math

import numpy as np

from driftpace.typing import FloatArray


def auc(scores: FloatArray, y: FloatArray) -> float:
    """Return the chance that a row of class 1 scores above a row of class -1, ties counting half; NaN without both.

    By ranks, ties averaged: (sum of the ranks of class 1 - n1 (n1 + 1)/2) / (n1 n0).

    >>> auc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([-1.0, -1.0, 1.0, 1.0]))
    0.875
    """
    positive = y > 0.0
    ones = int(np.count_nonzero(positive))
    zeros = len(y) - ones
    if ones == 0 or zeros == 0:
        return math.nan
    ordered = np.sort(scores)
    ranks = 0.5 * (np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right") + 1)
    return float((ranks[positive].sum() - 0.5 * ones * (ones + 1)) / (ones * zeros))
