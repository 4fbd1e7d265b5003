"""``driftpace check``: one page on a table, and the next command to run."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.loop import Run


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> Path:
    """A table with a column of dates, ids, and a copy of the target."""
    monkeypatch.chdir(tmp_path)
    days = np.arange("2024-01-01", "2024-09-01", dtype="datetime64[D]").repeat(5)
    lines = ["id,day,price,fee,demand"]
    for row, day in enumerate(days.tolist()):
        price = rng.normal()
        demand = 2.0 * price + rng.normal()
        lines.append(f"{row},{day:%d %b %Y},{price:.4f},{1.01 * demand:.4f},{demand:.4f}")
    Path("sales.csv").write_text("\n".join(lines) + "\n")
    return Path("sales.csv")


def test_one_page(sales: Path, run: Run) -> None:
    code, out, err = run("check", "sales.csv", "--target", "demand")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "sales.csv: 1,220 rows, 5 columns."
    labels = [line[:10].strip() for line in lines[1:]]
    assert [label for label in labels if label] == [
        "Periods",
        "Target",
        "Features",
        "Left out",
        "Notes",
        "Leakage",
        "Drift",
        "Labels",
        "Next",
        "Campaign",
    ]
    assert lines[-1] == (
        "Campaign   driftpace init NAME --table sales.csv --period day:month --target demand --exclude fee --id id "
        "--tolerance 0.1"
    )
    assert lines[-2] == (
        "Next       driftpace backtest sales.csv --period day:month --target demand --exclude fee --tolerance 0.1"
    )
    assert err.startswith("Took ")


def test_without_a_target_the_columns_are_listed(sales: Path, run: Run) -> None:
    code, out, _ = run("check", "sales.csv")
    assert code == 0
    assert "Next       driftpace check sales.csv --period day:month --target COLUMN\n" in out
    assert out.splitlines()[-5].split() == ["id", "ids", "0", "to", "1219", "1,220"]


def test_json(sales: Path, run: Run) -> None:
    code, out, _ = run("check", "sales.csv", "--target", "demand", "--exclude", "fee", "--format", "json")
    value = json.loads(out)
    assert code == 0
    assert (value["period"], value["target"], value["features"]) == ("day:month", "demand", ["price"])
    assert value["command"].startswith("driftpace backtest sales.csv --period day:month")
    assert [estimate["tolerance"] for estimate in value["labels"]] == [0.2, 0.1, 0.05]


def test_problems_are_no_errors_but_unreadable_files_are(sales: Path, run: Run) -> None:
    assert run("check", "sales.csv", "--target", "day")[0] == 0
    code, out, err = run("check", "none.csv")
    assert (code, out) == (2, "")
    assert err == "driftpace: FILE must be a readable file; got 'none.csv': No such file or directory.\n"
    code, out, err = run("check", "sales.csv", "--target", "demnd")
    assert code == 2
    assert err == "driftpace: --target must be a column of the table; got 'demnd': did you mean 'demand'?\n"


def test_the_proposed_commands_run(sales: Path, run: Run) -> None:
    _, out, _ = run("check", "sales.csv", "--target", "demand")
    words = out.splitlines()[-1].split()[2:]
    code, out, err = run(*("sales" if word == "NAME" else word for word in words))
    assert (code, err) == (0, "")
    assert "Row ID     id" in out


def test_weights(sales: Path, run: Run) -> None:
    code, out, _ = run("check", "sales.csv", "--target", "demand", "--weight", "id")
    assert code == 0
    assert " --weight id " in out
    code, _, err = run("check", "sales.csv", "--target", "demand", "--weight", "none")
    assert code == 2
    assert err.startswith("driftpace: --weight must be a column of the table; got 'none'")
