"""Backtests, campaigns and the command line with losses of counts and quantiles, and with an exposure."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from driftpace import Campaign, PoissonLoss, QuantileLoss, SquaredLoss, backtest
from driftpace.backtest.population import find_population
from driftpace.campaign import Definition
from driftpace.cli import main
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore
from driftpace.typing import FloatArray


def table(rows: int = 240, periods: int = 4) -> dict[str, FloatArray]:
    rng = np.random.default_rng(0)
    total = rows * periods
    x, time = rng.standard_normal(total), rng.gamma(2.0, 1.0, total)
    period = np.repeat(np.arange(periods), rows)
    rate = np.exp(1.0 + 0.1 * period + 0.5 * x)
    return {
        "month": period.astype(np.float64),
        "x": x,
        "time": time,
        "count": rng.poisson(rate).astype(np.float64),
        "total": rng.poisson(rate * time).astype(np.float64),
    }


def test_the_best_model_of_a_quantile_is_that_of_the_linear_programme() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = 100.0 + X @ [9.0, -3.0, 0.0] + rng.standard_t(3, 150)
    found = find_population("a", QuantileLoss(tau=0.9), X, y)
    A, n = np.column_stack([X, np.ones(150)]), 150
    solved = linprog(
        np.concatenate([np.zeros(4), np.full(n, 0.9), np.full(n, 0.1)]),
        A_eq=np.hstack([A, np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * 4 + [(0, None)] * (2 * n),
    )
    assert solved.fun is not None
    assert found.least == pytest.approx(solved.fun / n, rel=2e-3)
    assert found.least >= solved.fun / n - 1e-9
    assert found.excess_risk(found.best)[0] == 0.0


@pytest.mark.parametrize("loss", [PoissonLoss(l2=1e-4), QuantileLoss(tau=0.9)], ids=["poisson", "quantile"])
def test_backtests_with_baselines(loss: PoissonLoss | QuantileLoss) -> None:
    result = backtest(
        {name: values for name, values in table().items() if name in ("month", "x", "count")},
        period="month",
        target="count",
        loss=loss,
        tolerance=0.1,
        runs=2,
        workers=1,
        baselines=["even", "best_constant"],
    )
    for strategy in result.strategies:
        assert np.isfinite(strategy.excess_risk).all()
    assert result.strategies[0].excess_risk.mean() <= np.mean(result.epsilon)
    assert not any("such as counts" in note for note in result.notes)


def test_a_backtest_with_exposure() -> None:
    given = {name: values for name, values in table().items() if name != "count"}
    asked: dict[str, Any] = {
        "period": "month",
        "target": "total",
        "tolerance": 0.1,
        "runs": 1,
        "workers": 1,
        "exposure": "time",
    }
    result = backtest(given, loss=PoissonLoss(), **asked)
    assert result.features == ("x",)
    assert any("The target is total for a unit of time" in note for note in result.notes)
    with pytest.raises(ParameterError, match=r"backtest\(exposure=\.\.\.\) must be None with the loss"):
        backtest(given, loss=SquaredLoss(), **asked)
    given["time"][3] = 0.0
    with pytest.raises(DataError, match=r"exposure.*must be a number above 0 in every row; column 'time' has '0.0'"):
        backtest(given, loss=PoissonLoss(), **asked)


def test_all_zero_counts_are_refused() -> None:
    given = {name: values for name, values in table().items() if name in ("month", "x", "count")}
    given["count"][:240] = 0.0
    with pytest.raises(DataError, match="must have a count above zero in every period; those of '0' are all zero"):
        backtest(given, period="month", target="count", loss=PoissonLoss(), tolerance=0.1, runs=1, workers=1)


def test_a_campaign_of_counts_with_exposure() -> None:
    settings = {"name": "claims", "target": "total", "loss": "poisson", "exposure": "time", "tolerance": 0.2}
    campaign = Campaign.create(Definition.of(settings), storage=MemoryStore())
    campaign.ask()
    rows = {name: values[:200] for name, values in table().items() if name in ("x", "time", "total")}
    campaign.tell_table(rows, final=True)
    predicted = campaign.predict(np.array([[0.0]]))
    assert 2.0 < float(np.ravel(predicted)[0]) < 3.8  # e^1 for a unit of time
    with pytest.raises(ParameterError, match=r"Campaign\(exposure=\.\.\.\) must be left out with the loss 'squared'"):
        Definition.of(settings | {"loss": "squared"})
    assert Definition.of(settings | {"loss": "quantile(0.9)", "exposure": None}).make_loss() == QuantileLoss(tau=0.9)


def test_the_command_line_says_how_to_predict_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    given = table(rows=120, periods=3)
    given["count"] = np.round(10.0 * given["count"])
    with open("claims.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["month", "x", "time", "count"])
        writer.writerows(
            zip(given["month"].astype(int), given["x"], given["time"], given["count"].astype(int), strict=True)
        )
    common = ["backtest", "claims.csv", "--period", "month", "--target", "count", "--tolerance", "0.2", "--runs", "1"]
    common += ["--no-report", "--workers", "1"]
    assert main(common) == 0
    assert "--loss poisson predicts counts" in capsys.readouterr().out
    assert main([*common, "--loss", "poisson", "--exposure", "time"]) == 0
    assert "for a unit of time" in capsys.readouterr().out
    assert main([*common, "--loss", "quantile(0.9)", "--exclude", "time"]) == 0
    capsys.readouterr()
    assert main([*common, "--loss", "quantile(2)"]) != 0
    assert "tau" in capsys.readouterr().err
