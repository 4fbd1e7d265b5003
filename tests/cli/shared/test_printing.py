"""What is printed for people stays on its line and in its colour, whatever they wrote; machines get it as it is."""

import json
from pathlib import Path

import pytest

from driftpace.cli.shared.printing import one_line, print_answer, print_csv, print_json, print_table
from tests.cli.loop import Run

NASTY = "half\nthe team\x1b[31m \x9b2J is ill"
PLAIN = "half the team?[31m ?2J is ill"


def test_what_people_wrote_stays_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer(f"churn: {NASTY}", [("Why", NASTY)])
    print_table(("who", "why"), [("anna", NASTY)])
    assert capsys.readouterr().out.splitlines() == [
        f"churn: {PLAIN}",
        f"Why        {PLAIN}",
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
    assert "3 rows: half the team is ill" in lines[-1]
    assert json.loads(run("log", "churn", "--format", "json")[1])[-1]["reason"] == "half the team\nis ill"


def test_a_file_whose_name_would_colour_the_screen(churn: Path, run: Run) -> None:
    code, _, err = run("tell", "churn", "\x1b[31mred.csv")
    assert code == 2
    assert "\x1b" not in err
