"""What a tracker foresees: the fixed point of its own sizes in closed form, and the outlook of the period at hand."""

import math
from decimal import Context, Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.adaptive import (
    AdaptiveConfig,
    AdaptiveState,
    DesignRows,
    PredictedBound,
    advance,
    drift,
    first_state,
    judge,
    outlook_of,
)
from driftpace.adaptive.sizing import gamma_quantile, variances_after
from driftpace.adaptive.state import AIM
from driftpace.errors import ParameterError
from driftpace.losses import SquaredLoss
from driftpace.testing import check_bound

DISTANCE, NOISE = st.floats(1e-6, 1e6), st.floats(1e-6, 1e6)
EXACT = Context(prec=120)


@pytest.mark.parametrize(
    "bound",
    [
        PredictedBound(noise=1.0, size=3),
        PredictedBound(noise=0.02, size=1),
        PredictedBound(noise=30.0, size=40, scale=1.7),
    ],
    ids=lambda bound: f"{bound.size}",
)
def test_it_is_a_bound(bound: PredictedBound) -> None:
    check_bound(bound)


def variance(noise: float, size: int, distance: float, samples: int) -> Decimal:
    """The root of (c/t) v^2 + (K/s^2 + 1/t - c) v - 1 = 0, in 120 digits."""
    d, s, K = Decimal(size), Decimal(noise), Decimal(samples)
    t = EXACT.divide(EXACT.power(Decimal(distance), 2), d)
    c = EXACT.divide(d + 1, s)
    B = EXACT.add(EXACT.divide(K, s), EXACT.subtract(EXACT.divide(1, t), c))
    root = EXACT.sqrt(EXACT.add(EXACT.power(B, 2), EXACT.divide(4 * c, t)))
    return EXACT.divide(EXACT.multiply(EXACT.subtract(root, B), t), EXACT.multiply(2, c))


@given(noise=NOISE, size=st.integers(1, 200), distance=DISTANCE, samples=st.integers(1, 10**7))
def test_no_digit_is_lost(noise: float, size: int, distance: float, samples: int) -> None:
    exact = float(EXACT.multiply(variance(noise, size, distance, samples), Decimal(size) / 2))
    assert PredictedBound(noise=noise, size=size).raw(distance, samples) == pytest.approx(exact, rel=1e-9)


@given(noise=st.floats(1e-2, 1e2), size=st.integers(1, 50), distance=st.floats(1e-2, 1e2), samples=st.integers(1, 2000))
def test_it_is_the_fixed_point_that_sizes_come_from(noise: float, size: int, distance: float, samples: int) -> None:
    v = 2.0 * PredictedBound(noise=noise, size=size)(distance, samples) / size
    t = distance**2 / size
    assert 1.0 / v == pytest.approx(1.0 / t + samples / noise / (1.0 + (size + 1.0) * v / noise), rel=1e-7)
    foretold = variances_after(np.array([float(size)]), np.array([t]), noise, samples)
    assert v == pytest.approx(float(foretold[0]), rel=1e-2)  # which stops its iteration early, on the safe side


@given(
    noise=NOISE,
    size=st.integers(1, 50),
    scale=st.floats(0.5, 3.0),
    distances=st.lists(st.one_of(st.just(0.0), DISTANCE), min_size=1, max_size=4),
    samples=st.lists(st.integers(1, 10**5), min_size=1, max_size=4),
)
def test_a_table_is_the_bound_at_every_place(
    noise: float, size: int, scale: float, distances: list[float], samples: list[int]
) -> None:
    bound = PredictedBound(noise=noise, size=size, scale=scale)
    expected = [[bound(distance, count) for count in samples] for distance in distances]
    np.testing.assert_allclose(bound.table(np.array(distances), np.array(samples)), expected, rtol=1e-12)


@given(noise=NOISE, size=st.integers(1, 50), ends=st.tuples(DISTANCE, DISTANCE), samples=st.integers(0, 10**5))
def test_it_is_concave_in_the_squared_distance(
    noise: float, size: int, ends: tuple[float, float], samples: int
) -> None:
    bound = PredictedBound(noise=noise, size=size)
    middle = math.sqrt(0.5 * (ends[0] ** 2 + ends[1] ** 2))
    chord = 0.5 * (bound(ends[0], samples) + bound(ends[1], samples))
    assert bound(middle, samples) >= chord * (1.0 - 1e-9)


@pytest.mark.parametrize("size", [1, 3, 20])
def test_from_far_away_it_is_least_squares_and_from_the_best_model_nothing(size: int) -> None:
    bound = PredictedBound(noise=0.7, size=size)
    for samples in (size + 2, size + 10, 1000):
        assert bound(1e8, samples) == pytest.approx(0.7 * size / (2.0 * (samples - size - 1)), rel=1e-6)
    assert bound(0.0, 5) == bound(0.0, 0) == 0.0
    assert bound(2.0, 0) == 2.0
    assert bound.reach(2.0) == 2.0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"noise": 0.0}, r"PredictedBound\(noise=...\) must be positive and finite; got 0.0."),
        ({"size": 0}, r"PredictedBound\(size=...\) must be a whole number of at least 1; got 0."),
        ({"scale": math.nan}, r"PredictedBound\(scale=...\) must be positive and finite; got nan."),
    ],
    ids=["noise", "size", "scale"],
)
def test_invalid_bounds_are_refused(wrong: dict[str, float], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        PredictedBound(**{"noise": 1.0, "size": 3, **wrong})  # type: ignore[arg-type]


def drawn(count: int, seed: int, coef: tuple[float, ...] = (0.0, 1.0, -1.0)) -> DesignRows:
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(count), rng.normal(size=(count, 2))])
    y = X @ np.array(coef) + rng.normal(size=count)
    return DesignRows(loss=SquaredLoss(), X=X, y=y, penalty=np.zeros(3))


def later(pacing: AdaptiveConfig) -> AdaptiveState:
    pace, rows = first_state(np.zeros(3), True), drawn(60, 0)
    return advance(pacing, pace, rows, judge(pacing, pace, rows))


def test_later_periods_start_from_their_prediction() -> None:
    pacing, none = AdaptiveConfig(epsilon=0.1), drawn(0, 1)
    pace = later(pacing)
    judged = judge(pacing, pace, none)
    outlook = outlook_of(pacing, pace, none, judged)
    assert 0.5 * outlook.start**2 == pytest.approx(0.5 * float(pace.sizes @ judged.variances))
    assert outlook.rho == drift(judged.banks)[0]
    assert outlook.steps == "walk"
    assert isinstance(outlook.bound, PredictedBound)
    assert (outlook.bound.noise, outlook.bound.size) == (judged.noise_upper, 3)
    assert outlook.bound.scale == pytest.approx(1.0 / AIM)


def test_a_first_period_starts_from_nowhere_and_counts_its_pilot() -> None:
    """The plan of the first period has its pilot rows in it: from so far away, they are what least squares would have."""
    pacing, pace, rows = AdaptiveConfig(epsilon=0.1), first_state(np.zeros(3), True), drawn(12, 3)
    judged = judge(pacing, pace, rows)
    outlook = outlook_of(pacing, pace, rows, judged)
    least_squares = 0.5 * judged.noise_upper * 3 / (200 - 4) / AIM
    assert outlook.bound(outlook.start, 200) == pytest.approx(least_squares, rel=0.05)
    assert outlook.bound(outlook.start, 0) > 10.0 * pacing.epsilon  # type: ignore[operator]


def test_a_confidence_makes_the_risk_a_quantile() -> None:
    mean, sure = AdaptiveConfig(epsilon=0.1), AdaptiveConfig(epsilon=0.1, confidence=0.9)
    pace, none = later(sure), drawn(0, 1)
    outlook = outlook_of(sure, pace, none, judge(sure, pace, none))
    risk = 0.5 * outlook.start**2
    assert outlook.bound(outlook.start, 0) == pytest.approx(gamma_quantile(risk, 2.0 * risk * risk / 3, 0.9))
    assert (
        mean.criterion(judge(mean, pace, none), pace.audit).epsilon
        < sure.criterion(judge(sure, pace, none), pace.audit).epsilon
    )
