"""A baseline that cannot run on a table is reported with the reason, and never stops a backtest."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Ball, Constants, Tracker
from driftpace.backtest import BASELINES, backtest, from_json, render, to_json
from driftpace.backtest import run as backtest_run
from driftpace.backtest.baselines import from_scratch
from driftpace.backtest.job import split_period
from driftpace.cli import main
from driftpace.errors import DataError
from driftpace.losses import Loss, SquaredLoss
from driftpace.records import Verdict
from driftpace.report.backtest import backtest_report

REASON = r"'promo' is constant over the first \d+ rows\."


def sales(months: int = 5, rows: int = 60) -> dict[str, Any]:
    """Return demand by price and promotion, where no promotion ran in the first two months."""
    rng = np.random.default_rng(3)
    month = np.repeat(np.arange(months), rows)
    price, promo = rng.normal(10.0, 1.0, size=month.size), (rng.random(month.size) < 0.3) * (month >= 2)
    demand = 100.0 - 4.0 * price + 15.0 * promo + rng.normal(0.0, 3.0, size=month.size)
    return {"month": month, "price": price, "promo": promo.astype(float), "demand": demand}


SETTINGS: dict[str, Any] = {"period": "month", "target": "demand", "tolerance": 0.05, "runs": 2, "workers": 1}


def test_a_baseline_that_cannot_run_is_reported_with_the_reason_and_the_others_run() -> None:
    result = backtest(sales(), **SETTINGS)
    assert [one.name for one in result.strategies] == ["driftpace", *(name for name in BASELINES if name != "paper")]
    (skipped,) = result.skipped
    assert (skipped.name, skipped.title) == ("paper", "The paper's rule")
    assert re.fullmatch(REASON, skipped.reason)
    assert f"\nThe paper's rule: not run. {skipped.reason}" in render(result)
    assert json.loads(to_json(result))["skipped"] == [
        {"name": "paper", "title": "The paper's rule", "reason": skipped.reason}
    ]
    assert from_json(to_json(result)).skipped == result.skipped
    assert f"<strong>The paper&#x27;s rule</strong>: {escape(skipped.reason)}" in backtest_report(result)


def test_the_command_reports_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = sales()
    lines = [",".join(table), *(",".join(f"{value:g}" for value in row) for row in zip(*table.values(), strict=True))]
    (tmp_path / "sales.csv").write_text("\n".join(lines) + "\n")
    asked = "--period month --target demand --tolerance 0.05 --price 1.20 --currency EUR --runs 2 --workers 1"
    given = ["backtest", str(tmp_path / "sales.csv"), *asked.split(), "--out", str(tmp_path / "out")]
    assert main([*given, "--no-report"]) == 0
    assert re.search(rf"The paper's rule: not run\. {REASON}", capsys.readouterr().out)
    assert main([*given, "--no-report", "--baselines", "even, best_constant"]) == 0
    printed = capsys.readouterr().out
    assert "Spread evenly" in printed
    assert "paper" not in printed
    assert main([*given, "--no-report", "--baselines", "none"]) == 0
    assert "Spread evenly" not in capsys.readouterr().out
    assert main([*given, "--no-report", "--baselines", "evn"]) != 0
    assert "--baselines must be" in (refused := capsys.readouterr().err)
    assert "did you mean 'even'?" in refused


def test_a_baseline_that_fails_in_some_runs_is_left_out_and_says_in_how_many(monkeypatch: pytest.MonkeyPatch) -> None:

    def fails_once(job: Any, rows: Any) -> Any:
        if rows[0].split.test[0] == first_test_row:
            raise np.linalg.LinAlgError("Singular matrix")
        return from_scratch(job, rows)

    first_test_row = split_period(60, test_fraction=0.2, seed=0, run=0, period=0).test[0]
    monkeypatch.setattr(backtest_run, "from_scratch", fails_once)
    result = backtest(sales(), **(SETTINGS | {"baselines": ["from_scratch", "first_model"]}))
    assert [one.name for one in result.strategies] == ["driftpace", "first_model"]
    assert result.skipped[0].reason == "In 1 of 2 runs: Singular matrix."


def test_a_defect_in_a_baseline_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def defect(*given: Any) -> Any:
        raise TypeError("a defect")

    monkeypatch.setattr(backtest_run, "from_scratch", defect)
    with pytest.raises(TypeError, match="a defect"):
        backtest(sales(), **(SETTINGS | {"baselines": ["from_scratch"]}))


def test_a_tracker_of_the_users_own_is_refused_in_the_names_of_the_table() -> None:
    def paper(loss: Loss, features: int, seed: int) -> Tracker:
        constants = Constants.given(m=1.0, M=1.0, A=1.0, B=1.0)
        return Tracker.as_in_paper(loss, epsilon=0.1, domain=Ball(radius=200.0), constants=constants, features=features)

    table = sales()
    table["twice"] = np.where(table["month"] < 2, 2.0 * table["price"], table["promo"])
    settings = SETTINGS | {"tolerance": None, "epsilon": 1.0, "standardise": False, "baselines": ()}
    with pytest.raises(
        DataError, match=r"^backtest\(features=\.\.\.\) must be linearly independent .*'twice'.* collinear"
    ):
        backtest(table, features=["price", "twice"], tracker=paper, **settings)


def test_a_value_too_rare_to_be_bought_is_said_and_lived_with() -> None:
    rng = np.random.default_rng(0)
    x, rare = rng.normal(size=1200), np.zeros(1200)
    rare[::300] = 1.0  # one row in each period
    table = {"week": np.repeat(np.arange(4), 300), "x": x, "rare": rare, "y": x + rng.normal(size=1200)}
    settings: dict[str, Any] = {
        "period": "week",
        "target": "y",
        "epsilon": 0.1,
        "runs": 2,
        "workers": 1,
        "baselines": (),
    }
    result = backtest(table, **settings)
    verdicts = {one.name: one.verdict for one, _ in result.assumptions}
    assert verdicts["curvature"] is Verdict.WARN
    assert np.isfinite(result.strategies[0].excess_risk).all()
    assert result.strategies[0].excess_risk.mean() < 0.2
    assert backtest(table, loss=SquaredLoss(l2=0.001), **settings).features == ("x", "rare")
