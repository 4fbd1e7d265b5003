"""The box: ends that are numbers, vectors or infinite."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constraints import Box, ConstraintSet
from driftpace.errors import ParameterError

NUMBERS = st.floats(-1e300, 1e300)


@given(triples=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_projection_is_each_coefficient_clipped(triples: list[tuple[float, float, float]]) -> None:
    low = np.array([min(a, b) for a, b, _ in triples])
    high = np.array([max(a, b) for a, b, _ in triples])
    point = np.array([c for _, _, c in triples])
    box = Box(low=low, high=high)
    image = box.project(point)
    assert image.tolist() == [min(max(p, lo), hi) for p, lo, hi in zip(point, low, high, strict=True)]
    assert box.contains(image, tolerance=0.0)
    assert box.diameter == pytest.approx(math.hypot(*(high - low).tolist()), rel=1e-15)


def test_two_numbers_alone_live_anywhere_and_have_no_known_diameter() -> None:
    box = Box(low=-1.0, high=1.0)
    assert box.features is None
    assert all(box.fits(features) for features in (1, 2, 50))
    assert box.diameter == math.inf
    assert Box(low=1.0, high=1.0).diameter == 0.0
    np.testing.assert_array_equal(box.ends(3)[0], [-1.0, -1.0, -1.0])


def test_features_make_the_diameter_known() -> None:
    box = Box(low=-1.0, high=1.0, features=9)
    assert box.diameter == 6.0
    assert box.fits(9)
    assert not box.fits(8)
    assert Box(low=0.0, high=np.array([3.0, 4.0])).diameter == 5.0
    assert Box(low=0.0, high=np.array([3.0, 4.0])).features == 2


def test_infinite_ends() -> None:
    box = Box(low=np.array([0.0, -math.inf]), high=np.array([math.inf, 1.0]))
    assert box.diameter == math.inf
    np.testing.assert_array_equal(box.project(np.array([-5.0, 5.0])), [0.0, 1.0])
    np.testing.assert_array_equal(box.project(np.array([1e300, -1e300])), [1e300, -1e300])
    assert box.contains(np.array([1e300, -1e300]), tolerance=0.0)
    assert not box.contains(np.array([-1e-300, 0.0]))
    assert not box.contains(np.array([math.inf, 0.0]))


def test_the_widest_box_does_not_warn() -> None:
    assert Box(low=-1.7e308, high=1.7e308, features=2).diameter == math.inf


def test_a_box_is_a_value() -> None:
    low = np.array([0.0, 1.0])
    box = Box(low=low, high=2.0)
    low[0] = 9.0
    assert box == Box(low=np.array([0.0, 1.0]), high=np.array([2.0, 2.0]))
    assert hash(box) == hash(Box(low=np.array([0.0, 1.0]), high=2.0))
    assert box != Box(low=0.0, high=2.0)
    assert Box(low=0.0, high=2.0) != Box(low=0.0, high=2.0, features=1)
    assert box != "box"
    assert isinstance(box, ConstraintSet)
    assert Box.code == 2


@pytest.mark.parametrize(
    ("low", "high"),
    [(math.nan, 1.0), (math.inf, math.inf), ([[0.0]], 1.0), ("a", 1.0), (-math.inf, -math.inf)],
)
def test_strange_ends_are_refused(low: float, high: float) -> None:
    with pytest.raises(
        ParameterError, match=r"^Box\((low|high)=\.\.\.\) must be a number or a vector, finite or -?inf; got "
    ):
        Box(low=low, high=high)


def test_ends_out_of_order_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^Box\(low=\.\.\.\) must be at most high; got 3\.0 above 2\.0\.$"):
        Box(low=np.array([0.0, 3.0]), high=2.0)


def test_lengths_that_disagree_are_refused() -> None:
    with pytest.raises(
        ParameterError,
        match=r"must agree in length with high and features; got shapes \(2,\) and \(\) with features=3\.$",
    ):
        Box(low=np.zeros(2), high=1.0, features=3)


def test_the_tolerance_is_a_share_of_each_end() -> None:
    box = Box(low=np.array([-100.0, 0.0]), high=np.array([10.0, 1.0]))
    assert box.contains(np.array([-100.9, 1.009]), tolerance=0.01)
    assert not box.contains(np.array([-101.1, 0.5]), tolerance=0.01)
    assert not box.contains(np.array([10.2, 0.5]), tolerance=0.01)
    assert not box.contains(np.array([0.0, -1e-9]), tolerance=0.01)
