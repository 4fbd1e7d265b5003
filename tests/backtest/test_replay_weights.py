"""Backtests of tables whose rows have weights."""

from typing import Any

import numpy as np
import pytest

from driftpace import LogisticLoss, PoissonLoss, QuantileLoss, SoftmaxLoss, SquaredLoss, backtest
from driftpace.backtest import read_table
from driftpace.backtest.anchored import fit_anchored
from driftpace.backtest.population import find_population, intercept_free, scores_of, with_intercept
from driftpace.errors import DataError, ParameterError
from driftpace.typing import FloatArray


def biased(rows: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return rows of which those with a large feature were kept more often, and weights that undo it."""
    x = rng.standard_normal(3 * rows)
    rate = 1.0 / (1.0 + np.exp(-1.5 * x)) + 0.1
    kept = np.flatnonzero(rng.uniform(0.0, 1.1, 3 * rows) < rate)[:rows]
    x = x[kept]
    return x, 0.5 * x**2 + x + rng.standard_normal(len(x)), 1.0 / rate[kept]


@pytest.fixture
def table() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x, y, w = biased(2_400, rng)
    return {"month": np.arange(len(x)) // 300, "x": x, "y": y, "w": w}


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(l2=0.1)])
def test_the_best_model_of_a_period_minimises_the_weighted_loss(loss: Any, table: dict[str, Any]) -> None:
    X, weights = np.asarray(table["x"])[:, None], np.asarray(table["w"])
    y = np.asarray(table["y"]) if isinstance(loss, SquaredLoss) else np.where(np.asarray(table["y"]) > 0.0, 1.0, -1.0)
    found = find_population("1", loss, X, y, weights=weights)
    plain = find_population("1", loss, X, y)
    gradient = (weights / weights.sum()) @ found.loss.row_gradients(found.best, with_intercept(X), found.y)
    assert np.abs(gradient).max() < 1e-6
    assert found.excess_risk(found.best)[0] == pytest.approx(0.0, abs=1e-9)
    assert found.excess_risk(plain.best)[0] > 1e-3
    same = find_population("1", loss, X, y, weights=np.full(len(y), 2.0))
    assert same.best == pytest.approx(plain.best, abs=1e-6)


def test_a_weighted_backtest_meets_its_target_against_the_weighted_best_model(table: dict[str, Any]) -> None:
    """The control ignores the weights: judged by the weighted best model, its excess risk is far above the target."""
    options: dict[str, Any] = {"period": "month", "target": "y", "epsilon": 0.05, "runs": 3, "workers": 1, "seed": 0}
    result = backtest(table, weight="w", **options)
    names = ["driftpace", "up_front", "even", "from_scratch", "first_model", "best_constant"]
    assert [one.name for one in result.strategies] == names
    assert [(one.name, one.reason) for one in result.skipped] == [("paper", "Its bound is for rows that count alike.")]
    assert result.strategies[0].excess_risk.mean() < 0.05
    yardstick = result.strategies[-1]
    assert yardstick.excess_risk[:, 3:].mean() < 0.05
    assert yardstick.samples[:, 3:].mean() < 240.0  # of the pool of a period
    assert any("weights" in note for note in result.notes)
    panel = read_table(table, period="month", target="y", features=["x"], weight="w")
    assert panel.weights is not None
    plain = [
        find_population("", SquaredLoss(), X, y, weights=w).excess_risk(find_population("", SquaredLoss(), X, y).best)[
            0
        ]
        for X, y, w in zip(panel.X, panel.y, panel.weights, strict=True)
    ]
    assert np.mean(plain) > 0.05, "the best model without weights"


def test_a_weight_is_no_feature_and_rows_of_none_are_left_out(table: dict[str, Any]) -> None:
    table["w"] = np.where(np.arange(2_400) % 10 == 0, 0.0, table["w"])
    panel = read_table(table, period="month", target="y", weight="w")
    assert panel.features == ("x",)
    assert sum(panel.sizes) == 2_160
    assert "Left out 240 rows of weight 0." in panel.notes


def test_a_row_without_a_weight_is_left_out_or_refused(table: dict[str, Any]) -> None:
    table["w"] = np.concatenate([table["w"][:2], [np.nan], table["w"][3:]])
    panel = read_table(table, period="month", target="y", weight="w")
    assert sum(panel.sizes) == 2_399
    with pytest.raises(DataError, match="1 of 2,400 are missing, the first in row 3"):
        read_table(table, period="month", target="y", weight="w", missing="refuse")


def test_a_wrong_weight_is_refused_by_its_cell(table: dict[str, Any]) -> None:
    table["w"] = np.concatenate([table["w"][:2], [-1.0], table["w"][3:]])
    with pytest.raises(DataError, match=r"has '-1\.0' in row 3"):
        read_table(table, period="month", target="y", weight="w")
    with pytest.raises(ParameterError, match="must be another column than period, target and groups"):
        read_table(table, period="month", target="y", weight="y")


@pytest.mark.parametrize(
    "loss", [SquaredLoss(), LogisticLoss(l2=0.1), PoissonLoss(), QuantileLoss(tau=0.7), SoftmaxLoss(classes=3, l2=0.1)]
)
def test_anchored_fits_count_a_row_of_weight_two_twice(loss: Any) -> None:
    rng = np.random.default_rng(0)
    objective, X = intercept_free(loss), with_intercept(rng.standard_normal((80, 2)))
    y = rng.integers(0, 3, 80).astype(np.float64)
    if isinstance(loss, LogisticLoss):
        y = np.where(y > 1.0, 1.0, -1.0)
    times = rng.integers(1, 4, 80)
    size = 3 * scores_of(objective)
    anchors, strengths = 0.1 * rng.standard_normal((3, size)), np.array([0.0, 0.1, np.inf])
    if isinstance(objective, QuantileLoss):
        objective = objective.tuned(1.0)
    again = np.repeat(np.arange(80), times)
    given = objective, anchors, strengths, np.ones(size)
    weighted = fit_anchored(given[0], X, y, *given[1:], times / times.mean())
    repeated = fit_anchored(given[0], X[again], y[again], *given[1:])
    plain = fit_anchored(given[0], X, y, *given[1:])
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)
    assert np.abs(plain[:2] - repeated[:2]).max() > 1e-3  # the control: rows that count alike
