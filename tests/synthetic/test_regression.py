"""Gaussian regression: what it says of risks, against closed forms and against its own rows."""

import math

import numpy as np
import pytest

from driftpace.constraints import Ball, Box
from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, SquaredLoss
from driftpace.synthetic import BoundedRegression, GaussianRegression, SyntheticPopulation
from tests.reference.row_checks import allowed, centred_products, row_hessians, standard_errors_off

SHAPE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.6]])
COEF = np.array([1.0, -2.0, 0.5])
WORLD = GaussianRegression(coef=COEF, covariance=SHAPE, noise=0.5)
BOUNDED = BoundedRegression(coef=COEF, covariance=SHAPE, noise=0.5)
SQUARED: list[LinearLoss] = [SquaredLoss(), SquaredLoss(l2=0.3), SquaredLoss(l2=0.3, unpenalised=1)]
HUBER: list[LinearLoss] = [HuberLoss(), HuberLoss(threshold=0.5, l2=0.2), HuberLoss(l2=0.2, unpenalised=2)]
PAIRS: list[tuple[SyntheticPopulation, LinearLoss]] = [
    *((WORLD, loss) for loss in SQUARED + HUBER),
    *((BOUNDED, loss) for loss in SQUARED),
]
NAMES = [f"{type(world).__name__}-{loss!r}" for world, loss in PAIRS]


@pytest.mark.statistical
@pytest.mark.parametrize(("world", "loss"), PAIRS, ids=NAMES)
def test_stated_moments_hold_for_rows(world: SyntheticPopulation, loss: LinearLoss, rng: np.random.Generator) -> None:
    X, y = world.draw(100_000, rng=rng)
    best, model = world.minimiser(loss), np.array([0.5, 0.5, -1.0])
    gradients = loss.row_gradients(best, X, y)
    assert standard_errors_off(gradients, 0.0) < allowed(3)
    assert standard_errors_off(loss.row_values(model, X, y), world.risk(loss, model)) < allowed(1)
    assert standard_errors_off(loss.row_values(best, X, y), world.risk(loss, best)) < allowed(1)
    assert standard_errors_off(centred_products(gradients), world.gradient_covariance(loss)) < allowed(6)
    assert standard_errors_off(row_hessians(loss, best, X, y), world.hessian(loss)) < allowed(6)
    # controls: a fifth off is seen
    assert standard_errors_off(loss.row_values(best, X, y), 1.2 * world.risk(loss, best)) > allowed(1)
    assert standard_errors_off(centred_products(gradients), 1.2 * world.gradient_covariance(loss)) > allowed(6)
    assert standard_errors_off(row_hessians(loss, best, X, y), 1.2 * world.hessian(loss)) > allowed(6)
    assert standard_errors_off(loss.row_gradients(best + 0.3, X, y), 0.0) > allowed(3)


@pytest.mark.statistical
@pytest.mark.parametrize("world", [WORLD, BOUNDED], ids=["Gaussian", "bounded"])
def test_an_intercept_is_judged(world: SyntheticPopulation, rng: np.random.Generator) -> None:
    X, y = world.draw(100_000, rng=rng)
    wide, loss = np.hstack([X, np.ones((len(y), 1))]), SquaredLoss()
    model = np.array([0.5, -1.0, 0.0])
    values = loss.row_values(np.append(model, 0.7), wide, y)
    assert standard_errors_off(values, world.risk(loss, model, intercept=0.7)) < allowed(1)
    assert standard_errors_off(values, world.risk(loss, model)) > allowed(1)


@pytest.mark.parametrize(("world", "loss"), PAIRS, ids=NAMES)
def test_the_minimiser_has_the_least_risk_and_the_hessian_bends_from_it(
    world: SyntheticPopulation, loss: LinearLoss
) -> None:
    best = world.minimiser(loss)
    moves = np.random.default_rng(3).standard_normal((200, 3))
    assert world.excess_risk(loss, best) == pytest.approx(0.0, abs=1e-15)
    assert (world.excess_risk(loss, best + moves) > 0.0).all()
    curved = 0.5 * np.einsum("ri,ij,rj->r", moves, world.hessian(loss), moves)
    np.testing.assert_allclose(world.excess_risk(loss, best + 1e-4 * moves) / 1e-8, curved, rtol=1e-3)


@pytest.mark.parametrize(("world", "loss"), PAIRS, ids=NAMES)
def test_a_stack_of_models_is_judged_like_each_alone(world: SyntheticPopulation, loss: LinearLoss) -> None:
    models = np.random.default_rng(4).standard_normal((7, 3))
    intercepts = np.linspace(-1.0, 1.0, 7)
    for judge in (world.risk, world.excess_risk):
        alone = [judge(loss, model, intercept=float(b)) for model, b in zip(models, intercepts, strict=True)]
        assert all(isinstance(number, float) for number in alone)
        np.testing.assert_allclose(judge(loss, models, intercept=intercepts), alone, rtol=1e-12)
        np.testing.assert_allclose(judge(loss, models), [judge(loss, model) for model in models], rtol=1e-12)
    np.testing.assert_allclose(
        world.risk(loss, models) - world.excess_risk(loss, models), world.risk(loss, world.minimiser(loss)), rtol=1e-12
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("world", "loss"), PAIRS, ids=NAMES)
def test_second_moments_stay_below_their_limits(
    world: SyntheticPopulation, loss: LinearLoss, rng: np.random.Generator
) -> None:
    """E||g||^2 <= A + B d^2 and its variance <= sigma^2 + V d^2, at models in every direction and far out."""
    constants, best = world.constants(loss), world.minimiser(loss)
    X, y = world.draw(50_000, rng=rng)
    moves = np.vstack([np.zeros((1, 3)), *(size * np.linalg.eigh(SHAPE)[1].T for size in (0.1, 1.0, 10.0))])
    for move in moves:
        gradients = loss.row_gradients(best + move, X, y)
        squares, spread = (gradients**2).sum(axis=1), ((gradients - gradients.mean(axis=0)) ** 2).sum(axis=1)
        distance = float(move @ move)
        second = constants.safe("A") + constants.safe("B") * distance
        variance = constants.safe("sigma") ** 2 + constants.safe("V") * distance
        slack = allowed(10) / math.sqrt(len(y))
        assert squares.mean() - slack * squares.std() <= second
        assert spread.mean() - slack * spread.std() <= variance
        if isinstance(loss, SquaredLoss) and loss.l2 == 0.0 and move @ SHAPE @ move >= 0.99 * distance * 2.2:
            assert squares.mean() + slack * squares.std() >= second  # attained along the top direction: no slack at all
            assert spread.mean() + slack * spread.std() >= variance
            assert squares.mean() - slack * squares.std() > 0.8 * second  # control: a smaller B would be caught


@pytest.mark.parametrize(("world", "loss"), PAIRS, ids=NAMES)
@pytest.mark.parametrize("domain", [None, Ball(4.0)], ids=repr)
def test_curvature_lies_between_m_and_M(world: SyntheticPopulation, loss: LinearLoss, domain: Ball | None) -> None:
    constants = world.constants(loss, domain)
    rng = np.random.default_rng(5)
    u, v = rng.standard_normal((2, 500, 3)) * 10.0 ** rng.uniform(-1.0, 1.0, size=(2, 500, 1))
    if domain is not None:
        u, v = (np.array([domain.project(point) for point in points]) for points in (u, v))
    gap = 0.5 * (world.risk(loss, u) + world.risk(loss, v)) - world.risk(loss, 0.5 * (u + v))
    distance = ((u - v) ** 2).sum(axis=1)
    assert (gap <= constants.safe("M") / 8.0 * distance * (1.0 + 1e-9) + 1e-12).all()
    if constants.knows("m"):
        assert (gap >= constants.safe("m") / 8.0 * distance * (1.0 - 1e-9) - 1e-12).all()
    else:
        assert domain is None
        assert loss.l2 == 0.0 or loss.unpenalised


def test_the_huber_m_on_a_domain_is_not_merely_small() -> None:
    """Tightness: with equal eigenvalues the least curvature on the edge of the domain refutes twice the limit."""
    world, loss, domain = GaussianRegression(coef=COEF, covariance=1.0, noise=0.5), HuberLoss(threshold=2.0), Ball(4.0)
    m = world.constants(loss, domain).safe("m")
    outward = np.random.default_rng(6).standard_normal((2000, 3))
    ends = np.array([domain.project(COEF + 100.0 * u) for u in outward])
    inner = COEF + 0.98 * (ends - COEF)
    gap = 0.5 * (world.risk(loss, ends) + world.risk(loss, inner)) - world.risk(loss, 0.5 * (ends + inner))
    assert 0.0 < m <= float((8.0 * gap / ((ends - inner) ** 2).sum(axis=1)).min()) < 2.0 * m


def test_constants_of_the_paper_world() -> None:
    """Theory 6.1: m = M = s, A = 2 s noise, B = 4 s^2 in two dimensions; 1.1g: B = s^2 (d + 2)."""
    world = GaussianRegression(coef=np.zeros(2), covariance=1.5, noise=0.08)
    constants = world.constants(SquaredLoss())
    expected = {"m": 1.5, "M": 1.5, "A": 0.24, "B": 9.0, "V": 9.0 - 1.5**2, "noise": 0.08, "trace": 3.0, "R2": 6.0}
    expected |= {"spread": 0.16, "sigma": math.sqrt(0.24), "sigma_star": math.sqrt(0.24)}
    assert {name: constants.safe(name) for name in expected} == pytest.approx(expected, rel=1e-12)
    assert not constants.knows("L")
    assert not constants.knows("G")
    assert not constants.knows("diameter")


def test_closed_forms_of_the_squared_loss() -> None:
    loss = SquaredLoss(l2=0.3, unpenalised=1)
    penalty = np.diag([0.3, 0.3, 0.0])
    best = np.linalg.solve(SHAPE + penalty, SHAPE @ COEF)
    np.testing.assert_allclose(WORLD.minimiser(loss), best, rtol=1e-14)
    np.testing.assert_allclose(WORLD.hessian(loss), SHAPE + penalty)
    np.testing.assert_allclose(WORLD.gradient_covariance(SquaredLoss()), 0.5 * SHAPE)
    assert WORLD.constants(SquaredLoss()).safe("spread") == pytest.approx(3 * 0.5)
    assert WORLD.risk(SquaredLoss(), COEF) == pytest.approx(0.25, rel=1e-14)


def test_bounded_rows_keep_their_limits(rng: np.random.Generator) -> None:
    domain, loss = Ball(4.0), SquaredLoss(l2=0.1)
    constants = BOUNDED.constants(loss, domain)
    X, y = BOUNDED.draw(20_000, rng=rng)
    assert loss.row_smoothness(X).max() <= constants.safe("L") * (1.0 + 1e-12)
    assert loss.row_smoothness(X).max() >= 0.99 * constants.safe("L")
    models = [domain.project(10.0 * rng.standard_normal(3)) for _ in range(20)]
    largest = max(float(np.linalg.norm(loss.row_gradients(w, X, y), axis=1).max()) for w in models)
    assert 0.2 * constants.safe("G") <= largest <= constants.safe("G")
    assert constants.safe("diameter") == 8.0
    assert not BOUNDED.constants(loss).knows("G")


def test_one_feature_and_no_noise() -> None:
    for kind in (GaussianRegression, BoundedRegression):
        world = kind(coef=np.array([2.0]), covariance=0.5, noise=0.0)
        assert world.excess_risk(SquaredLoss(), np.array([0.0])) == pytest.approx(1.0)
        assert world.constants(SquaredLoss()).safe("A") == 0.0
    world = GaussianRegression(coef=np.array([2.0]), covariance=0.5, noise=0.0)
    assert world.risk(HuberLoss(), np.array([2.0])) == 0.0
    np.testing.assert_allclose(world.hessian(HuberLoss()), [[0.5]])


@pytest.mark.parametrize("world", [WORLD, BOUNDED], ids=["Gaussian", "bounded"])
def test_draws_repeat_and_batches_have_their_shapes(world: SyntheticPopulation) -> None:
    X, y = world.draw_batch(4, 5, rng=1)
    assert (X.shape, y.shape) == ((4, 5, 3), (4, 5))
    again, _ = world.draw_batch(4, 5, rng=np.random.default_rng(1))
    assert np.array_equal(X, again)
    assert world.draw(0, rng=1)[0].shape == (0, 3)
    assert world.features == 3
    assert isinstance(world, SyntheticPopulation)


def test_a_loss_that_is_not_known_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"^GaussianRegression\(loss=\.\.\.\) must be one of SquaredLoss, HuberLoss; got L"
    ):
        WORLD.risk(LogisticLoss(), COEF)
    with pytest.raises(
        ParameterError, match=r"^BoundedRegression\(loss=\.\.\.\) must be one of SquaredLoss; got Huber"
    ):
        BOUNDED.risk(HuberLoss(), COEF)


@pytest.mark.parametrize(
    "domain", [Ball(1.0), Box(low=0.0, high=1.0, features=3), Ball(9.0, center=np.zeros(2))], ids=repr
)
def test_a_domain_without_the_minimiser_is_refused(domain: Ball | Box) -> None:
    with pytest.raises(
        ParameterError, match=r"^GaussianRegression\.constants\(domain=\.\.\.\) must contain the minimiser"
    ):
        WORLD.constants(SquaredLoss(), domain)


@pytest.mark.parametrize(
    "covariance", [0.0, -1.0, np.eye(2), np.diag([1.0, 1.0, 0.0]), np.triu(np.ones((3, 3)))], ids=repr
)
def test_a_strange_covariance_is_refused(covariance: np.ndarray) -> None:
    with pytest.raises(ParameterError, match=r"^GaussianRegression\(covariance=\.\.\.\) must be "):
        GaussianRegression(coef=COEF, covariance=covariance, noise=1.0)
