"""Every last-iterate bound against simulated truth: a hundred steps in the fast suite, a thousand in the slow one.

The error budget: each comparison allows 4.9 standard errors, a false alarm in a million or two for a normal mean (two-sided
ones allow more below, for the skewness of risks); there are about three hundred comparisons. Controls that must fail are
made with a part of a bound or with a wrong constant.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from driftpace.bounds import (
    ClosedForm,
    FormulaBound,
    GaussianLeastSquares,
    Greedy,
    GreedyClosedForm,
    LastIterate,
    NoiseModel,
)
from driftpace.schedules import InverseTime
from driftpace.typing import FloatArray
from tests.reference.bound_checks import SQUARES, Squares, hold
from tests.reference.last_iterates import AT, DISTANCE, PENALISED, Penalised, SquaresBounds, runs_for, squares_risks
from tests.reference.monte_carlo import ball, gaussian_rows, measure, sgd, squared_slope
from tests.reference.recursions import gaussian_risks

pytestmark = pytest.mark.statistical

ISOTROPIC = tuple(problem for problem in SQUARES if problem.condition == 1.0)
STEEP = tuple(problem for problem in SQUARES if problem.condition > 1.0)
ROUND = Squares(features=2, condition=1.0)


LENGTHS = pytest.mark.parametrize(
    "at", [pytest.param(AT[:-1], id="100 steps"), pytest.param(AT, id="1000 steps", marks=pytest.mark.slow)]
)


def steps_of(bound: ClosedForm | LastIterate | Greedy, count: int) -> FloatArray:
    return bound.schedule.steps(count, DISTANCE)


@LENGTHS
@pytest.mark.parametrize("problem", ISOTROPIC, ids=str)
def test_on_isotropic_squares_the_recursions_are_equal_to_the_truth(
    problem: Squares, at: tuple[int, ...], rng: np.random.Generator
) -> None:
    """R holds with equality (theory 1.1g): two-sided, and 0.9 of each is caught. The closed form has 2 to 4 times to spare.

    Error budget of a fast case: at most 20 comparisons at 4.9 standard errors of 320 runs or more: 3e-5 (Student t).
    """
    bounds = SquaresBounds(problem=problem)
    falling = squares_risks(problem, steps_of(bounds.recursion, at[-1]), rng, steepest=True, at=at)
    for bound in (bounds.recursion, bounds.exact):
        held = hold(bound, DISTANCE, falling)
        assert held.equals()
        assert not held.equals(0.9)
    closed = hold(bounds.closed, DISTANCE, falling)
    assert closed.holds()
    assert not closed.holds(0.3)
    if at[-1] == 1000:
        assert 2.0 < closed.spare(1000) < 4.0

    tuned = squares_risks(problem, steps_of(bounds.greedy, at[-1]), rng, steepest=True, at=at)
    greedy = hold(bounds.greedy, DISTANCE, tuned)
    assert greedy.equals()
    assert not greedy.equals(0.9)

    steps = bounds.constant.schedule.steps(at[-1])
    constant = hold(bounds.constant, DISTANCE, squares_risks(problem, steps, rng, steepest=True, at=at))
    assert constant.equals()
    assert not constant.equals(0.9)


@LENGTHS
@pytest.mark.parametrize("problem", STEEP, ids=str)
@pytest.mark.parametrize("steepest", [True, False], ids=["steepest", "flattest"])
def test_on_steep_squares_the_truth_is_never_above(
    problem: Squares, steepest: bool, at: tuple[int, ...], rng: np.random.Generator
) -> None:
    """Condition 100, starts along the steepest and the flattest direction. The start itself is met with equality.

    Error budget of a fast case: at most 12 comparisons at 4.9 standard errors of 320 runs or more: 1e-5 (Student t).
    """
    bounds = SquaresBounds(problem=problem)
    cases: list[tuple[FormulaBound, FloatArray]] = [
        (bounds.closed, steps_of(bounds.closed, at[-1])),
        (bounds.greedy, steps_of(bounds.greedy, at[-1])),
        (bounds.constant, bounds.constant.schedule.steps(at[-1])),
    ]
    for bound, steps in cases:
        risks = squares_risks(problem, steps, rng, steepest=steepest, at=at)
        held = hold(bound, DISTANCE, risks)
        assert held.holds()
        if steepest:
            assert held.spare(0) == pytest.approx(1.0)
            assert not held.holds(0.3)
        if bound is bounds.closed:
            assert hold(bounds.recursion, DISTANCE, risks).holds()
            assert hold(bounds.exact, DISTANCE, risks).holds()


def risks_from(problem: Squares, direction: int, steps: FloatArray, rng: np.random.Generator) -> FloatArray:
    start = DISTANCE * np.eye(problem.features)[direction]
    draw = gaussian_rows(problem.eigenvalues, np.zeros(problem.features), problem.noise)
    more = 30 if len(steps) <= 10 else 4 if len(steps) <= 100 else 1  # short runs are the most skewed
    out = sgd(draw, squared_slope, start, steps, runs=more * runs_for(problem.features), rng=rng)
    return problem.risk(out["last"][len(steps)])


@LENGTHS
@pytest.mark.parametrize("problem", STEEP, ids=str)
def test_on_steep_squares_the_exact_one_is_equal_from_the_worst_direction(
    problem: Squares, at: tuple[int, ...], rng: np.random.Generator
) -> None:
    """Error budget of a fast case: at most 4 comparisons at 4.9 standard errors of 1,280 runs or more: 4e-6 (Student t)."""
    exact = SquaresBounds(problem=problem).exact
    wrong = replace(exact, noise=0.5 * exact.noise)
    lam, caught = problem.eigenvalues, 0
    for count in at[1:]:
        steps = exact.schedule.steps(count)
        risks = [gaussian_risks(DISTANCE**2 * e, steps, lam, problem.noise, 1)[-1] for e in np.eye(problem.features)]
        out = risks_from(problem, int(np.argmax(risks)), steps, rng)
        assert measure(out).equal_to(exact.raw(DISTANCE, count))
        caught += not measure(out).equal_to(wrong.raw(DISTANCE, count))
    assert caught > 0


@pytest.mark.parametrize("batch", [4, 32])
def test_batches_and_a_last_batch_that_is_not_whole_are_equal_to_the_truth(
    batch: int, rng: np.random.Generator
) -> None:
    """Error budget of a fast case: at most 4 comparisons at 4.9 standard errors of 10,000 runs or more: 4e-6 (Student t)."""
    problem = Squares(features=10, condition=1.0)
    bounds = SquaresBounds(problem=problem, batch=batch)
    isotropic = NoiseModel(A=problem.noise * 10, B=12.0, A_kept=0.0, B_kept=1.0)
    exact = LastIterate(m=1.0, M=1.0, noise=isotropic, schedule=bounds.closed.schedule, batch=batch)
    rest = batch // 2 + 1
    steps = exact.schedule.steps(11)
    risks = squares_risks(problem, steps, rng, steepest=True, at=(10, 11), batch=[batch] * 10 + [rest], runs=10_000)
    held = hold(exact, DISTANCE, {10 * batch: risks[10], 10 * batch + rest: risks[11]})
    assert held.equals()
    assert not held.equals(0.9)
    whole = hold(bounds.exact, DISTANCE, {10 * batch: risks[10]})
    assert whole.equals()
    assert hold(bounds.closed, DISTANCE, {10 * batch: risks[10]}).holds()


@LENGTHS
@pytest.mark.parametrize("problem", PENALISED, ids=lambda problem: problem.name)
def test_with_a_penalty_the_truth_is_never_above(
    problem: Penalised, at: tuple[int, ...], rng: np.random.Generator
) -> None:
    """Ridge logistic and smoothed hinge on Gaussian rows by forms (a) and (c); ridge regression on bounded rows by (b) too.

    The forms are proven on the whole space: see the constants of the populations. A fifth of each is caught; after a
    thousand samples no form is vacuous.
    Error budget of a fast case: at most 48 comparisons at 4.9 standard errors of 300 runs or more: 4e-5 (Student t).
    """
    safe = problem.population.constants(problem.loss).safe
    for noise in problem.noises.values():
        closed = ClosedForm(m=safe("m"), M=safe("M"), noise=noise)
        recursion = LastIterate(m=safe("m"), M=safe("M"), noise=noise, schedule=closed.schedule)
        falling = problem.risks(steps_of(closed, at[-1]), rng, at=at)
        for bound in (closed, recursion):
            held = hold(bound, DISTANCE, falling)
            assert held.holds()
            assert not held.holds(0.2)
        assert recursion(DISTANCE, 1000) < 0.5 * recursion(DISTANCE, 0)
        greedy = Greedy(m=safe("m"), M=safe("M"), noise=noise)
        tuned = problem.risks(steps_of(greedy, at[-1]), rng, at=at)
        assert hold(greedy, DISTANCE, tuned).holds()
        assert not hold(greedy, DISTANCE, tuned).holds(0.2)
        assert hold(GreedyClosedForm(m=safe("m"), M=safe("M"), noise=noise), DISTANCE, tuned).holds()


def test_a_start_nearer_than_the_steps_were_tuned_to_is_on_the_line(rng: np.random.Generator) -> None:
    """Affine in the true distance (theory 1.1f), with equality on isotropic squares.

    Error budget: 2 comparisons at 4.9 standard errors of 8,000 runs or more: 2e-6 (Student t).
    """
    greedy = SquaresBounds(problem=ROUND).greedy
    steps = greedy.schedule.steps(50, DISTANCE)
    risks = squares_risks(ROUND, steps, rng, steepest=True, distance=0.3, at=(5, 50))
    for count, values in risks.items():
        line = greedy.tuned_factors(DISTANCE, count)
        assert measure(values).equal_to(line.alpha * 0.3**2 + line.beta)
        assert not measure(values).equal_to(greedy(DISTANCE, count)) or count == 50


@LENGTHS
def test_an_active_projection_keeps_the_bound(at: tuple[int, ...], rng: np.random.Generator) -> None:
    """Error budget: 8 comparisons at 4.9 standard errors of 8,000 runs or more: 4e-6 (Student t)."""
    bounds = SquaresBounds(problem=ROUND)
    for bound in (bounds.recursion, bounds.greedy):
        inside = ball(DISTANCE, center=np.array([0.9 * DISTANCE, 0.0]))  # the minimiser is near its boundary
        risks = squares_risks(ROUND, steps_of(bound, at[-1]), rng, steepest=True, at=at, project=inside)
        held = hold(bound, DISTANCE, risks)
        assert held.holds()
        assert not held.holds(0.3)


@pytest.mark.parametrize("largest", [10, pytest.param(12, marks=pytest.mark.slow)])
def test_the_truth_falls_with_the_declared_rate(largest: int, rng: np.random.Generator) -> None:
    """Slopes of log risk over log K, fitted to simulations: -1 for falling and greedy steps, -2mc for steps c/(k+s), 2mc < 1.

    Error budget: a risk of two coefficients has a relative deviation of about 1, so a slope through four means of 4,000
    runs has a standard error of 0.011, and 0.15 is thirteen of them.
    """
    counts = 2 ** np.arange(6, largest)
    slow = replace(SquaresBounds(problem=ROUND).recursion, schedule=InverseTime(scale=0.25, shift=2.0))
    bounds = (SquaresBounds(problem=ROUND).recursion, SquaresBounds(problem=ROUND).greedy, slow)
    for bound in bounds:
        risks = squares_risks(
            ROUND, steps_of(bound, int(counts[-1])), rng, steepest=True, at=counts.tolist(), runs=4_000
        )
        means = [risks[count].mean() for count in counts.tolist()]
        slope = stats.linregress(np.log(counts), np.log(means)).slope
        assert slope == pytest.approx(bound.rate, abs=0.15)
    assert [bound.rate for bound in bounds] == [-1.0, -1.0, -0.5]


def test_a_wrong_constant_is_caught(rng: np.random.Generator) -> None:
    """B without the kurtosis of Gaussian features, d in place of d + 2, and A of half the noise.

    Error budget: 3 comparisons at 4.9 standard errors of 20,000 runs or more: 3e-6 (Student t).
    """
    right = SquaresBounds(problem=ROUND).exact
    assert isinstance(right, GaussianLeastSquares)
    risks = squares_risks(ROUND, right.schedule.steps(10), rng, steepest=True, at=(1, 10), runs=20_000)
    for A, B in ((1.0, 2.0), (0.5, 4.0)):
        wrong = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=A, B=B), schedule=right.schedule)
        assert not hold(wrong, DISTANCE, risks).holds()
    truth = LastIterate(m=1.0, M=1.0, noise=NoiseModel(A=1.0, B=4.0), schedule=right.schedule)
    assert hold(truth, DISTANCE, risks).equals()
