"""No limit on the coefficients."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace.typing import FloatArray


@dataclass(frozen=True, slots=True)
class WholeSpace:
    """Every point, in any number of dimensions: the projection changes nothing and the diameter is infinite.

    >>> import numpy as np
    >>> WholeSpace().project(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    code: ClassVar[int] = 0

    @property
    def diameter(self) -> float:
        """Infinite."""
        return float("inf")

    def project(self, point: FloatArray) -> FloatArray:
        """Return a copy of the point."""
        return np.array(point, dtype=np.float64)

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Whether the point is finite."""
        del tolerance
        return bool(np.isfinite(point).all())

    def fits(self, features: int) -> bool:
        """Whether the set lives in that many dimensions: always."""
        return features >= 0
