import numpy as np
import pytest
from scipy.optimize import minimize

from driftpace.losses import HuberLoss, LinearLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from driftpace.selection import Design, Held, left_out, losses_left_out, make_folds

LOSSES = [SquaredLoss(l2=0.1), LogisticLoss(l2=0.1), SmoothedHinge(l2=0.1), HuberLoss(l2=0.1, threshold=0.7)]


def anchored_fit(
    loss: LinearLoss, X: np.ndarray, y: np.ndarray, anchor: np.ndarray, strength: np.ndarray
) -> np.ndarray:
    """The minimiser of the rows' loss, penalty and anchor, by a general method."""
    weights = loss.penalty_weights(X.shape[1])

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        off = w - anchor
        value = loss.curve.phi(X @ w, y).sum() + 0.5 * len(y) * weights @ w**2 + 0.5 * off @ strength @ off
        return value, loss.curve.slope(X @ w, y) @ X + len(y) * weights * w + strength @ off

    return minimize(objective, anchor, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x


def problem(loss: LinearLoss, rng: np.random.Generator, rows: int = 40, features: int = 4) -> tuple[np.ndarray, ...]:
    X = rng.standard_normal((rows, features))
    scores = X @ rng.standard_normal(features) + rng.standard_normal(rows)
    y = scores if isinstance(loss, SquaredLoss | HuberLoss) else np.where(scores > 0.0, 1.0, -1.0)
    half = rng.standard_normal((features, features))
    return X, y, rng.standard_normal(features), half @ half.T


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_a_model_without_a_fold_is_the_fit_to_the_other_rows(loss: LinearLoss, rng: np.random.Generator) -> None:
    X, y, anchor, strength = problem(loss, rng)
    design = Design(X=X, y=y, fold=make_folds(len(y), 5, rng=0))
    held = Held(loss=loss, model=anchored_fit(loss, X, y, anchor, strength), strength=strength)
    for f, model in enumerate(left_out(design, held)):
        keep = design.fold != f
        assert model == pytest.approx(anchored_fit(loss, X[keep], y[keep], anchor, strength), abs=2e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_far_outliers_and_one_row_in_a_fold_are_tolerated(loss: LinearLoss, rng: np.random.Generator) -> None:
    X, y, anchor, strength = problem(loss, rng, rows=8, features=3)
    X[0] *= 50.0
    design = Design(X=X, y=y, fold=np.arange(8))
    held = Held(loss=loss, model=anchored_fit(loss, X, y, anchor, 0.1 * strength), strength=0.1 * strength)
    for f, model in enumerate(left_out(design, held)):
        keep = design.fold != f
        exact = anchored_fit(loss, X[keep], y[keep], anchor, 0.1 * strength)
        scale = 1.0 + np.abs(exact).max()
        assert np.abs(model - exact).max() <= 1e-4 * scale  # BFGS itself is no better on so stretched a row


def test_leave_one_out_of_least_squares_is_the_formula_with_leverages(rng: np.random.Generator) -> None:
    X = rng.standard_normal((30, 5))
    y = rng.standard_normal(30)
    coef = np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64)
    leverage = np.einsum("ij,jk,ik->i", X, np.linalg.inv(X.T @ X), X)
    design = Design(X=X, y=y, fold=np.arange(30))
    losses = losses_left_out(
        design, left_out(design, Held(loss=SquaredLoss(), model=coef, strength=np.zeros((5, 5)))), SquaredLoss()
    )
    assert losses == pytest.approx(0.5 * ((y - X @ coef) / (1.0 - leverage)) ** 2)


def test_the_score_has_no_penalty_and_each_row_its_own_model(rng: np.random.Generator) -> None:
    X, y, _, _ = problem(SquaredLoss(), rng)
    fold = make_folds(len(y), 4, rng=0)
    models = rng.standard_normal((4, 4))
    losses = losses_left_out(Design(X=X, y=y, fold=fold), models, SquaredLoss(l2=9.0))
    assert losses == pytest.approx([0.5 * (y[i] - X[i] @ models[fold[i]]) ** 2 for i in range(len(y))])


def test_rows_that_miss_directions_give_the_shortest_change() -> None:
    X = np.eye(3)
    design = Design(X=X, y=np.ones(3), fold=np.arange(3))
    models = left_out(design, Held(loss=SquaredLoss(), model=np.ones(3), strength=np.zeros((3, 3))))
    assert models == pytest.approx(1.0 - np.eye(3))


def test_an_overflow_is_not_finite_and_no_error() -> None:
    X = np.full((4, 1), 1e200)
    design = Design(X=X, y=np.ones(4), fold=np.array([0, 0, 1, 1]))
    models = left_out(design, Held(loss=SquaredLoss(), model=np.ones(1), strength=np.zeros((1, 1))))
    assert not np.isfinite(models).any()
