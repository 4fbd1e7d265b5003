"""Backtests of tables whose rows have weights."""

from typing import Any

import numpy as np
import pytest

from driftpace import LogisticLoss, SquaredLoss, backtest
from driftpace.backtest import read_table
from driftpace.backtest.population import find_population, with_intercept
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
    assert [one.name for one in result.strategies] == ["driftpace", "first_model"]
    assert result.strategies[0].excess_risk.mean() < 0.05
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
