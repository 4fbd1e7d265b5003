import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import AveragedSquares, BachMoulines, ExactAverage, Nature
from driftpace.errors import ParameterError
from driftpace.testing import check_bound
from driftpace.typing import FloatArray
from tests.reference.bound_checks import hold
from tests.reference.monte_carlo import gaussian_rows, sgd, squared_slope


def as_in_the_theory(bound: ExactAverage, squared: float, samples: int) -> float:
    """(h/2K^2) sum_k D_k (1 + 2r(1 - r^(K-1-k))/(1-r)), D_k from the recursion R (theory 1.4), term by term."""
    h, mu, d = bound.h, bound.step, bound.features
    r, D, total = 1.0 - mu * h, squared, 0.0
    for k in range(samples):
        total += D * (1.0 + 2.0 * r * (1.0 - r ** (samples - 1 - k)) / (1.0 - r))
        D = (1.0 - 2.0 * mu * h + mu**2 * h**2 * (d + 2)) * D + mu**2 * d * h * bound.noise
    return 0.5 * h * total / samples**2


@settings(max_examples=200, deadline=None)
@given(
    features=st.integers(1, 60),
    share=st.floats(0.002, 1.98),
    h=st.floats(0.1, 10.0),
    noise=st.floats(0.0, 5.0),
    distance=st.floats(0.0, 5.0),
    samples=st.integers(1, 400),
)
def test_the_closed_form_is_the_sum(
    features: int, share: float, h: float, noise: float, distance: float, samples: int
) -> None:
    bound = ExactAverage(noise=noise, features=features, h=h, step=share / (h * (features + 2)))
    alpha, beta = bound.alpha_beta(samples)
    value = alpha * distance**2 + beta
    assert value == pytest.approx(as_in_the_theory(bound, distance**2, samples), rel=1e-8, abs=1e-12)
    assert bound.raw(distance, samples) >= value * (1.0 - 1e-12)


@settings(max_examples=50, deadline=None)
@given(features=st.integers(1, 200), share=st.floats(0.02, 1.95), position=st.floats(0.0, 1.5))
def test_the_envelope_falls_and_is_monotone_in_the_distance(features: int, share: float, position: float) -> None:
    """Around the band in which the risk falls, rises and falls again: the shape that the base class relies on."""
    bound = ExactAverage(noise=1.0, features=features, step=share / (features + 2))
    distance = (position * bound.level) ** 0.5
    raw = np.array([bound.raw(distance, K) for K in range(1, 400)])
    fell = np.maximum.accumulate(np.diff(raw) < -1e-9 * raw[:-1])
    assert not (fell & (np.diff(raw) > 1e-9 * raw[:-1])).any()
    further = np.array([bound(1.02 * distance, K) for K in range(1, 60)])
    assert (further >= [bound(distance, K) * (1.0 - 1e-9) for K in range(1, 60)]).all()


@pytest.mark.parametrize(
    "bound",
    [
        ExactAverage(noise=0.5, features=2, step=1 / 16),
        ExactAverage(noise=2.0, features=50, h=2.0, step=1 / 104),
        ExactAverage(noise=0.0, features=3, step=0.1),
    ],
    ids=repr,
)
def test_is_a_bound(bound: ExactAverage) -> None:
    level = bound.level**0.5
    check_bound(bound, distances=(0.0, 0.5 * level, 0.72 * level, 0.76 * level, 0.82 * level, 0.1, 0.5, 1.0, 2.0))
    assert bound.nature is Nature.EXACT


def truth(
    bound: ExactAverage, distance: float, runs: int, at: tuple[int, ...], rng: np.random.Generator
) -> dict[int, FloatArray]:
    draw = gaussian_rows(np.full(bound.features, bound.h), np.zeros(bound.features), bound.noise)
    start = np.full(bound.features, distance / bound.features**0.5)
    kept = sgd(
        draw,
        squared_slope,
        start,
        np.full(at[-1], bound.step),
        runs=runs,
        rng=rng,
        at=at,
        averages={"all": bound.weights(at[-1])},
    )
    return {K: 0.5 * bound.h * (W**2).sum(axis=1) for K, W in kept["all"].items()}


@pytest.mark.statistical
@pytest.mark.parametrize("at", [(1, 2, 10, 100), pytest.param((1, 2, 10, 100, 1_000), marks=pytest.mark.slow)], ids=len)
@pytest.mark.parametrize(("features", "h", "share"), [(2, 1.0, 0.25), (2, 1.0, 1.0), (10, 3.0, 0.5), (50, 1.0, 1.0)])
def test_equal_to_the_truth(
    features: int, h: float, share: float, at: tuple[int, ...], rng: np.random.Generator
) -> None:
    """Error budget of a fast case: at most 4 comparisons at 4.9 standard errors of 250 runs or more: 7e-6 (Student t)."""
    bound = ExactAverage(noise=0.5, features=features, h=h, step=share / (h * (features + 2)))
    held = hold(bound, 1.0, truth(bound, 1.0, {2: 2_000, 10: 1_000, 50: 250}[features], at, rng))
    assert held.equals()
    assert not held.equals(factor=1.4)
    assert not held.equals(factor=0.7)


def test_the_average_of_the_start_alone_is_the_start() -> None:
    bound = ExactAverage(noise=0.5, features=2, step=1 / 16)
    assert bound.raw(1.0, 1) == pytest.approx(0.5)
    assert bound.raw(0.0, 1) == 0.0


def test_five_times_below_the_published_bound() -> None:
    """Theory 1.4: BM13 is about five times loose where this is exact."""
    exact = ExactAverage(noise=0.5, features=2, step=1 / 16)
    published = BachMoulines(noise=0.5, features=2, R2=4.0, step=1 / 16)
    ours = AveragedSquares(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0, M=1.0)
    assert published.raw(0.5, 100) / exact.raw(0.5, 100) > 4.0
    assert 1.0 <= ours.raw(0.5, 100) / exact.raw(0.5, 100) < 1.4


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"ExactAverage\(step=...\) must be below 2/\(h\(d\+2\)\)=0.5; got 0.5"):
        ExactAverage(noise=0.5, features=2, step=0.5)
