"""Second moments in blocks against the plain formula, in both precisions."""

import numpy as np
import pytest

from driftpace.typing import FloatArray
from driftpace.wide import moments
from driftpace.wide.moments import split_moments
from driftpace.wide.spectrum import spectrum_of


def plain(X: FloatArray, center: FloatArray) -> tuple[FloatArray, FloatArray]:
    rows = X.astype(np.float64) - center
    third = np.arange(len(X)) % 3 == 2
    return rows[~third].T @ rows[~third], rows[third].T @ rows[third]


@pytest.mark.parametrize(("dtype", "exact"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_blocks_add_up(dtype: type, exact: float, rng: np.random.Generator) -> None:
    X: FloatArray = (3.0 + rng.standard_normal((10_001, 7))).astype(dtype)
    center = X.mean(axis=0).astype(np.float64)
    for found, expected in zip(split_moments(X, center), plain(X, center), strict=True):
        np.testing.assert_allclose(found, expected, rtol=exact, atol=exact * np.abs(expected).max())


def test_torch_gives_the_same_moments(rng: np.random.Generator) -> None:
    """On the CPU where there is no GPU; the code is the same."""
    pytest.importorskip("torch")
    X = rng.standard_normal((5_000, 6))
    for found, expected in zip(split_moments(X, np.zeros(6), gpu=True), plain(X, np.zeros(6)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_torch_is_not_imported_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise AssertionError("torch was imported for few rows")

    monkeypatch.setattr(moments, "_torch", refuse)
    assert split_moments(np.ones((10, 2)), np.zeros(2))[1][0, 0] == 3.0


def test_without_torch_the_cpu_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ModuleNotFoundError("No module named 'torch'")

    monkeypatch.setattr(moments, "_torch", missing)
    monkeypatch.setattr(moments, "GPU_CELLS", 0)
    assert split_moments(np.ones((10, 2)), np.zeros(2))[1][0, 0] == 3.0


def test_moments_and_rows_give_the_same_components(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X = rng.standard_normal((900, 20)) * np.linspace(3.0, 0.5, 20)
    by_moments = spectrum_of(X, intercept=True, rng=np.random.default_rng(0))
    monkeypatch.setattr("driftpace.wide.spectrum._MOST_MOMENTS", 0)
    by_rows = spectrum_of(X, intercept=True, rng=np.random.default_rng(0))
    np.testing.assert_allclose(by_moments.variance, by_rows.variance, rtol=1e-8)
    np.testing.assert_allclose(by_moments.explained, by_rows.explained, rtol=1e-8)
    np.testing.assert_allclose(np.abs(by_moments.scores(X)), np.abs(by_rows.scores(X)), rtol=1e-5, atol=1e-6)
