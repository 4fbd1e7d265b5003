"""Leverages, influences and the inverse they need, against the textbook forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constants.concentration import influences, leverages, scaled_inverse


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
    found = influences(np.array([[1.0], [-1.0]]), np.array([1.0, 0.0]), power=1.0)
    np.testing.assert_allclose(found, [[1.0], [-1.0]])
