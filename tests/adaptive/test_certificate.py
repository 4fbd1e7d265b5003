import numpy as np
import pytest

from driftpace.adaptive.certificate import mixture_quantile
from driftpace.typing import FloatArray


def drawn(sizes: FloatArray, shares: FloatArray, variances: FloatArray, count: int, seed: int) -> FloatArray:
    """Return draws of 1/2 sum_b v_b chi^2_(d_b)."""
    rng = np.random.default_rng(seed)
    total = np.zeros(count)
    for size, share, variance in zip(sizes, shares, variances, strict=True):
        total += 0.5 * rng.choice(variance, size=count, p=share) * rng.chisquare(size, size=count)
    return total


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("rare", [0.02, 0.2])
def test_the_quantile_is_that_of_the_mixture(level: float, rare: float, seed: int) -> None:
    """Of 200,000 draws the share below is within 0.004 of the level.

    That is over 4.5 standard errors, and allows for sums of two Gamma laws taken as one. The law with the mean variance alone
    must fail where a component is rare and large.
    """
    sizes = np.array([1.0, 9.0])
    shares = np.array([[0.7, 0.3, 0.0], [1.0 - rare - 0.1, 0.1, rare]])
    variances = np.array([[0.01, 0.03, 0.0], [0.01, 0.02, 0.2]])
    draws = drawn(sizes, shares, variances, 200_000, seed)
    bound = mixture_quantile(sizes, shares, variances, np.ones(2), level)
    assert float((draws <= bound).mean()) == pytest.approx(level, abs=0.004)
    mean = (shares * variances).sum(axis=1)[:, None]
    single = mixture_quantile(sizes, np.ones((2, 1)), mean, np.ones(2), level)
    assert abs(float((draws <= single).mean()) - level) > 0.004


def test_nothing_unknown_has_no_risk() -> None:
    assert mixture_quantile(np.array([3.0]), np.ones((1, 1)), np.zeros((1, 1)), np.ones(1), 0.95) == 0.0
