"""The command tells what came out beside the paper, keeps stdout clean for machines, and refuses in one sentence."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paper import Comparison, Finding, from_json
from paper.__main__ import main
from paper.report.console import print_findings
from tests.reference.findings import made_up


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Replaces the experiments by made-up findings; what was asked for is in the mapping."""
    given: dict[str, Any] = {}

    def reproduce(names: list[str] | None, **named: Any) -> tuple[Finding, ...]:
        given.update(named, names=names)
        return tuple(made_up(name) for name in names or ("regression", "cost"))

    monkeypatch.setattr(sys.modules["paper"], "reproduce", reproduce)
    monkeypatch.chdir(tmp_path)
    return given


def test_it_tells_answers_numbers_claims_and_where_the_files_are(
    asked: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "Synthetic regression (regression)"
    assert "Synthetic cost (cost)" in lines
    (numbers,) = {line for line in lines if line.startswith("mean excess risk")}
    assert numbers.split("  ")[1:] == ["2.797e-2 ± 1.071e-2", "0.0281 ± 0.0012", "0.0642 ± 0.0031"]
    assert any(line.startswith("holds     The estimate is above ρ in general.") for line in lines)
    assert "does not  Up front is as good: its loss is 3,000 times as large at n = 25" in lines
    assert [line.split()[0] for line in lines[-4:]] == ["Page", "Figures", "Numbers", "Took"]
    assert str(Path("out/paper/index.html")) in lines[-4]
    assert "10 figures" in lines[-3]
    assert printed.err == ""
    plain: dict[str, Any] = {
        "runs": 20,
        "seed": 0,
        "workers": None,
        "psid": None,
        "psid_columns": {},
        "out": Path("out/paper"),
    }
    assert asked == plain | {"names": None}


def test_numbers_of_one_kind_stand_below_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [Comparison(what=what, paper="some", as_in_paper=None, practical=None) for what in ("b", "a: x", "a: y")]
    print_findings([replace(made_up(), comparisons=tuple(rows))], Path("out"), "table", 1.0)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("some")[0].rstrip() for line in lines if "some" in line or line == "a"] == [
        "b",
        "a",
        "  x",
        "  y",
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_of_many_claims_the_false_ones_are_listed(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    true, false = made_up().claims
    for claims, sentence in (
        ((true,) * 9 + (false,), "9 of 10 claims hold; not these:"),
        ((true,) * 9, "9 of 9 claims hold."),
    ):
        print_findings([replace(made_up(), claims=claims)], Path("out"), "table", 1.0)
        displayed = capsys.readouterr().out
        assert sentence in displayed
        assert true.says not in displayed
        assert ("Up front is as good" in displayed) == (false in claims)


def test_options_reach_the_experiments(asked: dict[str, Any]) -> None:
    given = "income cost --runs 3 --seed 7 --workers 1 --out here --psid mine.csv --psid-year wave --psid-income earned"
    more = "--psid-age years --psid-education school --psid-experience worked --psid-more a,b"
    assert main([*given.split(), *more.split()]) == 0
    columns = {
        "year": "wave",
        "income": "earned",
        "age": "years",
        "education": "school",
        "experience": "worked",
        "more": ("a", "b"),
    }
    assert asked == {
        "names": ["income", "cost"],
        "runs": 3,
        "seed": 7,
        "workers": 1,
        "out": Path("here"),
        "psid": Path("mine.csv"),
        "psid_columns": columns,
    }


def test_json_is_alone_on_stdout(asked: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "--format", "json"]) == 0
    printed = capsys.readouterr()
    (finding,) = from_json(printed.out)
    assert finding.name == "cost"
    assert printed.err.startswith("Page: ")


def test_at_a_terminal_there_are_lines_and_signs(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "140")
    assert main(["cost"]) == 0
    displayed = capsys.readouterr().out
    assert "✓ holds" in displayed
    assert "✗ does not" in displayed
    assert "─" in displayed
    assert "0.0281 ± 0.0012" in displayed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "regres",
            "NAME must be one of regression, cost, classification, income, selection, beyond; got 'regres': did you",
        ),
        ("--runs 1", "--runs must be a whole number of at least 2; got 1."),
        ("--workers 0", "--workers must be a whole number of at least 1; got 0."),
        ("--out taken", "--out must be a directory; 'taken' is a file."),
        ("--psid none.csv", "--psid must be an existing CSV or Stata file; got 'none.csv'."),
        (
            "--psid mine.csv",
            "--psid-education must be a column of the file; got 'education': it has year, income, age.",
        ),
        ("--psid-year wave", "--psid-year must be given together with --psid; got it alone."),
        ("cost --psid mine.csv", "--psid is read by income alone; got cost."),
    ],
)
def test_a_refusal_is_one_sentence_and_writes_nothing(
    arguments: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    Path("mine.csv").write_text("year,income,age\n1981,9000,30\n")
    assert main([*arguments.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"paper: {sentence}")
    assert len(printed.err.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "mine.csv"}


def test_help_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert "regression, cost, classification, income, selection, beyond" in words
