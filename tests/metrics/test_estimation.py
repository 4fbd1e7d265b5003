"""What targets in metrics of classes, counts and quantiles are estimated from, against Monte Carlo."""

from typing import Any

import numpy as np
import pytest

from driftpace.losses import Loss, PoissonLoss, QuantileLoss, SoftmaxLoss
from driftpace.metrics import added_error, constant_model, measure, quadratic_cost, score_directions
from driftpace.typing import FloatArray

MODEL = np.array([1.0, -0.5, 0.6, 0.8, -0.9, 0.4])
CASES = [
    (SoftmaxLoss(classes=3), "accuracy"),
    (SoftmaxLoss(classes=3), "auc"),
    (SoftmaxLoss(classes=3), "log_loss"),
    (PoissonLoss(), "mae"),
    (PoissonLoss(), "rmse"),
    (PoissonLoss(), "deviance_explained"),
    (QuantileLoss(tau=0.9, bandwidth=0.3), "pinball"),
]


def draw(loss: Any, rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows, their targets and the coefficients of the best model; the first column is ones."""
    X = np.column_stack([np.ones(rows), rng.normal(size=(rows, 2))])
    if isinstance(loss, SoftmaxLoss):
        p = loss.probabilities(loss.scores(MODEL, X))
        return X, (np.cumsum(p, axis=1)[:, :-1] < rng.random(rows)[:, None]).sum(axis=1).astype(float), MODEL
    best = np.array([1.0, 0.3, -0.4])
    if isinstance(loss, PoissonLoss):
        return X, rng.poisson(np.exp(X @ best)).astype(float), best
    return X, X @ best - 1.2816 * np.sqrt(1.0 + 0.3**2) + rng.normal(size=rows), best


def scores_of(loss: Any, X: FloatArray, model: FloatArray) -> FloatArray:
    return np.asarray(loss.scores(model, X) if isinstance(loss, SoftmaxLoss) else X @ model)


def scale_of(name: str, loss: Any, y: FloatArray) -> float:
    return constant_model(loss, y, np.ones(len(y))).mean if name == "deviance_explained" else 1.0


@pytest.mark.parametrize(("loss", "name"), CASES)
def test_the_variance_of_a_measurement_is_that_over_samples(loss: Loss, name: str) -> None:
    rng, found = np.random.default_rng(1), []
    for _ in range(400):
        X, y, best = draw(loss, 80, rng)
        found.append(measure(name, loss, y, scores_of(loss, X, best), scale=scale_of(name, loss, y)))  # type: ignore[arg-type]
    ratio = float(np.mean([one.variance for one in found]) / np.var([one.error for one in found], ddof=1))
    assert 0.75 < ratio < 1.4  # a variance of 400 is known within 7 %; of a ratio the larger of two is taken


@pytest.mark.parametrize(("loss", "name"), CASES)
def test_what_an_excess_loss_adds_is_what_models_drawn_about_the_best_lose(loss: Any, name: str) -> None:
    rng, excess = np.random.default_rng(2), 0.02
    X, y, best = draw(loss, 20_000, rng)
    root, scores = np.eye(len(best)), scores_of(loss, X, best)
    cost = quadratic_cost(loss, y, scores, score_directions(loss, X, root))
    root = root / np.sqrt(cost)
    scale = scale_of(name, loss, y)
    some = slice(400)
    directions = score_directions(loss, X[some], root)
    added = added_error(name, loss, y[some], scores[some], directions, np.array([excess]), scale=scale)[0]
    moves = np.sqrt(excess) * root @ rng.normal(size=(len(best), 200))
    drawn = [measure(name, loss, y, scores_of(loss, X, best + move), scale=scale).error for move in moves.T]
    true = float(np.mean(drawn)) - measure(name, loss, y, scores, scale=scale).error
    assert added == pytest.approx(
        true, rel=0.35
    )  # 400 rows, 200 models, 24 of them drawn for classes, and no quadratic


@pytest.mark.parametrize("loss", [SoftmaxLoss(classes=3), PoissonLoss()])
def test_the_loss_of_a_constant_is_that_on_other_rows(loss: Any) -> None:
    rng = np.random.default_rng(3)
    found, fitted = [], []
    for _ in range(6000):
        y = draw(loss, 20, rng)[1]
        each = constant_model(loss, y, np.ones(20))
        found.append(each.mean)
        fitted.append(float(each.losses.mean()))
    y = draw(loss, 400_000, rng)[1]
    truth = constant_model(loss, y, np.ones(len(y))).mean
    error = float(np.std(found)) / np.sqrt(6000)
    assert abs(np.mean(found) - truth) < 4.0 * error + 0.01 * truth
    # the control: losses of the rows it was fitted to are too low
    assert np.mean(fitted) < truth - 4.0 * error - 0.01 * truth


def test_rows_that_cannot_show_a_metric_say_nothing() -> None:
    loss = SoftmaxLoss(classes=3)
    scores = np.zeros((2, 2))
    assert measure("auc", loss, np.array([1.0, 1.0]), scores).rows == 0.0
    assert measure("deviance_explained", loss, np.array([1.0, 1.0]), scores, scale=0.0).rows == 0.0
    assert measure("accuracy", loss, np.zeros(0), np.zeros((0, 2))).rows == 0.0
