"""Weights of the periods, in classes, so that a table serves many periods."""

from dataclasses import dataclass

import numpy as np

from driftpace.typing import FloatArray, IntArray

_MOST_CLASSES = 48


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """``each`` period's weight; ``lowered`` is that of its class, the least weight in it: a value made with it is a lower bound.

    >>> weights = Weights.of(np.array([1.0, 2.0, 1.0]))
    >>> weights.classes, weights.of_class
    (array([0, 1, 0]), array([1., 2.]))
    """

    each: FloatArray
    lowered: FloatArray
    classes: IntArray
    of_class: FloatArray

    @classmethod
    def of(cls, weights: FloatArray) -> "Weights":
        """Return weights in at most a few dozen classes."""
        distinct, classes = np.unique(weights, return_inverse=True)
        if len(distinct) > _MOST_CLASSES:
            levels = np.linspace(0.0, 1.0, _MOST_CLASSES + 1)[:-1]
            distinct = np.unique(np.quantile(weights, levels, method="lower"))
            classes = np.searchsorted(distinct, weights, side="right") - 1
        return cls(weights, distinct[classes], classes.astype(np.int64), distinct)
