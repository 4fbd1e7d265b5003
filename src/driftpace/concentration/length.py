"""The length of a vector whose squares may overflow."""

import math

from driftpace.typing import FloatArray


def length(vector: FloatArray) -> float:
    """Return ||vector||, without overflow on the way.

    >>> import numpy as np
    >>> length(np.array([3e200, 4e200]))
    5e+200
    """
    return math.hypot(*vector.tolist())
