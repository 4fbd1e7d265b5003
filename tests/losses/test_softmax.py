"""The softmax loss: derivatives against finite differences, two classes against the logistic loss, tails and refusals."""

import numpy as np
import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.losses import LogisticLoss, SoftmaxLoss, VectorLoss
from driftpace.losses.softmax import helmert
from driftpace.losses.vector import kronecker_forms, kronecker_sum
from driftpace.typing import FloatArray

STEP = 1e-6


def rows(rng: np.random.Generator, classes: int, count: int = 40, features: int = 4) -> tuple[FloatArray, FloatArray]:
    X = rng.standard_normal((count, features))
    X[:, -1] = 1.0
    return X, rng.integers(0, classes, count).astype(np.float64)


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_derivatives_are_those_of_the_value(classes: int, rng: np.random.Generator) -> None:
    loss = SoftmaxLoss(classes=classes, l2=0.1, unpenalised=classes - 1)
    X, y = rows(rng, classes)
    w = rng.standard_normal(X.shape[1] * loss.outputs)
    axes = STEP * np.eye(w.size)
    gradient, hessian = loss.gradient(w, X, y), loss.hessian(w, X, y)
    along = [(loss.value(w + axis, X, y) - loss.value(w - axis, X, y)) / (2.0 * STEP) for axis in axes]
    across = [(loss.gradient(w + axis, X, y) - loss.gradient(w - axis, X, y)) / (2.0 * STEP) for axis in axes]
    np.testing.assert_allclose(gradient, along, atol=1e-8)
    np.testing.assert_allclose(hessian, across, atol=1e-8)
    np.testing.assert_allclose(loss.row_gradients(w, X, y).mean(axis=0), gradient, atol=1e-14)
    np.testing.assert_allclose(loss.hessian_product(w, X, y, axes[0]), hessian @ axes[0], atol=1e-16)
    np.testing.assert_allclose(loss.row_values(w, X, y).mean(), loss.value(w, X, y), rtol=1e-14)
    assert np.linalg.eigvalsh(loss.bend(loss.scores(w, X), y)).max() <= loss.curvature
    assert np.array_equal(hessian, hessian.T)


def test_two_classes_are_those_of_the_logistic_loss(rng: np.random.Generator) -> None:
    """The scores of two classes differ by sqrt(2) times the contrast, the first class minus the second."""
    X, y = rows(rng, 2)
    w: FloatArray = rng.standard_normal((X.shape[1],))
    softmax, logistic = SoftmaxLoss(classes=2), LogisticLoss()
    odds = -np.sqrt(2.0) * w
    signs = 2.0 * y - 1.0
    np.testing.assert_allclose(softmax.row_values(w, X, y), logistic.row_values(odds, X, signs), rtol=1e-12)
    np.testing.assert_allclose(softmax.probabilities(softmax.scores(w, X))[:, 1], logistic.probabilities(X @ odds))


@pytest.mark.parametrize("classes", [2, 5, 40])
def test_helmert_contrasts_are_orthonormal_and_nested(classes: int) -> None:
    contrasts = helmert(classes)
    np.testing.assert_allclose(contrasts.T @ contrasts, np.eye(classes - 1), atol=1e-14)
    np.testing.assert_allclose(contrasts.sum(axis=0), 0.0, atol=1e-14)
    if classes > 2:
        np.testing.assert_array_equal(contrasts[:-1, :-1], helmert(classes - 1))


def test_huge_scores_stay_finite() -> None:
    loss = SoftmaxLoss(classes=3)
    scores, y = np.array([[1e8, -1e8], [-1e300, 1e300], [0.0, 0.0]]), np.array([0.0, 1.0, 2.0])
    for values in (loss.phi(scores, y), loss.slope(scores, y), loss.bend(scores, y), loss.probabilities(scores)):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(loss.probabilities(scores).sum(axis=1), 1.0)


@pytest.mark.parametrize("y", [[0, 3], [-1, 0], [0.5, 1], [0, float("nan")]])
def test_numbers_that_are_not_classes_are_refused(y: list[float]) -> None:
    with pytest.raises(DataError, match=r"y must be whole numbers from 0 to 2 for SoftmaxLoss; got values such as"):
        SoftmaxLoss(classes=3).encode(np.array(y))


@pytest.mark.parametrize("classes", [1, 0, 2.5, 1001])
def test_impossible_numbers_of_classes_are_refused(classes: float) -> None:
    with pytest.raises(ParameterError, match=r"SoftmaxLoss\(classes=\.\.\.\)"):
        SoftmaxLoss(classes=classes)  # type: ignore[arg-type]


def test_class_coefficients_add_up_to_zero(rng: np.random.Generator) -> None:
    loss: VectorLoss = SoftmaxLoss(classes=4)
    matrix = loss.output_matrix(rng.standard_normal(3 * 5))
    assert matrix.shape == (4, 5)
    np.testing.assert_allclose(matrix.sum(axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize(("features", "outputs"), [(3, 5), (12, 2), (4, 2)])
def test_kronecker_products_are_those_of_numpy(features: int, outputs: int, rng: np.random.Generator) -> None:
    """Few columns and many are summed in different ways."""
    X, half = rng.standard_normal((9, features)), rng.standard_normal((9, outputs, outputs))
    bends = half @ half.transpose(0, 2, 1)
    whole = sum(np.kron(np.outer(x, x), bend) for x, bend in zip(X, bends, strict=True))
    np.testing.assert_allclose(kronecker_sum(X, bends), whole, atol=1e-12)
    matrix = rng.standard_normal((features * outputs, features * outputs))
    forms = [np.kron(x[:, None], np.eye(outputs)).T @ matrix @ np.kron(x[:, None], np.eye(outputs)) for x in X]
    np.testing.assert_allclose(kronecker_forms(X, matrix, outputs), forms, atol=1e-12)
    assert kronecker_sum(X[:0], bends[:0]).shape == (features * outputs,) * 2
