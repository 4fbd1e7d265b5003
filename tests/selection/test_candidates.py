from typing import Any

import pytest

from driftpace.errors import ParameterError
from driftpace.losses import SquaredLoss
from driftpace.selection import Candidate, Selection


def test_penalties_come_in_rising_order_with_their_own_constants() -> None:
    selection = Selection.of_l2(SquaredLoss(), [1.0, 0.0, 0.1], constants=["c1", "c0", "c.1"])
    assert selection.labels == ("l2=0", "l2=0.1", "l2=1")
    assert [candidate.loss.l2 for candidate in selection.candidates] == [0.0, 0.1, 1.0]
    assert [candidate.constants for candidate in selection.candidates] == ["c0", "c.1", "c1"]


@pytest.mark.parametrize(
    ("l2", "sentence"),
    [
        ([0.1], "must be at least two numbers to choose among; got 1"),
        ([], "must be at least two numbers to choose among; got 0"),
        ([0.1, -0.1], r"must be zero or more, and finite; got -0.1"),
        ([0.1, float("nan")], "must be zero or more, and finite; got nan"),
        ([0.1, 0.1], r"must be different numbers; got \[0.1, 0.1\]"),
        (0.1, "must be a list of numbers; got 0.1"),
        ("0.1, 1", "must be a list of numbers; got '0.1, 1'"),
    ],
    ids=["one", "none", "negative", "nan", "twice", "number", "text"],
)
def test_penalties_that_are_none_are_refused(l2: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        Selection.of_l2(SquaredLoss(), l2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"folds": 1}, "Selection.folds=.*at least 2; got 1"),
        ({"choosing": "best"}, "Selection.choosing=.*must be one of"),
        ({"memory": -1.0}, "Selection.memory=.*zero or more"),
        ({"memory": 1.0}, "Selection.memory=.*must be below 1, or nothing is ever forgotten; got 1.0"),
        ({"candidates": (Candidate(label="a"),)}, "must be at least two; got 1"),
        ({"candidates": (Candidate(label="a"), Candidate(label="a"))}, "different labels; got 'a' twice"),
        ({"candidates": ("a", "b")}, "must be Candidates"),
    ],
    ids=["folds", "choosing", "memory", "for ever", "one", "twice", "words"],
)
def test_selections_that_are_none_are_refused(changes: dict[str, Any], sentence: str) -> None:
    parts = {"candidates": (Candidate(label="a"), Candidate(label="b"))} | changes
    with pytest.raises(ParameterError, match=sentence):
        Selection(**parts)


@pytest.mark.parametrize(
    "columns", [(), "age", ("age", "age"), (1.5,), (True,)], ids=["none", "text", "twice", "half", "bool"]
)
def test_columns_that_are_none_are_refused(columns: Any) -> None:
    with pytest.raises(ParameterError, match=r"Candidate.columns=...\) must be"):
        Candidate(label="a", columns=columns)


def test_as_many_constants_as_penalties() -> None:
    with pytest.raises(ParameterError, match="must be one for each of 2 l2; got 1"):
        Selection.of_l2(SquaredLoss(), [0.0, 0.1], constants=["c"])
