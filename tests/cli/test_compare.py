"""``driftpace compare``: one table, one sentence, a page and JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.loop import Run


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> Path:
    monkeypatch.chdir(tmp_path)
    x = rng.uniform(-2.0, 2.0, 400)
    lines = ["month,x,y", *(f"{row // 100},{each:.4f},{np.sin(2.0 * each):.4f}" for row, each in enumerate(x))]
    Path("sales.csv").write_text("\n".join(lines) + "\n")
    return Path("sales.csv")


def test_a_table_a_page_and_json(sales: Path, run: Run) -> None:
    words = ("compare", str(sales), "--period", "month", "--target", "y", "--models", "linear,trees", "--runs", "1")
    code, out, err = run(*words, "--epsilon", "0.05")
    assert code == 0
    assert "linear model" in out
    assert "trees fitted again" in out
    assert err.startswith("Took ")
    assert Path("out/compare.html").is_file()
    written = json.loads(Path("out/compare.json").read_text())
    code, out, _ = run(*words, "--epsilon", "0.05", "--format", "json", "--no-report", "--out", "other")
    shown = json.loads(out)
    assert code == 0
    assert {**shown, "seconds": 0} == {**written, "seconds": 0}
    assert not Path("other/compare.html").exists()


def test_a_backtest_with_kinds_of_models(sales: Path, run: Run) -> None:
    words = ("backtest", str(sales), "--period", "month", "--target", "y", "--epsilon", "0.05", "--runs", "1")
    code, out, _ = run(*words, "--models", "linear,lightgbm", "--baselines", "none", "--workers", "1")
    assert code == 0
    assert "Models     " in out
    assert json.loads(Path("out/backtest.json").read_text())["comparison"]["advice"] in out
    assert "What accuracy costs" in Path("out/report.html").read_text()
    assert json.loads(Path("out/backtest.json").read_text())["comparison"]["learner"] == "LightGBM"
    code, _, err = run(*words, "--models", "forest")
    assert code == 2
    assert "--models must be" in err


def test_refusals(sales: Path, run: Run) -> None:
    for words, sentence in (
        (("--epsilon", "small"), "--epsilon must be numbers separated by commas"),
        (("--models", "forest"), "must be"),
        (("--model", "none.txt"), "must be a file"),
    ):
        code, _, err = run("compare", str(sales), "--period", "month", "--target", "y", *words)
        assert code == 2
        assert sentence in err
