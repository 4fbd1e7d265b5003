"""Whitened coordinates: the Hessian becomes the identity, scores stay what they are, and u_1 is the level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.adaptive.coordinates import blocks, coordinates
from driftpace.typing import FloatArray


def hessian_of(scales: FloatArray, seed: int, rows: int = 200) -> tuple[FloatArray, FloatArray]:
    """Rows with columns of these sizes, an intercept first, and their Hessian."""
    X = np.random.default_rng(seed).standard_normal((rows, len(scales))) + 1.0
    X = np.column_stack([np.ones(rows), X * scales])
    return X, X.T @ X / rows


@given(st.lists(st.floats(-6, 6), min_size=1, max_size=6), st.integers(0, 100))
def test_the_hessian_becomes_the_identity_however_columns_are_scaled(powers: list[float], seed: int) -> None:
    X, hessian = hessian_of(10.0 ** np.array(powers), seed)
    white = coordinates(hessian)
    d = len(hessian)
    np.testing.assert_allclose(white.white_matrix(hessian), np.eye(d), atol=1e-6)
    np.testing.assert_allclose(white.factor @ white.inverse, np.eye(d), atol=1e-6 * 10.0 ** np.ptp([0.0, *powers]))
    w = np.random.default_rng(seed + 1).standard_normal(d) / np.sqrt(np.diag(hessian))
    np.testing.assert_allclose(white.plain(white.white(w)), w, rtol=1e-6, atol=1e-9 * np.abs(w).max())
    np.testing.assert_allclose(white.white_rows(X) @ white.white(w), X @ w, rtol=1e-8, atol=1e-8)


@given(st.integers(0, 100))
def test_excess_risk_is_half_the_squared_distance(seed: int) -> None:
    _, hessian = hessian_of(np.array([1e3, 1.0, 1e-2]), seed)
    white = coordinates(hessian)
    off = np.random.default_rng(seed).standard_normal(4) / np.sqrt(np.diag(hessian))
    assert 0.5 * np.square(white.white(off)).sum() == pytest.approx(0.5 * off @ hessian @ off, rel=1e-7)


@given(st.integers(0, 100))
def test_the_first_coordinate_is_the_score_of_the_average_row(seed: int) -> None:
    X, hessian = hessian_of(np.array([1e3, 1.0, 1e-2]), seed)
    w = np.random.default_rng(seed).standard_normal(4)
    assert coordinates(hessian).white(w)[0] == pytest.approx(float((X @ w).mean()), rel=1e-6)


@pytest.mark.parametrize(
    "hessian",
    [
        pytest.param(np.zeros((3, 3)), id="nothing"),
        pytest.param(np.ones((3, 3)), id="copies"),
        pytest.param(np.diag([1.0, 0.0, 1e-300]), id="dead"),
        pytest.param(np.diag([1e140, 1.0, 1e-140]), id="extreme"),
        pytest.param(np.array([[1.0, 1.0 + 1e-8, 0.0], [1.0 + 1e-8, 1.0, 0.0], [0.0, 0.0, 1.0]]), id="rounded"),
    ],
)
def test_singular_matrices_get_coordinates_too(hessian: FloatArray) -> None:
    white = coordinates(hessian)
    assert np.isfinite(white.factor).all()
    assert np.isfinite(white.inverse).all()
    values = np.linalg.eigvalsh(white.white_matrix(hessian))
    assert values.max() <= 1.0 + 1e-6
    assert (np.diag(white.factor) > 0.0).all()


def test_what_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not finite|infs or NaNs"):
        coordinates(np.full((2, 2), np.nan))


@pytest.mark.parametrize(
    ("size", "intercept", "expected"),
    [(4, True, [(0, 1), (1, 4)]), (4, False, [(0, 4)]), (1, True, [(0, 1)]), (1, False, [(0, 1)])],
)
def test_blocks_are_the_level_and_the_slopes(size: int, intercept: bool, expected: list[tuple[int, int]]) -> None:
    assert [(part.start, part.stop) for part in blocks(size, intercept)] == expected
