"""Weights in classes: the same where there are few, never above the true ones where there are many."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftpace.planning.exact.largest_gap import WeightClasses

WEIGHTS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=300).map(np.array)


@given(weights=WEIGHTS)
def test_no_class_is_above_the_weights_in_it(weights: np.ndarray) -> None:
    found = WeightClasses.of(weights)
    assert found.each is weights
    assert (found.lowered <= weights).all()
    assert (found.lowered == found.of_class[found.classes]).all()
    assert len(found.of_class) <= 48
    assert (np.diff(found.of_class) > 0.0).all()


@given(weights=st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=200).map(np.array))
def test_few_weights_stay_what_they_are(weights: np.ndarray) -> None:
    assert (WeightClasses.of(weights).lowered == weights).all()


def test_the_largest_weight_of_many_is_not_lost() -> None:
    """A class is lowered to its least, so one heavy period among light ones keeps at least the weight of the next below it."""
    weights = np.append(np.linspace(1.0, 2.0, 500), 1e6)
    found = WeightClasses.of(weights)
    assert found.lowered[-1] >= 1.9
    assert (found.lowered[:-1] >= weights[:-1] - 2.0 / 47.0).all()


def test_rounding_to_the_nearest_class_would_not_be_lower() -> None:
    weights = np.linspace(1.0, 2.0, 500)
    found = WeightClasses.of(weights)
    nearest = found.of_class[np.abs(weights[:, None] - found.of_class).argmin(axis=1)]
    assert (nearest > weights).any()
