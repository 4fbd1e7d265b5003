"""Regression along a path: the cost of a step, the noise, and the risks against the world's own rows."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest, t

from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, SquaredLoss
from driftpace.synthetic import NoiseKind, Shape, ShapedRegression
from tests.reference.row_checks import allowed, centred_products, standard_errors_off

LOSS = SquaredLoss()
KINDS: tuple[NoiseKind, ...] = ("gaussian", "student", "heteroscedastic")


def made(**changed: Any) -> ShapedRegression:
    plain: dict[str, Any] = {"features": 3, "cost": 0.3, "shape": "walk", "rng": 0, "condition": 20.0}
    return ShapedRegression(**(plain | changed))


def stale_costs(world: ShapedRegression, periods: int) -> list[float]:
    return [world.period(n + 1).excess_risk(LOSS, world.period(n).minimiser(LOSS)) for n in range(1, periods)]


@pytest.mark.parametrize("shape", ["line", "walk", "seasonal"])
@pytest.mark.parametrize("condition", [1.0, 100.0])
@pytest.mark.parametrize("features", [2, 50])
@pytest.mark.parametrize("intercept", [False, True])
def test_each_step_costs_a_stale_model_what_was_asked(
    shape: Shape, condition: float, features: int, intercept: bool, seed: int
) -> None:
    for cost in (0.0, 0.05, 5.0):
        world = made(shape=shape, condition=condition, features=features, cost=cost, rng=seed, intercept=intercept)
        np.testing.assert_allclose(stale_costs(world, 26), cost, rtol=1e-8, atol=1e-25)


def test_a_season_of_one_feature_costs_it_in_the_mean(seed: int) -> None:
    world = made(shape="seasonal", features=1, condition=1.0, rng=seed)
    assert np.mean(stale_costs(world, 13)) == pytest.approx(0.3, rel=1e-12)
    with_intercept = made(shape="seasonal", features=1, condition=1.0, rng=seed, intercept=True)
    np.testing.assert_allclose(stale_costs(with_intercept, 13), 0.3, rtol=1e-10)


def test_a_jump_costs_once_and_still_never(seed: int) -> None:
    costs = stale_costs(made(shape="jump", rng=seed, jump_at=9), 30)
    assert costs[7] == pytest.approx(0.3, rel=1e-12)
    assert np.count_nonzero(costs) == 1
    assert not any(stale_costs(made(shape="still", rng=seed), 30))


@pytest.mark.parametrize("intercept", [False, True])
def test_period_one_has_the_signal_or_the_start(intercept: bool, seed: int) -> None:
    first = made(signal=2.5, rng=seed, intercept=intercept).period(1)
    covariance = first.hessian(LOSS)
    best = first.minimiser(LOSS)
    assert best @ covariance @ best == pytest.approx(2.5, rel=1e-12)
    start = np.arange(1.0, 4.0 + intercept)
    np.testing.assert_allclose(made(start=start, intercept=intercept).period(1).minimiser(LOSS), start, rtol=1e-12)


def test_the_covariance_has_the_condition_number_and_no_favourite_axis(seed: int) -> None:
    world = made(features=5, condition=100.0, rng=seed)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(world.period(1).hessian(LOSS)), np.geomspace(1.0, 100.0, 5), rtol=1e-12
    )
    assert np.abs(world.period(1).hessian(LOSS) - np.diag(np.diag(world.period(1).hessian(LOSS)))).max() > 1.0
    np.testing.assert_array_equal(world.period(1).hessian(LOSS), world.period(9).hessian(LOSS))


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("intercept", [False, True])
def test_stated_moments_hold_for_rows(kind: NoiseKind, intercept: bool, rng: np.random.Generator, seed: int) -> None:
    """200 000 rows; every comparison alarms falsely once in a million, and sees an error of a fifth."""
    period = made(noise=0.7, noise_kind=kind, intercept=intercept, rng=seed).period(5)
    X, y = period.draw(200_000, rng=rng)
    wide = np.hstack([X, np.ones((len(y), 1))]) if intercept else X
    best = period.minimiser(LOSS)
    model = best + 0.4 * np.linalg.solve(np.linalg.cholesky(period.hessian(LOSS)).T, np.ones(best.size))
    excess = LOSS.row_values(model, wide, y) - LOSS.row_values(best, wide, y)
    assert period.excess_risk(LOSS, model) == pytest.approx(0.5 * 0.16 * best.size, rel=1e-10)
    assert standard_errors_off(excess, period.excess_risk(LOSS, model)) < allowed(1)
    assert standard_errors_off(excess, 1.2 * period.excess_risk(LOSS, model)) > allowed(1)
    gradients = LOSS.row_gradients(best, wide, y)
    assert standard_errors_off(gradients, 0.0) < allowed(best.size)
    assert standard_errors_off(LOSS.row_gradients(model, wide, y), 0.0) > allowed(best.size)
    assert standard_errors_off(centred_products(X), period.hessian(LOSS)[:3, :3]) < allowed(6)
    if kind != "student":  # the fourth moment of t3 is infinite, so squares have no standard error
        entries = best.size * (best.size + 1) // 2
        assert standard_errors_off(centred_products(gradients), period.gradient_covariance(LOSS)) < allowed(entries)
        assert standard_errors_off(centred_products(gradients), 1.2 * period.gradient_covariance(LOSS)) > allowed(
            entries
        )
        assert standard_errors_off(LOSS.row_values(model, wide, y), period.risk(LOSS, model)) < allowed(1)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_its_kind_and_its_variance(kind: NoiseKind, rng: np.random.Generator, seed: int) -> None:
    world = made(noise=0.7, noise_kind=kind, rng=seed)
    period = world.period(2)
    X, y = period.draw(100_000, rng=rng)
    xi = y - X @ period.coef
    shape = t(3, scale=math.sqrt(0.7 / 3.0))
    if kind == "student":
        assert shape.var() == pytest.approx(0.7)
        assert kstest(xi, shape.cdf).pvalue > 1e-6
        assert kstest(1.05 * xi, shape.cdf).pvalue < 1e-6
        return
    assert standard_errors_off(xi**2, 0.7) < allowed(1)
    lean = X @ np.linalg.solve(period.rows.root, period.leaning)  # x'u with variance one
    assert standard_errors_off(lean**2, 1.0) < allowed(1)
    stated = 0.35 + 0.35 * lean**2 if kind == "heteroscedastic" else np.full(len(y), 0.7)
    assert standard_errors_off((xi**2 - stated) * lean**2, 0.0) < allowed(1)
    assert kstest(xi / np.sqrt(stated), "norm").pvalue > 1e-6
    if kind == "heteroscedastic":
        assert standard_errors_off((xi**2 - 0.7) * lean**2, 0.0) > allowed(1)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_penalty_shrinks_the_minimiser_and_its_gradient_is_zero(intercept: bool) -> None:
    period, loss = made(intercept=intercept).period(4), SquaredLoss(l2=0.3)
    best, truth = period.minimiser(loss), period.minimiser(LOSS)
    plain, weights = period.hessian(LOSS), np.append([0.3] * 3, [0.0] * intercept)
    np.testing.assert_allclose(plain @ (best - truth) + weights * best, 0.0, atol=1e-13)
    np.testing.assert_allclose(period.hessian(loss), plain + np.diag(weights))
    assert np.linalg.norm(best[:3]) < np.linalg.norm(truth[:3])
    move = np.linspace(1.0, 2.0, best.size)
    assert period.excess_risk(loss, best + move) == pytest.approx(0.5 * move @ period.hessian(loss) @ move)
    by_parts = 0.5 * ((best + move - truth) @ plain @ (best + move - truth) + 1.0 + weights @ (best + move) ** 2)
    assert period.risk(loss, best + move) == pytest.approx(by_parts)


def test_models_come_alone_in_stacks_and_with_their_intercepts() -> None:
    period = made(intercept=True).period(3)
    models = np.random.default_rng(4).standard_normal((7, 4))
    whole = period.excess_risk(LOSS, models)
    np.testing.assert_allclose(whole, [period.excess_risk(LOSS, model) for model in models], rtol=1e-13)
    np.testing.assert_allclose(whole, period.excess_risk(LOSS, models[:, :3], intercept=models[:, 3]), rtol=1e-13)
    plain = made().period(3)
    assert plain.excess_risk(LOSS, np.append(plain.coef, 0.4)) == pytest.approx(0.08)
    assert period.excess_risk(LOSS, period.minimiser(LOSS)) == 0.0
    assert isinstance(period.excess_risk(LOSS, models[0]), float)


def test_worlds_are_functions_of_their_number_and_survive_a_pickle() -> None:
    late, early = made(), made()
    far = late.period(80)
    for n in (2, 80, 1):
        np.testing.assert_array_equal(early.period(n).coef, late.period(n).coef)
    copy = pickle.loads(pickle.dumps(late))
    for world in (copy, early):
        X, y = world.period(80).draw(5, rng=3)
        np.testing.assert_array_equal(X, far.draw(5, rng=3)[0])
        np.testing.assert_array_equal(y, far.draw(5, rng=np.random.default_rng(3))[1])
    assert not np.allclose(made(rng=1).period(1).coef, far.coef)
    assert far.draw(0, rng=0)[0].shape == (0, 3)
    X, y = far.draw_batch(2, 4, rng=0)
    assert (X.shape, y.shape) == ((2, 4, 3), (2, 4))


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (
            {"shape": "spiral"},
            r"shape=\.\.\.\) must be one of 'line', 'walk', 'seasonal', 'jump', 'still'; got 'spiral'",
        ),
        ({"noise_kind": "cauchy"}, r"noise_kind=\.\.\.\) must be one of 'gaussian', 'student', 'heteroscedastic'; got"),
        ({"cost": -1.0}, r"cost=\.\.\.\) must be zero or more"),
        ({"noise": -1.0}, r"noise=\.\.\.\) must be zero or more"),
        ({"signal": math.inf}, r"signal=\.\.\.\) must be zero or more"),
        ({"features": 0}, r"features=\.\.\.\) must be a whole number of at least 1"),
        ({"condition": 0.5}, r"condition=\.\.\.\) must be at least 1; got 0.5"),
        ({"features": 1}, r"condition=\.\.\.\) must be 1 where there is one feature; got 20.0"),
        ({"turn": 2}, r"turn=\.\.\.\) must be a whole number of at least 3; got 2"),
        ({"jump_at": 1}, r"jump_at=\.\.\.\) must be a whole number of at least 2; got 1"),
        ({"start": np.zeros(4)}, r"start=\.\.\.\) must be a finite vector of length 3"),
        ({"intercept": 1}, r"intercept=\.\.\.\) must be True or False"),
        ({"rng": -1}, r"rng=\.\.\.\) must be a whole number of at least 0"),
    ],
)
def test_strange_worlds_are_refused(bad: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=rf"^ShapedRegression\({sentence}"):
        made(**bad)


def test_strange_questions_are_refused() -> None:
    world = made()
    with pytest.raises(
        ParameterError, match=r"^ShapedRegression\.period\(n=\.\.\.\) must be a whole number of at least 1"
    ):
        world.period(0)
    with pytest.raises(ParameterError, match=r"^ShapedRegression\(loss=\.\.\.\) must be one of SquaredLoss; got Huber"):
        world.period(1).minimiser(HuberLoss(l2=0.1))
    with pytest.raises(ParameterError, match=r"coef=\.\.\.\) must end in 3 coefficients, or 4 with an intercept last"):
        world.period(1).excess_risk(LOSS, np.zeros(5))
