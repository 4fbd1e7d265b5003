"""A webhook call is believed with the secret alone, and whatever else it holds, it is a delivery or a sentence."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import DataError, ParameterError
from driftpace.labelling import SECRET_HEADER, WrongSecretError, parse_webhook

_SECRET = "a-long-enough-secret"
_HEADERS = {SECRET_HEADER: _SECRET}


def _annotation(task: int, word: str, **more: Any) -> dict[str, Any]:
    result = [{"from_name": "y", "type": "choices", "value": {"choices": [word]}}]
    return {"id": task, "task": task, "result": result, "was_cancelled": False, **more}


def _task(number: int) -> dict[str, Any]:
    return {"id": number, "data": {"driftpace_id": f"r{number}", "x": number}}


def _call(**parts: Any) -> bytes:
    return json.dumps({"project": {"id": 3}, **parts}).encode()


@pytest.mark.parametrize(
    "headers",
    [{}, {SECRET_HEADER: "another-long-secret"}, {SECRET_HEADER: ""}, {SECRET_HEADER: _SECRET + " "}, {SECRET_HEADER: "ä"},
     {SECRET_HEADER: _SECRET, SECRET_HEADER.lower(): "another-long-secret"}],
)  # fmt: skip
def test_without_the_secret_nothing_is_read(headers: dict[str, str]) -> None:
    with pytest.raises(
        WrongSecretError, match="must have the shared secret in X-Driftpace-Secret; this one does not"
    ) as refused:
        parse_webhook(b"not even JSON", headers, _SECRET)
    assert _SECRET not in str(refused.value)


def test_a_secret_that_can_be_guessed_is_refused() -> None:
    for secret in ("", "short", "with spaces in it all", "ä" * 20):
        with pytest.raises(ParameterError, match="must be 16 or more plain characters"):
            parse_webhook(_call(action="X"), {SECRET_HEADER: secret}, secret)


def test_one_and_many_annotations() -> None:
    first = _call(action="ANNOTATION_CREATED", annotation=_annotation(1, "yes"), task=_task(1))
    call = parse_webhook(first, {SECRET_HEADER.upper(): _SECRET}, _SECRET)
    assert (call.action, call.project) == ("ANNOTATION_CREATED", 3)
    assert call.rows == ({"x": 1, "y": "yes", "driftpace_id": "r1"},)
    many = _call(
        action="ANNOTATIONS_CREATED",
        annotation=[_annotation(1, "yes"), _annotation(2, "no")],
        task=[_task(1), _task(2), _task(3)],
    )
    assert [(row["driftpace_id"], row["y"]) for row in parse_webhook(many, _HEADERS, _SECRET).rows] == [
        ("r1", "yes"),
        ("r2", "no"),
    ]


def test_what_delivers_nothing() -> None:
    cancelled = _call(action="ANNOTATION_CREATED", annotation=_annotation(1, "yes", was_cancelled=True), task=_task(1))
    deleted = _call(action="ANNOTATIONS_DELETED", annotations=[{"id": 1}])
    other = _call(action="PROJECT_UPDATED")
    for body in (cancelled, deleted, other):
        assert parse_webhook(body, _HEADERS, _SECRET).rows == ()
    answered = _call(action="ANNOTATION_CREATED", annotation=_annotation(1, "yes"), task=_task(1))
    assert parse_webhook(answered, _HEADERS, _SECRET, target="z").rows == ()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\xff", "must be JSON in UTF-8"),
        (b"[" * 100_000, "nests without end"),
        (b"{", "must be JSON"),
        (b"[1]", "must be an object with an action"),
        (b'{"action": 3}', "must be an object with an action"),
        (b'{"action": "ANNOTATION_CREATED"}', "must hold the task with its data"),
        (b" " * (16 * 2**20 + 1), "must be at most 16 MiB"),
    ],
)
def test_odd_calls_are_refused_in_one_sentence(body: bytes, why: str) -> None:
    with pytest.raises(DataError, match=why):
        parse_webhook(body, _HEADERS, _SECRET)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "data", "task", "result", "value"]), inner)
    ),
    max_leaves=10,
)


@given(
    task=_VALUES,
    annotation=_VALUES,
    project=_VALUES,
    action=st.sampled_from(["ANNOTATION_CREATED", "ANNOTATIONS_DELETED"]),
)
def test_no_call_raises_anything_but_a_sentence(task: Any, annotation: Any, project: Any, action: str) -> None:
    body = json.dumps({"action": action, "task": task, "annotation": annotation, "project": project}).encode()
    try:
        call = parse_webhook(body, _HEADERS, _SECRET)
    except DataError as error:
        outcome = str(error)
    else:
        outcome = call.action
    assert outcome == action or outcome.startswith("a webhook call must ")
