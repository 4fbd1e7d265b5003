"""Backtests, campaigns and the command line with losses of counts and quantiles, and with an exposure."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from driftpace import Campaign, PoissonLoss, QuantileLoss, SquaredLoss, backtest
from driftpace.backtest import render
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
    shown = {"deviance_explained", "mae", "rmse"} if isinstance(loss, PoissonLoss) else {"pinball", "share_below"}
    assert set(result.strategies[0].metrics) == shown
    text = render(result)
    assert "R^2" not in text
    assert ("deviance explained" if isinstance(loss, PoissonLoss) else "share below") in text
    if isinstance(loss, QuantileLoss):
        below = result.strategies[0].metrics["share_below"]
        assert abs(float(below.mean()) - 0.9) < 4.0 * 0.3 / np.sqrt(
            0.2 * 240 * 4
        )  # four standard errors of the test rows


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


@pytest.mark.parametrize("loss", [PoissonLoss(), PoissonLoss(l2=1e-4)], ids=["plain", "penalised"])
def test_a_period_of_zeros_does_not_end_a_backtest(loss: PoissonLoss) -> None:
    given = {name: values for name, values in table().items() if name in ("month", "x", "count")}
    given["count"][480:720] = 0.0
    result = backtest(
        given, period="month", target="count", loss=loss, epsilon=0.2, runs=1, workers=1, baselines=["even"]
    )
    assert result.best_loss[2] == 0.0
    for strategy in result.strategies:
        assert np.isfinite(strategy.excess_risk).all()
    assert any("The counts are all zero in 1 period (2), whose excess" in note for note in result.notes)
    given["count"][:] = 0.0
    with pytest.raises(DataError, match="must have a count above zero in some period; got zeros only"):
        backtest(given, period="month", target="count", loss=loss, epsilon=0.2, runs=1, workers=1)


def test_a_campaign_of_counts_with_exposure() -> None:
    settings = {"name": "claims", "target": "total", "loss": "poisson", "exposure": "time", "tolerance": 0.2}
    campaign = Campaign.create(Definition.of(settings), storage=MemoryStore())
    campaign.ask()
    rows = {name: values[:200] for name, values in table().items() if name in ("x", "time", "total")}
    campaign.tell_table(rows, final=True)
    campaign.ask()
    campaign.tell_table({name: values[240:440] for name, values in table().items() if name in rows}, final=True)
    served = campaign.ledger()[-1].served
    assert served is not None
    assert set(served.metrics) == {"deviance_explained", "mae", "rmse"}
    assert 0.0 < served.metrics["deviance_explained"] < 1.0
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


def test_a_negative_count_is_named_with_its_column() -> None:
    given = {name: values for name, values in table().items() if name != "count"}
    given["total"][7] = -3.0
    asked: dict[str, Any] = {"period": "month", "target": "total", "loss": PoissonLoss(), "epsilon": 0.1, "workers": 1}
    with pytest.raises(DataError, match=r"target 'total' must be 0 or more with an exposure; row 8 has -3"):
        backtest(given, exposure="time", **asked)
    with pytest.raises(
        DataError, match=r"must be numbers from 0 to 1e\+15 for PoissonLoss; 'total' has -3 in period '0'"
    ):
        backtest(given, **asked)
    settings = {"name": "claims", "target": "total", "loss": "poisson", "exposure": "time", "tolerance": 0.2}
    for exposure in ("time", None):
        campaign = Campaign.create(Definition.of(settings | {"exposure": exposure}), storage=MemoryStore())
        before = campaign.ask()
        rows = {name: values[:200] for name, values in given.items() if name in ("x", "time", "total")}
        with pytest.raises(
            DataError, match=r"target 'total' must be numbers from 0 to 1e\+15 for PoissonLoss; row 8 has -3"
        ):
            campaign.tell_table(rows)
        assert campaign.ask() == before
    with pytest.raises(DataError, match=r"Campaign.tell\(y=\.\.\.\) must be numbers from 0 .* got -3.0 in row 7"):
        campaign.tell(given["x"][:20, None], given["total"][:20])
