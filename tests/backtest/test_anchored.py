"""Anchored fits against a general minimiser, one model at a time."""

import numpy as np
import pytest
from scipy.optimize import minimize

from driftpace import HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.backtest.anchored import STRENGTHS, fit_anchored, fit_fresh, fit_shrunk
from driftpace.losses import LinearLoss, Loss
from driftpace.typing import FloatArray

LOSSES: list[LinearLoss] = [SquaredLoss(l2=0.1), LogisticLoss(l2=1e-3), SmoothedHinge(l2=0.1), HuberLoss(threshold=0.7)]


class Foreign:
    """A loss that is no LinearLoss, as a user may write one."""

    def __init__(self, loss: LinearLoss) -> None:
        self._loss = loss

    def __getattr__(self, name: str) -> object:
        return getattr(self._loss, name)


def rows_of(loss: LinearLoss, rng: np.random.Generator, rows: int) -> tuple[FloatArray, FloatArray]:
    X = np.column_stack([rng.normal(size=(rows, 2)), np.ones(rows)])
    y = X @ np.array([1.0, -0.5, 0.3]) + rng.normal(size=rows)
    return X, y if isinstance(loss, SquaredLoss | HuberLoss) else np.where(y > 0.0, 1.0, -1.0)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("rows", [4, 40])
def test_a_fit_is_the_minimiser(loss: LinearLoss, rows: int, rng: np.random.Generator) -> None:
    objective = loss.with_unpenalised(1)
    X, y = rows_of(loss, rng, rows)
    strengths, scale = np.array([0.03, 1.0, 30.0]), np.array([1.0, 2.0, 0.5])
    anchors = rng.normal(size=(3, 3))
    models = fit_anchored(objective, X, y, anchors, strengths, scale)
    for model, anchor, strength in zip(models, anchors, strengths, strict=True):

        def value(w: FloatArray, anchor: FloatArray = anchor, strength: float = strength) -> float:
            return objective.value(w, X, y) + 0.5 * strength * float(scale @ np.square(w - anchor))

        best = minimize(value, anchor, method="BFGS", options={"gtol": 1e-9})
        assert value(model) <= best.fun + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_no_model_depends_on_the_others(loss: LinearLoss, rng: np.random.Generator) -> None:
    X, y = rows_of(loss, rng, 25)
    anchors, scale = rng.normal(size=(len(STRENGTHS), 3)), np.ones(3)
    together = fit_anchored(loss.with_unpenalised(1), X, y, anchors, STRENGTHS, scale)
    for index in (0, 3, 12, len(STRENGTHS) - 1):
        one = slice(index, index + 1)
        alone = fit_anchored(loss.with_unpenalised(1), X, y, anchors[one], STRENGTHS[one], scale)
        np.testing.assert_allclose(alone[0], together[index], rtol=1e-9, atol=1e-9)


def test_a_loss_of_ones_own_is_fitted_alike(rng: np.random.Generator) -> None:
    loss = LogisticLoss(l2=0.01).with_unpenalised(1)
    X, y = rows_of(loss, rng, 30)
    foreign: Loss = Foreign(loss)  # type: ignore[assignment]
    strengths, scale = np.array([0.1, 1.0]), np.ones(3)
    known = fit_anchored(loss, X, y, np.zeros((2, 3)), strengths, scale)
    np.testing.assert_allclose(fit_anchored(foreign, X, y, np.zeros((2, 3)), strengths, scale), known, atol=1e-9)


def test_infinite_strength_and_no_rows_keep_the_anchor(rng: np.random.Generator) -> None:
    X, y = rows_of(SquaredLoss(), rng, 10)
    anchors = rng.normal(size=(2, 3))
    kept = fit_anchored(SquaredLoss(), X, y, anchors, np.array([0.0, np.inf]), np.ones(3))
    assert (kept[1] == anchors[1]).all()
    assert (kept[0] != anchors[0]).all()
    assert (fit_anchored(SquaredLoss(), X[:0], y[:0], anchors, np.zeros(2), np.ones(3)) == anchors).all()


def test_fewer_rows_than_coefficients_move_as_little_as_they_can(rng: np.random.Generator) -> None:
    X, y = rows_of(SquaredLoss(), rng, 2)
    np.testing.assert_allclose(fit_fresh(SquaredLoss(), X, y, np.ones(3)), np.linalg.pinv(X) @ y, atol=1e-6)


def test_a_shrunk_fit_keeps_the_mean(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.normal(size=(12, 2)), np.ones(12)])
    y = 9.0 + X[:, 0]
    free, mean_only = fit_shrunk(SquaredLoss(), X, y, np.array([0.0, np.inf]), np.ones(3))
    np.testing.assert_allclose(free, [1.0, 0.0, 9.0], atol=1e-4)
    np.testing.assert_allclose(mean_only, [0.0, 0.0, y.mean()], atol=1e-4)


def test_rows_of_one_class_give_finite_coefficients(rng: np.random.Generator) -> None:
    X = np.column_stack([rng.normal(size=(8, 2)), np.ones(8)])
    loss = LogisticLoss(l2=1e-3).with_unpenalised(1)
    for model in (*fit_shrunk(loss, X, np.ones(8), STRENGTHS, np.ones(3)), fit_fresh(loss, X, np.ones(8), np.ones(3))):
        assert np.isfinite(model).all()
        assert loss.value(model, X, np.ones(8)) < 0.01
