"""The commands, for a target of several classes."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.loop import Run

WORDS = ("cat", "dog", "owl")


def _write(path: str, rng: np.random.Generator, rows: int, *, weeks: int = 1, labelled: bool = True) -> None:
    X = rng.normal(size=(rows, 2))
    angles = np.array([0.0, 2.1, 4.2])
    scores = 2.0 * X @ np.array([np.cos(angles), np.sin(angles)])
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    with Path(path).open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "week", "x", "z", "kind"])
        for row in range(rows):
            kind = WORDS[y[row]] if labelled else ""
            out.writerow([f"{path[0]}{row}", row * weeks // rows, *X[row].round(4), kind])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRIFTPACE_STORAGE", raising=False)
    return tmp_path


def test_check_and_backtest(place: Path, run: Run, rng: np.random.Generator) -> None:
    _write("animals.csv", rng, 900, weeks=6)
    code, out, err = run("check", "animals.csv", "--period", "week", "--target", "kind")
    assert code == 0, err
    assert "kind: 3 classes: cat, dog and owl; " in out
    assert "labels" in out.lower()
    words = (
        "backtest",
        "animals.csv",
        "--period",
        "week",
        "--target",
        "kind",
        "--loss",
        "softmax",
        "--tolerance",
        "0.2",
    )
    code, out, err = run(*words, "--runs", "1", "--no-report", "--baselines", "first_model", "--out", "result")
    assert code == 0, err
    assert "macro F1" in out


def test_a_campaign_from_a_table_to_predictions(place: Path, run: Run, rng: np.random.Generator) -> None:
    _write("pool.csv", rng, 400)
    words = ("init", "animals", "--target", "kind", "--epsilon", "0.2", "--table", "pool.csv", "--exclude", "week")
    code, out, err = run(*words)
    assert code == 0, err
    assert "Predicts   kind (cat, dog, owl), by multinomial logistic regression" in out
    assert "Classes    3 in kind: cat, dog, owl" in out
    assert 'classes = ["cat", "dog", "owl"]' in Path("animals.toml").read_text()
    assert run("ask", "animals", "--key", "W1")[0] == 0
    code, out, err = run("tell", "animals", "pool.csv", "--close")
    assert code == 0, err
    _write("new.csv", rng, 5, labelled=False)
    code, out, err = run("predict", "animals", "new.csv", "--format", "json")
    assert code == 0, err
    rows = json.loads(out)
    assert rows[0]["kind_predicted"] in WORDS
    assert sum(rows[0][f"kind_probability_{word}"] for word in WORDS) == pytest.approx(1.0)
    assert run("ask", "animals", "--key", "W2")[0] == 0
    Path("odd.csv").write_text("id,week,x,z,kind\no1,0,1,1,fox\n")
    code, _, err = run("tell", "animals", "odd.csv")
    assert code != 0
    assert "must be 'cat', 'dog' or 'owl'; row 1 has 'fox': correct it, or add the class with amend" in err
    code, out, _ = run("amend", "animals", "--new-class", "fox", "--reason", "seen in the yard")
    assert code == 0
    assert out.startswith("animals: from now on the target may be fox.")
    assert run("tell", "animals", "odd.csv")[0] == 0
    for command in ("status", "log", "ledger"):
        assert run(command, "animals")[0] == 0
    code, _, err = run("amend", "animals", "--new-class", "fox", "--reason", "again")
    assert code == 2
    assert err.startswith("driftpace: --new-class must be one or more different texts that are not listed yet")
