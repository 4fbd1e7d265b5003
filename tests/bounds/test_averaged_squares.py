import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import AveragedSquares, BachMoulines, TailAverage
from driftpace.errors import ParameterError
from driftpace.testing import check_bound
from driftpace.typing import FloatArray
from tests.reference.bound_checks import SQUARES, Squares, hold
from tests.reference.monte_carlo import gaussian_rows, measure, quadratic_risk, sgd, squared_slope

AT = (1, 10, 100, 1_000)
BOUNDS = (
    BachMoulines(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0),
    BachMoulines(noise=0.5, features=2, R2=4.0, step=1 / 5, m=1.0, M=1.0, factored=True),
    TailAverage(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0),
    TailAverage(noise=0.5, features=10, R2=12.0, step=1 / 48, m=0.5, M=1.0, skip=0.9),
    AveragedSquares(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0),
    AveragedSquares(noise=0.5, features=10, R2=12.0, step=1 / 12, m=0.01, M=1.0),
    AveragedSquares(noise=0.5, features=10, R2=12.0, step=1 / 24, m=0.1, skip=0.5),
    AveragedSquares(noise=0.5, features=10, R2=12.0, step=1 / 24, m=0.1, skip=0.3, well_specified=False),
)


@pytest.mark.parametrize("bound", BOUNDS, ids=repr)
def test_is_a_bound(bound: BachMoulines | TailAverage | AveragedSquares) -> None:
    check_bound(bound)


def averages(
    squares: Squares, start: FloatArray, step: float, runs: int, rng: np.random.Generator
) -> dict[str, dict[int, FloatArray]]:
    """Risks after 1, 10, 100 and 1,000 samples: the average of all iterates, and that of the second half of 1,000."""
    weights = {"all": np.ones(AT[-1]), "half": (np.arange(AT[-1]) >= AT[-1] // 2).astype(float)}
    draw = gaussian_rows(squares.eigenvalues, np.zeros(squares.features), squares.noise)
    kept = sgd(draw, squared_slope, start, np.full(AT[-1], step), runs=runs, rng=rng, at=AT, averages=weights)
    return {
        name: {K: quadratic_risk(W, squares.eigenvalues, np.zeros(squares.features)) for K, W in kept[name].items()}
        for name in weights
    }


@pytest.mark.statistical
@pytest.mark.parametrize("squares", SQUARES, ids=repr)
@pytest.mark.parametrize("steepest", [True, False])
def test_never_below_the_truth(squares: Squares, steepest: bool, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 19 comparisons at 4.9 standard errors of 150 runs or more: 3e-5 (Student t)."""
    share = 0.25 if steepest else 1.0 / 1.0001  # the published step, and the longest
    numbers = {"noise": squares.noise, "features": squares.features, "R2": squares.R2, "m": squares.m, "M": 1.0}
    step = share / squares.R2
    start = squares.start(1.0, steepest=steepest)
    risks = averages(squares, start, step, {2: 800, 10: 400, 50: 150}[squares.features], rng)
    ours = AveragedSquares(step=step, **numbers)  # type: ignore[arg-type]
    tail = AveragedSquares(step=step, skip=0.5, **numbers)  # type: ignore[arg-type]
    half = {AT[-1]: risks["half"][AT[-1]]}
    for bound in (ours, dataclasses.replace(ours, m=None), dataclasses.replace(ours, well_specified=False)):
        assert hold(bound, 1.0, risks["all"]).holds()
    for bound in (tail, dataclasses.replace(tail, well_specified=False)):
        assert hold(bound, 1.0, half).holds()
    assert hold(BachMoulines(step=step, **numbers), 1.0, risks["all"]).holds()  # type: ignore[arg-type]
    assert hold(TailAverage(step=step, **numbers), 1.0, half).holds()  # type: ignore[arg-type]
    if not steepest:  # the flattest direction is the one that a constant step forgets last
        held = hold(ours, 1.0, {AT[-1]: risks["all"][AT[-1]]})
        assert not held.holds(shrink=0.3)
        assert held.spare(AT[-1]) < 3.0  # measured: 1.05 to 2.2


@pytest.mark.statistical
@pytest.mark.parametrize("share", [0.25, 1.0])
def test_the_cost_of_noise_alone_is_tight(share: float, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 6 comparisons at 4.9 standard errors of 1,000 runs or more: 4e-6 (Student t)."""
    squares = Squares(features=10, condition=1.0)
    step = share / squares.R2
    bound = AveragedSquares(noise=0.5, features=10, R2=squares.R2, step=step, m=1.0, M=1.0)
    risks = averages(squares, np.zeros(10), step, 1_000, rng)["all"]
    held = hold(bound, 0.0, {K: risks[K] for K in (10, 100, 1_000)})
    assert held.holds()
    assert held.spare(1_000) < 1.2
    published = BachMoulines(noise=0.5, features=10, R2=squares.R2, step=0.25 / squares.R2)
    assert published.raw(0.0, 1_000) / AveragedSquares(
        noise=0.5, features=10, R2=squares.R2, step=0.25 / squares.R2
    ).raw(0.0, 1_000) == pytest.approx(3.5)
    assert not hold(AveragedSquares(noise=0.4, features=10, R2=squares.R2, step=step, m=1.0), 0.0, risks).holds()


@pytest.mark.statistical
def test_a_wrong_model_needs_the_roots_to_be_added(rng: np.random.Generator) -> None:
    """The residual x_1 (x_1^2 - 3) is uncorrelated with x but not of mean zero given x: E r^2 xx' = diag(42, 6, ..., 6).

    Error budget: 6 comparisons at 4.9 standard errors of 20,000 runs or more: 3e-6 (Student t).
    """
    features, step, runs = 4, 1.0 / 6.0, 20_000

    def draw(count: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        X = rng.standard_normal((count, features))
        return X, X[:, 0] * (X[:, 0] ** 2 - 3.0)

    bound = AveragedSquares(noise=42.0, features=features, R2=6.0, step=step, m=1.0, M=1.0, well_specified=False)
    for sign in (-1.0, 1.0):
        start = np.array([sign, 0.0, 0.0, 0.0])
        kept = sgd(
            draw, squared_slope, start, np.full(30, step), runs=runs, rng=rng, at=(3, 30), averages={"all": np.ones(30)}
        )
        held = hold(bound, 1.0, {K: 0.5 * (W**2).sum(axis=1) for K, W in kept["all"].items()})
        assert held.holds()
        assert not held.holds(shrink=0.03)
    assert bound.factors(10) is None


@settings(max_examples=200, deadline=None)
@given(
    share=st.floats(0.01, 0.99),
    features=st.integers(1, 100),
    noise=st.floats(0.0, 10.0),
    m=st.floats(1e-4, 1.0),
    distance=st.floats(0.0, 10.0),
    samples=st.integers(1, 10**6),
    skip=st.floats(0.05, 0.95),
)
def test_never_above_the_published_forms(
    share: float, features: int, noise: float, m: float, distance: float, samples: int, skip: float
) -> None:
    numbers = {"noise": noise, "features": features, "R2": features + 2.0, "m": m, "step": share / (features + 2.0)}
    slack = 1.0 + 1e-12
    for well in (True, False):
        ours = AveragedSquares(well_specified=well, **numbers)  # type: ignore[arg-type]
        tail = AveragedSquares(well_specified=well, skip=skip, **numbers)  # type: ignore[arg-type]
        published = BachMoulines(**numbers)  # type: ignore[arg-type]
        assert ours.raw(distance, samples) <= published.raw(distance, samples) * slack
        assert (
            published.raw(distance, samples)
            <= dataclasses.replace(published, factored=True).raw(distance, samples) * slack
        )
        assert tail.raw(distance, samples) <= TailAverage(skip=skip, **numbers).raw(distance, samples) * slack  # type: ignore[arg-type]


def test_the_published_numbers() -> None:
    quarter = BachMoulines(noise=0.5, features=2, R2=4.0, step=1 / 16)
    assert quarter.raw(1.5, 10) == pytest.approx(
        0.2 * (math.sqrt(1.0) + 2.0 * 1.5) ** 2
    )  # (2/K)(sigma sqrt(d) + R d0)^2
    factored = dataclasses.replace(quarter, factored=True)
    assert factored.raw(1.5, 10) == pytest.approx(0.4 * (1.0 + 4.0 * 1.5**2))  # (4/K)(sigma^2 d + R^2 d0^2)


def test_weights_leave_out_what_they_say() -> None:
    bound = AveragedSquares(noise=0.5, features=2, R2=4.0, step=1 / 16, skip=0.5)
    assert bound.weights(5).tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]
    assert TailAverage(noise=0.5, features=2, R2=4.0, step=1 / 16, m=1.0).weights(2).tolist() == [0.0, 1.0]
    assert BOUNDS[0].weights(3).tolist() == [1.0, 1.0, 1.0]
    assert bound.schedule.steps(2).tolist() == [1 / 16, 1 / 16]


def test_without_m_a_risk_says_nothing_of_a_distance() -> None:
    bound = AveragedSquares(noise=0.5, features=2, R2=4.0, step=1 / 16)
    assert bound.reach(0.1) == math.inf
    assert dataclasses.replace(bound, m=0.5).reach(0.09) == pytest.approx(0.6)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"AveragedSquares\(step=...\) must be at most 1/R2=0.25; got 0.3"):
        AveragedSquares(noise=0.5, features=2, R2=4.0, step=0.3)
    with pytest.raises(ParameterError, match=r"BachMoulines\(step=...\) must be below 1/R2=0.25; got 0.25"):
        BachMoulines(noise=0.5, features=2, R2=4.0, step=0.25)
    with pytest.raises(ParameterError, match=r"TailAverage\(m=...\) must be given"):
        TailAverage(noise=0.5, features=2, R2=4.0, step=0.1)
    with pytest.raises(ParameterError, match=r"TailAverage\(step=...\) must be below"):
        TailAverage(noise=0.5, features=2, R2=4.0, step=0.25, m=1.0)
    with pytest.raises(ParameterError, match=r"AveragedSquares\(skip=...\) must be strictly between 0 and 1"):
        AveragedSquares(noise=0.5, features=2, R2=4.0, step=0.1, skip=1.0)


@pytest.mark.statistical
def test_the_truth_falls_like_one_over_k(rng: np.random.Generator) -> None:
    """Error budget: a risk of two coefficients has a relative deviation of 1, so the slope through five means of 1,500
    runs has a standard error of at most 0.012, and 0.1 is eight of them, below 1e-14.
    """
    squares = Squares(features=2, condition=1.0)
    draw = gaussian_rows(squares.eigenvalues, np.zeros(2), squares.noise)
    at = tuple(2**p for p in range(7, 12))
    kept = sgd(
        draw,
        squared_slope,
        np.zeros(2),
        np.full(at[-1], 0.25),
        runs=1_500,
        rng=rng,
        at=at,
        averages={"all": np.ones(at[-1])},
    )
    means = [measure(squares.risk(kept["all"][K])).mean for K in at]
    slope = np.polyfit(np.log(at), np.log(means), 1)[0]
    assert slope == pytest.approx(BOUNDS[4].rate, abs=0.1)
