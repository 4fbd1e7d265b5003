"""Tasks carry their row and its id; the screen asks for the target and nothing that XML could misread."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import DataError, ParameterError
from driftpace.labelling import labelling_config, to_tasks
from driftpace.tables import draw_rows, read_columns, rows_of


def test_a_drawn_row_becomes_a_task() -> None:
    pool = read_columns(b"key,when,price\n007,2026-11-15,1.5\n", as_text=["key"])
    drawn = draw_rows(pool, 1, id_column="key", rng_key=[1])
    (task,) = to_tasks(
        rows_of(pool, drawn, id_column="key"), drawn.ids, campaign="c", period="2026-W46", order=9, shown=["price"]
    )
    assert task == {
        "data": {
            "key": "007",
            "when": "2026-11-15",
            "price": 1.5,
            "driftpace_id": "007",
            "driftpace_shown": "price: 1.5",
            "driftpace_for": "c/2026-W46",
        },
        "meta": {"driftpace": {"id": "007", "campaign": "c", "period": "2026-W46", "order": 9}},
    }
    (bare,) = to_tasks(rows_of(pool, draw_rows(pool, 1, rng_key=[1])), ["row-1"])
    assert bare["data"]["driftpace_id"] == "row-1"
    assert bare["meta"] == {"driftpace": {"id": "row-1"}}


def test_rows_and_ids_belong_together() -> None:
    with pytest.raises(DataError, match=r"to_tasks: rows and ids must be of one length; got lengths \[1, 2\]"):
        to_tasks({"x": [1, 2]}, ["r"])
    with pytest.raises(ParameterError, match=r"to_tasks\(shown=...\) must be columns of the rows; got 'y'"):
        to_tasks({"x": [1]}, ["r"], shown=["y"])
    assert to_tasks({}, []) == []


_WORDS = st.text(min_size=1, max_size=12).filter(lambda word: word.isprintable() and word == word.strip())


@given(
    target=_WORDS,
    classes=st.none() | st.lists(_WORDS, min_size=2, max_size=12, unique=True),
    question=st.none() | _WORDS,
)
def test_the_screen_says_what_was_asked(target: str, classes: list[str] | None, question: str | None) -> None:
    view = ET.fromstring(labelling_config(target, classes=classes, question=question))
    displayed, header, control = view
    assert (displayed.tag, displayed.get("value")) == ("Text", "$driftpace_shown")
    assert header.get("value") == (question or target)
    assert control.get("name") == target
    assert control.get("toName") == displayed.get("name") != target
    assert control.tag == ("Number" if classes is None else "Choices")
    assert [choice.get("value") for choice in control] == (classes or [])


@pytest.mark.parametrize("word", ["", " a", "a\nb", "\0", None])
def test_what_a_screen_cannot_show_is_refused(word: str) -> None:
    with pytest.raises(ParameterError, match=r"labelling_config\(target=...\) must be a printable text"):
        labelling_config(word)
    with pytest.raises(ParameterError, match=r"labelling_config\(classes=...\) must be a printable text"):
        labelling_config("y", classes=["a", word])
    with pytest.raises(ParameterError, match=r"labelling_config\(shown=...\) must be"):
        labelling_config("y", shown="a b")


@pytest.mark.parametrize("classes", [[], ["a"], ["a", "a"], "ab"])
def test_classes_are_two_or_more(classes: list[str]) -> None:
    with pytest.raises(ParameterError, match=r"labelling_config\(classes=...\) must be two or more distinct classes"):
        labelling_config("y", classes=classes)
