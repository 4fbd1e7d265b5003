"""A period's own best model, and what others lose against it."""

import numpy as np
import pytest

from driftpace import LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.backtest.population import _noise, find_population
from driftpace.errors import DataError
from driftpace.losses import Loss


def test_by_hand() -> None:
    # rows (x, y) = (-1, 0), (1, 2), (0, 4): slope 1, intercept 2, residuals -1, -1, 2; H = diag(2/3, 1)
    now = find_population("1974", SquaredLoss(), np.array([[-1.0], [1.0], [0.0]]), np.array([0.0, 2.0, 4.0]))
    np.testing.assert_allclose(now.best, [1.0, 2.0], atol=1e-12)
    assert now.least == pytest.approx(1.0)
    models = np.array([[1.0, 2.0], [2.0, 2.0], [1.0, 3.0]])
    np.testing.assert_allclose(now.excess_risk(models), [0.0, 1.0 / 3.0, 0.5], atol=1e-12)
    # gradients (slope, intercept): residual e gives -e (x, 1) = (-1, 1), (1, 1), (0, -2); covariance diag(1, 3)
    assert now.noise == pytest.approx(1.0 / (2.0 / 3.0) + 3.0)


@pytest.mark.parametrize("loss", [SquaredLoss(l2=0.2), LogisticLoss(l2=1e-3), SmoothedHinge(l2=0.1)])
def test_nothing_is_better_than_the_best(loss: Loss, rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + rng.normal(size=80) > 0.0).astype(np.float64)
    now = find_population("n", loss, X, y)
    others = now.best + 0.3 * rng.normal(size=(20, 4))
    excess = now.excess_risk(others)
    direct = [now.loss.value(one, now.X, now.y) - now.least for one in others]
    np.testing.assert_allclose(excess, direct, atol=1e-12)
    assert (excess > 0.0).all()
    assert now.excess_risk(now.best)[0] == 0.0


def test_an_intercept_is_not_penalised(rng: np.random.Generator) -> None:
    X = rng.normal(size=(50, 2))
    now = find_population("n", SquaredLoss(l2=1e6), X - X.mean(axis=0), np.full(50, 7.0))
    np.testing.assert_allclose(now.best, [0.0, 0.0, 7.0], atol=1e-9)


def test_numbers_that_overflow_are_refused_in_a_sentence() -> None:
    with pytest.raises(DataError, match="'1974' overflow"):
        find_population("1974", SquaredLoss(), np.array([[1e200], [-1e200], [3e200]]), np.array([1e200, 0.0, 1.0]))


def test_rounding_errors_of_the_curvature_do_not_make_the_best_model_uncertain(rng: np.random.Generator) -> None:
    """A direction that has gradients but no curvature, such as a column that differs only in rows far from a quantile."""
    gradients = rng.standard_normal((400, 2))
    noise, error = _noise(np.diag([1.0, 2e-15]), gradients, None)
    assert noise == pytest.approx(gradients[:, 0].var(ddof=1))
    assert error == pytest.approx(noise / 800)
