"""Bernstein radii cover, can fail to cover when shrunk, and are not merely huge."""

import math

import numpy as np
import pytest
from scipy import stats

from driftpace.constants.concentration import empirical_bernstein_radius, matrix_bernstein_radius
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
