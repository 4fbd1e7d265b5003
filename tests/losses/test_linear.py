"""The algebra shared by losses, held against loops over rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.errors import ParameterError
from driftpace.losses import Curve, HuberLoss, LinearLoss, LogisticLoss, Loss, SmoothedHinge, SquaredLoss
from tests.reference.slow_losses import rows as slow_rows

KINDS: list[type[LinearLoss]] = [SquaredLoss, SmoothedHinge, LogisticLoss, HuberLoss]


def problem(kind: type[LinearLoss], seed: int, rows: int, features: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features))
    y = rng.standard_normal(rows) if kind in (SquaredLoss, HuberLoss) else np.where(rng.random(rows) < 0.5, -1.0, 1.0)
    return rng.standard_normal(features), X, y


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 12),
    features=st.integers(1, 5),
    l2=st.sampled_from([0.0, 0.1, 3.0]),
    unpenalised=st.integers(0, 6),
)
@settings(max_examples=30, deadline=None)
def test_everything_agrees_with_a_loop_over_rows(
    kind: type[LinearLoss], seed: int, rows: int, features: int, l2: float, unpenalised: int
) -> None:
    loss = kind(l2=l2, unpenalised=unpenalised)
    coef, X, y = problem(kind, seed, rows, features)
    values, gradients, hessians = slow_rows(loss, coef, X, y)
    direction = np.arange(1.0, features + 1.0)
    np.testing.assert_allclose(loss.row_values(coef, X, y), values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss.value(coef, X, y), values.mean(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss.row_gradients(coef, X, y), gradients, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss.gradient(coef, X, y), gradients.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss.hessian(coef, X, y), hessians.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        loss.hessian_product(coef, X, y, direction), hessians.mean(axis=0) @ direction, rtol=1e-12, atol=1e-12
    )
    top = np.linalg.eigvalsh(hessians)[:, -1]
    assert (loss.row_smoothness(X) >= top * (1.0 - 1e-12)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_row_smoothness_is_the_formula(kind: type[LinearLoss]) -> None:
    loss = kind(l2=0.5)
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(loss.row_smoothness(X), [loss.curvature * 25.0 + 0.5, 0.5])


@pytest.mark.parametrize("kind", KINDS)
def test_the_hessian_is_exactly_symmetric(kind: type[LinearLoss], rng: np.random.Generator) -> None:
    coef, X, y = problem(kind, int(rng.integers(10**6)), 50, 7)
    hessian = kind(l2=0.1).hessian(coef, X, y)
    assert np.array_equal(hessian, hessian.T)


@pytest.mark.parametrize("kind", KINDS)
def test_of_no_rows_the_penalty_is_left(kind: type[LinearLoss]) -> None:
    loss, coef = kind(l2=2.0, unpenalised=1), np.array([1.0, 3.0])
    X, y = np.empty((0, 2)), np.empty(0)
    assert loss.value(coef, X, y) == 1.0
    np.testing.assert_array_equal(loss.gradient(coef, X, y), [2.0, 0.0])
    np.testing.assert_array_equal(loss.hessian(coef, X, y), np.diag([2.0, 0.0]))
    assert loss.row_values(coef, X, y).shape == (0,)
    assert loss.row_gradients(coef, X, y).shape == (0, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_is_a_value(kind: type[LinearLoss]) -> None:
    assert isinstance(kind(), Loss)
    assert kind(l2=0.1) == kind(l2=0.1) != kind(l2=0.2)
    assert hash(kind(l2=0.1)) == hash(kind(l2=0.1))
    assert kind(l2=0.1).with_unpenalised(2) == kind(l2=0.1, unpenalised=2)


def test_codes_and_shapes_are_those_the_compiled_learners_read() -> None:
    assert [kind.code for kind in (SquaredLoss, SmoothedHinge, LogisticLoss, HuberLoss)] == [0, 1, 2, 3]
    assert [kind().shape for kind in KINDS] == [0.0, 0.0, 0.0, 1.0]
    assert HuberLoss(threshold=2.5).shape == 2.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l2", [-1.0, np.nan, np.inf, True, "1"])
def test_a_strange_penalty_is_refused(kind: type[LinearLoss], l2: float) -> None:
    with pytest.raises(ParameterError, match=rf"^{kind.__name__}\(l2=\.\.\.\) must be zero or more"):
        kind(l2=l2)


@pytest.mark.parametrize("unpenalised", [-1, 1.5])
def test_a_strange_number_of_unpenalised_coefficients_is_refused(unpenalised: int) -> None:
    with pytest.raises(ParameterError, match=r"^LogisticLoss\(unpenalised=\.\.\.\) must be a whole number"):
        LogisticLoss(unpenalised=unpenalised)


def test_a_curve_needs_a_positive_curvature() -> None:
    curve = SquaredLoss().curve
    with pytest.raises(ParameterError, match=r"^Curve\(curvature=\.\.\.\)"):
        Curve(phi=curve.phi, slope=curve.slope, bend=curve.bend, curvature=0.0)
