"""The whole space: nothing is moved."""

import math

import numpy as np

from driftpace.constraints import ConstraintSet, WholeSpace


def test_the_whole_space_moves_nothing() -> None:
    space, point = WholeSpace(), np.array([1e300, -1.0])
    image = space.project(point)
    assert np.array_equal(image, point)
    assert not np.shares_memory(image, point)
    assert space.contains(point)
    assert not space.contains(np.array([np.nan, 0.0]))
    assert space.diameter == math.inf
    assert space.fits(7)
    assert space == WholeSpace()
    assert isinstance(space, ConstraintSet)
    assert WholeSpace.code == 0
