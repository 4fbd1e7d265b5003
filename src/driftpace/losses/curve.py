"""The scalar heart of a loss: a curve in the score, with its slope and its bend."""

from collections.abc import Callable
from dataclasses import dataclass

from driftpace import validation
from driftpace.typing import FloatArray

ScalarFunction = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """phi(score, y) and its first two derivatives in the score, each taking arrays of equal shape.

    ``bend`` is zero or more everywhere (the loss is convex) and at most ``curvature``; where the slope has a kink it is one
    of the two one-sided values.

    >>> import numpy as np
    >>> square = Curve(
    ...     phi=lambda s, y: 0.5 * (s - y) ** 2, slope=lambda s, y: s - y, bend=lambda s, y: np.ones_like(s), curvature=1.0
    ... )
    >>> square.slope(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    phi: ScalarFunction
    slope: ScalarFunction
    bend: ScalarFunction
    curvature: float

    def __post_init__(self) -> None:
        validation.positive("Curve", curvature=self.curvature)
