"""Exports of Label Studio: who said what about which row, whichever of its formats they come in."""

import json
from typing import Any, get_args

import pytest

from driftpace.errors import DataError, ParameterError
from driftpace.tables import read_columns, rows_of_export
from driftpace.tables.label_studio import AnnotationPolicy


def _annotation(number: int, answers: dict[str, Any], minute: int = 0, **more: Any) -> dict[str, Any]:
    kinds = {str: "choices", int: "rating", float: "number"}
    result = [
        {
            "from_name": name,
            "to_name": "row",
            "type": kinds[type(answer)],
            "value": {kinds[type(answer)]: [answer] if isinstance(answer, str) else answer},
        }
        for name, answer in answers.items()
    ]
    return {
        "id": number,
        "result": result,
        "was_cancelled": False,
        "updated_at": f"2026-11-15T10:{minute:02}:00Z",
        **more,
    }


def _task(number: int, *annotations: dict[str, Any], **data: Any) -> dict[str, Any]:
    return {
        "id": number,
        "data": {"driftpace_id": f"r{number}", **data},
        "annotations": list(annotations),
        "drafts": [],
    }


TASKS = [
    _task(1, _annotation(1, {"churned": "yes", "price": 3.5, "stars": 4}), age=41, id="a"),
    _task(2, _annotation(2, {}, was_cancelled=True), age=30, id="b"),
    _task(3, _annotation(3, {}), age=31, id="c"),
    _task(4, age=32, id="d"),
    _task(
        5,
        _annotation(6, {"churned": "no"}, minute=9),
        _annotation(4, {"churned": "yes"}, minute=1),
        _annotation(5, {"churned": "yes"}, minute=2),
        age=33,
        id="e",
    ),
]


def test_only_what_people_said_is_a_delivery() -> None:
    rows = rows_of_export(TASKS)
    assert rows == [
        {"age": 41, "id": "a", "churned": "yes", "price": 3.5, "stars": 4, "driftpace_id": "r1"},
        {"age": 33, "id": "e", "churned": "no", "driftpace_id": "r5"},
    ]
    assert rows_of_export({"tasks": TASKS, "total": 5}) == rows
    assert rows_of_export([]) == rows_of_export({"tasks": []}) == []


def test_several_annotators_latest_majority_and_ground_truth() -> None:
    assert [row["churned"] for row in rows_of_export(TASKS, several="majority")] == ["yes", "yes"]
    tied = _task(1, _annotation(1, {"churned": "a"}, 5), _annotation(2, {"churned": "b"}, 7))
    assert rows_of_export([tied], several="majority")[0]["churned"] == "b"
    truth = _task(1, _annotation(1, {"churned": "a"}, 5, ground_truth=True), _annotation(2, {"churned": "b"}, 7))
    for several in get_args(AnnotationPolicy):
        assert rows_of_export([truth], several=several)[0]["churned"] == "a"
    with pytest.raises(
        ParameterError, match=r"from_export\(several=...\) must be one of 'latest', 'majority'; got 'all'"
    ):
        rows_of_export(TASKS, several="all")  # type: ignore[arg-type]


def test_an_annotation_without_the_target_is_not_a_delivery() -> None:
    assert [row["driftpace_id"] for row in rows_of_export(TASKS, target="price")] == ["r1"]
    later = _task(1, _annotation(1, {"churned": "a"}, 5), _annotation(2, {"price": 2.0}, 7))
    assert rows_of_export([later], target="churned") == [{"churned": "a", "driftpace_id": "r1"}]


def test_rows_that_driftpace_did_not_make_are_known_by_their_task() -> None:
    task = {"id": 12, "data": {"age": 1}, "annotations": [_annotation(1, {"churned": "a"})]}
    assert rows_of_export([task])[0]["driftpace_id"] == "label-studio-12"
    assert rows_of_export([{**task, "meta": {"driftpace": {"id": "r7"}}}])[0]["driftpace_id"] == "r7"


def _short(number: int, row: int, **cells: Any) -> dict[str, Any]:
    """What JSON-MIN holds for one annotation."""
    moment = f"2026-11-15T10:{number:02}:00Z"
    made = {"annotator": 1, "annotation_id": number, "lead_time": 1.0, "created_at": moment, "updated_at": moment}
    return {"driftpace_id": f"r{row}", "id": row, **cells, **made}


_SHORT = [
    _short(2, 1, age="41", churned="no", price=""),
    _short(1, 1, age="41", churned="yes", price=[{"number": 3.5}]),
    _short(3, 2, age="30"),
]


def test_short_exports() -> None:
    assert rows_of_export(_SHORT, target="churned") == [{"age": "41", "churned": "no", "driftpace_id": "r1"}]
    assert rows_of_export(_SHORT, target="price") == [
        {"age": "41", "churned": "yes", "price": 3.5, "driftpace_id": "r1"}
    ]
    names = list(dict.fromkeys(name for row in _SHORT for name in row))
    cells = [[row.get(name, "") for name in names] for row in _SHORT]
    quoted = [
        ",".join(
            '"' + (json.dumps(cell) if isinstance(cell, list) else str(cell)).replace('"', '""') + '"' for cell in row
        )
        for row in (names, *cells)
    ]
    for content in ("\n".join(quoted), json.dumps(_SHORT)):
        columns = read_columns(content.encode(), target="price")
        assert {name: column.values.tolist() for name, column in columns.items()} == {
            "age": [41.0],
            "churned": ["yes"],
            "price": [3.5],
            "driftpace_id": ["r1"],
        }


def test_answers_that_are_numbers_become_numbers_and_the_row_stays_as_it_was() -> None:
    tasks = [
        _task(1, _annotation(1, {"churned": "1"}), zip="007"),
        _task(2, _annotation(2, {"churned": "0"}), zip="008"),
    ]
    columns = read_columns(json.dumps(tasks).encode())
    assert columns["churned"].values.tolist() == [1.0, 0.0]
    assert columns["zip"].values.tolist() == ["007", "008"]


def test_what_is_no_export_and_what_nobody_labelled() -> None:
    with pytest.raises(DataError, match="from_export: the export must be JSON or JSON-MIN of Label Studio"):
        rows_of_export([{"a": 1}])
    with pytest.raises(DataError, match="must have at least one labelled task; got none"):
        read_columns(json.dumps(TASKS[1:4]).encode())


def test_each_annotator_of_a_task_is_a_row() -> None:
    def annotation(number: int, who: object, answer: str, **more: object) -> dict[str, object]:
        result = [{"from_name": "churned", "type": "choices", "value": {"choices": [answer]}}]
        return {"id": number, "completed_by": who, "updated_at": f"2026-11-0{number}", "result": result, **more}

    task = {
        "id": 7,
        "data": {"age": 41, "driftpace_id": "a"},
        "annotations": [
            annotation(1, {"id": 3, "email": "ada@example.org"}, "no"),
            annotation(2, 4, "yes"),
            annotation(3, {"id": 3, "email": "ada@example.org"}, "yes"),
            annotation(4, 5, "no", was_cancelled=True),
        ],
    }
    rows = rows_of_export([task], target="churned", annotator="who")
    assert [(row["who"], row["churned"], row["driftpace_id"]) for row in rows] == [
        ("ada@example.org", "yes", "a"),
        ("4", "yes", "a"),
    ]
    assert len(rows_of_export([task], target="churned")) == 1
    truth = {**task, "annotations": [*task["annotations"], annotation(5, 6, "no", ground_truth=True)]}  # type: ignore[misc]
    assert [row["who"] for row in rows_of_export([truth], annotator="who")] == ["6"]
    short = [
        {
            "id": 7,
            "driftpace_id": "a",
            "age": 41,
            "churned": answer,
            "annotator": who,
            "annotation_id": who,
            "lead_time": 1,
        }
        for who, answer in ((1, "yes"), (2, "no"))
    ]
    assert [(row["who"], row["churned"]) for row in rows_of_export(short, annotator="who")] == [
        ("1", "yes"),
        ("2", "no"),
    ]
    columns = read_columns(json.dumps([task]).encode(), target="churned", annotator="who", as_text=["who"])
    assert columns["who"].values.tolist() == ["ada@example.org", "4"]
