import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.bounds import SecondMoment
from driftpace.bounds.noise import bounded_start
from driftpace.errors import ParameterError
from driftpace.losses import SquaredLoss
from driftpace.synthetic import BoundedRegression
from tests.reference.bound_checks import SQUARES, Squares
from tests.reference.monte_carlo import measure


@pytest.mark.statistical
@pytest.mark.parametrize("squares", SQUARES, ids=repr)
def test_least_squares_constants_bound_the_second_moment(squares: Squares, rng: np.random.Generator) -> None:
    """Error budget of a fast case: at most 1 comparison at 4.9 standard errors of 40,000 runs or more: 5e-7 (Student t)."""
    moment = SecondMoment.least_squares(noise=squares.noise, trace=squares.trace, R2=squares.R2)
    w = rng.standard_normal(squares.features)
    X, y = squares.draw(1, 40_000, rng)
    gradients = X[0] * (X[0] @ w - y[0])[:, None]
    slope = float(w @ (squares.eigenvalues * w))
    second = measure((gradients**2).sum(axis=1))
    assert second.at_most(moment.A + moment.C * slope)
    assert not second.at_most(0.3 * (moment.A + moment.C * slope))


def test_row_smooth_constants_bound_the_second_moment(rng: np.random.Generator) -> None:
    world = BoundedRegression(coef=np.array([1.0, -2.0, 0.5]), covariance=np.diag([1.0, 0.3, 0.1]), noise=0.5)
    loss = SquaredLoss(l2=0.1)
    constants, best = world.constants(loss), world.minimiser(loss)
    moment = SecondMoment.row_smooth(sigma_star=constants.safe("sigma_star"), L=constants.safe("L"))
    X, y = world.draw(50_000, rng=rng)
    for scale in (0.0, 0.3, 3.0):
        move = scale * rng.standard_normal(3)
        second = measure((loss.row_gradients(best + move, X, y) ** 2).sum(axis=1))
        slope = float(move @ world.hessian(loss) @ move)
        assert second.at_most(moment.A + moment.C * slope)
    assert moment.per_distance(m=0.2) == pytest.approx(0.2 * moment.C)


@settings(max_examples=200, deadline=None)
@given(
    A=st.floats(0.0, 10.0),
    B=st.floats(0.0, 10.0),
    C=st.floats(0.0, 10.0),
    near=st.floats(0.0, 5.0),
    far=st.floats(0.0, 5.0),
)
def test_the_risk_of_the_start(A: float, B: float, C: float, near: float, far: float) -> None:
    moment = SecondMoment(A=A, B=B, C=C)
    near, far = sorted((near, far))
    slope = moment.start(near)
    assert slope**2 == pytest.approx(near**2 * (A + B * near**2 + C * slope), rel=1e-9, abs=1e-12)
    assert slope <= moment.start(far) * (1.0 + 1e-12)
    assert moment.start(near, M=0.7) <= 0.35 * near**2


@settings(max_examples=100, deadline=None)
@given(G2=st.floats(0.01, 10.0), m=st.floats(0.01, 10.0), near=st.floats(0.0, 5.0), far=st.floats(0.0, 5.0))
def test_the_risk_of_the_start_under_bounded_gradients(G2: float, m: float, near: float, far: float) -> None:
    near, far = sorted((near, far))
    value = bounded_start(near, G2=G2, m=m)
    assert 0.0 <= value <= bounded_start(far, G2=G2, m=m) + 1e-12
    assert value <= G2 / (2.0 * m) * (1.0 + 1e-12)
    assert value <= G2**0.5 * near + 1e-12


def test_conditions_in_words() -> None:
    assert "E||g(w)||^2 <= 2 + 3 ||w - w*||^2 everywhere" in SecondMoment(A=2.0, B=3.0).sentences()[-1]
    assert "<grad f(w), w - w*>" in SecondMoment(A=2.0, C=3.0).sentences()[-1]
    assert any("4-Lipschitz" in sentence for sentence in SecondMoment.row_smooth(sigma_star=1.0, L=4.0).sentences())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"SecondMoment\(A=...\) must be zero or more"):
        SecondMoment(A=-1.0)
    with pytest.raises(ParameterError, match=r"SecondMoment.row_smooth\(L=...\) must be positive"):
        SecondMoment.row_smooth(sigma_star=1.0, L=0.0)
    with pytest.raises(ParameterError, match=r"SecondMoment.least_squares\(R2=...\) must be positive"):
        SecondMoment.least_squares(noise=1.0, trace=1.0, R2=0.0)
