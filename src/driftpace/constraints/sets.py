"""Closed convex sets of coefficients: the interface, the whole space, balls and boxes."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray

_ROUNDING = float(np.finfo(np.float64).eps)


@runtime_checkable
class ConstraintSet(Protocol):
    """A closed convex set of coefficients."""

    @property
    def diameter(self) -> float:
        """The largest distance between two points of the set; infinite where it is unbounded."""
        ...

    def project(self, point: FloatArray) -> FloatArray:
        """Return the nearest point of the set, argmin over w in the set of ||w - point||, as a new array."""
        ...

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Return whether the point is in the set, up to ``tolerance`` relative to its size."""
        ...

    def fits(self, features: int) -> bool:
        """Return whether the set has that many dimensions."""
        ...


@dataclass(frozen=True, slots=True)
class WholeSpace:
    """No constraint: all points, in any number of dimensions.

    Examples
    --------
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
        """Return whether the point is finite."""
        del tolerance
        return bool(np.isfinite(point).all())

    def fits(self, features: int) -> bool:
        """Return True for any number of dimensions."""
        return features >= 0


@dataclass(frozen=True, slots=True, eq=False)
class Ball:
    """The ball {w : ||w - center|| <= radius}.

    The projection of a point is center + min(1, radius / ||point - center||) (point - center). As computed it lies in the
    ball exactly, not up to rounding, and it neither overflows nor underflows. The projection of a point with NaN or
    infinity is all NaN.

    Parameters
    ----------
    radius : float
        The radius.
    center : array of shape (features,), optional
        The centre; the origin, in any number of dimensions, when not given.

    Examples
    --------
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
        offset = self._offset(point)
        if self._within(offset, self.radius):
            return np.array(point, dtype=np.float64)
        size = float(np.abs(offset).max())
        unit = offset / size
        unit /= math.sqrt(float(unit @ unit))
        shrink = 0.0
        while True:  # the computed point may lie a rounding error outside: shrink until it does not
            inward = unit * (self.radius * (1.0 - min(shrink, 1.0)))
            nearest = inward if self.center is None else self.center + inward
            if shrink >= 1.0 or self._within(self._offset(nearest), self.radius):
                return nearest
            shrink = max(2.0 * shrink, _ROUNDING)

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Return whether ||point - center|| <= radius (1 + tolerance)."""
        return bool(np.isfinite(point).all()) and self._within(self._offset(point), self.radius * (1.0 + tolerance))

    def fits(self, features: int) -> bool:
        """Return whether the ball has that many dimensions: any, when its centre is the origin."""
        return self.center is None or self.center.size == features

    def _offset(self, point: FloatArray) -> FloatArray:
        return np.asarray(point, dtype=np.float64) if self.center is None else point - self.center

    @staticmethod
    def _within(offset: FloatArray, radius: float) -> bool:
        size = float(np.abs(offset).max(initial=0.0))
        if size <= 0.0 or size > radius:
            return size <= 0.0
        scaled = offset / size  # squares of numbers up to one: neither overflow nor underflow to zero
        return math.sqrt(float(scaled @ scaled)) <= radius / size

    def _key(self) -> tuple[float, tuple[float, ...] | None]:
        return self.radius, None if self.center is None else tuple(self.center.tolist())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Box:
    """The box {w : low <= w <= high}, coefficient by coefficient.

    Parameters
    ----------
    low, high : float or array of shape (features,)
        The ends, which may be infinite.
    features : int, optional
        The number of dimensions. With two numbers and no ``features`` the box has any number of dimensions, and its
        diameter, which grows with that number, is infinite; give ``features`` or vectors where the diameter matters.

    Examples
    --------
    >>> import numpy as np
    >>> Box(low=0.0, high=1.0).project(np.array([-1.0, 0.5, 2.0]))
    array([0. , 0.5, 1. ])
    >>> Box(low=0.0, high=1.0).diameter, Box(low=0.0, high=1.0, features=4).diameter
    (inf, 2.0)
    """

    code: ClassVar[int] = 2

    low: float | FloatArray
    high: float | FloatArray
    features: int | None = None

    def __post_init__(self) -> None:
        if self.features is not None:
            validation.count("Box", least=1, features=self.features)
        low, high = _end("low", self.low, -math.inf), _end("high", self.high, math.inf)
        try:
            shape = np.broadcast_shapes(low.shape, high.shape, () if self.features is None else (self.features,))
        except ValueError:
            raise ParameterError(
                f"must agree in length with high and features; got shapes {low.shape} and {high.shape} "
                f"with features={self.features!r}.",
                owner="Box",
                name="low",
            ) from None
        low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
        if not (low <= high).all():
            wrong = int(np.argmax(low > high))
            raise ParameterError(
                f"must be at most high; got {float(low.flat[wrong])!r} above {float(high.flat[wrong])!r}.",
                owner="Box",
                name="low",
            )
        for name, end in (("low", low), ("high", high)):
            object.__setattr__(self, name, float(end) if end.ndim == 0 else end)
        object.__setattr__(self, "features", shape[0] if shape else None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    @property
    def diameter(self) -> float:
        """||high - low||; infinite where an end is or the number of dimensions is unknown."""
        if self.features is None:
            return 0.0 if self.low == self.high else math.inf
        with np.errstate(over="ignore"):  # a width beyond the largest float is infinite
            return math.hypot(*np.subtract(self.high, self.low).tolist())

    def ends(self, features: int) -> tuple[FloatArray, FloatArray]:
        """Return low and high as two vectors of length ``features``."""
        return np.broadcast_to(self.low, (features,)), np.broadcast_to(self.high, (features,))

    def project(self, point: FloatArray) -> FloatArray:
        """Return the nearest point of the box."""
        clipped: FloatArray = np.clip(np.array(point, dtype=np.float64), self.low, self.high)
        return clipped

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Return whether each coefficient is between its ends, widened by ``tolerance`` times their size."""
        above = point >= self.low - tolerance * _finite_size(self.low)
        below = point <= self.high + tolerance * _finite_size(self.high)
        return bool(np.isfinite(point).all() and above.all() and below.all())

    def fits(self, features: int) -> bool:
        """Return whether the box has that many dimensions: any, when only two numbers were given."""
        return self.features is None or self.features == features

    def _key(self) -> tuple[object, ...]:
        return self.features, tuple(np.ravel(self.low).tolist()), tuple(np.ravel(self.high).tolist())


def _finite_size(end: float | FloatArray) -> FloatArray:
    return np.where(np.isfinite(end), np.abs(end), 0.0)


def _end(name: str, value: object, infinite: float) -> FloatArray:
    allowed = f"a number or a vector, finite or {infinite!r}"
    try:
        end = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"must be {allowed}; got {value!r}.", owner="Box", name=name) from None
    if end.ndim > 1 or not (np.isfinite(end) | (end == infinite)).all():
        raise ParameterError(f"must be {allowed}; got {value!r}.", owner="Box", name=name)
    end.setflags(write=False)
    return end
