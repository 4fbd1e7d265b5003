"""Constants of synthetic populations: the steps from moments to constants, and their values against rows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.constraints import Ball, Box, ConstraintSet, WholeSpace
from driftpace.errors import ParameterError
from driftpace.losses import LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.synthetic import GaussianRegression, NoiseKind, ShapedClasses, ShapedRegression
from driftpace.synthetic.constants import max_distance, quadratic_limit
from driftpace.typing import FloatArray
from tests.reference.row_checks import allowed

NAMES = ("m", "M", "A", "B", "sigma", "V", "noise", "R2", "sigma_star", "trace", "spread")


@pytest.mark.parametrize("l2", [0.0, 0.2])
def test_a_plain_period_agrees_with_the_plain_world(l2: float, seed: int) -> None:
    period = ShapedRegression(features=3, cost=0.2, shape="walk", rng=seed, condition=5.0).period(3)
    plain = GaussianRegression(coef=period.coef, covariance=period.rows.covariance, noise=period.noise)
    loss = SquaredLoss(l2=l2)
    mine, other = period.constants(loss, Ball(50.0)), plain.constants(loss, Ball(50.0))
    for name in NAMES:
        if name == "noise" and l2 > 0.0:  # E r^2 zz' <= noise E zz' is what is said here, which needs more than E r^2
            assert mine.safe(name) > other.safe(name)
        else:
            assert mine.safe(name) == pytest.approx(other.safe(name), rel=1e-9), name
    assert mine.knows("m_rows") == other.knows("m_rows")
    assert mine.safe("diameter") == 100.0


@pytest.mark.statistical
@pytest.mark.parametrize("noise_kind", ["gaussian", "student", "heteroscedastic"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_second_moments_of_shaped_regressions(noise_kind: NoiseKind, intercept: bool, l2: float, seed: int) -> None:
    """E||g||^2 <= A + B ||d||^2 at 30 models, one false alarm in a million each. Tightness and control: half is too little."""
    world = ShapedRegression(
        features=2, cost=0.2, shape="walk", rng=seed, condition=3.0, noise_kind=noise_kind, intercept=intercept
    )
    period, loss = world.period(2), SquaredLoss(l2=l2)
    constants, best = period.constants(loss), period.minimiser(loss)
    X, y = period.draw(100_000, rng=np.random.default_rng(seed))
    rows = np.hstack([X, np.ones((len(y), 1))]) if intercept else X
    judge = loss.with_unpenalised(int(intercept))
    assert constants.safe("m") <= np.linalg.eigvalsh(period.hessian(loss))[0] * (1.0 + 1e-12)
    assert constants.knows("m_rows") == (l2 > 0.0 and not intercept)
    caught = below = 0
    for move in _moves(best.size, seed):
        gradients = judge.row_gradients(best + move, rows, y)
        limit = constants.safe("A") + constants.safe("B") * float(move @ move)
        below += _surely_below((gradients**2).sum(axis=1), limit)
        caught += not _surely_below((gradients**2).sum(axis=1), 0.5 * limit)
    assert below == 30
    assert caught > 0
    reach = (rows**2).sum(axis=1)
    for direction in _moves(best.size, seed)[:10]:
        score = (rows @ direction) ** 2
        assert _surely_below(reach * score - constants.safe("R2") * score, 0.0)
        assert not _surely_below(reach * score - 0.3 * constants.safe("R2") * score, 0.0)


def _moves(size: int, seed: int) -> FloatArray:
    rng = np.random.default_rng((seed, 7))
    return np.asarray(rng.standard_normal((30, size)) * np.repeat([0.1, 1.0, 5.0], 10)[:, None])


def _surely_below(values: FloatArray, limit: float) -> bool:
    """Whether the mean is not above the limit by more than the error budget."""
    return bool(values.mean() - allowed(30) * values.std(ddof=1) / math.sqrt(len(values)) <= limit)


@pytest.mark.statistical
@pytest.mark.parametrize("loss", [LogisticLoss(l2=0.1), SmoothedHinge(l2=0.1), LogisticLoss()], ids=repr)
def test_constants_of_shaped_classes(loss: LinearLoss, seed: int) -> None:
    """As above for classes: second moments below their limit in 30 directions, and curvature between m and M everywhere tried."""
    period = ShapedClasses(features=2, cost=0.02, shape="walk", rng=seed, condition=3.0).period(2)
    constants, best = period.constants(loss, Ball(20.0)), period.minimiser(loss)
    X, y = period.draw(100_000, rng=np.random.default_rng(seed))
    for move in _moves(2, seed):
        squares = (loss.row_gradients(best + move, X, y) ** 2).sum(axis=1)
        assert _surely_below(squares, constants.safe("A") + constants.safe("B") * float(move @ move))
    assert not _surely_below((loss.row_gradients(best, X, y) ** 2).sum(axis=1), 0.3 * constants.safe("A"))
    u, v = np.random.default_rng((seed, 8)).standard_normal((2, 100, 2)) * 3.0
    gap = 0.5 * (period.risk(loss, u) + period.risk(loss, v)) - period.risk(loss, 0.5 * (u + v))
    distance = ((u - v) ** 2).sum(axis=1)
    assert (gap <= constants.safe("M") / 8.0 * distance * (1.0 + 1e-9)).all()
    assert constants.knows("m") == (loss.l2 > 0.0)
    if loss.l2 > 0.0:
        assert (gap >= constants.safe("m") / 8.0 * distance * (1.0 - 1e-9)).all()
    assert constants.safe("diameter") == 40.0


def test_a_domain_without_the_minimiser_is_refused(seed: int) -> None:
    far = ShapedRegression(features=2, cost=0.0, shape="still", rng=seed, signal=100.0).period(1)
    with pytest.raises(
        ParameterError, match=r"^RegressionPeriod\.constants\(domain=\.\.\.\) must contain the minimiser"
    ):
        far.constants(SquaredLoss(), Ball(1.0))
    odds = ShapedClasses(features=2, cost=0.0, shape="still", rng=seed, signal=100.0).period(1)
    with pytest.raises(ParameterError, match=r"^ClassesPeriod\.constants\(domain=\.\.\.\) must contain the minimiser"):
        odds.constants(LogisticLoss(), Ball(1.0))


@given(seed=st.integers(0, 10**6), features=st.integers(1, 4), rank=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_quadratic_stays_below_its_limit(seed: int, features: int, rank: int) -> None:
    """E||u + J d||^2 for random (u, J): never negative, so the limit applies; and at most twice what is needed."""
    rng = np.random.default_rng(seed)
    u, J = rng.standard_normal((rank, 3)), rng.standard_normal((rank, 3, features))
    at_zero, linear = float((u**2).sum()), 2.0 * np.einsum("rk,rkj->j", u, J)
    square = np.einsum("rki,rkj->ij", J, J)
    A, B = quadratic_limit(at_zero, linear, square)
    moves = rng.standard_normal((500, features)) * 10.0 ** rng.uniform(-2.0, 2.0, size=(500, 1))
    value = at_zero + moves @ linear + np.einsum("ri,ij,rj->r", moves, square, moves)
    assert (value <= (A + B * (moves**2).sum(axis=1)) * (1.0 + 1e-12)).all()
    assert at_zero <= A <= 2.0 * at_zero * (1.0 + 1e-12)
    top = float(np.linalg.eigvalsh(square)[-1])
    assert top <= B <= 2.0 * top * (1.0 + 1e-12)


class Segment:
    """A set of the user's own: the first coordinate in [0, 2], the others zero."""

    diameter = 2.0

    def project(self, point: FloatArray) -> FloatArray:
        return np.concatenate([np.clip(point[:1], 0.0, 2.0), np.zeros(point.size - 1)])

    def contains(self, point: FloatArray, *, tolerance: float = 1e-12) -> bool:
        return bool(np.allclose(self.project(point), point, atol=tolerance))

    def fits(self, features: int) -> bool:
        return features >= 1


@pytest.mark.parametrize(
    ("domain", "distance"),
    [
        (None, math.inf),
        (WholeSpace(), math.inf),
        (Ball(2.0), 7.0),
        (Ball(2.0, center=np.array([3.0, 3.0])), 3.0),
        (Box(low=0.0, high=6.0), 5.0),
        (Box(low=-3.0, high=math.inf), math.inf),
        pytest.param(Segment(), 2.0 + math.hypot(1.0, 4.0), id="segment"),
    ],
    ids=repr,
)
def test_the_furthest_point_of_a_domain(domain: ConstraintSet | None, distance: float) -> None:
    assert max_distance(domain, np.array([3.0, 4.0])) == pytest.approx(distance)
