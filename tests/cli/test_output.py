"""Text stays on its line whatever users wrote, JSON is unchanged, and a dry run is marked in both."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from driftpace.cli.output import (
    Form,
    Stopwatch,
    one_line,
    print_answer,
    print_csv,
    print_json,
    print_result,
    print_table,
)
from tests.cli.loop import Run

NASTY = "half\nthe team\x1b[31m \x9b2J is ill"
PLAIN = "half the team?[31m ?2J is ill"


def test_what_people_wrote_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(f"churn: {NASTY}", [("Reason", NASTY)])
    print_table(("who", "why"), [("anna", NASTY)])
    assert capsys.readouterr().out.splitlines() == [
        f"churn: {PLAIN}",
        f"Reason     {PLAIN}",
        "who   why",
        f"anna  {PLAIN}",
    ]


@pytest.mark.parametrize("text", ["two  spaces.csv", "Zürich – 東京", ""])
def test_what_can_be_printed_is_left_alone(text: str) -> None:
    assert one_line(text) == text


def test_machines_get_it_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"why": NASTY})
    assert json.loads(capsys.readouterr().out) == {"why": NASTY}
    print_csv(("why", "rows"), [(NASTY, None)])
    assert capsys.readouterr().out == f'why,rows\n"{NASTY}",\n'


def test_no_number_that_is_none_reaches_a_machine() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        print_json({"loss": float("nan")})


def test_a_reason_of_two_lines_in_the_log(churn: Path, run: Run) -> None:
    run("ask", "churn")
    run("override", "churn", "3", "--reason", "half the team\nis ill")
    lines = run("log", "churn")[1].splitlines()
    assert len(lines) == 4
    assert "3 rows instead of 12: “half the team is ill”" in lines[-1]
    assert json.loads(run("log", "churn", "--format", "json")[1])[-1]["reason"] == "half the team\nis ill"


def test_a_file_whose_name_would_colour_the_screen(churn: Path, run: Run) -> None:
    code, _, err = run("tell", "churn", "\x1b[31mred.csv")
    assert code == 2
    assert "\x1b" not in err


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_result_as_text(capsys: pytest.CaptureFixture[str], dry_run: bool) -> None:
    lines, notes = [("Next", "ask")], [("Row ID", "id")]
    print_result(Form.TABLE, "churn: created.", {"name": "churn"}, lines=lines, notes=notes, dry_run=dry_run)
    printed = capsys.readouterr()
    assert printed.out == "churn: created.\nRow ID     id\nNext       ask\n"
    assert printed.err == ("Nothing was written.\n" if dry_run else "")


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_result_as_json(capsys: pytest.CaptureFixture[str], dry_run: bool) -> None:
    lines, notes = [("Next", "ask")], [("Row ID", "id")]
    print_result(Form.JSON, "churn: created.", {"name": "churn"}, lines=lines, notes=notes, dry_run=dry_run)
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"name": "churn", "dry_run": dry_run}
    assert printed.err == "Row ID: id\n" + ("Nothing was written.\n" if dry_run else "")


def test_time_and_memory() -> None:
    match = re.fullmatch(r"Took (\d+\.\d) s and ([\d,]+) MB of memory(.*)\.", Stopwatch().sentence())
    assert match is not None
    assert float(match[2].replace(",", "")) > 1


def test_memory_of_workers() -> None:
    code = (
        "import subprocess, sys; from driftpace.cli.output import Stopwatch; "
        "subprocess.run([sys.executable, '-c', 'bytearray(50_000_000)'], check=True); print(Stopwatch().sentence())"
    )
    sentence = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    match = re.search(r"and ([\d,]+) MB in the largest worker\.", sentence)
    assert match is not None
    assert float(match[1].replace(",", "")) > 50


def test_time_alone_where_the_system_does_not_report_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    assert re.fullmatch(r"Took \d+\.\d s\.", Stopwatch().sentence())
