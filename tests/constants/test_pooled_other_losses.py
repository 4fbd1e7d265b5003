"""Losses without closed forms: curvature near the minimiser, growth of gradients, fits of single periods."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog, minimize

from driftpace.constants import PooledEstimator
from driftpace.constants.growth import lowest_line
from driftpace.constants.scores import fit_separately
from driftpace.losses import HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import GaussianRegression, TwoClasses

CLASSES = TwoClasses(mean=np.array([1.0, 0.0, 0.0]), covariance=0.5)
REGRESSION = GaussianRegression(coef=np.ones(3), covariance=1.0, noise=0.5)
CASES: dict[str, tuple[Any, Any]] = {
    "smoothed hinge": (CLASSES, SmoothedHinge(l2=0.1)),
    "logistic": (CLASSES, LogisticLoss(l2=0.05)),
    "Huber": (REGRESSION, HuberLoss()),
}


def _follow(world: Any, loss: Any, rng: np.random.Generator, periods: int = 6, samples: int = 60) -> Any:
    """Pool periods met by models about as good as a fit on one of them; the first by zero."""
    estimator, best = PooledEstimator(), world.minimiser(loss)
    state, coef = estimator.init(world.features), np.zeros(world.features)
    for _ in range(periods):
        state = estimator.update(state, loss, coef, *world.draw(samples, rng=rng))
        coef = best + math.sqrt(0.5 / samples) * rng.standard_normal(world.features)
    return estimator.constants(state, loss)


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_safe_ends_cover_at_the_minimiser(name: str, rng: np.random.Generator) -> None:
    """m, sigma_star, trace, spread at the minimiser and M anywhere, in 0.8 of runs; controls and tightness as elsewhere."""
    world, loss = CASES[name]
    runs, hessian, gradients = 30, world.hessian(loss), world.gradient_covariance(loss)
    eigenvalues = np.linalg.eigvalsh(hessian)
    truth = {
        "m": eigenvalues[0],
        "M": world.constants(loss).safe("M"),  # for any coefficients, not only at the minimiser
        "trace": np.trace(hessian),
        "sigma_star": math.sqrt(np.trace(gradients)),
        "spread": np.trace(np.linalg.solve(hessian, gradients)),
    }
    results = [_follow(world, loss, rng) for _ in range(runs)]
    allowed = stats.binom.ppf(1 - 1e-6, runs, 0.2)
    for constant, number in truth.items():
        safe = np.array([result.safe(constant) / number for result in results])
        safe = 1.0 / safe if constant == "m" else safe
        assert (safe < 1.0 - 1e-9).sum() <= allowed, constant
        assert (0.5 * safe < 1.0).sum() > allowed, constant
        assert np.median(safe) < 2.0, constant


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_gradients_grow_no_faster_than_the_lines_say(name: str, rng: np.random.Generator) -> None:
    """E||g(w)||^2 <= A + B||w - w*||^2, and the variance, around the minimiser: in at least 0.8 of runs everywhere."""
    world, loss = CASES[name]
    runs, best = 30, world.minimiser(loss)
    X, y = world.draw(40_000, rng=rng)
    places = []
    for direction in (*rng.standard_normal((5, 3)), *np.eye(3), *-np.eye(3)):
        for radius in (0.0, 0.1, 0.3, 1.0, 2.0):
            g = loss.row_gradients(best + radius * direction / np.linalg.norm(direction), X, y)
            places.append((radius**2, (g**2).sum(axis=1).mean(), g.var(axis=0).sum()))
    squared, whole, centred = np.array(places).T
    worst = []
    for _ in range(runs):
        estimated = _follow(world, loss, rng)
        lines = (
            estimated.safe("A") + estimated.safe("B") * squared,
            estimated.safe("sigma") ** 2 + estimated.safe("V") * squared,
        )
        worst.append(max((whole / lines[0]).max(), (centred / lines[1]).max()))
    allowed = stats.binom.ppf(1 - 1e-6, runs, 0.2)
    assert (np.array(worst) > 1.01).sum() <= allowed  # a hundredth for the noise of the truth itself
    assert (np.array(worst) > 0.5).sum() > allowed  # the control: half the lines would not do


@pytest.mark.parametrize(
    "loss", [LogisticLoss(l2=0.01), SmoothedHinge(l2=0.01), HuberLoss()], ids=lambda one: type(one).__name__
)
def test_a_period_is_fitted_to_its_own_minimiser(loss: Any, rng: np.random.Generator) -> None:
    world = REGRESSION if isinstance(loss, HuberLoss) else CLASSES
    X, y = world.draw(200, rng=rng)
    fit = fit_separately(loss, np.zeros(3), X, y)
    assert fit is not None

    def value(w: Any) -> float:
        return float(loss.value(w, X, y))

    def slope(w: Any) -> Any:
        return loss.gradient(w, X, y)

    best = minimize(value, np.zeros(3), jac=slope, tol=1e-12)
    assert value(fit.minimiser) <= best.fun * (1.0 + 1e-5)
    assert 0.0 <= fit.shares.min() <= fit.shares.max() < 1.0
    assert fit.shares.sum() <= 3.0 + 1e-9


def test_separable_classes_have_no_fit_and_are_tolerated(rng: np.random.Generator) -> None:
    X = rng.standard_normal((40, 2))
    y = np.sign(X[:, 0])
    assert fit_separately(LogisticLoss(), np.zeros(2), X, y) is None
    estimator = PooledEstimator()
    estimated = estimator.constants(
        estimator.update(estimator.init(2), LogisticLoss(), np.zeros(2), X, y), LogisticLoss()
    )
    assert estimated.spread is None
    assert estimated.m is not None


@pytest.mark.parametrize("rows", [0, 1, 4, 5])
def test_too_few_rows_have_no_fit(rows: int, rng: np.random.Generator) -> None:
    X = rng.standard_normal((rows, 3))
    assert fit_separately(SquaredLoss(), np.zeros(3), X, X.sum(axis=1)) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30).map(lambda n: 0.3 * n), st.floats(0.0, 9.0)), min_size=1, max_size=8),
    st.floats(0.01, 5.0),
)
def test_the_lowest_line_is_the_solution_of_the_linear_programme(points: list[tuple[float, float]], at: float) -> None:
    places, heights = np.array(points).T
    a, b = lowest_line(places, heights, at)
    assert a >= 0.0
    assert b >= 0.0
    assert (a + b * places >= heights - 1e-9).all()
    solved = linprog([1.0, at], A_ub=-np.column_stack([np.ones(len(places)), places]), b_ub=-heights, method="highs")
    assert solved.fun is not None
    assert a + b * at <= solved.fun + 1e-6


class _Plain:
    """The squared loss without saying that it sees rows through their scores: what a user's own loss may look like."""

    def __init__(self) -> None:
        self.inner = SquaredLoss()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def test_a_loss_with_fewer_methods_is_judged_by_those_it_has(rng: np.random.Generator) -> None:
    estimator: Any = PooledEstimator()
    world, plain, known = REGRESSION, _Plain(), SquaredLoss()
    state, full, late = (estimator.init(3) for _ in range(3))
    for index in range(4):
        X, y = world.draw(80, rng=rng)
        state, full = estimator.update(state, plain, np.ones(3), X, y), estimator.update(full, known, np.ones(3), X, y)
        late = estimator.update(late, known, np.ones(3), X, y) if index else late
    estimated, best = estimator.constants(state, plain), estimator.constants(full, known)
    choices = (best, estimator.constants(late, known))  # the first period is dropped where the model before counts
    assert estimated.m.value == pytest.approx(min((each.m for each in choices), key=lambda m: m.lower).value, rel=1e-9)
    assert estimated.M.value == pytest.approx(max((each.M for each in choices), key=lambda M: M.upper).value, rel=1e-9)
    assert estimated.spread.value == pytest.approx(best.spread.value, rel=0.1)
    for name in ("A", "B", "sigma", "V", "sigma_star", "L", "G", "trace", "diameter"):
        assert getattr(estimated, name) is not None, name
    assert estimated.noise is None
    assert estimated.R2 is None
