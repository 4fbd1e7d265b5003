"""A look against what it stands for: Bayes with dense matrices, leave-one-out by brute force, the truth by Monte Carlo."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from driftpace.adaptive.coordinates import coordinates
from driftpace.adaptive.fit import _without_leverage, fit_period, metric
from driftpace.adaptive.memory import Memory, no_memory
from driftpace.adaptive.noise import NoiseMemory, NoiseSums
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge
from driftpace.typing import FloatArray
from tests.reference.looks import foresee, look_once, make_rows, remembered
from tests.reference.monte_carlo import measure

LEVEL, SLOPES = slice(0, 1), slice(1, 4)


@pytest.mark.parametrize("rows", [2, 5, 40])
def test_with_one_model_it_is_the_bayes_posterior(rows: int, rng: np.random.Generator) -> None:
    """Two blocks with variances of their own, badly scaled columns: the mean of the dense Gaussian posterior."""
    noise, spreads = 0.6, (0.3, 1.7)
    X = rng.standard_normal((rows, 3)) * [1e3, 1.0, 1e-2] + [2e3, 0.0, 0.01]
    now = make_rows(X, rng.standard_normal(rows) + 2.0, intercept=True)
    past = rng.standard_normal((200, 3)) * [1e3, 1.0, 1e-2] + [2e3, 0.0, 0.01]
    old = np.column_stack([np.ones(200), past])
    memory = no_memory(4)
    memory = memory.with_rows(200, old.T @ old, old.T @ old, NoiseSums())
    white = metric(now, memory, np.zeros(4))
    center = rng.standard_normal(4)
    views = (foresee(center[LEVEL], spreads[0]), foresee(center[SLOPES], spreads[1]))
    look = fit_period(now, memory, white, views, (LEVEL, SLOPES), noise, floor=1e-12, margin=0.0)

    U = now.X @ np.linalg.inv(white.factor).T
    precision = np.diag(1.0 / np.array([spreads[0], *[spreads[1]] * 3]))
    covariance = np.linalg.inv(U.T @ U / noise + precision)
    mean = covariance @ (U.T @ now.y / noise + precision @ center)
    np.testing.assert_allclose(look.center, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(now.X @ look.model, U @ mean, rtol=1e-7, atol=1e-9)
    for part, posterior in zip((LEVEL, SLOPES), look.posteriors, strict=True):
        np.testing.assert_allclose(posterior.mean[0], mean[part], rtol=1e-6, atol=1e-9)
        left = np.trace(covariance[part, part]) / (part.stop - part.start)
        assert posterior.variance[0] == pytest.approx(left, rel=1e-6)
        assert posterior.shares.tolist() == [1.0]


@pytest.mark.parametrize("loss", [LogisticLoss(l2=0.1), SmoothedHinge(l2=0.1), LogisticLoss()], ids=repr)
def test_other_losses_are_fitted_together_with_the_prediction(loss: LinearLoss, rng: np.random.Generator) -> None:
    """The minimiser of sum of losses + noise/variance/2 |u - mean|^2, by SciPy's optimiser."""
    X = rng.standard_normal((60, 3))
    y = np.where(rng.random(60) < 1.0 / (1.0 + np.exp(-X[:, 0])), 1.0, -1.0)
    rows = make_rows(X, y, loss=loss)
    look = look_once(rows, 0.5, noise=0.7)
    white = look.coordinates

    def objective(u: FloatArray) -> float:
        return rows.value(white.plain(u)) + 0.5 * 0.7 / 0.5 * float(u @ u)

    best = minimize(objective, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(look.center, best, atol=2e-3)


def slow(*cases: tuple[float, ...]) -> list[Any]:
    """Cases that run in the slow suite only."""
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


def test_uneven_rows_cost_what_leaving_each_out_says(rng: np.random.Generator) -> None:
    """One coefficient: the mean over rows of noise x_i^2 / (sum of the other x^2 + noise/variance)."""
    x = rng.standard_normal(7) * [0.2, 1, 1, 2, 3, 0.5, 1]
    rows = make_rows(x[:, None], rng.standard_normal(7))
    noise, variance = 0.8, 0.6
    look = look_once(rows, variance, noise=noise)
    unit = float(np.square(x).mean())  # coordinates in which the mean square is one
    z = np.square(x) / unit
    brute = np.mean([z[i] / (np.delete(z, i).sum() + noise / variance) for i in range(7)])
    assert look.variances[0] == pytest.approx(look.noise_upper * brute, rel=1e-6)


def test_even_rows_cost_what_leaving_each_out_says() -> None:
    """Three orthogonal columns, residuals of one size: all rows alike, leave-one-out by fitting eight times."""
    first, two = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0, 1.0], [1.0, -1.0]])
    hadamard = np.kron(np.kron(first, two), first)
    X, y = hadamard[:, 1:4], 0.9 * hadamard[:, 6]
    noise, variance = 0.8, 0.6
    look = look_once(make_rows(X, y), variance, noise=noise)
    np.testing.assert_allclose(look.center, 0.0, atol=1e-12)
    brute = 0.0
    for i in range(8):
        rest = np.delete(X, i, axis=0)
        brute += X[i] @ np.linalg.inv(rest.T @ rest + noise / variance * np.eye(3)) @ X[i] / 8
    assert np.trace(look.covariance) == pytest.approx(look.noise_upper * brute, rel=1e-6)


def noises(rows: int, d: int, runs: int, uneven: bool, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The noise and the best loss as many looks from nothing estimate them; the truth has variance 1."""
    noise, losses = np.empty(runs), np.empty(runs)
    for run in range(runs):
        X = rng.standard_normal((rows, d))
        spread = np.sqrt(0.5 + 0.5 * X[:, 0] ** 2) if uneven else 1.0
        look = look_once(make_rows(X, X.sum(axis=1) + spread * rng.standard_normal(rows)), 1e8)
        known = NoiseMemory.of(look.sums).estimate()
        noise[run], losses[run] = known.mean, known.best_loss
    return noise, losses


@pytest.mark.statistical
@pytest.mark.parametrize(("rows", "d"), [(20, 5), *slow((60, 5), (12, 2))])
def test_the_noise_is_estimated_without_bias(rows: int, d: int, rng: np.random.Generator) -> None:
    """Leverages out: on average the noise is 1 and the best loss 1/2, though five coefficients were fitted to 20 rows.

    Error budget of a fast case: at most 2 comparisons at 4.9 standard errors of 700 runs or more: 3e-6 (Student t).
    """
    noise, losses = noises(rows, d, 700, False, rng)
    assert measure(noise).equal_to(1.0)
    assert measure(losses).equal_to(0.5)
    shrunk = noise * (rows - d) / rows  # the control: residuals as they come
    assert not measure(shrunk).equal_to(1.0)


@pytest.mark.statistical
def test_noise_that_depends_on_the_row_is_counted_where_it_matters(rng: np.random.Generator) -> None:
    """tr(H^-1 Cov g)/d = 1 + 1/d when the variance is 1/2 + x_1^2/2; found within 2 % with 40 rows a coefficient.

    Error budget: two two-sided comparisons at 4.9 standard errors of 400 runs, 3e-6 (Student t).
    """
    d = 5
    noise, losses = noises(200, d, 400, True, rng)
    measured = measure(noise)
    assert abs(measured.mean - (1.0 + 1.0 / d)) <= 0.02 * (1.0 + 1.0 / d) + 4.9 * measured.error
    assert abs(measure(losses).mean - 0.5) <= 0.01 + 4.9 * measure(losses).error
    assert not measured.equal_to(1.0)  # a single residual variance would say 1


def stated_and_true(
    rows: int, d: int, variance: float, runs: int, known: bool, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The stated risk, the true one, and the one that would be stated without leaving rows out."""
    stated, true, naive = np.empty(runs), np.empty(runs), np.empty(runs)
    for run in range(runs):
        best = np.sqrt(variance) * rng.standard_normal(d)
        X = rng.standard_normal((rows, d))
        memory = remembered(d, 1.0, rng) if known else None
        now = make_rows(X, X @ best + rng.standard_normal(rows))
        look = look_once(now, variance, memory=memory)
        stated[run] = 0.5 * d * look.variances[0]
        true[run] = 0.5 * np.square(look.model - best).sum()
        hessian = look.coordinates.white_matrix(X.T @ X)
        naive[run] = 0.5 * look.noise * np.trace(np.linalg.inv(hessian + np.eye(d) / variance))
    return stated, true, naive


@pytest.mark.statistical
@pytest.mark.parametrize(("rows", "d"), [(13, 10), (20, 2), *slow((20, 10), (40, 10), (100, 10), (8, 2))])
def test_the_stated_risk_is_the_risk_without_a_past(rows: int, d: int, rng: np.random.Generator) -> None:
    """Random designs, coefficients hardly known before, down to 1.3 rows for each: within 15 %.

    Error budget of a case: one two-sided comparison at 4.9 standard errors of 400 runs, 2e-6 (Student t).
    """
    stated, true, naive = stated_and_true(rows, d, 2.0, 400, False, rng)
    truth = measure(true)
    allowed = 0.15 * truth.mean + 4.9 * measure(stated - true).error
    assert abs(stated.mean() - truth.mean) <= allowed
    if rows < 2 * d:  # the control: rows that were fitted are not new
        assert naive.mean() < 0.5 * truth.mean


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("rows", "d", "variance"),
    [
        (5, 10, 0.2),
        (100, 10, 0.2),
        *slow((5, 10, 2.0), (13, 10, 0.2), (20, 10, 0.2), (40, 10, 0.2), (1, 2, 0.2), (20, 2, 0.2)),
    ],
)
def test_the_stated_risk_is_at_least_the_risk_after_a_past(
    rows: int, d: int, variance: float, rng: np.random.Generator
) -> None:
    """Fewer rows than coefficients included. With few rows for each it may be larger; ten of them make it right.

    Error budget of a case: at most two comparisons at 4.9 standard errors of 300 runs, 2e-6 (Student t).
    """
    stated, true, _ = stated_and_true(rows, d, variance, 300, True, rng)
    error = 4.9 * measure(stated - true).error
    assert stated.mean() >= 0.85 * true.mean() - error
    if rows >= 10 * d:
        assert stated.mean() <= 1.2 * true.mean() + error


def test_surprise_has_the_length_of_chi_squared(rng: np.random.Generator) -> None:
    """A right prediction is as surprising as its degrees of freedom, a wrong one far more.

    Error budget: one two-sided comparison at 4.9 standard errors of 400 runs, 2e-6 (Student t).
    """
    d, rows, runs, variance = 4, 12, 400, 0.3
    surprises = np.empty(runs)
    for run in range(runs):
        best = np.sqrt(variance) * rng.standard_normal(d)
        X = rng.standard_normal((rows, d))
        now = make_rows(X, X @ best + rng.standard_normal(rows))
        view, white = foresee(np.zeros(d), variance), metric(now, remembered(d, 1.0, rng), np.zeros(d))
        look = fit_period(now, no_memory(d), white, (view,), (slice(0, d),), 1.0, floor=1e-12, margin=0.0)
        assert look.freedom == d
        surprises[run] = look.surprise
    assert abs(measure(surprises).mean - d) <= 0.1 * d + 4.9 * measure(surprises).error
    far = make_rows(X, X @ (best + 5.0))
    assert look_once(far, variance).surprise > 10.0 * d


def test_the_largest_row_is_named_by_its_share() -> None:
    X = np.ones((10, 1))
    y = np.zeros(10)
    y[3] = 100.0
    assert look_once(make_rows(X, y), 1e6, noise=1000.0).largest > 0.5


def test_rows_without_noise_and_zero_rows_are_fitted() -> None:
    X = np.eye(3)
    exact = look_once(make_rows(X, X.sum(axis=1)), 1.0, noise=1e-9)
    np.testing.assert_allclose(exact.model, 1.0, atol=1e-6)
    nothing = look_once(make_rows(np.zeros((5, 2)), np.zeros(5)), 1.0)
    assert np.isfinite(nothing.variances).all()
    assert np.isfinite(nothing.model).all()


@pytest.mark.parametrize(("before", "now"), [(0.07, 0.45), (0.45, 0.1)])
def test_the_risk_of_classes_follows_their_share(
    before: float, now: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shares of positives that change move curvature and noise: the stated risk is 0.9 to 1.4 of the true one.

    The mean of 300 fits has a relative standard error of 3 %, and the shrinkage to the usual curvature makes it 1.1 to 1.25. With
    the curvature and the noise of before it would be a half, or two and a half.
    """
    rng, loss, size = np.random.default_rng(seed), LogisticLoss(), 5

    def draw(count: int, share: float) -> tuple[FloatArray, FloatArray]:
        X = np.column_stack([np.ones(count), rng.standard_normal((count, size - 1))])
        return X, np.where(rng.random(count) < expit(X @ model(share)), 1.0, -1.0)

    def model(share: float) -> FloatArray:
        return np.array([logit(share), 0.4, -0.4, 0.3, 0.0])

    def memory_of() -> Memory:
        X, y = draw(40 * size, before)
        curve, scores = loss.curve, X @ model(before)
        slopes, bends = curve.slope(scores, y), curve.bend(scores, y)
        hessian = (X * bends[:, None]).T @ X
        white = coordinates(hessian / len(y))
        each = np.square(white.white_rows(X)).sum(axis=1) * slopes**2 / size
        sums = NoiseSums(rows=float(len(y)), total=float(each.sum()), squares=float(each @ each))
        return no_memory(size).with_rows(len(y), hessian, (X * slopes[:, None] ** 2).T @ X, sums)

    def ratio() -> float:
        X, _ = draw(20_000, now)
        bends = loss.curve.bend(X @ model(now), np.ones(len(X)))
        hessian = (X * bends[:, None]).T @ X / len(X)
        stated = true = 0.0
        for _ in range(300):
            memory, (X, y) = memory_of(), draw(60, now)
            rows = make_rows(X, y, loss=loss)
            white = metric(rows, memory, model(now))
            view = foresee(white.white(model(now)) + math.sqrt(0.1) * rng.standard_normal(size), 0.1)
            fit = fit_period(rows, memory, white, (view,), (slice(0, size),), 1.0, floor=1e-12, margin=0.0)
            off = fit.model - model(now)
            stated, true = stated + 0.5 * size * float(fit.variances[0]), true + 0.5 * float(off @ hessian @ off)
        return stated / true

    assert 0.9 < ratio() < 1.4
    monkeypatch.setattr("driftpace.adaptive.fit._relative_curvature", lambda *_: 1.0)
    assert not 0.9 < ratio() < 1.4


@pytest.mark.parametrize("where", ["root", "inverse"])
def test_groups_whose_numbers_overflowed_are_reported_as_unknown(where: str) -> None:
    """No error of linear algebra: the judgement is not finite, and the rows are refused in a sentence."""
    root, inverse = np.ones((4, 2)), np.eye(2)
    (root if where == "root" else inverse)[0, 0] = np.inf
    with np.errstate(invalid="ignore"):  # as in every judgement
        slopes, dominant = _without_leverage(np.ones(4), root, inverse, np.array([0, 0, 1, 1]))
    assert np.isnan(slopes).all()
    assert dominant.all()
