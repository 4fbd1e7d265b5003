"""The steps from moments to constants."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.synthetic.constants import max_distance, quadratic_limit
from driftpace.typing import FloatArray


@given(seed=st.integers(0, 10**6), features=st.integers(1, 4), rank=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_quadratic_stays_below_its_limit(seed: int, features: int, rank: int) -> None:
    """E||u + J d||^2 for random (u, J): never negative, so the limit applies; and at most twice what is needed."""
    rng = np.random.default_rng(seed)
    u, J = rng.standard_normal((rank, 3)), rng.standard_normal((rank, 3, features))
    at_zero, linear = float((u**2).sum()), 2.0 * np.einsum("rk,rkj->j", u, J)
    square = np.einsum("rki,rkj->ij", J, J)
    A, B = quadratic_limit(at_zero, linear, square)
    moves = rng.standard_normal((500, features)) * 10.0 ** rng.uniform(-2.0, 2.0, size=(500, 1))
    value = at_zero + moves @ linear + np.einsum("ri,ij,rj->r", moves, square, moves)
    assert (value <= (A + B * (moves**2).sum(axis=1)) * (1.0 + 1e-12)).all()
    assert at_zero <= A <= 2.0 * at_zero * (1.0 + 1e-12)
    top = float(np.linalg.eigvalsh(square)[-1])
    assert top <= B <= 2.0 * top * (1.0 + 1e-12)


class Segment:
    """A set of the user's own: the first coordinate in [0, 2], the others zero."""

    diameter = 2.0

    def project(self, point: FloatArray) -> FloatArray:
        return np.concatenate([np.clip(point[:1], 0.0, 2.0), np.zeros(point.size - 1)])

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(np.allclose(self.project(point), point, atol=tolerance))

    def fits(self, features: int) -> bool:
        return features >= 1


@pytest.mark.parametrize(
    ("domain", "distance"),
    [
        (None, math.inf),
        (WholeSpace(), math.inf),
        (Ball(2.0), 7.0),
        (Ball(2.0, center=np.array([3.0, 3.0])), 3.0),
        (Box(low=0.0, high=6.0), 5.0),
        (Box(low=-3.0, high=math.inf), math.inf),
        pytest.param(Segment(), 2.0 + math.hypot(1.0, 4.0), id="segment"),
    ],
    ids=repr,
)
def test_the_furthest_point_of_a_domain(domain: ConstraintSet | None, distance: float) -> None:
    assert max_distance(domain, np.array([3.0, 4.0])) == pytest.approx(distance)
