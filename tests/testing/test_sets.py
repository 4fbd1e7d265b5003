"""check_set passes what is right and says what is wrong."""

import math

import numpy as np
import pytest

from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.testing import check_set
from driftpace.typing import FloatArray

SETS: list[tuple[ConstraintSet, int]] = [
    (WholeSpace(), 3),
    (Ball(1.0), 1),
    (Ball(2.0), 7),
    (Ball(1e-300), 3),
    (Ball(1e300), 3),
    (Ball(2.0, center=np.full(3, 1e6)), 3),
    (Ball(1e-3, center=np.full(2, 1e10)), 2),
    (Box(low=-1.0, high=2.0), 4),
    (Box(low=-1.0, high=2.0, features=4), 4),
    (Box(low=0.0, high=math.inf), 2),
    (Box(low=np.arange(3.0), high=2.0 * np.arange(3.0)), 3),
    (Box(low=1.0, high=1.0, features=2), 2),
    (Box(low=-1e300, high=1e300, features=2), 2),
    (Box(low=-1e-300, high=1e-300, features=2), 2),
]


@pytest.mark.parametrize(("set_", "features"), SETS, ids=repr)
def test_every_built_in_set_passes(set_: ConstraintSet, features: int, seed: int) -> None:
    check_set(set_, features)
    check_set(set_, features, rng=np.random.default_rng([seed, 1]))


class Unit:
    """A unit ball that subclasses break."""

    diameter = 2.0
    ball = Ball(1.0)

    def project(self, point: FloatArray) -> FloatArray:
        return self.ball.project(point)

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return self.ball.contains(point, tolerance=tolerance)

    def fits(self, features: int) -> bool:
        return True


class StopsHalfWay(Unit):
    """Not idempotent: goes half of the way, and calls everything a member."""

    def project(self, point: FloatArray) -> FloatArray:
        return 0.5 * (point + self.ball.project(point))

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(np.isfinite(point).all())


class NarrowDiameter(Unit):
    """A diameter that is the radius."""

    diameter = 1.5


class WideDiameter(Unit):
    """A diameter that no two points come near."""

    diameter = 4.0


class ScalesTheBox(Unit):
    """The cube: pulled back along the ray to the origin, which is not the nearest point."""

    diameter = 2.0 * math.sqrt(3.0)

    def project(self, point: FloatArray) -> FloatArray:
        image: FloatArray = point / max(1.0, float(np.abs(point).max()))
        return image

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(np.abs(point).max() <= 1.0 + tolerance)


class Sphere(Unit):
    """The surface alone: not convex."""

    def project(self, point: FloatArray) -> FloatArray:
        size = float(np.abs(point).max())
        if size == 0.0:
            return np.eye(1, point.size).ravel()
        unit = point / size
        image: FloatArray = unit / np.linalg.norm(unit)
        return image

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(abs(np.linalg.norm(point) - 1.0) <= max(tolerance, 1e-12))


class Open(Unit):
    """Members do not stay where they are."""

    def project(self, point: FloatArray) -> FloatArray:
        return 0.999 * self.ball.project(point)


class ContainsAll(Unit):
    """Calls every finite point a member."""

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(np.isfinite(point).all())


class ContainsNan(Unit):
    """Calls NaN a member."""

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(np.isnan(point).any()) or self.ball.contains(point, tolerance=tolerance)


class InPlace(Unit):
    """Writes the projection over the point."""

    def project(self, point: FloatArray) -> FloatArray:
        point[:] = self.ball.project(point)
        return point.copy()


class SameArray(Unit):
    """Returns the point itself when it is a member."""

    def project(self, point: FloatArray) -> FloatArray:
        return point if self.ball.contains(point, tolerance=0.0) else self.ball.project(point)


class NaiveNorm(Unit):
    """Squares the coefficients, which overflows."""

    def project(self, point: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            length = math.sqrt(float(np.sum(point**2)))
        return point / max(1.0, length * (1.0 + 1e-15)) if length > 1.0 else point.copy()

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        with np.errstate(over="ignore"):
            return bool(np.sqrt(np.sum(point**2)) <= 1.0 + tolerance)


class Elsewhere(Unit):
    """Lives in no space."""

    def fits(self, features: int) -> bool:
        return False


BROKEN: list[tuple[ConstraintSet, str]] = [
    (StopsHalfWay(), "moves a projection when it is projected again"),
    (NarrowDiameter(), "has two points further apart than its diameter"),
    (WideDiameter(), "has a diameter that no two of its points come near"),
    (ScalesTheBox(), "has a projection that is not the nearest point"),
    (Sphere(), "is not convex"),
    (Open(), "moves a projection when it is projected again"),
    (ContainsAll(), "moves a point that it contains"),
    (ContainsNan(), "contains NaN"),
    (InPlace(), "changes the point that it projects"),
    (SameArray(), "returns the point itself and not a new array"),
    (NaiveNorm(), "has a projection that is not the nearest point"),
    (Elsewhere(), "does not fit 3 dimensions"),
]


@pytest.mark.parametrize(("set_", "sentence"), BROKEN, ids=lambda value: type(value).__name__)
def test_a_broken_set_is_caught_by_name(set_: ConstraintSet, sentence: str, seed: int) -> None:
    for more in range(3):
        with pytest.raises(AssertionError, match=f"^The set {sentence}.*\\.$"):
            check_set(set_, 3, rng=np.random.default_rng([seed, more]))


def test_something_that_is_no_set_is_caught() -> None:
    with pytest.raises(AssertionError, match=r"^The set does not have every method"):
        check_set(object(), 3)  # type: ignore[arg-type]
