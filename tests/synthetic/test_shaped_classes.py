"""Classification along a path: the cost of a step, the minimiser, and the risks against the world's own rows."""

import math
import pickle
from typing import Any

import numpy as np
import pytest

from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import Shape, ShapedClasses
from tests.reference.row_checks import allowed, centred_products, row_hessians, standard_errors_off

LOSSES: list[LinearLoss] = [LogisticLoss(), LogisticLoss(l2=0.1), SmoothedHinge(), SmoothedHinge(l2=0.1)]


def made(**changed: Any) -> ShapedClasses:
    plain: dict[str, Any] = {"features": 3, "cost": 0.1, "shape": "walk", "rng": 0, "condition": 20.0}
    return ShapedClasses(**(plain | changed))


def stale_costs(world: ShapedClasses, periods: int) -> list[float]:
    loss = world.loss
    return [world.period(n + 1).excess_risk(loss, world.period(n).minimiser(loss)) for n in range(1, periods)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("shape", ["line", "walk", "seasonal"])
@pytest.mark.parametrize(("features", "condition"), [(2, 1.0), (4, 100.0)])
def test_a_step_costs_a_stale_model_what_was_asked(
    loss: LinearLoss, shape: Shape, features: int, condition: float, seed: int
) -> None:
    """In the mean over whole rounds or 40 periods; at every step where each direction is like every other."""
    periods = 25 if shape == "seasonal" else 40
    world = made(loss=loss, shape=shape, features=features, condition=condition, rng=seed)
    costs = stale_costs(world, periods)
    assert np.mean(costs) == pytest.approx(0.1, rel=1e-3)
    if shape != "seasonal" and (loss.l2 == 0.0 or condition == 1.0):
        np.testing.assert_allclose(costs, 0.1, rtol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_mean_holds_beyond_the_periods_it_was_set_on(loss: LinearLoss, seed: int) -> None:
    world = made(loss=loss, condition=100.0, features=10, rng=seed)
    later = [world.period(n + 1).excess_risk(loss, world.period(n).minimiser(loss)) for n in range(100, 140)]
    assert np.mean(later) == pytest.approx(0.1, rel=0.15)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_small_costs_are_half_a_square_in_the_hessian(loss: LinearLoss, seed: int) -> None:
    world = made(loss=loss, cost=1e-4, rng=seed)
    for n in (1, 7):
        here, there = world.period(n), world.period(n + 1)
        move = here.minimiser(loss) - there.minimiser(loss)
        cost = there.excess_risk(loss, here.minimiser(loss))
        assert cost == pytest.approx(0.5 * move @ there.hessian(loss) @ move, rel=0.03)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_jump_costs_once_and_still_never(loss: LinearLoss, seed: int) -> None:
    costs = stale_costs(made(loss=loss, shape="jump", rng=seed, jump_at=5), 12)
    assert costs[3] == pytest.approx(0.1, rel=1e-3)
    assert np.max(costs[:3] + costs[4:]) < 1e-14
    assert np.max(stale_costs(made(loss=loss, shape="still", rng=seed), 8)) < 1e-14
    assert np.max(stale_costs(made(loss=loss, cost=0.0, rng=seed), 8)) < 1e-14


@pytest.mark.parametrize("shape", ["line", "walk", "seasonal", "jump", "still"])
def test_the_signal_stays(shape: Shape, seed: int) -> None:
    world = made(shape=shape, signal=2.0, rng=seed, cost=0.05)
    for n in (1, 2, 30):
        coef, covariance = world.period(n).coef, world.period(n).rows.covariance
        assert coef @ covariance @ coef == pytest.approx(2.0, rel=1e-12)
    start = np.array([1.0, 2.0, -0.1])
    np.testing.assert_allclose(made(shape=shape, start=start, cost=0.05).period(1).coef, start, rtol=1e-10)


@pytest.mark.statistical
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_stated_moments_hold_for_rows(loss: LinearLoss, rng: np.random.Generator, seed: int) -> None:
    """100 000 rows; every comparison alarms falsely once in a million, and sees an error of a fifth."""
    period = made(loss=loss, rng=seed).period(4)
    X, y = period.draw(100_000, rng=rng)
    best = period.minimiser(loss)
    model = best - 0.7 * period.coef + 0.3 * np.linalg.solve(period.rows.root, np.ones(3))
    gradients = loss.row_gradients(best, X, y)
    assert standard_errors_off(gradients, 0.0) < allowed(3)
    assert standard_errors_off(loss.row_gradients(model, X, y), 0.0) > allowed(3)
    excess = loss.row_values(model, X, y) - loss.row_values(best, X, y)
    assert standard_errors_off(excess, period.excess_risk(loss, model)) < allowed(1)
    assert standard_errors_off(excess, 1.2 * period.excess_risk(loss, model)) > allowed(1)
    assert standard_errors_off(loss.row_values(model, X, y), period.risk(loss, model)) < allowed(1)
    wide = np.hstack([X, np.ones((len(y), 1))])
    values = loss.with_unpenalised(1).row_values(np.append(model, 0.7), wide, y)
    assert standard_errors_off(values, period.risk(loss, model, intercept=0.7)) < allowed(1)
    assert standard_errors_off(values, period.risk(loss, model)) > allowed(1)
    assert standard_errors_off(centred_products(gradients), period.gradient_covariance(loss)) < allowed(6)
    assert standard_errors_off(centred_products(gradients), 1.2 * period.gradient_covariance(loss)) > allowed(6)
    assert standard_errors_off(row_hessians(loss, best, X, y), period.hessian(loss)) < allowed(6)
    assert standard_errors_off(row_hessians(loss, best, X, y), 1.2 * period.hessian(loss)) > allowed(6)


@pytest.mark.parametrize("loss", [*LOSSES, LogisticLoss(l2=0.1, unpenalised=1)], ids=repr)
@pytest.mark.parametrize("signal", [0.01, 4.0, 100.0])
def test_the_gradient_is_zero_at_the_minimiser(loss: LinearLoss, signal: float, seed: int) -> None:
    """By differences of the exact risk over moves that change x'w by 1e-3: rounding leaves 1e-12, a slope of 1e-9."""
    period = made(signal=signal, rng=seed, shape="still", features=4, condition=100.0).period(1)
    best = period.minimiser(loss)
    moves = np.linalg.solve(period.rows.root, 1e-3 * np.eye(4)).T
    slopes = (period.risk(loss, best + moves) - period.risk(loss, best - moves)) / 2e-3
    np.testing.assert_allclose(slopes, 0.0, atol=2e-7)  # the third derivative leaves 1e-6 of itself
    assert (period.excess_risk(loss, best + moves) > 0.0).all()
    assert period.excess_risk(loss, best) < 1e-14


def test_without_a_penalty_the_minimiser_lies_along_the_odds_and_with_one_it_does_not() -> None:
    period = made().period(2)
    np.testing.assert_allclose(period.minimiser(LogisticLoss()), period.coef, rtol=1e-10)
    ratio = period.minimiser(SmoothedHinge()) / period.coef
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-10)
    assert np.ptp(period.minimiser(SmoothedHinge(l2=0.1)) / period.coef) > 0.01


def test_the_logistic_model_is_well_specified() -> None:
    period = made(condition=5.0).period(3)
    np.testing.assert_allclose(
        period.hessian(LogisticLoss()), period.gradient_covariance(LogisticLoss()), rtol=1e-9, atol=1e-12
    )


def test_models_come_alone_in_stacks_and_with_their_intercepts() -> None:
    period, loss = made().period(3), SmoothedHinge(l2=0.1)
    models = 0.3 * np.random.default_rng(4).standard_normal((7, 4))
    whole = period.excess_risk(loss, models)
    assert whole.shape == (7,)
    np.testing.assert_allclose(whole, [period.excess_risk(loss, model) for model in models], rtol=1e-11)
    np.testing.assert_allclose(whole, period.excess_risk(loss, models[:, :3], intercept=models[:, 3]), rtol=1e-11)
    assert isinstance(period.excess_risk(loss, models[0]), float)
    assert period.risk(LogisticLoss(), np.zeros(3)) == pytest.approx(math.log(2.0), rel=1e-14)
    assert period.risk(SmoothedHinge(), np.zeros(3)) == pytest.approx(0.5, rel=1e-14)


def test_worlds_are_functions_of_their_number_and_survive_a_pickle() -> None:
    loss = SmoothedHinge(l2=0.1)
    late, early = made(loss=loss), made(loss=loss)
    far = late.period(80)
    for n in (2, 80, 1):
        np.testing.assert_array_equal(early.period(n).minimiser(loss), late.period(n).minimiser(loss))
    for world in (pickle.loads(pickle.dumps(late)), early):
        X, y = world.period(80).draw(5, rng=3)
        np.testing.assert_array_equal(X, far.draw(5, rng=3)[0])
        np.testing.assert_array_equal(y, far.draw(5, rng=np.random.default_rng(3))[1])
    assert not np.allclose(made(rng=1).period(1).coef, made().period(1).coef)
    X, y = far.draw_batch(2, 4, rng=0)
    assert (X.shape, y.shape) == ((2, 4, 3), (2, 4))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("shape", ["line", "walk", "seasonal", "jump"])
def test_a_cost_beyond_reach_is_refused_and_the_reach_is_attained(loss: LinearLoss, shape: Shape) -> None:
    sentence = (
        r"^ShapedClasses\(cost=\.\.\.\) must be at most ([\d.]+), what the widest step of shape .* costs .*; got 5\.0"
    )
    with pytest.raises(ParameterError, match=sentence) as caught:
        made(loss=loss, shape=shape, cost=5.0)
    reach = float(str(caught.value).split("at most ")[1].split(",")[0])
    world = made(loss=loss, shape=shape, cost=0.97 * reach, jump_at=2)
    periods = {"seasonal": 13, "jump": 2}.get(shape, 40)
    assert np.mean(stale_costs(world, periods)) == pytest.approx(0.97 * reach, rel=1e-3)


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (
            {"shape": "spiral"},
            r"shape=\.\.\.\) must be one of 'line', 'walk', 'seasonal', 'jump', 'still'; got 'spiral'",
        ),
        ({"cost": -1.0}, r"cost=\.\.\.\) must be zero or more"),
        ({"signal": 0.0}, r"signal=\.\.\.\) must be positive"),
        ({"features": 1}, r"features=\.\.\.\) must be a whole number of at least 2"),
        ({"condition": 0.5}, r"condition=\.\.\.\) must be at least 1; got 0.5"),
        ({"start": np.zeros(3)}, r"start=\.\.\.\) must have a number that is not zero"),
        ({"start": np.ones(2)}, r"start=\.\.\.\) must be a finite vector of length 3"),
        ({"loss": SquaredLoss()}, r"loss=\.\.\.\) must be one of LogisticLoss, SmoothedHinge; got SquaredLoss"),
        ({"rng": -1}, r"rng=\.\.\.\) must be a whole number of at least 0"),
    ],
)
def test_strange_worlds_are_refused(bad: dict[str, object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=rf"^ShapedClasses\({sentence}"):
        made(**bad)


def test_strange_questions_are_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"^ShapedClasses\.period\(n=\.\.\.\) must be a whole number of at least 1"
    ):
        made().period(0)
    with pytest.raises(ParameterError, match=r"coef=\.\.\.\) must end in 3 coefficients, or 4 with an intercept last"):
        made().period(1).risk(LogisticLoss(), np.zeros(5))
