"""Objectives with a loss of their own: quantiles and positive or often-zero amounts, followed and trained again in that loss."""

from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost

from driftpace import Tracker
from driftpace.campaign import Campaign
from driftpace.errors import ParameterError
from driftpace.losses import GammaLoss, LinearLoss, QuantileLoss, TweedieLoss
from driftpace.models import adapt
from driftpace.storage import MemoryStore
from driftpace.typing import FloatArray

LOSSES: dict[str, LinearLoss] = {
    "quantile": QuantileLoss(tau=0.8),
    "gamma": GammaLoss(l2=1e-4),
    "tweedie": TweedieLoss(l2=1e-4, power=1.3),
}


def draw(kind: str, rows: int, rng: np.random.Generator, level: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Return rows with noise of the kind around a mean, or with a quantile, that no line reaches."""
    X = rng.uniform(-2.0, 2.0, (rows, 3))
    signal = 0.5 * np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] * (X[:, 2] > 0.0) + level
    if kind == "quantile":
        return X, signal + 0.5 * rng.standard_normal(rows)
    amounts = np.exp(signal) * rng.gamma(4.0, 0.25, rows)
    return X, amounts if kind == "gamma" else amounts * (rng.random(rows) < 0.7)


def trees(library: str, kind: str, X: FloatArray, y: FloatArray) -> Any:
    if library == "lightgbm":
        more = {"quantile": {"alpha": 0.8}, "tweedie": {"tweedie_variance_power": 1.3}, "gamma": {}}[kind]
        given = {"objective": kind, "verbosity": -1, "num_threads": 1, **more}
        return lightgbm.train(given, lightgbm.Dataset(X, y), 40)
    objective = "reg:quantileerror" if kind == "quantile" else f"reg:{kind}"
    other: dict[str, Any] = {"quantile": {"quantile_alpha": 0.8}, "tweedie": {"tweedie_variance_power": 1.3}}.get(
        kind, {}
    )
    return xgboost.train({"objective": objective, "nthread": 1, **other}, xgboost.DMatrix(X, y), 40)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("kind", LOSSES)
def test_scores_settings_and_loss_are_those_of_the_objective(library: str, kind: str, rng: np.random.Generator) -> None:
    X, y = draw(kind, 800, rng)
    model = trees(library, kind, X, y)
    base = adapt(model)
    tracker = Tracker.for_model(base, epsilon=0.05, rng=0)
    assert tracker.head.snapshot()[0].spec.loss == LOSSES[kind]
    expected = model.predict(X[:20] if library == "lightgbm" else xgboost.DMatrix(X[:20]))
    np.testing.assert_allclose(tracker.predict(X[:20]), expected, rtol=1e-5)
    again = base.refit(X, y)
    assert (again.loss_name, again.task) == (base.loss_name, base.task)
    np.testing.assert_allclose(again.scores(X), base.scores(X), rtol=0.0, atol=0.5)
    assert again.loss_name == type(base).restore(base.dump()).loss_name


@pytest.mark.parametrize(("library", "kind"), [("lightgbm", "quantile"), ("xgboost", "gamma"), ("lightgbm", "tweedie")])
def test_a_level_that_moved_is_followed(library: str, kind: str, rng: np.random.Generator, tmp_path: Path) -> None:
    tracker = Tracker.for_model(trees(library, kind, *draw(kind, 1500, rng)), epsilon=0.05, rng=0)
    tracker.fit_pool(draw(kind, 300, rng)[0])
    for _ in range(2):
        report = tracker.step(lambda rows: draw(kind, max(rows, 80), rng, level=0.7))
    assert report.retrain is not None
    assert report.retrain.gain is not None
    X, y = draw(kind, 4000, rng, level=0.7)
    loss = LOSSES[kind].exact.curve

    def mean(scores: FloatArray) -> float:
        return float(np.mean(loss.phi(scores, y)))

    assert mean(tracker.decision_function(X)) < mean(tracker.base.scores(X)) - 0.02
    if kind == "quantile":
        assert abs(float(np.mean(y <= tracker.predict(X))) - 0.8) < 0.08
    tracker.save(tmp_path / "state.json")
    np.testing.assert_array_equal(Tracker.load(tmp_path / "state.json").predict(X), tracker.predict(X))


def test_a_campaign_takes_the_loss_of_the_objective(rng: np.random.Generator) -> None:
    model = trees("lightgbm", "quantile", *draw("quantile", 300, rng))
    given = {"name": "late", "target": "y", "epsilon": 0.1, "features": ["a", "b", "c"]}
    campaign = Campaign.create(given, storage=MemoryStore(), model=model)
    assert campaign.definition.loss == "quantile(0.8)"
    with pytest.raises(ParameterError, match=r"must be 'quantile\(0.8\)' with a model of regression; got 'squared'"):
        Campaign.create({**given, "loss": "squared"}, storage=MemoryStore(), model=model)


def test_several_quantiles_at_once_are_refused(rng: np.random.Generator) -> None:
    X, y = draw("quantile", 100, rng)
    given = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
    with pytest.raises(ParameterError, match="must be of one quantile; got a booster of 2"):
        adapt(xgboost.train(given, xgboost.DMatrix(X, y), 3))
