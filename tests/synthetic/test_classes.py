"""Two Gaussian classes: what they say of risks, against their own rows and against known answers."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from driftpace.constraints import Ball
from driftpace.errors import ParameterError
from driftpace.losses import Curve, HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import SyntheticPopulation, TwoClasses
from driftpace.typing import FloatArray
from tests.reference.row_checks import allowed, centred_products, row_hessians, standard_errors_off

SHAPE = np.array([[0.8, 0.2, 0.0], [0.2, 0.5, 0.1], [0.0, 0.1, 0.4]])
MEAN = np.array([0.8, -0.3, 0.2])
WORLD = TwoClasses(mean=MEAN, covariance=SHAPE)
LOSSES: list[LinearLoss] = [
    SmoothedHinge(),
    SmoothedHinge(l2=0.1),
    LogisticLoss(),
    LogisticLoss(l2=0.1, unpenalised=1),
    SquaredLoss(l2=0.1),
    HuberLoss(threshold=0.3, l2=0.1),
]


@pytest.mark.statistical
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_stated_moments_hold_for_rows(loss: LinearLoss, rng: np.random.Generator) -> None:
    X, y = WORLD.draw(100_000, rng=rng)
    best, model = WORLD.minimiser(loss), np.array([0.5, 0.5, -1.0])
    gradients = loss.row_gradients(best, X, y)
    assert standard_errors_off(gradients, 0.0) < allowed(3)
    assert standard_errors_off(loss.row_values(model, X, y), WORLD.risk(loss, model)) < allowed(1)
    assert standard_errors_off(loss.row_values(best, X, y), WORLD.risk(loss, best)) < allowed(1)
    assert standard_errors_off(centred_products(gradients), WORLD.gradient_covariance(loss)) < allowed(6)
    assert standard_errors_off(row_hessians(loss, best, X, y), WORLD.hessian(loss)) < allowed(6)
    wide = np.hstack([X, np.ones((len(y), 1))])
    values = loss.with_unpenalised(loss.unpenalised + 1).row_values(np.append(model, 0.7), wide, y)
    assert standard_errors_off(values, WORLD.risk(loss, model, intercept=0.7)) < allowed(1)
    # controls: a fifth off is seen, and so is a missing intercept
    assert standard_errors_off(values, WORLD.risk(loss, model)) > allowed(1)
    assert standard_errors_off(loss.row_values(best, X, y), 1.2 * WORLD.risk(loss, best)) > allowed(1)
    assert standard_errors_off(centred_products(gradients), 1.2 * WORLD.gradient_covariance(loss)) > allowed(6)
    assert standard_errors_off(row_hessians(loss, best, X, y), 1.2 * WORLD.hessian(loss)) > allowed(6)
    assert standard_errors_off(loss.row_gradients(best + 0.3, X, y), 0.0) > allowed(3)


@pytest.mark.statistical
def test_classes_are_balanced_and_rows_lie_about_their_means(rng: np.random.Generator) -> None:
    X, y = WORLD.draw(100_000, rng=rng)
    assert standard_errors_off(y[:, None], 0.0) < allowed(1)
    turned = y[:, None] * X
    assert standard_errors_off(turned, MEAN) < allowed(3)
    assert standard_errors_off(centred_products(turned - MEAN), SHAPE) < allowed(6)
    assert standard_errors_off(turned, 1.2 * MEAN) > allowed(3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_minimiser_has_the_least_risk_and_the_hessian_bends_from_it(loss: LinearLoss) -> None:
    best = WORLD.minimiser(loss)
    moves = np.random.default_rng(3).standard_normal((200, 3))
    assert WORLD.excess_risk(loss, best) == 0.0
    assert (WORLD.excess_risk(loss, best + moves) > 0.0).all()
    even = 0.5 * (WORLD.excess_risk(loss, best + 1e-3 * moves) + WORLD.excess_risk(loss, best - 1e-3 * moves))
    curved = 0.5 * np.einsum("ri,ij,rj->r", moves, WORLD.hessian(loss), moves)
    np.testing.assert_allclose(even / 1e-6, curved, rtol=1e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_stack_of_models_is_judged_like_each_alone(loss: LinearLoss) -> None:
    models = np.random.default_rng(4).standard_normal((7, 3))
    intercepts = np.linspace(-1.0, 1.0, 7)
    for judge in (WORLD.risk, WORLD.excess_risk):
        alone = [judge(loss, model, intercept=float(b)) for model, b in zip(models, intercepts, strict=True)]
        assert all(isinstance(number, float) for number in alone)
        np.testing.assert_allclose(judge(loss, models, intercept=intercepts), alone, rtol=1e-12)
        np.testing.assert_allclose(judge(loss, models), [judge(loss, model) for model in models], rtol=1e-12)


def test_the_logistic_minimiser_is_the_discriminant_and_the_model_is_well_specified() -> None:
    """The log odds of two Gaussian classes are 2 x'S^-1 mu, so H = Cov g and the spread is the number of features."""
    best = WORLD.minimiser(LogisticLoss())
    np.testing.assert_allclose(best, 2.0 * np.linalg.solve(SHAPE, MEAN), rtol=1e-10)
    np.testing.assert_allclose(WORLD.hessian(LogisticLoss()), WORLD.gradient_covariance(LogisticLoss()), rtol=1e-10)
    assert WORLD.constants(LogisticLoss()).safe("spread") == pytest.approx(3.0, rel=1e-10)


def test_the_numbers_of_the_second_experiment() -> None:
    """Theory 6.2: ||w*|| = .81, f* = .168, f(0) = .5, local Hessian .41 to .45, M <= 1.60, tr(H^-1 Sigma)/2 = .23."""
    world, loss = TwoClasses(mean=np.array([1.0, 0.0]), covariance=0.5), SmoothedHinge(l2=0.1)
    constants, local = world.constants(loss), world.local_constants(loss)
    assert np.linalg.norm(world.minimiser(loss)) == pytest.approx(0.81, abs=0.005)
    assert world.risk(loss, world.minimiser(loss)) == pytest.approx(0.168, abs=0.0005)
    assert world.risk(loss, np.zeros(2)) == 0.5
    assert np.linalg.eigvalsh(world.hessian(loss)) == pytest.approx([0.41, 0.45], abs=0.006)
    assert constants.safe("m") == 0.1
    assert constants.safe("M") == pytest.approx(1.6)
    assert constants.safe("sigma_star") ** 2 == pytest.approx(0.197, abs=0.003)
    assert constants.safe("spread") / 2.0 == pytest.approx(0.23, abs=0.005)
    assert local.safe("m") == pytest.approx(0.41, abs=0.006)
    assert local.safe("M") == constants.safe("M")


@pytest.mark.statistical
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_second_moments_stay_below_their_limits(loss: LinearLoss, rng: np.random.Generator) -> None:
    constants, best = WORLD.constants(loss), WORLD.minimiser(loss)
    X, y = WORLD.draw(50_000, rng=rng)
    slack = allowed(10) / math.sqrt(len(y))
    for move in np.vstack([np.zeros((1, 3)), *(size * np.linalg.eigh(SHAPE)[1].T for size in (0.1, 1.0, 10.0))]):
        gradients = loss.row_gradients(best + move, X, y)
        squares, spread = (gradients**2).sum(axis=1), ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1)
        distance = float(move @ move)
        assert squares.mean() - slack * squares.std() <= constants.safe("A") + constants.safe("B") * distance
        assert spread.mean() - slack * spread.std() <= constants.safe("sigma") ** 2 + constants.safe("V") * distance
        if (
            distance == 0.0
        ):  # tightness: the factor two is there for the worst case and no more; a third of it is caught
            assert squares.mean() - slack * squares.std() > 0.3 * constants.safe("A")
        if distance == 100.0 and isinstance(loss, SquaredLoss):  # far out the limit is twice what can happen
            assert squares.mean() <= 0.55 * (constants.safe("A") + constants.safe("B") * distance)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_curvature_lies_between_m_and_M(loss: LinearLoss) -> None:
    constants = WORLD.constants(loss, Ball(20.0))
    rng = np.random.default_rng(5)
    u, v = rng.standard_normal((2, 300, 3)) * 10.0 ** rng.uniform(-1.0, 1.0, size=(2, 300, 1))
    gap = 0.5 * (WORLD.risk(loss, u) + WORLD.risk(loss, v)) - WORLD.risk(loss, 0.5 * (u + v))
    distance = ((u - v) ** 2).sum(axis=1)
    assert (gap <= constants.safe("M") / 8.0 * distance * (1.0 + 1e-9) + 1e-12).all()
    assert constants.knows("m") == (loss.l2 > 0.0 and loss.unpenalised == 0)
    if constants.knows("m"):
        assert (gap >= constants.safe("m") / 8.0 * distance * (1.0 - 1e-9) - 1e-12).all()
    assert constants.safe("diameter") == 40.0


def test_fourth_moments_of_a_shifted_normal(rng: np.random.Generator) -> None:
    X, _ = WORLD.draw(100_000, rng=rng)
    fourth = (X**2).sum(axis=1)[:, None, None] * centred_products(X)
    assert standard_errors_off(fourth, WORLD._fourth()) < allowed(6)
    assert standard_errors_off(fourth, 1.1 * WORLD._fourth()) > allowed(6)


def test_a_model_of_zeros_is_judged() -> None:
    assert WORLD.risk(LogisticLoss(), np.zeros(3)) == pytest.approx(math.log(2.0), rel=1e-15)
    assert WORLD.risk(SmoothedHinge(), np.zeros(3)) == 0.5
    assert WORLD.risk(HuberLoss(threshold=0.3), np.zeros(3)) == pytest.approx(0.3 * 0.85)


def test_draws_repeat_and_batches_have_their_shapes() -> None:
    X, y = WORLD.draw_batch(4, 5, rng=1)
    assert (X.shape, y.shape) == ((4, 5, 3), (4, 5))
    assert np.array_equal(X, WORLD.draw_batch(4, 5, rng=np.random.default_rng(1))[0])
    assert set(np.unique(y)) <= {-1.0, 1.0}
    assert isinstance(WORLD, SyntheticPopulation)


class Foreign(SmoothedHinge):
    """A loss of the user's own, of which the world knows nothing."""

    @property
    def curve(self) -> Curve:
        return SquaredLoss().curve

    def encode(self, y: FloatArray) -> FloatArray:
        return y


def test_a_loss_that_is_not_known_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"^TwoClasses\(loss=\.\.\.\) must be one of SmoothedHinge, LogisticLoss, Sq"
    ):
        WORLD.risk(Foreign(), MEAN)


@pytest.mark.statistical
def test_the_area_under_the_curve_is_that_of_pairs_of_rows(rng: np.random.Generator) -> None:
    """200,000 pairs, one row of each class: a mean of zeros and ones; a model with its coefficients swapped is caught."""
    X, y = WORLD.draw(420_000, rng=rng)
    above, below = X[y > 0.0][:200_000], X[y < 0.0][:200_000]
    for model in (MEAN, np.array([0.5, 0.5, -1.0]), -MEAN):
        wins = (above @ model > below @ model).astype(np.float64)[:, None]
        assert standard_errors_off(wins, WORLD.auc(model)) < allowed(1)
        assert standard_errors_off(wins, WORLD.auc(model[::-1])) > allowed(1)


def test_the_area_under_the_curve_sees_directions_only() -> None:
    """Phi(sqrt(2 mu'S^-1 mu)) is the largest, at the discriminant; turning a model round gives one minus it."""
    models = np.random.default_rng(6).standard_normal((200, 3))
    area = WORLD.auc(models)
    np.testing.assert_allclose(area, [WORLD.auc(model) for model in models], rtol=1e-14)
    np.testing.assert_allclose(area, WORLD.auc(1e200 * models), rtol=1e-12)
    np.testing.assert_allclose(area, 1.0 - WORLD.auc(-models), rtol=1e-12)
    best = np.linalg.solve(SHAPE, MEAN)
    assert WORLD.auc(best) == pytest.approx(float(norm.cdf(math.sqrt(2.0 * MEAN @ best))), rel=1e-14)
    assert (area <= WORLD.auc(best)).all()
    assert WORLD.auc(np.zeros(3)) == 0.5
    assert isinstance(WORLD.auc(best), float)


@pytest.mark.parametrize("bad", [np.ones(2), np.ones((1, 1, 3)), np.array([1.0, math.nan, 0.0]), 1.0])
def test_a_model_of_another_shape_has_no_area(bad: FloatArray) -> None:
    with pytest.raises(
        ParameterError,
        match=r"^TwoClasses\.auc\(coef=\.\.\.\) must be one model of 3 finite numbers, or a stack of them; got",
    ):
        WORLD.auc(bad)
