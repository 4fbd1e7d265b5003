"""The command opens with the answer, keeps stdout clean for machines, and refuses in one sentence."""

import csv
import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.backtest import BacktestResult, from_json
from driftpace.cli import main
from driftpace.cli.backtest import find_table, parse_penalties
from driftpace.errors import ParameterError
from driftpace.losses import HuberLoss, LogisticLoss, SmoothedHinge, SquaredLoss
from tests.cli.loop import Run
from tests.reference.backtests import made_up

PLAIN = ("backtest", "psid7682", "--epsilon", "0.02")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Replaces the replay by a made-up one; what it was asked for is in the mapping."""
    given: dict[str, Any] = {}

    def replay(panel: Any, **named: Any) -> BacktestResult:
        given.update(named, panel=panel)
        return replace(made_up(), price=named["price"], currency=named["currency"])

    monkeypatch.setattr(sys.modules["driftpace.backtest"], "replay", replay)
    monkeypatch.chdir(tmp_path)
    return given


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table of four periods with a class, a number, a word and one hole."""
    rng = np.random.default_rng(5)
    lines = ["week,x,word,y,bought"]
    for week in range(4):
        for row in range(40):
            x = rng.normal()
            hole = "" if (week, row) == (0, 0) else f"{x:.4f}"
            lines.append(f"{week},{hole},{'ab'[row % 2]},{x + 0.1 * week + 0.3 * rng.normal():.4f},{int(x > 0.2)}")
    path = tmp_path / "small.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_it_opens_with_target_cost_otherwise_and_the_report(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*PLAIN, "--price", "2", "--currency", "EUR"]) == 0
    printed = capsys.readouterr()
    words = [line.split()[0] for line in printed.out.splitlines() if line and not line.startswith(" ")]
    assert words[:7] == ["Target", "Cost", "Orders", "Otherwise", "Result", "Audit", "Report"]
    assert "EUR" in printed.out.splitlines()[1]
    assert printed.out.splitlines()[-1].startswith("Took ")
    assert "MB of memory" in printed.out.splitlines()[-1]
    assert "Warning: pool (fails in 0.4 % of periods and runs)" in printed.out  # rare
    assert printed.err == ""
    assert Path("out/report.html").read_text().startswith("<!DOCTYPE html>")
    assert from_json(Path("out/backtest.json").read_text()).currency == "EUR"


def test_a_bundled_table_knows_its_columns(asked: dict[str, Any]) -> None:
    assert main([*PLAIN, "--no-report"]) == 0
    assert asked["panel"].name == "psid7682"
    assert asked["panel"].target == "log_wage"
    assert asked["loss"] is None
    assert (asked["runs"], asked["test_fraction"], asked["seed"], asked["workers"]) == (20, 0.2, 0, None)
    assert not Path("out/report.html").exists()
    assert Path("out/backtest.json").exists()


def test_options_reach_the_backtest(asked: dict[str, Any], small: Path) -> None:
    given = "--period week --target y --features x,word --tolerance 0.05 --confidence 0.9 --runs 3 --test-fraction 0.25"
    more = "--seed 7 --workers 1 --loss huber --l2 0.1 --missing drop --out here/there --no-report"
    assert main(["backtest", str(small), *given.split(), *more.split()]) == 0
    assert asked["panel"].features == ("x", "word=a")  # "b" is the more frequent, one "a" being dropped
    assert asked["panel"].sizes == (39, 40, 40, 40)
    assert asked["loss"] == HuberLoss(l2=0.1)
    assert (asked["epsilon"], asked["tolerance"], asked["confidence"]) == (None, 0.05, 0.9)
    assert (asked["runs"], asked["test_fraction"], asked["seed"], asked["workers"]) == (3, 0.25, 7, 1)
    assert Path("here/there/backtest.json").exists()


def test_every_format_that_tell_reads_is_read(asked: dict[str, Any], small: Path) -> None:
    head, *rows = [line.split(",") for line in small.read_text().splitlines()]
    lines = [json.dumps({name: _plain(cell) for name, cell in zip(head, row, strict=True)}) for row in rows]
    path = small.with_suffix(".jsonl")
    path.write_text("\n".join(lines))
    given = [
        "--period",
        "week",
        "--target",
        "y",
        "--features",
        "x,word",
        "--tolerance",
        "0.05",
        "--missing",
        "drop",
        "--no-report",
    ]
    panels = []
    for file in (small, path):
        assert main(["backtest", str(file), *given]) == 0
        panels.append(asked["panel"])
    assert panels[0].features == panels[1].features
    for before, after in zip(panels[0].X, panels[1].X, strict=True):
        np.testing.assert_array_equal(before, after)


def _plain(cell: str) -> float | str | None:
    try:
        return float(cell)
    except ValueError:
        return cell or None


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ("--target y --loss squared", SquaredLoss(l2=0.0)),
        ("--target y --l2 0.5", SquaredLoss(l2=0.5)),
        ("--target bought --l2 0.5", LogisticLoss(l2=0.5)),
        ("--target bought --loss hinge --l2 0.1", SmoothedHinge(l2=0.1)),
        ("--target bought --loss logistic", LogisticLoss(l2=1e-3)),
    ],
)
def test_losses_by_name(asked: dict[str, Any], small: Path, options: str, loss: object) -> None:
    rest = "--period week --features x --epsilon 0.1 --missing drop --no-report"
    assert main(["backtest", str(small), *options.split(), *rest.split()]) == 0
    assert asked["loss"] == loss


def test_json_leaves_stdout_to_the_result(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAIN, "--format", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["kind"] == "driftpace.backtest"
    assert str(Path("out/report.html")) in printed.err
    assert "Took " in printed.err


def test_csv_has_a_row_for_each_way(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PLAIN, "--format", "csv", "--no-report"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in rows] == [strategy.name for strategy in made_up().strategies]
    assert float(rows[0]["labels"]) == pytest.approx(made_up().strategies[0].samples.sum(axis=1).mean())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["backtest", "psid7682"], "--epsilon"),
        (["backtest", "psid7682", "--epsilon", "0.1", "--tolerance", "0.1"], "got --epsilon and --tolerance"),
        (["backtest", "psid7682", "--epsilon", "-1"], "--epsilon must be positive"),
        (["backtest", "psid7682", "--epsilon", "0.1", "--test-fraction", "2"], "--test-fraction must be"),
        (["backtest", "psid7682", "--epsilon", "0.1", "--runs", "none"], "--runs"),
        (["backtest", "psid7682", "--epsilon", "0.1", "--loss", "cubic"], "--loss"),
        (["backtest", "psid7682", "--epsilon", "0.1", "--target", "wage"], "--target must be a column"),
        (
            ["backtest", "nowhere.csv", "--epsilon", "0.1"],
            "FILE must be a readable file; got 'nowhere.csv': No such file",
        ),
        (["backtest", "gss_incom", "--epsilon", "0.1"], "did you mean 'gss_income'?"),
        (["backtest", ".", "--epsilon", "0.1"], "FILE must be a regular file; '.' is a folder, a pipe or a device"),
        (["backtest", "psid7682", "--epsilon", "0.1", "--out", "taken/deeper"], "--out must be a directory"),
        (["backtest"], "FILE"),
        (["backtest", "psid7682", "--colour"], "--colour"),
        (["forecast"], "forecast"),
    ],
)
def test_refusals_are_one_sentence_and_code_two(
    arguments: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("driftpace: ")
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
    assert not Path("out").exists()


def test_a_hole_is_refused_if_asked(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = "--period week --target y --features x --epsilon 0.1 --no-report --missing refuse"
    assert main(["backtest", str(small), *given.split()]) == 2
    assert "column 'x' must have a value in every row with missing=" in capsys.readouterr().err


def test_a_missing_period_is_named_with_the_columns(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", str(small), *["--target", "y", "--epsilon", "0.1", "--no-report"]]) == 2
    assert capsys.readouterr().err == (
        "driftpace: --period is required: name the column with the period; the table has week, x, word, y, bought.\n"
    )


def test_a_report_that_cannot_be_drawn_is_refused_before_the_work(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("driftpace.cli.files.find_spec", lambda name: None)
    assert main(PLAIN) == 2
    assert "--no-report" in capsys.readouterr().err
    assert asked == {}


def test_an_interrupt_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(panel: Any, **named: Any) -> BacktestResult:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["driftpace.backtest"], "replay", interrupted)
    assert main([*PLAIN, "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "driftpace: interrupted.\n"


def test_a_small_table_from_file_to_report(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = "--period week --target y --features x,word --epsilon 0.2 --runs 2 --workers 1 --missing drop"
    assert main(["backtest", str(small), *given.split(), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    result = from_json((tmp_path / "out" / "backtest.json").read_text())
    assert result.periods == ("0", "1", "2", "3")
    assert f"{result.strategies[0].samples.sum(axis=1).mean():,.0f} labels" in printed
    assert "\nNote: 1 of 160 rows left out: x is missing.\n" in printed  # nothing is left out in silence
    assert "small" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("text", ["", "much", "0.1;0.2", "-1", "nan"])
def test_invalid_penalties(text: str) -> None:
    with pytest.raises(ParameterError, match="l2"):
        parse_penalties(text)


@pytest.mark.parametrize(
    ("options", "got"),
    [((), "none of them"), (("--epsilon", "0.1", "--tolerance", "0.1"), "--epsilon and --tolerance")],
)
def test_one_target(run: Run, options: tuple[str, ...], got: str) -> None:
    code, _, err = run("backtest", "gss_income", *options)
    assert code == 2
    assert err == f"driftpace: --epsilon, --tolerance or --metric must be given, and only one of them; got {got}.\n"


def test_a_bundled_table_is_found_by_its_name_unless_a_file_is_meant(folder: Path) -> None:
    Path("gss_income").touch()
    assert find_table("./gss_income") == "./gss_income"
    with pytest.raises(ParameterError, match="did you mean 'gss_income'"):
        find_table("gss_incom")
    Path("gss_incom").touch()
    assert find_table("gss_incom") == "gss_incom"


def test_texts_are_replayed(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = np.array(["refund", "late", "broken", "thanks", "quick", "perfect"])
    lines = []
    for week in (1, 2, 3):
        for _ in range(60):
            angry = rng.random() < 0.5
            mail = " ".join(rng.choice(words[:3] if angry else words[3:], 3))
            lines.append(f"{week},{mail},{'yes' if angry else 'no'}")
    (tmp_path / "mails.csv").write_text("week,mail,angry\n" + "\n".join(lines) + "\n")
    options = (
        "--period",
        "week",
        "--target",
        "angry",
        "--text",
        "mail",
        "--epsilon",
        "0.2",
        "--runs",
        "2",
        "--workers",
        "1",
    )
    code, out, _ = run("backtest", "mails.csv", *options, "--baselines", "first_model", "--no-report")
    assert code == 0
    assert "components of the first period's rows" in out
    code, _, error = run("backtest", "mails.csv", *options[:5], "mails", *options[6:], "--no-report")
    assert code == 2
    assert (
        "--text must be different columns of the table that are nothing else; got 'mails': did you mean 'mail'?"
        in error
    )
