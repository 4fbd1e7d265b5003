"""The safe ends of m and M cover, are caught when they do not, and are of use once rows are many times the features."""

import math

import numpy as np
import pytest
from scipy import stats

from driftpace.constants.curvature import curvatures
from driftpace.constants.moments import RowMoments
from driftpace.records import Estimate

CASES = [(2, 1.0, 20), (2, 100.0, 20), (10, 1.0, 50), (10, 100.0, 500), (50, 1.0, 200), (50, 100.0, 400)]


def _draw(rng: np.random.Generator, kind: str, rows: int, spectrum: np.ndarray) -> np.ndarray:
    z = rng.standard_normal((rows, spectrum.size))
    if kind == "signs":
        z = np.sign(z)
    if kind == "heavy":  # Student's t with 9 degrees of freedom, the same in all directions
        z *= math.sqrt(7.0 / 9.0) * np.sqrt(9.0 / rng.chisquare(9, rows))[:, None]
    if kind == "intercept":
        z[:, -1] = 1.0 / math.sqrt(spectrum[-1])
    return np.asarray(z * np.sqrt(spectrum))


def _truth(kind: str, spectrum: np.ndarray) -> tuple[float, float]:
    values = np.append(spectrum[:-1], 1.0) if kind == "intercept" else spectrum
    return float(values.min()), float(values.max())


def _ends(
    rng: np.random.Generator, kind: str, features: int, condition: float, rows: int, runs: int, **options: str
) -> tuple[list[Estimate], list[Estimate]]:
    spectrum = np.geomspace(1.0, condition, features)
    least, greatest = [], []
    for _ in range(runs):
        sums = RowMoments.none(features).add(_draw(rng, kind, rows, spectrum)).summary()
        curvature = curvatures(sums, np.zeros(features), confidence=0.95, method=options.get("method", "gaussian"))
        least.append(curvature.m)
        greatest.append(curvature.M)
    return least, greatest


@pytest.mark.statistical
@pytest.mark.parametrize(("features", "condition", "rows"), CASES)
@pytest.mark.parametrize("kind", ["gaussian", "signs", "intercept"])
def test_the_safe_ends_cover(kind: str, features: int, condition: float, rows: int, rng: np.random.Generator) -> None:
    runs = 150 if features < 50 else 30
    m, M = _truth(kind, np.geomspace(1.0, condition, features))
    least, greatest = _ends(rng, kind, features, condition, rows, runs)
    allowed = stats.binom.ppf(1 - 1e-6, runs, 0.05)
    assert sum(each.lower > m * (1 + 1e-12) for each in least) <= allowed
    assert sum(each.upper < M * (1 - 1e-12) for each in greatest) <= allowed
    assert all(each.lower <= each.value <= each.upper for each in least + greatest)


@pytest.mark.statistical
def test_the_other_ends_and_the_middle_do_not_cover(rng: np.random.Generator) -> None:
    """Controls: the sampled eigenvalues themselves, and with the usual edge undone, are on the wrong side too often."""
    runs = 150
    least, greatest = _ends(rng, "gaussian", 2, 100.0, 20, runs)
    allowed = stats.binom.ppf(1 - 1e-6, runs, 0.05)
    assert sum(each.value > 1.0 for each in least) > allowed
    assert sum(each.upper > 1.0 for each in least) > allowed
    assert sum(each.value < 100.0 for each in greatest) > allowed


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("features", "condition", "share"), [(2, 1.0, 0.6), (10, 1.0, 0.65), (10, 100.0, 0.85), (50, 100.0, 0.9)]
)
def test_at_fifty_rows_a_feature_the_safe_end_is_of_use(
    features: int, condition: float, share: float, rng: np.random.Generator
) -> None:
    least, greatest = _ends(rng, "gaussian", features, condition, 50 * features, 20 if features < 50 else 6)
    assert np.mean([each.lower for each in least]) > share
    assert np.mean([each.upper for each in greatest]) < condition / share


@pytest.mark.statistical
def test_heavier_tails_widen_the_interval_and_it_covers(rng: np.random.Generator) -> None:
    runs = 200
    light, _ = _ends(rng, "gaussian", 4, 20.0, 200, runs)
    heavy, heavy_M = _ends(rng, "heavy", 4, 20.0, 200, runs)
    allowed = stats.binom.ppf(
        1 - 1e-6, runs, 0.1
    )  # the fourth moments are themselves estimated: 0.9 is claimed, not 0.95
    assert sum(each.lower > 1.0 for each in heavy) <= allowed
    assert sum(each.upper < 20.0 for each in heavy_M) <= allowed
    assert np.mean([each.lower / each.value for each in heavy]) < np.mean([each.lower / each.value for each in light])


@pytest.mark.statistical
def test_bernstein_covers_rows_of_bounded_size_and_is_wider(rng: np.random.Generator) -> None:
    runs = 60
    least, greatest = _ends(rng, "signs", 4, 5.0, 2000, runs, method="bernstein")
    narrow, _ = _ends(rng, "signs", 4, 5.0, 2000, runs)
    assert sum(each.lower > 1.0 for each in least) <= stats.binom.ppf(1 - 1e-6, runs, 0.05)
    assert sum(each.upper < 5.0 for each in greatest) <= stats.binom.ppf(1 - 1e-6, runs, 0.05)
    assert np.mean([each.lower for each in least]) < np.mean([each.lower for each in narrow])


def test_a_penalty_is_a_floor_unless_a_coefficient_is_left_out_of_it() -> None:
    rows = RowMoments.none(3).add(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])).summary()  # the last column is zero
    for method in ("gaussian", "bernstein"):
        everywhere = curvatures(rows, np.full(3, 0.3), confidence=0.95, method=method).m
        assert everywhere.lower == pytest.approx(0.3)
        partly = curvatures(rows, np.array([0.3, 0.3, 0.0]), confidence=0.95, method=method).m
        assert (partly.value, partly.lower) == (0.0, 0.0)


@pytest.mark.statistical
def test_the_safe_end_covers_with_an_unpenalised_intercept(rng: np.random.Generator) -> None:
    runs, weights = 200, np.array([0.5, 0.5, 0.0])
    misses = 0
    for _ in range(runs):
        X = np.column_stack([rng.standard_normal((60, 2)) * np.sqrt([0.2, 2.0]), np.ones(60)])
        curvature = curvatures(RowMoments.none(3).add(X).summary(), weights, confidence=0.95, method="gaussian")
        misses += curvature.m.lower > 0.7
    assert misses <= stats.binom.ppf(1 - 1e-6, runs, 0.05)


def test_fewer_rows_than_features_have_no_curvature() -> None:
    rows = RowMoments.none(5).add(np.random.default_rng(0).standard_normal((3, 5))).summary()
    curvature = curvatures(rows, np.zeros(5), confidence=0.95, method="gaussian")
    assert (curvature.m.value, curvature.m.lower, curvature.m.upper) == (0.0, 0.0, math.inf)
    assert curvature.M.lower > 0.0
