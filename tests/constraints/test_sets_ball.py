"""The ball: inside as computed, at any scale."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constraints import Ball, ConstraintSet
from driftpace.errors import ParameterError

NUMBERS = st.floats(-1e300, 1e300)


@given(point=st.lists(NUMBERS, min_size=1, max_size=6), radius=st.floats(1e-300, 1e300))
@settings(max_examples=200, deadline=None)
def test_a_projection_is_inside_exactly(point: list[float], radius: float) -> None:
    ball, given_point = Ball(radius), np.array(point)
    image = ball.project(given_point)
    assert ball.contains(image, tolerance=0.0)
    assert np.array_equal(ball.project(image), image)
    assert math.hypot(*image.tolist()) <= radius * (1.0 + 1e-15)
    if math.hypot(*point) > radius * (1.0 + 1e-12):  # it was outside: it lands on the surface, in its own direction
        assert math.hypot(*image.tolist()) == pytest.approx(radius, rel=1e-12)
        size = float(np.abs(given_point).max())
        np.testing.assert_allclose(image / np.abs(image).max(), given_point / size, rtol=1e-9, atol=1e-9)
    elif math.hypot(*point) < radius * (1.0 - 1e-12):
        assert np.array_equal(image, given_point)


@given(
    point=st.lists(st.floats(-1e12, 1e12), min_size=3, max_size=3),
    center=st.lists(st.floats(-1e12, 1e12), min_size=3, max_size=3),
    radius=st.floats(1e-6, 1e12),
)
@settings(max_examples=200, deadline=None)
def test_a_centre_far_away_does_not_push_the_projection_out(
    point: list[float], center: list[float], radius: float
) -> None:
    ball = Ball(radius, center=np.array(center))
    image = ball.project(np.array(point))
    assert ball.contains(image, tolerance=0.0)
    assert np.array_equal(ball.project(image), image)
    away = np.array(point) - center
    exact = center + away * min(1.0, radius / max(math.hypot(*away.tolist()), 1e-300))
    rounding = 4e-16 * max(1e-300, float(np.abs([*center, *image.tolist()]).max()))
    np.testing.assert_allclose(image, exact, rtol=1e-12, atol=8.0 * rounding)


def test_size_is_measured_without_squares_that_overflow_or_vanish() -> None:
    with np.errstate(all="raise"):
        np.testing.assert_allclose(Ball(1e200).project(np.array([3e300, 4e300])), [6e199, 8e199], rtol=1e-15)
        np.testing.assert_allclose(Ball(1e-250).project(np.array([3e-200, 4e-200])), [6e-251, 8e-251], rtol=1e-15)
        assert not Ball(1e-250).contains(np.array([1e-200]))
        assert not Ball(1e250).contains(np.array([1e251, 1e251]))
        assert Ball(1e-300).contains(np.array([6e-301, 8e-301]))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_point_that_is_not_finite_has_no_projection(bad: float) -> None:
    ball = Ball(1.0)
    assert np.isnan(ball.project(np.array([0.1, bad]))).all()
    assert not ball.contains(np.array([0.1, bad]))


def test_a_ball_is_a_value() -> None:
    center = np.array([1.0, 2.0])
    ball = Ball(radius=1.0, center=center)
    center[0] = 9.0
    assert ball == Ball(1.0, center=np.array([1.0, 2.0]))
    assert hash(ball) == hash(Ball(1.0, center=np.array([1.0, 2.0])))
    assert ball != Ball(1.0)
    assert ball != "ball"
    assert isinstance(ball, ConstraintSet)
    assert ball.center is not None
    with pytest.raises(ValueError, match="read-only"):
        ball.center[0] = 3.0


def test_dimensions() -> None:
    assert Ball(1.0).fits(1)
    assert Ball(1.0).fits(100)
    assert Ball(1.0, center=np.zeros(3)).fits(3)
    assert not Ball(1.0, center=np.zeros(3)).fits(2)
    assert Ball(2.5).diameter == 5.0
    assert Ball.code == 1


@pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf, "1"])
def test_a_strange_radius_is_refused(radius: float) -> None:
    with pytest.raises(ParameterError, match=r"^Ball\(radius=\.\.\.\) must be positive and finite; got "):
        Ball(radius)


def test_a_strange_centre_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^Ball\(center=\.\.\.\) must be a finite vector; got NaN"):
        Ball(1.0, center=np.array([np.nan]))


def test_the_tolerance_is_a_share_of_the_radius() -> None:
    ball = Ball(100.0, center=np.array([1.0, 0.0]))
    assert ball.contains(np.array([1.0, 100.9]), tolerance=0.01)
    assert not ball.contains(np.array([1.0, 101.1]), tolerance=0.01)
    assert not ball.contains(np.array([1.0, 100.0 + 1e-9]))
