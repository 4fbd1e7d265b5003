import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import SecondMoment, Weighted, WeightedBounded, WeightedClosedForm, average_certificate
from driftpace.errors import ParameterError
from driftpace.losses import LogisticLoss, SmoothedHinge
from driftpace.synthetic import TwoClasses
from driftpace.testing import check_bound
from driftpace.typing import FloatArray
from tests.reference.bound_checks import SQUARES, Squares, hold
from tests.reference.monte_carlo import ball, gaussian_rows, measure, sgd, squared_slope

AT = (1, 10, 100, 1_000)
RUNS = {2: 800, 10: 400, 50: 120}
SQUARE = SecondMoment.least_squares(noise=0.5, trace=2.0, R2=4.0)


@pytest.mark.parametrize(
    "bound",
    [
        WeightedBounded(m=0.5, G2=4.0),
        WeightedBounded(m=0.5, G2=4.0, M=0.6),
        WeightedClosedForm(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0)),
        WeightedClosedForm(m=0.3, moment=SQUARE),
        Weighted(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0)),
        Weighted(m=0.3, moment=SQUARE),
        Weighted(m=0.3, M=1.0, moment=SecondMoment(A=1.0)),
        Weighted(m=0.3, M=1.0, moment=SecondMoment(A=0.2, B=0.1, C=0.7)),
    ],
    ids=repr,
)
def test_is_a_bound(bound: WeightedBounded | WeightedClosedForm | Weighted) -> None:
    check_bound(bound)


@settings(max_examples=150, deadline=None)
@given(
    m=st.floats(0.05, 5.0),
    A=st.floats(0.0, 10.0),
    b=st.floats(0.0, 30.0),
    c=st.floats(0.0, 30.0),
    distance=st.floats(0.0, 10.0),
)
def test_the_certificate_never_rises(m: float, A: float, b: float, c: float, distance: float) -> None:
    """What the docstring proves: non-increasing for K >= 1 whatever the constants, so that the envelope has two ends."""
    moment = SecondMoment(A=A, B=b * m**2, C=c * m)
    bound = Weighted(m=m, moment=moment)
    alpha, beta = average_certificate(bound.schedule.steps(3_000), bound.weights(3_000), m=m, moment=moment)
    values = alpha * distance**2 + beta
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()


def test_with_longer_steps_it_can_rise() -> None:
    """The control: a shift below 4B/m^2 breaks the proof, and the bound does rise."""
    moment = SecondMoment(A=1.0, B=50.0)
    k = np.arange(1.0, 400.0)
    alpha, beta = average_certificate(2.0 / (k + 25.0), k + 24.0, m=1.0, moment=moment)
    assert (np.diff(alpha * 1e-4 + beta) > 0.0).any()


@settings(max_examples=100, deadline=None)
@given(
    m=st.floats(0.05, 5.0),
    A=st.floats(0.0, 10.0),
    total=st.one_of(st.just(0.0), st.floats(1.0, 60.0)),
    share=st.floats(0.0, 1.0),
    distance=st.floats(0.0, 10.0),
    samples=st.integers(1, 5_000),
)
def test_the_certificate_is_never_above_the_closed_form(
    m: float, A: float, total: float, share: float, distance: float, samples: int
) -> None:
    """E||g||^2 >= ||grad f||^2 >= m^2 ||w - w*||^2, so B + mC is m^2 or more on an unbounded set."""
    b, c = share * total, (1.0 - share) * total
    moment = SecondMoment(A=A, B=b * m**2, C=c * m)
    closed = WeightedClosedForm(m=m, moment=moment).raw(distance, samples)
    assert Weighted(m=m, moment=moment).raw(distance, samples) <= closed * (1.0 + 1e-9) + 1e-300


def weighted_risks(
    squares: Squares, bound: Weighted | WeightedClosedForm, start: FloatArray, rng: np.random.Generator
) -> dict[int, FloatArray]:
    draw = gaussian_rows(squares.eigenvalues, np.zeros(squares.features), squares.noise)
    kept = sgd(
        draw,
        squared_slope,
        start,
        bound.schedule.steps(AT[-1]),
        runs=RUNS[squares.features],
        rng=rng,
        at=AT,
        averages={"w": bound.weights(AT[-1])},
    )
    return {K: squares.risk(W) for K, W in kept["w"].items()}


@pytest.mark.statistical
@pytest.mark.parametrize("squares", SQUARES, ids=repr)
@pytest.mark.parametrize("steepest", [True, False])
def test_never_below_the_truth_of_least_squares(squares: Squares, steepest: bool, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 10 comparisons at 4.9 standard errors of 120 runs or more: 2e-5 (Student t)."""
    moment = SecondMoment.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2)
    summed = Weighted(m=squares.m, M=1.0, moment=moment)
    closed = WeightedClosedForm(m=squares.m, M=1.0, moment=moment)
    risks = weighted_risks(squares, summed, squares.start(1.0, steepest=steepest), rng)
    held = hold(summed, 1.0, risks)
    assert held.holds()
    assert hold(closed, 1.0, risks).holds()
    if squares.condition == 1.0:
        assert held.spare(1_000) < 8.0  # measured: 4 to 7
        assert not held.holds(shrink=0.1)


@pytest.mark.statistical
@pytest.mark.parametrize("features", [2, 10])
def test_assumption_b2_of_the_paper(features: int, rng: np.random.Generator) -> None:
    """E||g||^2 = noise d + (d+2)||w - w*||^2 for isotropic rows: A and B, no C.

    Error budget of a fast case: at most 8 comparisons at 4.9 standard errors of 400 runs or more: 6e-6 (Student t).
    """
    squares = Squares(features=features, condition=1.0)
    moment = SecondMoment(A=squares.noise * features, B=features + 2.0)
    bound = Weighted(m=1.0, M=1.0, moment=moment)
    risks = weighted_risks(squares, bound, squares.start(1.0, steepest=True), rng)
    held = hold(bound, 1.0, risks)
    assert held.holds()
    assert held.spare(1_000) < 8.0
    assert hold(WeightedClosedForm(m=1.0, M=1.0, moment=moment), 1.0, risks).holds()


@pytest.mark.statistical
def test_a_wrong_constant_is_caught(rng: np.random.Generator) -> None:
    """Error budget: 6 comparisons at 4.9 standard errors of 400 runs or more: 5e-6 (Student t)."""
    squares = Squares(features=10, condition=1.0)
    moment = SecondMoment.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2)
    bound = Weighted(m=1.0, M=1.0, moment=moment)
    risks = weighted_risks(squares, bound, np.zeros(10), rng)
    assert hold(bound, 0.0, risks).holds()
    assert not hold(Weighted(m=1.0, moment=dataclasses.replace(moment, A=0.1 * moment.A)), 0.0, risks).holds()


@pytest.mark.statistical
@pytest.mark.parametrize("loss", [LogisticLoss(l2=0.3), SmoothedHinge(l2=0.3)], ids=repr)
@pytest.mark.parametrize("features", [2, 10])
def test_never_below_the_truth_of_two_classes(
    loss: LogisticLoss | SmoothedHinge, features: int, rng: np.random.Generator
) -> None:
    """On a ball: E||g||^2 <= G2 with |slope| <= 1 + reach ||x|| (hinge: the score is at most radius ||x||) or 1 (logistic).

    Error budget of a fast case: at most 9 comparisons at 4.9 standard errors of 200 runs or more: 9e-6 (Student t).
    """
    world = TwoClasses(mean=np.eye(features)[0], covariance=0.5)
    best, radius = world.minimiser(loss), 2.0
    assert np.linalg.norm(best) < radius
    X = world.draw(20_000, rng=0)[0]  # moments of ||x||, for constants with a little to spare
    length = np.linalg.norm(X, axis=1)
    steepest = length if isinstance(loss, LogisticLoss) else length * (1.0 + radius * length)
    G2 = 1.1 * float(((steepest + loss.l2 * radius) ** 2).mean())
    bound = WeightedBounded(m=loss.l2, G2=G2)
    start = best + np.eye(features)[-1]
    start *= min(1.0, radius / float(np.linalg.norm(start)))
    distance = float(np.linalg.norm(start - best))
    kept = sgd(
        lambda count, rng: world.draw(count, rng=rng),
        loss.curve.slope,
        start,
        bound.schedule.steps(1_000),
        runs=200,
        rng=rng,
        l2=loss.l2,
        project=ball(radius),
        at=(0, *AT),
        averages={"w": bound.weights(1_000)},
    )
    held = hold(bound, distance, {K: world.excess_risk(loss, W) for K, W in kept["w"].items()})
    assert held.holds()
    assert not held.holds(shrink=1e-3)
    constants = world.constants(loss)
    second = SecondMoment(A=constants.safe("A"), B=constants.safe("B"))
    other = Weighted(m=constants.safe("m"), M=constants.safe("M"), moment=second)
    risks = sgd(
        lambda count, rng: world.draw(count, rng=rng),
        loss.curve.slope,
        start,
        other.schedule.steps(100),
        runs=200,
        rng=rng,
        l2=loss.l2,
        at=(0, 1, 10, 100),
        averages={"w": other.weights(100)},
    )["w"]
    assert hold(other, distance, {K: world.excess_risk(loss, W) for K, W in risks.items()}).holds()


@pytest.mark.statistical
def test_the_truth_falls_like_one_over_k(rng: np.random.Generator) -> None:
    """Error budget: a risk of two coefficients has a relative deviation of 1, so the slope through five means of 1,000
    runs has a standard error of at most 0.015, and 0.1 is six of them, 1e-10.
    """
    squares = Squares(features=2, condition=1.0)
    bound = Weighted(m=1.0, M=1.0, moment=SQUARE)
    draw = gaussian_rows(squares.eigenvalues, np.zeros(2), squares.noise)
    at = tuple(2**p for p in range(8, 13))
    kept = sgd(
        draw,
        squared_slope,
        np.zeros(2),
        bound.schedule.steps(at[-1]),
        runs=1_000,
        rng=rng,
        at=at,
        averages={"w": bound.weights(at[-1])},
    )
    means = [measure(squares.risk(kept["w"][K])).mean for K in at]
    assert np.polyfit(np.log(at), np.log(means), 1)[0] == pytest.approx(bound.rate, abs=0.1)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"Weighted\(m=...\) must be positive"):
        Weighted(m=0.0, moment=SQUARE)
    with pytest.raises(ParameterError, match=r"WeightedClosedForm\(M=...\) must be positive"):
        WeightedClosedForm(m=1.0, M=-1.0, moment=SQUARE)
    with pytest.raises(ParameterError, match=r"WeightedBounded\(G2=...\) must be zero or more"):
        WeightedBounded(m=1.0, G2=-1.0)
