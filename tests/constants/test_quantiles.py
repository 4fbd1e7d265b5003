"""Quantiles against SciPy's distributions, and intervals for positive numbers."""

import math

import numpy as np
import pytest
from scipy import stats

from driftpace.constants.concentration import chi_squared_quantile, length, normal_quantile, positive_ends


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
