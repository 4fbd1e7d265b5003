"""Exports of Label Studio as rows: the columns of each task, and the answers of its annotations.

Three formats are recognised: the full export (JSON: tasks with ``data`` and ``annotations``, like the task list of the REST
interface) and the two short ones (JSON-MIN and CSV: one flat row per annotation). Cancelled and empty annotations do not count.
Of several annotations of a task, those marked as ground truth count alone; otherwise the latest counts, or for each question
the most frequent answer, the latest of ties.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from driftpace import validation
from driftpace.errors import DataError
from driftpace.tables.limits import clip

ROW_ID = "driftpace_id"
"""The column with the id of a drawn row."""
ROW_SHOWN = "driftpace_shown"
"""The field of a task with the row as lines of text for the annotator; it is not a column of a delivery."""

ROW_FOR = "driftpace_for"
"""The column with the campaign and period for which a row was drawn: labels of other periods do not count."""

AnnotationPolicy = Literal["latest", "majority"]
_MADE_BY_LABEL_STUDIO = frozenset({"annotator", "annotation_id", "lead_time"})
_ALSO_MADE = ("id", "created_at", "updated_at", "agreement", "comments")


def row_for(campaign: str, period: int | str) -> str:
    """Return the value of :data:`ROW_FOR`.

    >>> row_for("churn", 3)
    'churn/3'
    """
    return f"{campaign}/{period}"


def is_full_export(document: Any) -> bool:
    """Whether a JSON document is a full export of Label Studio, or the task list of its REST interface."""
    if isinstance(document, dict):
        document = document.get("tasks")
    return _all_have(document, {"data", "annotations"}) and all(isinstance(task["data"], dict) for task in document)


def is_short_export(document: Any) -> bool:
    """Whether a JSON document is a short export of Label Studio (JSON-MIN)."""
    return _all_have(document, _MADE_BY_LABEL_STUDIO)


def is_csv_export(names: Iterable[str]) -> bool:
    """Whether the columns of a CSV file are those of an export of Label Studio."""
    return set(names) >= _MADE_BY_LABEL_STUDIO


def _all_have(document: Any, names: Iterable[str]) -> bool:
    wanted = set(names)
    return (
        isinstance(document, list)
        and bool(document)
        and all(isinstance(item, dict) and wanted <= item.keys() for item in document)
    )


def rows_of_export(
    document: Any,
    *,
    target: str | None = None,
    several: AnnotationPolicy = "latest",
    annotator: str | None = None,
    owner: str = "from_export",
) -> list[dict[str, Any]]:
    """Return one row for each labelled task: its columns, its answers by the name of the question, and its id.

    Parameters
    ----------
    document : parsed JSON
        A full or short export of Label Studio.
    target : str, optional
        The labelled column; annotations without it do not count.
    several : {"latest", "majority"}
        Which of several annotations of a task counts.
    annotator : str, optional
        Instead: return a row for each annotator of a task, by the latest annotation, with who it is in this column.
    owner : str
        The function that error messages name.

    Returns
    -------
    list of dict
        The id is in :data:`ROW_ID`; that of a task that driftpace did not create is ``label-studio-`` and its number.

    Examples
    --------
    >>> task = {"id": 7, "data": {"age": 41}, "annotations": [{"id": 1, "updated_at": "2026-11-02T10:00:00Z", "result": [
    ...     {"from_name": "churned", "type": "choices", "value": {"choices": ["yes"]}}]}]}
    >>> rows_of_export([task])
    [{'age': 41, 'churned': 'yes', 'driftpace_id': 'label-studio-7'}]
    """
    validation.choice(owner, ("latest", "majority"), several=several)
    if is_full_export(document):
        tasks: Sequence[Mapping[str, Any]] = document["tasks"] if isinstance(document, dict) else document
        return [row for task in tasks for row in _of_task(task, target, several, annotator)]
    if is_short_export(document):
        return _of_short(document, target, several, annotator)
    if document == [] or (isinstance(document, dict) and document.get("tasks") == []):
        return []
    raise DataError(
        f"{owner}: the export must be JSON or JSON-MIN of Label Studio, a list of tasks with data and annotations; "
        f"got {clip(json.dumps(document, default=str)[:200])}."
    )


def _of_task(
    task: Mapping[str, Any], target: str | None, several: AnnotationPolicy, annotator: str | None
) -> list[dict[str, Any]]:
    annotations = task["annotations"] if isinstance(task["annotations"], list) else []
    there = [item for item in annotations if isinstance(item, dict) and not item.get("was_cancelled")]
    answered = [(item, _answers(item.get("result"))) for item in there]
    counted = [(item, values) for item, values in answered if _counts(values, target)]
    row = {name: value for name, value in task["data"].items() if name not in (ROW_ID, ROW_SHOWN)}
    return [{**row, **answers, ROW_ID: _row_id(task)} for answers in _answered(counted, several, annotator)]


def _answered(
    annotations: Sequence[tuple[Mapping[str, Any], dict[str, Any]]], several: AnnotationPolicy, annotator: str | None
) -> list[dict[str, Any]]:
    """Return the answers that count: of one annotation of a task, or of one by each annotator."""
    if annotator is None:
        settled = _settled(annotations, several)
        return [] if settled is None else [settled]
    annotations = [pair for pair in annotations if pair[0].get("ground_truth") is True] or annotations
    people: dict[str, list[tuple[Mapping[str, Any], dict[str, Any]]]] = {}
    for pair in annotations:
        people.setdefault(_who(pair[0]), []).append(pair)
    made = ((name, _settled(own, "latest")) for name, own in people.items())
    return [{**answers, annotator: name} for name, answers in made if answers is not None]


def _who(annotation: Mapping[str, Any]) -> str:
    """Return who made an annotation: an e-mail address where the export has it, or a number."""
    who = annotation.get("completed_by", annotation.get("annotator"))
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")
    return "" if who is None else str(who)


def _counts(answers: Mapping[str, Any], target: str | None) -> bool:
    return bool(answers) if target is None else answers.get(target) is not None


def _row_id(task: Mapping[str, Any]) -> str:
    meta = task.get("meta")
    ours = meta.get("driftpace") if isinstance(meta, dict) else None
    row_id = task["data"].get(ROW_ID) or (ours.get("id") if isinstance(ours, dict) else None)
    return str(row_id) if row_id else f"label-studio-{task.get('id')}"


def _answers(result: Any) -> dict[str, Any]:
    """Return the answers of an annotation by the name of the question; regions and relations are not answers."""
    answers = {}
    for item in result if isinstance(result, list) else []:
        if not isinstance(item, dict) or not isinstance(item.get("from_name"), str):
            continue
        value = item.get("value")
        answer = _answer(value) if isinstance(value, dict) else None
        if answer is not None:
            answers[item["from_name"]] = answer
    return answers


def _answer(value: Mapping[str, Any]) -> Any:
    for kind in ("choices", "number", "rating", "text"):
        answer = value.get(kind)
        if isinstance(answer, list):
            answer = answer[0] if len(answer) == 1 else (answer or None)
        if answer is not None and answer != "":
            return answer
    return None


def _settled(
    annotations: Sequence[tuple[Mapping[str, Any], dict[str, Any]]], several: AnnotationPolicy
) -> dict[str, Any] | None:
    """Return the answers that count: ground truth, the latest, or the most frequent."""
    annotations = sorted(annotations, key=lambda pair: _when(pair[0]))
    annotations = [pair for pair in annotations if pair[0].get("ground_truth") is True] or annotations
    if not annotations:
        return None
    if several == "latest":
        return annotations[-1][1]
    votes: dict[str, dict[str, list[Any]]] = {}  # by question and answer: how many, and the answer; the latest first
    for _, answers in reversed(annotations):
        for name, answer in answers.items():
            votes.setdefault(name, {}).setdefault(json.dumps(answer, sort_keys=True), [0, answer])[0] += 1
    return {name: max(by.values(), key=lambda vote: int(vote[0]))[1] for name, by in votes.items()}


def _when(annotation: Mapping[str, Any]) -> tuple[str, int]:
    moment = annotation.get("updated_at") or annotation.get("created_at") or ""
    number = annotation.get("annotation_id", annotation.get("id"))
    try:
        return str(moment), int(number or 0)
    except (TypeError, ValueError, OverflowError):
        return str(moment), 0


def _of_short(
    rows: Sequence[Mapping[str, Any]], target: str | None, several: AnnotationPolicy, annotator: str | None
) -> list[dict[str, Any]]:
    """Return rows from one flat row for each annotation: what differs between those of one task, or is packed, is an answer."""
    tasks: dict[tuple[str, Any], list[Mapping[str, Any]]] = {}
    for row in rows:
        tasks.setdefault((_short_id(row), row.get(ROW_FOR)), []).append(row)
    made = []
    for (row_id, _), group in tasks.items():
        answered = [
            (row, {name: _unpacked(value) for name, value in row.items() if name not in _not_ours()}) for row in group
        ]
        counted = [(row, values) for row, values in answered if _counts(values, target)]
        made += [
            {**{name: value for name, value in answers.items() if value is not None}, ROW_ID: row_id}
            for answers in _answered(counted, several, annotator)
        ]
    return made


def _not_ours() -> frozenset[str]:
    return _MADE_BY_LABEL_STUDIO | {ROW_ID, ROW_SHOWN, *_ALSO_MADE}


def _short_id(row: Mapping[str, Any]) -> str:
    return str(row.get(ROW_ID) or f"label-studio-{row.get('id')}")


def _unpacked(value: Any) -> Any:
    """Return the answer in [{"number": 3.5}] or {"choices": [...]}, which a CSV file holds as text; else the value."""
    if isinstance(value, str) and value[:2] in ("[{", '{"') and len(value) < 10_000:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    inner = value[0] if isinstance(value, list) and len(value) == 1 else value
    if isinstance(inner, dict) and (answer := _answer(inner)) is not None:
        return answer
    return None if value == "" else value
