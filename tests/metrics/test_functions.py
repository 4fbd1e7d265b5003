"""Metrics against scikit-learn where it is installed, and against numbers otherwise."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace import GammaLoss, LogisticLoss, PoissonLoss, QuantileLoss, SquaredLoss, TweedieLoss
from driftpace.metrics import (
    accuracy,
    added_error,
    auc,
    evaluate,
    log_loss,
    macro_f1,
    mae,
    measure,
    metrics_for,
    pinball,
    r2,
    rmse,
)


@given(st.integers(0, 10_000), st.integers(2, 5), st.booleans())
def test_they_agree_with_scikit_learn(seed: int, classes: int, weighted: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(classes), rng.integers(0, classes, 30))
    predicted = rng.integers(0, classes, len(y))
    P = rng.dirichlet(np.ones(classes), len(y))
    weights = rng.uniform(0.1, 3.0, len(y)) if weighted else None
    assert accuracy(y, predicted, weights) == pytest.approx(
        metrics.accuracy_score(y, predicted, sample_weight=weights), rel=1e-9, abs=1e-12
    )
    assert macro_f1(y, predicted, weights) == pytest.approx(
        metrics.f1_score(y, predicted, average="macro", sample_weight=weights), rel=1e-9, abs=1e-12
    )
    assert log_loss(y, P, weights) == pytest.approx(
        metrics.log_loss(y, P, sample_weight=weights, labels=np.arange(classes)), rel=1e-9, abs=1e-12
    )
    each = [metrics.roc_auc_score(y == label, P[:, label], sample_weight=weights) for label in range(classes)]
    assert auc(y, P, weights) == pytest.approx(float(np.mean(each)), rel=1e-9, abs=1e-12)
    numbers, guesses = rng.normal(size=len(y)), rng.normal(size=len(y))
    assert r2(numbers, guesses, weights) == pytest.approx(
        metrics.r2_score(numbers, guesses, sample_weight=weights), rel=1e-9, abs=1e-12
    )
    assert mae(numbers, guesses, weights) == pytest.approx(
        metrics.mean_absolute_error(numbers, guesses, sample_weight=weights), rel=1e-9, abs=1e-12
    )
    assert pinball(numbers, guesses, 0.9, weights) == pytest.approx(
        metrics.mean_pinball_loss(numbers, guesses, alpha=0.9, sample_weight=weights), rel=1e-9, abs=1e-12
    )


def test_numbers_by_hand() -> None:
    y, predicted = np.array([0, 1, 2, 2]), np.array([0, 2, 2, 2])
    assert accuracy(y, predicted) == 0.75
    assert macro_f1(y, predicted) == pytest.approx((1.0 + 0.0 + 0.8) / 3.0)
    assert rmse(np.array([0.0, 0.0]), np.array([3.0, 4.0])) == pytest.approx(math.sqrt(12.5))
    assert math.isnan(auc([1, 1], np.array([0.1, 0.2])))
    assert math.isnan(r2(np.ones(3), np.zeros(3)))


def test_a_loss_names_what_it_shows() -> None:
    rng = np.random.default_rng(0)
    for loss, y in ((LogisticLoss(), np.where(rng.random(20) < 0.5, 1.0, -1.0)), (SquaredLoss(), rng.normal(size=20))):
        assert tuple(evaluate(loss, y, rng.normal(size=20))) == metrics_for(loss)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("loss", "deviance", "power"),
    [
        pytest.param(PoissonLoss(), "mean_poisson_deviance", None, id="counts"),
        pytest.param(GammaLoss(), "mean_gamma_deviance", None, id="amounts"),
        pytest.param(TweedieLoss(power=1.5), "mean_tweedie_deviance", 1.5, id="tweedie"),
    ],
)
def test_deviance_explained_is_that_of_scikit_learn(
    loss: Any, deviance: str, power: float | None, weighted: bool, rng: np.random.Generator
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    scores = rng.normal(size=50)
    y = rng.gamma(2.0, np.exp(scores)) + 0.1
    weights = rng.uniform(0.1, 3.0, 50) if weighted else None
    found = evaluate(loss, y, scores, weights)
    more = {} if power is None else {"power": power}
    own, constant = (
        getattr(metrics, deviance)(y, mean, sample_weight=weights, **more)
        for mean in (np.exp(scores), np.full(50, np.average(y, weights=weights)))
    )
    assert tuple(found) == metrics_for(loss)
    assert found["deviance_explained"] == pytest.approx(1.0 - own / constant, rel=1e-9)
    assert found["mae"] == pytest.approx(mae(y, np.exp(scores), weights))
    assert math.isnan(evaluate(PoissonLoss(), np.zeros(3), np.zeros(3))["deviance_explained"])


def test_quantiles_show_their_loss_and_the_share_below() -> None:
    y = np.array([1.0, 2.0, 3.0, 4.0])
    found = evaluate(QuantileLoss(tau=0.75), y, np.full(4, 3.0), np.array([1.0, 1.0, 1.0, 2.0]))
    assert found == {"pinball": pytest.approx((0.25 * 3.0 + 0.75 * 2.0) / 5.0), "share_below": pytest.approx(0.6)}
    assert tuple(found) == metrics_for(QuantileLoss(tau=0.75))


@pytest.mark.parametrize("name", ["accuracy", "auc", "log_loss"])
def test_the_variance_of_a_measurement_is_that_over_samples(name: str) -> None:
    rng, found = np.random.default_rng(1), []
    for _ in range(400):
        scores = rng.normal(scale=2.0, size=60)
        y = np.where(rng.random(60) < 1.0 / (1.0 + np.exp(-scores)), 1.0, -1.0)
        found.append(measure(name, LogisticLoss(), y, scores))
    spread = np.var([one.error for one in found], ddof=1)
    assert 0.75 < np.mean([one.variance for one in found]) / spread < 1.3  # a variance of 400 is known within 7 %


@pytest.mark.parametrize("name", ["accuracy", "auc", "log_loss"])
def test_what_an_excess_loss_adds_is_what_models_drawn_about_the_best_lose(name: str) -> None:
    rng, loss = np.random.default_rng(2), LogisticLoss()
    X, best = rng.normal(size=(20_000, 3)), np.array([1.5, -1.0, 0.5])
    scores = X @ best
    p = 1.0 / (1.0 + np.exp(-scores))
    y = np.where(rng.random(len(p)) < p, 1.0, -1.0)
    excess = np.array([0.02])
    hessian = (X.T * (p * (1.0 - p))) @ X / len(X)
    root = np.linalg.cholesky(np.linalg.inv(hessian)) * math.sqrt(2.0 / 3.0)
    added = added_error(name, loss, y[:400], scores[:400], X[:400] @ root, excess)[0]
    drawn = [measure(name, loss, y, X @ (best + math.sqrt(0.02) * root @ rng.normal(size=3))).error for _ in range(200)]
    true = np.mean(drawn) - measure(name, loss, y, scores).error
    assert added == pytest.approx(true, rel=0.3)  # 400 rows, 200 models, and no quadratic
