import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import gammaincc

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


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_groups_of_components_hardly_change_the_quantile(level: float, rng: np.random.Generator) -> None:
    """Every pair of 40 components in each of two blocks, by a root finder: within 0.1 %, with variances over eight decades."""
    sizes, spread = np.array([1.0, 9.0]), np.array([1.0, 1.3])
    shares = rng.dirichlet(np.full(40, 0.3), size=2)
    variances = 10.0 ** rng.uniform(-6.0, 2.0, size=(2, 40)) * 10.0 ** -(np.log10(shares + 1e-6) ** 2)
    means = np.add.outer(*(0.5 * sizes[:, None] * variances))
    squares = np.add.outer(*((0.5 * sizes * spread)[:, None] * variances**2))
    weights = np.multiply.outer(*shares)

    def beyond(log_risk: float) -> float:
        return float((weights * gammaincc(means**2 / squares, means / squares * np.exp(log_risk))).sum()) - 1.0 + level

    expected = np.exp(brentq(beyond, -40.0, 40.0, xtol=1e-12))
    assert mixture_quantile(sizes, shares, variances, spread, level) == pytest.approx(expected, rel=1e-3)


def test_nothing_unknown_has_no_risk() -> None:
    assert mixture_quantile(np.array([3.0]), np.ones((1, 1)), np.zeros((1, 1)), np.ones(1), 0.95) == 0.0


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_overflows_is_certified_by_nothing(value: float) -> None:
    assert mixture_quantile(np.array([3.0]), np.ones((1, 1)), np.full((1, 1), value), np.ones(1), 0.95) == np.inf


def test_a_rare_huge_risk_is_certified_without_a_warning() -> None:
    bound = mixture_quantile(np.array([2.0]), np.array([[1.0 - 1e-5, 1e-5]]), np.array([[1e-3, 1e9]]), np.ones(1), 0.95)
    assert bound == pytest.approx(1e-3 * np.log(20.0), rel=1e-3)


def test_what_overflows_when_it_is_squared_is_certified_by_nothing() -> None:
    with np.errstate(over="ignore"):
        assert mixture_quantile(np.ones(1), np.ones((1, 1)), np.full((1, 1), 1e298), np.ones(1), 0.95) == np.inf
    assert mixture_quantile(np.ones(1), np.ones((1, 1)), np.ones((1, 1)), np.full(1, np.nan), 0.95) == np.inf
