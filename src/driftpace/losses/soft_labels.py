"""Classes that are known in part: the mean of several labels of one row, between -1 and 1."""

import numpy as np

from driftpace.losses.linear import ScalarFunction
from driftpace.typing import FloatArray


def for_soft_labels(function: ScalarFunction) -> ScalarFunction:
    """Return a function of scores and classes -1 and 1 that also takes their means, and then returns the mean of its values.

    A row that was labelled r times, with mean y, has the share (1 + y)/2 of the loss of the class 1 and the rest of that of -1.

    >>> import numpy as np
    >>> margins = for_soft_labels(lambda scores, y: y * scores)
    >>> margins(np.array([2.0, 2.0]), np.array([1.0, 0.5])).tolist()
    [2.0, 1.0]
    """

    def mean(scores: FloatArray, y: FloatArray) -> FloatArray:
        if np.all(y * y == 1.0):
            return function(scores, y)
        share = 0.5 * (1.0 + y)
        return share * function(scores, y * 0.0 + 1.0) + (1.0 - share) * function(scores, y * 0.0 - 1.0)

    return mean
