"""Coefficients no further than a radius from a centre."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.typing import FloatArray

_ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """{w : ||w - center|| <= radius}; the centre is the origin, in any number of dimensions, unless given.

    The projection is argmin over ||w - center|| <= radius of ||w - point||, that is
    center + min(1, radius / ||point - center||) (point - center). It is inside as computed, not up to rounding, and it
    neither overflows nor underflows. A point with NaN or infinity has no nearest point: its projection is all NaN.

    >>> import numpy as np
    >>> Ball(1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    >>> Ball(radius=1.0).diameter
    2.0
    """

    code: ClassVar[int] = 1

    radius: float
    _: KW_ONLY
    center: FloatArray | None = None

    def __post_init__(self) -> None:
        validation.positive("Ball", radius=self.radius)
        object.__setattr__(self, "radius", float(self.radius))
        if self.center is not None:
            center = validation.vector("Ball", center=self.center)
            center.setflags(write=False)
            object.__setattr__(self, "center", center)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ball):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2.0 * self.radius

    def project(self, point: FloatArray) -> FloatArray:
        """Return the nearest point of the ball."""
        if not np.isfinite(point).all():
            return np.full(np.shape(point), np.nan)
        away = self._away(point)
        if self._within(away, self.radius):
            return np.array(point, dtype=np.float64)
        size = float(np.abs(away).max())
        unit = away / size
        unit /= math.sqrt(float(unit @ unit))
        shrink = 0.0
        while True:  # the computed point may lie a rounding error outside: step back until it does not
            inward = unit * (self.radius * (1.0 - min(shrink, 1.0)))
            nearest = inward if self.center is None else self.center + inward
            if shrink >= 1.0 or self._within(self._away(nearest), self.radius):
                return nearest
            shrink = max(2.0 * shrink, _ROUNDING)

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Whether ||point - center|| <= radius (1 + tolerance)."""
        return bool(np.isfinite(point).all()) and self._within(self._away(point), self.radius * (1.0 + tolerance))

    def fits(self, features: int) -> bool:
        """Whether the ball lives in that many dimensions: any, when its centre is the origin."""
        return self.center is None or self.center.size == features

    def _away(self, point: FloatArray) -> FloatArray:
        return np.asarray(point, dtype=np.float64) if self.center is None else point - self.center

    @staticmethod
    def _within(away: FloatArray, radius: float) -> bool:
        size = float(np.abs(away).max(initial=0.0))
        if size <= 0.0 or size > radius:
            return size <= 0.0
        scaled = away / size  # squares of numbers up to one: neither overflow nor underflow to zero
        return math.sqrt(float(scaled @ scaled)) <= radius / size

    def _key(self) -> tuple[float, tuple[float, ...] | None]:
        return self.radius, None if self.center is None else tuple(self.center.tolist())
