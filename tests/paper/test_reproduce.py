"""Experiments by name: refused before they are run, the same files on any number of processes, bars with their names."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftpace.errors import MissingExtraError, ParameterError
from paper import NAMES, Finding, RunSettings, reproduce
from tests.paper.report.test_page import folder
from tests.reference.findings import find, made_up

HERE = sys.modules["paper.reproduce"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, RunSettings]]:
    """Replaces every experiment by a made-up one; the list holds the names and settings."""
    given: list[tuple[str, RunSettings]] = []
    known: Callable[[str], Any] = HERE.experiment

    def experiment(name: str) -> Callable[[RunSettings], Finding]:
        if name not in NAMES:
            known(name)

        def found(asked: RunSettings) -> Finding:
            given.append((name, asked))
            list(asked.over(range(asked.runs), "runs", asked.runs))
            finding = made_up(name, runs=asked.runs, seed=asked.seed, periods=4)
            return replace(finding, figures=finding.figures[:1])

        return found

    monkeypatch.setattr(HERE, "experiment", experiment)
    return given


def test_all_experiments_run_in_the_order_of_the_paper(asked: list[tuple[str, RunSettings]], tmp_path: Path) -> None:
    findings = reproduce(runs=3, seed=5, out=tmp_path / "paper")
    assert [finding.name for finding in findings] == list(NAMES) == [name for name, _ in asked]
    assert {(options.runs, options.seed, options.workers, options.psid) for _, options in asked} == {(3, 5, None, None)}
    assert "3 runs, seed 5" in (tmp_path / "paper/index.html").read_text()


def test_chosen_experiments_run_once_each(asked: list[tuple[str, RunSettings]], tmp_path: Path) -> None:
    reproduce(["income", "cost", "income"], out=tmp_path, workers=1)
    assert [name for name, _ in asked] == ["cost", "income"]
    reproduce("cost", out=tmp_path / "alone")
    assert [path.name for path in (tmp_path / "alone/data").iterdir()] == ["cost-rho.csv"]


def test_the_same_files_on_one_process_and_on_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(HERE, "experiment", lambda name: find)
    for workers in (1, 2):
        reproduce("regression", runs=4, workers=workers, out=tmp_path / str(workers))
    assert folder(tmp_path / "1") == folder(tmp_path / "2")
    reproduce("regression", runs=4, seed=1, workers=1, out=tmp_path / "other")
    assert folder(tmp_path / "1") != folder(tmp_path / "other")


@pytest.mark.slow
def test_a_real_experiment_gives_the_same_files_on_one_process_and_on_two(tmp_path: Path) -> None:
    for workers in (1, 2):
        (finding,) = reproduce("regression", runs=2, workers=workers, out=tmp_path / str(workers))
    assert finding.name == "regression"
    files = folder(tmp_path / "1")
    assert files == folder(tmp_path / "2")
    assert len(files) == 2 + 3 * len(finding.figures)
    assert "2.797" in files["index.html"].decode()  # what the paper reports


def test_a_folder_that_cannot_be_written_to_is_refused(
    asked: list[tuple[str, RunSettings]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(ParameterError, match=r"reproduce\(out=\.\.\.\) must be a writable directory; '.*' is not"):
        reproduce(out=tmp_path / "out")
    assert asked == []


def test_bars_name_the_experiment(
    asked: list[tuple[str, RunSettings]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reproduce("cost", runs=3, out=tmp_path, progress=True)
    displayed = capsys.readouterr().err
    assert "cost: runs" in displayed
    assert "3/3" in displayed
    assert "pictures" in displayed
    reproduce("cost", runs=3, out=tmp_path)
    assert capsys.readouterr().err == ""


def extract(path: Path, head: str = "year,income,age,education") -> Path:
    path.write_text(head + "\n1981,9000,30,12\n1981,11000,40,12\n1982,12000,50,16\n")
    return path


def test_an_extract_reaches_the_income_experiment(asked: list[tuple[str, RunSettings]], tmp_path: Path) -> None:
    mine = extract(tmp_path / "mine.csv", "wave,income,age,education")
    reproduce("income", psid=mine, psid_columns={"year": "wave"}, out=tmp_path / "out")
    ((_, one),) = asked
    assert (one.psid, one.psid_columns) == (mine, {"year": "wave"})


@pytest.mark.parametrize(
    ("named", "sentence"),
    [
        ({"names": "regres"}, r"must be one of regression, .*; got 'regres': did you mean 'regression'\?"),
        ({"names": []}, r"reproduce\(names=\.\.\.\) must be one or more of .*; got none"),
        ({"runs": 1}, r"reproduce\(runs=\.\.\.\) must be a whole number of at least 2; got 1"),
        ({"runs": 2.5}, r"reproduce\(runs=\.\.\.\) must be"),
        ({"seed": -1}, r"reproduce\(seed=\.\.\.\) must be"),
        ({"workers": 0}, r"reproduce\(workers=\.\.\.\) must be"),
        ({"out": "taken"}, r"reproduce\(out=\.\.\.\) must be a directory; 'taken' is a file"),
        ({"out": "taken/deeper"}, r"reproduce\(out=\.\.\.\) must be a directory; 'taken' is a file"),
        ({"out": "half"}, r"reproduce\(out=\.\.\.\) must be a directory; 'half/figures' is a file"),
        ({"psid": "none.csv"}, r"\(path=\.\.\.\) must be an existing CSV or Stata file; got 'none.csv'"),
        ({"psid": "mine.csv", "names": "cost"}, r"reproduce\(psid=\.\.\.\) is read by income alone; got cost"),
        (
            {"psid": "mine.csv", "psid_columns": {"year": "wave"}},
            r"\(year=\.\.\.\) must be a column of the file; got 'wave'",
        ),
        ({"psid_columns": {"year": "wave"}}, r"reproduce\(psid_columns=\.\.\.\) must come together with psid"),
        (
            {"psid": "mine.csv", "psid_columns": {"wage": "x"}},
            r"psid_columns=\.\.\.\) must be among year, .*; got 'wage'",
        ),
    ],
)
def test_invalid_arguments_are_rejected_before_anything_runs(
    named: dict[str, Any],
    sentence: str,
    asked: list[tuple[str, RunSettings]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("")
    Path("half").mkdir()
    Path("half/figures").write_text("")
    extract(Path("mine.csv"))
    before = folder(tmp_path)
    with pytest.raises(ParameterError, match=sentence):
        reproduce(**named)
    assert asked == []
    assert folder(tmp_path) == before
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (("matplotlib",), r'needs matplotlib: pip install "driftpace\[figures\]"'),
        (("plotly",), r'needs plotly: pip install "driftpace\[report\]"'),
        (("matplotlib", "plotly"), r'needs matplotlib and plotly: pip install "driftpace\[figures,report\]"'),
    ],
)
def test_missing_packages_are_reported_before_anything_runs(
    missing: tuple[str, ...],
    sentence: str,
    asked: list[tuple[str, RunSettings]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(HERE, "find_spec", lambda name: None if name in missing else True)
    with pytest.raises(MissingExtraError, match=sentence):
        reproduce(out=tmp_path / "out")
    assert asked == []
    assert not (tmp_path / "out").exists()
