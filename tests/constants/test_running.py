"""Running sums against the whole sequence at once."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constants.concentration import RunningMoments, standard_error


def _fold(values: list[float], lags: int) -> RunningMoments:
    sums = RunningMoments.of_lags(lags)
    for value in values:
        sums = sums.add(value)
    return sums


def _autocovariance(values: np.ndarray, lag: int) -> float:
    centred = values - values.mean()
    return float(centred[: len(values) - lag] @ centred[lag:]) / len(values)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30),
    st.integers(0, 4),
    st.sampled_from([1e-120, 1e-3, 1.0, 1e6, 1e150]),
    st.sampled_from([0.0, 1.0, -1e5]),
)
def test_the_sums_give_the_mean_and_the_autocovariances(
    values: list[float], lags: int, scale: float, offset: float
) -> None:
    array = np.array(values) + offset
    sums = _fold((array * scale).tolist(), lags)
    size = 1.0 + np.abs(array).max()
    assert sums.mean / scale == pytest.approx(array.mean(), abs=1e-12 * size)
    spread = 1e-10 * (np.ptp(array) + 1e-9 * size) ** 2
    found = sums.autocovariances()
    assert len(found) == min(lags, len(values) - 1) + 1
    for lag, number in enumerate(found):
        assert number / scale / scale == pytest.approx(_autocovariance(array, lag), abs=spread)


def test_a_large_common_offset_does_not_drown_the_spread() -> None:
    sums = _fold([1e9 + value for value in (0.0, 1.0, 0.0, 1.0)], 1)
    assert sums.autocovariances()[0] == pytest.approx(0.25, rel=1e-6)


def test_the_size_does_not_grow() -> None:
    sums = _fold([float(k) for k in range(100)], 3)
    assert len(sums.head) == len(sums.tail) == 3
    assert len(sums.products) == 4


def test_of_nothing_the_mean_is_zero_and_the_error_unknown() -> None:
    sums = RunningMoments.of_lags(1)
    assert sums.mean == 0.0
    assert sums.autocovariances() == ()
    assert standard_error((0.0,), 1) == math.inf


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-10.0, 10.0), min_size=2, max_size=12), st.integers(0, 5))
def test_the_error_is_never_the_root_of_a_negative_number(values: list[float], lags: int) -> None:
    error = standard_error(_fold(values, lags).autocovariances(), len(values))
    assert error >= 0.0
    assert math.isfinite(error)


@pytest.mark.statistical
def test_the_error_allows_for_neighbours_that_lean_on_each_other(rng: np.random.Generator) -> None:
    """x_i = e_i + e_{i-1}: the variance of the mean is 4/n; lag 1 with Bartlett's weight 1/2 sees 3/n, plain errors 2/n."""
    runs, count = 400, 200
    noise = rng.standard_normal((runs, count + 1))
    values = noise[:, 1:] + noise[:, :-1]
    squares = np.array(
        [[standard_error(_fold(row.tolist(), lags).autocovariances(), count) ** 2 for lags in (0, 1)] for row in values]
    )
    plain, allowing = squares.mean(axis=0) * count
    tolerance = 4.9 * squares.std(axis=0).max() * count / math.sqrt(runs)
    bias = 3 * 4.0 / count  # of centring at the sample mean
    assert abs(plain - 2.0) < tolerance + bias
    assert abs(allowing - 3.0) < tolerance + bias
    assert allowing - plain > tolerance + bias  # the two can be told apart
