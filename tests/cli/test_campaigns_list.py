"""The list has every campaign of a store with what it waits for, in words, as JSON and as CSV."""

import csv
import io
import json
from pathlib import Path

import pytest

from driftpace.campaign.serialization import head_json
from driftpace.storage import open_store
from tests.cli.loop import Run, in_store


def test_list_has_a_line_for_each_with_what_it_waits_for(two: Path, run: Run) -> None:
    code, out, _ = run("list")
    heads = in_store(lambda store: store.heads())
    assert code == 0
    lines = out.splitlines()[1:]
    assert [line.split()[0] for line in lines] == [head.name for head in heads] == ["Prices", "churn"]
    assert all(head.summary["todo"] in line for head, line in zip(heads, lines, strict=True))
    assert run("status")[1] == out
    assert run("list", "--search", "PRI")[1].splitlines()[1:] == lines[:1]
    assert len(run("list", "--limit", "1")[1].splitlines()) == 2
    assert run("list", "--search", "none")[1] == "No campaign has 'none' in its name.\n"


def test_list_for_machines(two: Path, run: Run) -> None:
    heads = in_store(lambda store: store.heads())
    assert json.loads(run("list", "--format", "json")[1]) == [head_json(head) for head in heads]
    rows = list(csv.DictReader(io.StringIO(run("list", "--format", "csv")[1])))
    assert [(row["name"], row["period"], row["missing"]) for row in rows] == [
        (head.name, str(head.summary["period"]), str(head.summary["missing"])) for head in heads
    ]
    assert json.loads(run("status", "--format", "json")[1]) == [head_json(head) for head in heads]


def test_an_empty_store_says_how_to_begin(two: Path, run: Run) -> None:
    open_store("empty.db").close()
    assert run("list", "--storage", "empty.db")[1] == "No campaigns yet: create one with driftpace init NAME.\n"
    assert run("list", "--storage", "empty.db", "--format", "json")[1] == "[]\n"
    code, _, err = run("status", "churn", "--storage", "empty.db")
    assert code == 2
    assert err.endswith("the store is empty: create it with driftpace init churn.\n")


def test_csv_holds_every_plain_value_of_the_json(two: Path, run: Run) -> None:
    values = json.loads(run("list", "--format", "json")[1])
    rows = list(csv.DictReader(io.StringIO(run("list", "--format", "csv")[1])))
    assert set(values[0]) - set(rows[0]) <= {"last"}  # which is no cell
    for value, row in zip(values, rows, strict=True):
        plain = {name: one for name, one in value.items() if isinstance(one, str | int) and not isinstance(one, bool)}
        assert {name: row[name] for name in plain} == {name: str(one) for name, one in plain.items()}


def test_an_assumption_that_failed_is_marked(two: Path, run: Run) -> None:
    heads = in_store(lambda store: store.heads())
    lines = run("list")[1].splitlines()[1:]
    assert [" ! " in line for line in lines] == [bool(head.summary["failed"]) for head in heads]


@pytest.mark.parametrize(("search", "names"), [("R", ["Prices", "churn"]), ("ices", ["Prices"]), ("%", []), ("_", [])])
def test_a_search_is_for_letters_and_not_for_patterns(two: Path, run: Run, search: str, names: list[str]) -> None:
    assert [one["name"] for one in json.loads(run("list", "--search", search, "--format", "json")[1])] == names
