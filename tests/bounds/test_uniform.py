import math

import numpy as np
import pytest

from driftpace.bounds import LogarithmicAverage, RobustAverage, SecondMoment, UniformAverage, smallest_samples
from driftpace.errors import ParameterError
from driftpace.losses import LogisticLoss
from driftpace.records import Outcome
from driftpace.synthetic import TwoClasses
from driftpace.testing import check_bound
from driftpace.typing import FloatArray
from tests.reference.bound_checks import SQUARES, Squares, hold
from tests.reference.monte_carlo import ball, gaussian_rows, measure, sgd, squared_slope

AT = (1, 10, 100, 1_000)
RUNS = {2: 800, 10: 400, 50: 120}


@pytest.mark.parametrize(
    "bound",
    [
        UniformAverage(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0), step=0.1),
        UniformAverage(m=0.3, moment=SecondMoment.least_squares(noise=0.5, trace=2.0, R2=4.0), step=0.2),
        UniformAverage(m=0.3, moment=SecondMoment(A=0.0, C=4.0), step=0.2),
        LogarithmicAverage(m=0.5, G2=4.0),
        LogarithmicAverage(m=0.5, G2=4.0, M=0.6),
        RobustAverage(A=4.0, m=0.1),
        RobustAverage(A=4.0, m=0.1, M=1.0),
    ],
    ids=repr,
)
def test_is_a_bound(bound: UniformAverage | LogarithmicAverage | RobustAverage) -> None:
    check_bound(bound)


def averages(
    squares: Squares, start: FloatArray, steps: FloatArray, rng: np.random.Generator, radius: float | None = None
) -> dict[int, FloatArray]:
    draw = gaussian_rows(squares.eigenvalues, np.zeros(squares.features), squares.noise)
    kept = sgd(
        draw,
        squared_slope,
        start,
        steps,
        runs=RUNS[squares.features],
        rng=rng,
        at=[K for K in AT if steps.size >= K],
        averages={"all": np.ones(steps.size)},
        project=None if radius is None else ball(radius),
    )
    return {K: squares.risk(W) for K, W in kept["all"].items()}


@pytest.mark.statistical
@pytest.mark.parametrize("squares", SQUARES, ids=repr)
@pytest.mark.parametrize("steepest", [True, False])
def test_a_constant_step_never_does_worse(squares: Squares, steepest: bool, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 5 comparisons at 4.9 standard errors of 120 runs or more: 8e-6 (Student t)."""
    moment = SecondMoment.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2)
    bound = UniformAverage(m=squares.m, M=1.0, moment=moment, step=0.5 / squares.R2)
    held = hold(bound, 1.0, averages(squares, squares.start(1.0, steepest=steepest), bound.schedule.steps(1_000), rng))
    assert held.holds()
    assert not held.holds(shrink=1e-3)  # it levels off where the truth does not: far above it at 1,000


@pytest.mark.statistical
def test_assumption_b2_of_the_paper(rng: np.random.Generator) -> None:
    """Error budget: 4 comparisons at 4.9 standard errors of 400 runs or more: 3e-6 (Student t)."""
    squares = Squares(features=10, condition=1.0)
    moment = SecondMoment(A=squares.noise * 10, B=12.0)
    bound = UniformAverage(m=1.0, M=1.0, moment=moment, step=1.0 / 12.0)
    held = hold(bound, 1.0, averages(squares, squares.start(1.0, steepest=True), bound.schedule.steps(100), rng))
    assert held.holds()
    assert held.spare(10) < 10.0
    weak = UniformAverage(m=1.0, moment=SecondMoment(A=0.01 * moment.A, B=1.2), step=0.8)
    assert weak.raw(1.0, 100) < 0.1 * bound.raw(1.0, 100)
    assert not hold(weak, 1.0, averages(squares, squares.start(1.0, steepest=True), np.full(100, 1 / 12), rng)).holds()


@pytest.mark.statistical
@pytest.mark.parametrize("squares", SQUARES, ids=repr)
def test_bounded_gradients_on_a_ball(squares: Squares, rng: np.random.Generator) -> None:
    """In a ball of radius 1 around the minimiser, E||g||^2 <= noise tr H + R2 ||w||_H^2 <= noise tr H + R2.

    Error budget of a fast case: at most 10 comparisons at 4.9 standard errors of 120 runs or more: 2e-5 (Student t).
    """
    G2 = squares.noise * squares.trace + squares.R2
    logarithmic = LogarithmicAverage(m=squares.m, G2=G2, M=1.0)
    start = squares.start(1.0, steepest=False)
    held = hold(logarithmic, 1.0, averages(squares, start, logarithmic.schedule.steps(1_000), rng, radius=1.0))
    assert held.holds()
    if squares.condition == 1.0:
        assert not held.holds(shrink=0.03)
    robust = RobustAverage(A=G2, m=squares.m, M=1.0)
    for K in AT:
        risks = averages(squares, start, np.full(K, robust.step(1.0, K)), rng, radius=1.0)
        assert hold(robust, 1.0, {K: risks[K]}).holds()


@pytest.mark.statistical
def test_without_strong_convexity(rng: np.random.Generator) -> None:
    """Logistic loss without a penalty: no m, and the robust step still keeps its promise.

    Error budget: 3 comparisons at 4.9 standard errors of 500 runs or more: 2e-6 (Student t).
    """
    world, loss = TwoClasses(mean=np.array([1.0, 0.0]), covariance=0.5), LogisticLoss()
    best = world.minimiser(loss)
    start = best + np.array([0.0, 1.0])
    bound = RobustAverage(A=2.0)  # |slope| <= 1, so E||g||^2 <= E||x||^2 = 1 + 2 * 0.5
    for K in (1, 10, 100):
        kept = sgd(
            lambda count, rng: world.draw(count, rng=rng),
            loss.curve.slope,
            start,
            np.full(K, bound.step(1.0, K)),
            runs=500,
            rng=rng,
            averages={"all": bound.weights(K)},
        )
        held = hold(bound, 1.0, {K: world.excess_risk(loss, kept["all"][K])})
        assert held.holds()
    assert not held.holds(shrink=0.01)


@pytest.mark.statistical
def test_the_truth_of_the_robust_step_falls_as_declared(rng: np.random.Generator) -> None:
    """The risk |w - w*| of one coordinate, not smooth nor strongly convex, really is 1/sqrt(K).

    Error budget: 4 comparisons at 4.9 standard errors of 2,000 runs or more: 3e-6 (Student t).
    """
    bound, means, counts = RobustAverage(A=1.0), [], (16, 64, 256, 1_024)
    for K in counts:
        w, total = np.ones(2_000), np.zeros(2_000)
        for _ in range(K):
            total += w
            w = w - bound.step(1.0, K) * np.sign(w) * rng.choice([0.0, 2.0**0.5], size=2_000) / 2.0**0.5
        truth = measure(0.5 * np.abs(total / K))
        assert truth.at_most(bound.raw(1.0, K))
        means.append(truth.mean)
    assert np.polyfit(np.log(counts), np.log(means), 1)[0] == pytest.approx(bound.rate, abs=0.1)


def test_it_levels_off_and_reports_it() -> None:
    bound = UniformAverage(m=1.0, M=1.0, moment=SecondMoment(A=0.16, B=4.0), step=0.1)
    assert bound(1.5, 10**6) - bound.floor(1.5) == pytest.approx(1.5**2 / (2.0 * 0.1 * 10**6))
    assert smallest_samples(bound, 1.5, 0.5 * bound.floor(1.5)).outcome is Outcome.INFEASIBLE
    assert bound.smallest(1.5, 0.008, cap=10**9) is None


def test_linear_in_the_distance_so_no_factors() -> None:
    bound = RobustAverage(A=4.0)
    assert bound.factors(10) is None
    assert bound.raw(2.0, 10) == pytest.approx(2.0 * bound.raw(1.0, 10))
    assert bound.reach(0.1) == math.inf


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"UniformAverage\(step=...\) must be at most 1/\(B/m \+ C/2\)=0.25; got 0.3"
    ):
        UniformAverage(m=1.0, moment=SecondMoment(A=0.16, B=4.0), step=0.3)
    with pytest.raises(
        ParameterError, match=r"UniformAverage\(step=...\) must be at most 1/\(B/m \+ C/2\)=0.5; got 0.5"
    ):
        UniformAverage(m=1.0, moment=SecondMoment(A=0.16, C=4.0), step=0.5)
    with pytest.raises(ParameterError, match=r"LogarithmicAverage\(m=...\) must be positive"):
        LogarithmicAverage(m=0.0, G2=1.0)
    with pytest.raises(ParameterError, match=r"RobustAverage\(m=...\) must be positive"):
        RobustAverage(A=1.0, m=0.0)
