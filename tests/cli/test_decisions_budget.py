"""More money for a campaign, at the command line."""

import json
from pathlib import Path

from tests.cli.loop import INIT, Run, content, period


def test_money_is_added_and_logged(churn: Path, run: Run) -> None:
    period(run, "W1")
    before = json.loads(run("status", "churn", "--format", "json")[1])
    would = run("budget", "churn", "--add", "100", "--periods", "2", "--reason", "a fair", "--dry-run")
    assert would[2] == "Nothing was written.\n"
    assert json.loads(run("status", "churn", "--format", "json")[1]) == before
    code, out, _ = run("budget", "churn", "--add", "100", "--periods", "2", "--reason", "a fair", "--who", "anna")
    assert code == 0
    assert out.splitlines()[0].endswith("EUR left for period 2 and later, 13 periods in total.")
    after = json.loads(run("status", "churn", "--format", "json")[1])
    assert float(after["to_plan"]["amount"]) == float(before["to_plan"]["amount"]) + 100.0
    assert (
        "100 added to the budget and 2 periods to its horizon from period 2: “a fair”"
        in run("log", "churn", "--last", "1")[1]
    )


def test_refusals_change_nothing(folder: Path, run: Run) -> None:
    run(*INIT)
    before = content()
    assert "--periods must be at least 1" in run("budget", "churn", "--add", "5", "--reason", "r")[2]
    assert run("budget", "churn", "--add", "lots", "--periods", "2", "--reason", "r")[0] == 2
    assert content() == before
