"""Coefficients between two ends, one by one."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftpace import validation
from driftpace.errors import ParameterError
from driftpace.typing import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Box:
    """{w : low <= w <= high}, coefficient by coefficient; an end may be infinite.

    ``low`` and ``high`` are numbers or vectors. With two numbers and no ``features`` the box lives in any number of
    dimensions; its diameter, which grows with that number, is then not known and said to be infinite. Give ``features``
    (or vectors) where the diameter matters. The projection argmin over the box of ||w - point|| clips each coefficient.

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
                f"Box(low=..., high=..., features=...) must agree in length; got shapes {low.shape} and {high.shape} "
                f"with features={self.features!r}."
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
        """||high - low||; infinite when an end is, and when the number of dimensions is not known."""
        if self.features is None:
            return 0.0 if self.low == self.high else math.inf
        with np.errstate(over="ignore"):  # a width past the largest number is infinite
            return math.hypot(*np.subtract(self.high, self.low).tolist())

    def ends(self, features: int) -> tuple[FloatArray, FloatArray]:
        """Return low and high as two vectors of length ``features``."""
        return np.broadcast_to(self.low, (features,)), np.broadcast_to(self.high, (features,))

    def project(self, point: FloatArray) -> FloatArray:
        """Return the nearest point of the box."""
        clipped: FloatArray = np.clip(np.array(point, dtype=np.float64), self.low, self.high)
        return clipped

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        """Whether each coefficient is between its ends, each end moved outward by ``tolerance`` times its size."""
        above = point >= self.low - tolerance * _finite_size(self.low)
        below = point <= self.high + tolerance * _finite_size(self.high)
        return bool(np.isfinite(point).all() and above.all() and below.all())

    def fits(self, features: int) -> bool:
        """Whether the box lives in that many dimensions: any, when it was given two numbers alone."""
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
