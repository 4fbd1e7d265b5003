"""Concentration radii, quantiles, influences, running sums and the series of Theorem 1, against textbook forms and simulations."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from driftpace.constants.concentration import (
    RunningMoments,
    chi_squared_quantile,
    empirical_bernstein_radius,
    influences,
    least_series_scale,
    length,
    leverages,
    matrix_bernstein_radius,
    normal_quantile,
    positive_ends,
    scaled_inverse,
    series_converges,
    standard_error,
)
from driftpace.errors import ParameterError


def _misses(rng: np.random.Generator, *, shrink: float, runs: int = 4000, count: int = 400, delta: float = 0.05) -> int:
    values = rng.random((runs, count)) < 0.1
    errors = np.abs(values.mean(axis=1) - 0.1)
    radii = [
        shrink * empirical_bernstein_radius(variance=float(row.var()), width=1.0, count=count, delta=delta)
        for row in values
    ]
    return int((errors > np.array(radii)).sum())


@pytest.mark.statistical
def test_the_empirical_radius_covers(rng: np.random.Generator) -> None:
    allowed = stats.binom.ppf(1 - 1e-6, 4000, 0.05)
    assert _misses(rng, shrink=1.0) <= allowed
    assert _misses(rng, shrink=0.3) > allowed  # the control: a radius a third as large does not cover


def test_the_empirical_radius_is_near_the_normal_one_for_many_values() -> None:
    radius = empirical_bernstein_radius(variance=0.04, width=1.0, count=10**6, delta=0.05)
    assert radius <= 1.6 * stats.norm.ppf(0.975) * math.sqrt(0.04 / 10**6)


def _eigenvalue_misses(rng: np.random.Generator, *, shrink: float, runs: int, count: int, delta: float) -> int:
    """Rows with entries +-1 in two dimensions: H = I, H_z - H has norm 1 and E(H_z - H)^2 = I."""
    rows = np.sign(rng.standard_normal((runs, count, 2)))
    off = (rows[:, :, 0] * rows[:, :, 1]).mean(axis=1)  # H_z - H is [[0, s], [s, 0]]
    radius = shrink * matrix_bernstein_radius(variance=1.0, limit=1.0, count=count, features=2, delta=delta)
    return int((np.abs(off) > radius).sum())


@pytest.mark.statistical
def test_the_matrix_radius_covers(rng: np.random.Generator) -> None:
    runs, delta = 4000, 0.05
    allowed = stats.binom.ppf(1 - 1e-6, runs, delta)
    assert _eigenvalue_misses(rng, shrink=1.0, runs=runs, count=200, delta=delta) <= allowed
    assert _eigenvalue_misses(rng, shrink=0.3, runs=runs, count=200, delta=delta) > allowed


def test_the_matrix_radius_is_within_a_small_factor_of_the_truth() -> None:
    radius = matrix_bernstein_radius(variance=1.0, limit=1.0, count=10**6, features=2, delta=0.05)
    assert radius <= 2.0 * stats.norm.ppf(0.975) / 1e3


@pytest.mark.parametrize("bad", [{"delta": 0.0}, {"delta": 1.0}, {"count": 0}, {"variance": -1.0}])
def test_parameters_are_refused_in_a_sentence(bad: dict[str, float]) -> None:
    good = {"variance": 1.0, "width": 1.0, "count": 10, "delta": 0.05}
    with pytest.raises(ParameterError, match=r"empirical_bernstein_radius\(\w+=\.\.\.\) must be"):
        empirical_bernstein_radius(**(good | bad))  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6), st.floats(-100.0, 100.0))
def test_the_inverse_is_an_inverse_whatever_the_units(features: int, seed: int, exponent: float) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((5 * features + 5, features))
    units = 10.0 ** (exponent * rng.random(features))
    hessian = rows.T @ rows / len(rows) * units[:, None] * units
    inverse = scaled_inverse(hessian)
    assert inverse is not None
    np.testing.assert_allclose(
        inverse * units[:, None] * units @ (hessian / units[:, None] / units), np.eye(features), atol=1e-9
    )


def test_a_singular_matrix_has_no_inverse() -> None:
    assert scaled_inverse(np.zeros((2, 2))) is None
    assert scaled_inverse(np.array([[np.inf, 0.0], [0.0, 1.0]])) is None
    rows = np.random.default_rng(0).standard_normal((20, 3))
    rows[:, 2] = rows[:, 0] - rows[:, 1]
    assert scaled_inverse(rows.T @ rows) is None
    assert scaled_inverse(np.zeros((0, 0))) is None


def test_leverages_are_the_diagonal_of_the_hat_matrix(rng: np.random.Generator) -> None:
    X, bends = rng.standard_normal((12, 3)), rng.random(12)
    bent = np.sqrt(bends)[:, None] * X
    hat = bent @ np.linalg.inv(bent.T @ bent) @ bent.T
    inverse = scaled_inverse(bent.T @ bent / 12)
    assert inverse is not None
    np.testing.assert_allclose(leverages(X, bends, inverse), np.diag(hat), atol=1e-12)


@pytest.mark.statistical
def test_hc2_is_unbiased_and_hc3_is_not_below_for_constant_noise(rng: np.random.Generator) -> None:
    """E e_k^2/(1 - h_k) = sigma^2 exactly; HC3 divides once more, HC0 not at all."""
    rows, runs = 9, 20_000
    X = rng.standard_normal((rows, 3))
    inverse = scaled_inverse(X.T @ X / rows)
    assert inverse is not None
    shares = leverages(X, np.ones(rows), inverse)
    noise = rng.standard_normal((runs, rows))
    residuals = noise - noise @ (X @ inverse @ X.T / rows)
    means = {power: (residuals**2 / (1 - shares) ** (2 * power)).mean(axis=1) for power in (0.0, 0.5, 1.0)}
    error = means[0.5].std() / np.sqrt(runs)
    assert abs(means[0.5].mean() - 1.0) < 4.9 * error
    assert means[1.0].mean() > 1.0
    assert means[0.0].mean() < 1.0 - 4.9 * error  # the control: uncorrected residuals are caught


def test_a_row_that_fits_itself_is_left_as_it_is() -> None:
    influence = influences(np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]), power=1.0)
    np.testing.assert_allclose(influence, [[1.0], [-1.0]])


@pytest.mark.parametrize("confidence", [1e-6, 0.05, 0.5, 0.95, 1 - 1e-9])
def test_quantiles_are_those_of_the_distributions(confidence: float) -> None:
    assert normal_quantile(confidence) == pytest.approx(stats.norm.ppf(confidence), rel=1e-9, abs=1e-12)
    for freedom in (0.5, 3.0, 1e5):
        assert chi_squared_quantile(confidence, freedom) == pytest.approx(stats.chi2.ppf(confidence, freedom), rel=1e-7)


@pytest.mark.statistical
def test_the_ends_of_a_positive_mean_cover_where_the_normal_ones_do_not(rng: np.random.Generator) -> None:
    """Means of squares lean to the right: value + z error is below the truth too often."""
    runs, count = 20_000, 12
    means = (rng.standard_normal((runs, count)) ** 2).mean(axis=1)
    errors = means * math.sqrt(2.0 / count)  # as for a variance of Gaussian noise: the chi-squared ends are exact
    uppers = np.array([positive_ends(*pair, 0.95)[1] for pair in zip(means.tolist(), errors.tolist(), strict=True)])
    lowers = np.array([positive_ends(*pair, 0.95)[0] for pair in zip(means.tolist(), errors.tolist(), strict=True)])
    allowed = stats.binom.ppf(1 - 1e-6, runs, 0.05)
    assert (uppers < 1.0).sum() <= allowed
    assert (lowers > 1.0).sum() <= allowed
    assert (means + 1.645 * errors < 1.0).sum() > allowed  # the control
    assert abs((uppers < 1.0).mean() - 0.05) < 4.9 * math.sqrt(0.05 * 0.95 / runs)  # and exactly so, not by width


def test_ends_in_odd_corners() -> None:
    assert positive_ends(0.0, 1.0, 0.95) == (0.0, 0.0)
    assert positive_ends(2.0, math.inf, 0.95) == (0.0, math.inf)
    lower, upper = positive_ends(1.0, 100.0, 0.95)
    assert 0.0 <= lower <= 1.0 <= upper


def test_length_does_not_overflow() -> None:
    assert length(np.array([3e300, 4e300])) == pytest.approx(5e300)
    assert length(np.array([])) == 0.0


def _fold(values: list[float], lags: int) -> RunningMoments:
    sums = RunningMoments.of_lags(lags)
    for value in values:
        sums = sums.add(value)
    return sums


def _autocovariance(values: np.ndarray, lag: int) -> float:
    """In exact arithmetic: a rounded mean costs more digits than the tolerance has."""
    exact = [Fraction(value) for value in values.tolist()]
    mean = sum(exact) / len(exact)
    pairs = zip(exact, exact[lag:], strict=False)
    return float(sum((first - mean) * (second - mean) for first, second in pairs) / len(exact))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=30),
    st.integers(0, 4),
    st.sampled_from([2.0**-400, 2.0**-10, 1.0, 2.0**20, 2.0**500]),  # powers of two: scaling rounds nothing
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
    covariances = sums.autocovariances()
    assert len(covariances) == min(lags, len(values) - 1) + 1
    for lag, number in enumerate(covariances):
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


DIAMETER, M, G = 0.7, 0.5, 0.3


def _block(margins: np.ndarray, n: np.ndarray) -> float:
    """Return the sum of the terms of the series over n."""
    first = np.exp(-(n - 1) * margins**2 / (18 * DIAMETER**2))
    second = 2 * np.exp(-(M**2) * (n - 1) * margins**2 / (72 * G**2))
    return float((first + second).sum())


def _blocks(scale: float, *, logarithm: bool = True) -> list[float]:
    """Return sums over n in [2^k, 2^(k+1)): a series with terms n^-p converges exactly when they fall geometrically."""
    sums = []
    for k in range(6, 20):
        n = np.arange(2**k, 2 ** (k + 1), dtype=float)
        sums.append(_block(scale * np.sqrt((np.log(n) if logarithm else 1.0) / (n - 1)), n))
    return sums


@pytest.mark.parametrize(("slack", "finite"), [(1.1, True), (1.02, True), (0.98, False), (0.9, False)])
def test_the_least_scale_is_where_the_series_turns_finite(slack: float, finite: bool) -> None:
    scale = slack * least_series_scale(diameter=DIAMETER, m=M, G=G)
    assert series_converges(scale, diameter=DIAMETER, m=M, G=G) is finite
    blocks = _blocks(scale)
    assert (blocks[-1] < blocks[-2] * 0.999) is finite


def test_the_margin_of_the_footnote_makes_the_series_infinite() -> None:
    """t_n = 1/sqrt(n-1): every block of the series is twice the one before (theory I5)."""
    blocks = _blocks(1.0, logarithm=False)
    assert blocks[-1] == pytest.approx(2 * blocks[-2], rel=1e-3)


def test_at_the_least_scale_itself_the_series_is_infinite() -> None:
    assert not series_converges(least_series_scale(diameter=1.0, m=1.0, G=0.0), diameter=1.0, m=1.0, G=0.0)
