"""What a table shows is what the campaign will take, and what it will not take is reported before anything is paid for."""

import json
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Definition
from driftpace.tables import write_rows
from tests.cli.loop import Run
from tests.cli.test_init import definition


def begin(run: Run, text: str, *more: str, target: str = "y") -> tuple[Definition, str]:
    """Begin a campaign of a table."""
    Path("t.csv").write_text(text)
    code, out, err = run("init", "t", "--target", target, "--epsilon", "0.1", "--table", "t.csv", "--seed", "1", *more)
    assert (code, err) == (0, "")
    return definition("t"), out


@pytest.mark.parametrize("word", ["None", "NA", "null"])
def test_words_such_as_none_are_words_from_init_to_tell(folder: Path, run: Run, word: str) -> None:
    kinds = (word, "Attached", "Carport")
    lines = [f"r{n},{kinds[n % 3]},{n * 7 % 11}" for n in range(60)]
    created, _ = begin(run, "\n".join(["id,garage,x", *lines]), "--classes", "no,yes", target="sold")
    assert created.categories["garage"] == tuple(sorted(kinds))
    assert run("ask", "t", "--select", "t.csv", "--out", "tasks.csv")[0] == 0
    drawn = Path("tasks.csv").read_text().splitlines()
    assert {line.removesuffix(",") for line in drawn[1:]} < set(lines)
    assert any(f",{word}," in line for line in drawn)
    labels = [f"{line}{('no', 'yes', 'NA')[place % 3]}" for place, line in enumerate(drawn[1:])]
    Path("done.csv").write_text("\n".join([drawn[0], *labels]))
    code, out, err = run("tell", "t", "done.csv", "--part")
    assert (code, err) == (0, "")
    assert f"skipped {len(labels) // 3} without a label" in out


def test_missing_cells_are_said_at_once(folder: Path, run: Run) -> None:
    lines = [f"r{n},{'' if n < 3 else n % 5},{n * 7 % 11}" for n in range(60)]
    _, out = begin(run, "\n".join(["id,a,x", *lines]))
    assert "Missing    a: 3 of 60 cells are missing; filled with the mean 2.05263, and a=missing says where" in out


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_long_ids_tell_rows_apart_in_every_kind_of_file(folder: Path, run: Run, ending: str) -> None:
    rows = {"id": [2**53 + n for n in range(40)], "a": [n % 7 for n in range(40)]}
    write_rows(f"huge.{ending}", rows)
    code, out, _ = run("init", "t", "--target", "y", "--epsilon", "0.1", "--table", f"huge.{ending}")
    assert code == 0
    assert "Row ID     id" in out
    assert (definition("t").id, definition("t").features) == ("id", ("a",))


def test_what_was_drawn_can_be_told_in_every_kind_of_file(folder: Path, run: Run) -> None:
    lines = [f"r{n},{n % 9}.0,{n % 7}.50,{('TRUE', 'FALSE')[n % 2]}" for n in range(80)]
    begin(run, "\n".join(["id,a,b,c", *lines]))
    texts = {}
    for ending in ("csv", "jsonl", "parquet", "json"):
        Path(f"tasks.{ending}").unlink(missing_ok=True)
        shape = ("--as", "label-studio") if ending == "json" else ()
        assert run("ask", "t", "--select", "t.csv", "--out", f"tasks.{ending}", *shape)[0] == 0
        texts[ending] = Path(f"tasks.{ending}").read_bytes()
    drawn = [line.removesuffix(",") for line in texts["csv"].decode().split()[1:]]
    assert set(drawn) < set(lines), "cells are copied as they are"
    rows = [json.loads(line) for line in texts["jsonl"].decode().splitlines()]
    assert [[row["a"], row["b"], row["c"]] for row in rows] == [
        [float(a), float(b), c == "TRUE"] for _, a, b, c in (line.split(",") for line in drawn)
    ]
    labelled = {"csv": "\n".join(["id,a,b,c,y", *(f"{line},{place}" for place, line in enumerate(drawn))])}
    labelled["jsonl"] = "\n".join(json.dumps({**row, "y": place}) for place, row in enumerate(rows))
    tasks = [
        {"id": place, "data": task["data"], "annotations": [_answer(place)]}
        for place, task in enumerate(json.loads(texts["json"]))
    ]
    labelled["json"] = json.dumps(tasks)
    for ending, text in labelled.items():
        Path(f"done.{ending}").write_text(text)
        code, out, err = run("tell", "t", f"done.{ending}", "--part", "--dry-run", "--format", "json")
        assert (code, err) == (0, "Nothing was written.\n")
        assert json.loads(out)["rows"] == len(drawn)


def test_columns_that_say_nothing_new_are_left_out_and_named(folder: Path, run: Run) -> None:
    lines = [f"{n % 7},3,{n % 7}.0,{'ab'[n % 2]},{'xy'[n % 2]},x,{n % 5}" for n in range(60)]
    text = "\n".join(["a,period,again,grade,letter,kind,b", *lines])
    created, out = begin(run, text)
    assert created.features == ("a", "grade", "b")
    notice = "Left out   period, kind: the same value in every row; again: the same values as a; letter: the same values as grade"
    assert notice in out
    run("ask", "t")
    assert run("ask", "t", "--select", "t.csv", "--out", "tasks.csv")[0] == 0


def test_a_column_that_was_named_is_kept_and_warned_of(folder: Path, run: Run) -> None:
    lines = [f"{n % 7},3" for n in range(60)]
    created, out = begin(run, "\n".join(["a,period", *lines]), "--features", "a,period")
    assert created.features == ("a", "period")
    assert "Warning    period has the same value in every row and adds no information" in out


def test_codes_are_categories(folder: Path, run: Run) -> None:
    lines = [f"{n % 7},{n % 30:03}" for n in range(60)]
    created, out = begin(run, "\n".join(["a,zip", *lines]))
    assert created.features == ("a", "zip")
    assert created.categories["zip"][-2:] == ("019", "other")
    assert "10 rarer values are zip=other" in out


@pytest.mark.parametrize("days", [("2026-11-16", "2026-11-17"), ("16.11.2026", "1.12.2026"), ("2026-W46", "2026-W47")])
def test_dates_are_no_words(folder: Path, run: Run, days: tuple[str, str]) -> None:
    created, out = begin(run, "\n".join(["a,day", *(f"{n % 7},{days[n % 2]}" for n in range(60))]))
    assert (created.features, dict(created.categories)) == (("a",), {})
    assert "Left out   day: dates" in out


def test_words_with_commas_are_told_apart(folder: Path, run: Run) -> None:
    lines = [f"{n % 7},{('Oslo', chr(34) + 'Rome, Italy' + chr(34))[n % 2]}" for n in range(60)]
    _, out = begin(run, "\n".join(["a,city", *lines]))
    assert 'Features   a, city (Oslo, "Rome, Italy")' in out


def _answer(value: int) -> dict[str, Any]:
    given = {"from_name": "y", "to_name": "x", "type": "number", "value": {"number": value}}
    return {"result": [given], "was_cancelled": False, "created_at": "2026-11-16T00:00:00Z"}
