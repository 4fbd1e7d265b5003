"""Risks where the odds are linear, against a rule over the whole plane and against differences of themselves."""

import numpy as np
import pytest
from scipy.special import expit

from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge
from driftpace.synthetic.margins import slope_parts, squared_slopes, unpenalised_hessian, unpenalised_risk
from driftpace.typing import FloatArray

LOSSES: list[LinearLoss] = [LogisticLoss(), SmoothedHinge()]
STEP = 0.025
GRID: FloatArray = np.arange(-9.0, 9.0 + 0.5 * STEP, STEP)
PLANE = np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1)
MASS = np.exp(-0.5 * (PLANE**2).sum(axis=-1)) * STEP**2 / (2.0 * np.pi)


def by_plane(loss: LinearLoss, z: FloatArray, v: FloatArray, b: float) -> float:
    """Both labels, with their odds, over a square grid: no symmetry used, and nothing integrated by hand."""
    odds, s = expit(PLANE @ z), PLANE @ v + b
    ones = np.ones_like(s)
    return float((MASS * (odds * loss.curve.phi(s, ones) + (1.0 - odds) * loss.curve.phi(s, -ones))).sum())


def moments_by_plane(loss: LinearLoss, z: FloatArray, v: FloatArray) -> FloatArray:
    """E[slope^2 nn'] over the same grid."""
    odds, s = expit(PLANE @ z), PLANE @ v
    ones = np.ones_like(s)
    q = MASS * (odds * loss.curve.slope(s, ones) ** 2 + (1.0 - odds) * loss.curve.slope(s, -ones) ** 2)
    return np.asarray(np.einsum("ij,ija,ijb->ab", q, PLANE, PLANE))


PAIRS = [
    ((2.0, 0.0), (2.0, 0.0)),
    ((2.0, 0.0), (0.7, 0.9)),
    ((0.3, -0.4), (-1.0, 0.5)),
    ((2.0, 1.0), (0.0, 0.0)),
    ((6.0, 3.0), (0.5, 0.26)),  # nearly parallel, and odds steeper than a panel
    ((1.0, 0.0), (0.0, 1.5)),  # at right angles
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(("truth", "model"), PAIRS)
@pytest.mark.parametrize("b", [0.0, 0.6, -2.0])
def test_the_risk_agrees_with_the_plane(
    loss: LinearLoss, truth: tuple[float, float], model: tuple[float, float], b: float
) -> None:
    """The grid is good to 1e-13 for the logistic loss, and to 1e-7 for the hinge, whose bend jumps between its lines."""
    z, v = np.array(truth), np.array(model)
    stated = float(unpenalised_risk(loss, z[None], v[None], np.array([b]))[0])
    error = 1e-12 if isinstance(loss, LogisticLoss) else 1e-6
    assert stated == pytest.approx(by_plane(loss, z, v, b), abs=error)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(("truth", "model"), PAIRS)
def test_the_gradient_is_the_slope_of_the_risk_and_the_hessian_of_the_gradient(
    loss: LinearLoss, truth: tuple[float, float], model: tuple[float, float]
) -> None:
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0][:2]  # the plane of the pair, somewhere in four dimensions
    z, v = np.array([truth]) @ turn, np.array([model]) @ turn

    def gradient(at: FloatArray) -> FloatArray:
        first, second = slope_parts(loss, z, at)
        return np.asarray(first[:, None] * z + second[:, None] * at)

    for move in 1e-4 * rng.standard_normal((3, 1, 4)):
        rise = unpenalised_risk(loss, z, v + move, np.zeros(1)) - unpenalised_risk(loss, z, v - move, np.zeros(1))
        assert rise[0] == pytest.approx(2.0 * float(gradient(v)[0] @ move[0]), rel=1e-5, abs=1e-11)
        turned = gradient(v + move) - gradient(v - move)
        np.testing.assert_allclose(turned, 2.0 * move @ unpenalised_hessian(loss, z, v)[0], rtol=1e-4, atol=1e-9)


def test_a_model_close_to_the_odds_keeps_its_digits() -> None:
    """Across a thin layer the hinge is nearly kinked: the excess grows like the square of the angle all the way down."""
    loss, z = SmoothedHinge(), np.array([[2.0, 0.0]])
    v = np.array([[0.8, 0.0]])
    curved = unpenalised_hessian(loss, z, v)[0, 1, 1]
    for angle in (1e-1, 1e-2, 1e-3, 1e-4):
        across = np.array([[0.0, angle]])
        both = unpenalised_risk(loss, z, v + across, np.zeros(1)) - unpenalised_risk(loss, z, v, np.zeros(1))
        assert both[0] == pytest.approx(0.5 * curved * angle**2, rel=2.0 * angle, abs=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(("truth", "model"), PAIRS)
def test_squared_slopes_agree_with_the_plane(
    loss: LinearLoss, truth: tuple[float, float], model: tuple[float, float]
) -> None:
    z, v = np.array(truth), np.array(model)
    error = 1e-12 if isinstance(loss, LogisticLoss) else 2e-5
    np.testing.assert_allclose(squared_slopes(loss, z, v), moments_by_plane(loss, z, v), atol=error)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_stacks_are_judged_like_each_alone(loss: LinearLoss) -> None:
    rng = np.random.default_rng(1)
    z, v, b = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), np.linspace(-1.0, 1.0, 5)
    alone = [float(unpenalised_risk(loss, z[i : i + 1], v[i : i + 1], b[i : i + 1])[0]) for i in range(5)]
    np.testing.assert_allclose(unpenalised_risk(loss, z, v, b), alone, rtol=1e-13)
    shared = [float(unpenalised_risk(loss, z[:1], v[i : i + 1], b[i : i + 1])[0]) for i in range(5)]
    np.testing.assert_allclose(unpenalised_risk(loss, z[:1], v, b), shared, rtol=1e-13)
