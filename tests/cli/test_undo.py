"""``driftpace undo`` and ``release``: what they print, and what they refuse."""

import json
from pathlib import Path

import pytest

from tests.cli.loop import Run, label, period


@pytest.fixture
def told(churn: Path, run: Run) -> Path:
    period(run, "W1")
    run("ask", "churn", "--key", "W2", "--select", "pool.csv", "--out", "tasks.csv")
    label(Path("tasks.csv"), Path("done.csv"), only=3)
    run("tell", "churn", "done.csv", "--part")
    return churn


def test_delivery_by_its_file(told: Path, run: Run) -> None:
    code, out, err = run("undo", "churn", "--delivery", "done.csv", "--reason", "swapped", "--who", "anna")
    assert (code, err) == (0, "")
    assert out.startswith("churn: Delivery of 3 rows for period 2 undone.\n")
    assert "Next       Label " in out
    entry = out.rpartition("Restore    undo entry ")[2].split()[0]
    assert "Undo in period 2 undone" in run("undo", "churn", "--entry", entry, "--reason", "were right")[1]
    assert "by anna: “swapped”" in run("log", "churn")[1] or "swapped" in run("log", "churn")[1]
    assert run("doctor", "churn")[0] == 0


def test_closed_period_by_its_key(told: Path, run: Run) -> None:
    refused = run("undo", "churn", "--period", "W1", "--reason", "more rows")
    assert refused[0] == 2
    assert "rows were delivered for period 2 (W2)" in refused[2]
    run("undo", "churn", "--delivery", "done.csv", "--reason", "r")
    assert run("release", "churn", "--reason", "wrong pool")[1].startswith("churn: Draw of ")
    code, out, _ = run("undo", "churn", "--period", "W1", "--reason", "more rows")
    assert code == 0
    assert "Open       period 1 (W1) is open again" in out
    assert run("doctor", "churn")[0] == 0


def test_json_has_what_changed(told: Path, run: Run) -> None:
    answer = json.loads(run("undo", "churn", "--delivery", "done.csv", "--reason", "r", "--format", "json")[1])
    assert (answer["kind"], answer["rows"], answer["order"]["received"]) == ("delivered", 3, 0)


def test_one_target_is_named(told: Path, run: Run) -> None:
    for words in ((), ("--entry", "3", "--period", "1")):
        code, _, err = run("undo", "churn", *words, "--reason", "r")
        assert code == 2
        assert "one of --delivery, --entry and --period must say what to undo" in err
