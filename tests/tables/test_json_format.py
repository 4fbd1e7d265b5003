"""JSON of millions of numbers: others get their turn while it is read, and what is refused is refused as before."""

import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.errors import DataError
from driftpace.tables.json_format import gather, load_document, parse, parse_rows
from driftpace.tables.kernels import crowded_object
from driftpace.tables.limits import TableLimits
from driftpace.tables.read import read_columns


@pytest.fixture
def turns() -> Iterator[list[int]]:
    """One more entry for each turn that another thread got."""
    seen: list[int] = []
    over = threading.Event()

    def take() -> None:
        while not over.wait(0.001):
            seen.append(1)

    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    thread = threading.Thread(target=take)
    thread.start()
    yield seen
    over.set()
    thread.join(30.0)
    sys.setswitchinterval(before)


@pytest.mark.parametrize("number", ["0.12345678901234567", "12345678"])
@pytest.mark.parametrize("more", ["", ',"s":"\\ud83d\\ude00"'])
def test_others_get_their_turn_while_numbers_are_read(turns: list[int], number: str, more: str) -> None:
    count = 8_000_000 // len(number)
    data = f'{{"X":[{",".join([number] * count)}]{more}}}'.encode()
    before = len(turns)
    read = load_document(data, TableLimits(), "it")
    assert len(turns) - before > 25
    assert len(read["X"]) == count
    assert set(read["X"]) == {float(number) if "." in number else int(number)}


@pytest.mark.parametrize("length", [10, 200_000])
def test_a_number_without_end_is_refused_in_a_sentence(length: int) -> None:
    padded = " " * length
    with pytest.raises(DataError, match="numbers of an ordinary length"):
        load_document(f"[{padded}{'9' * 5000}]".encode(), TableLimits(), "it")


@pytest.mark.parametrize(
    "half", ["\\ud83d", "\\ud83d\\ud83d\\ude00", "\\ude00\\ud83d", "\\\\\\ud83d", "\\ud83dx\\ude00"]
)
def test_half_a_character_is_refused_wherever_it_stands(half: str) -> None:
    for text in (f'["{half}"]', f'[{{"{half}": 1}}]', f'[[["a", "{half}"]]]'):
        with pytest.raises(DataError, match="half a character"):
            load_document(text.encode(), TableLimits(), "it")


@pytest.mark.parametrize("whole", ["\\ud83d\\ude00", "\\\\ud83d", "\\uD83D\\uDE00\\ud83d\\ude00", "\\u00df"])
def test_whole_characters_are_read(whole: str) -> None:
    assert load_document(f'["{whole}"]'.encode(), TableLimits(), "it")[0].encode()


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(rows=st.lists(VALUES, max_size=6), indent=st.sampled_from([None, 2]))
@settings(max_examples=100, database=None)
def test_rows_read_one_by_one_are_those_of_the_whole(rows: list[Any], indent: int | None) -> None:
    text = json.dumps(rows, indent=indent) + " \n"
    assert list(parse_rows(text, "it")) == rows == parse(text, "it")


@pytest.mark.parametrize(
    "text",
    ["[1", "[1,", "[1,]", "[1 2]", "[1]]", "[1] x", "[", "{}", '[{"a": 1, "a": 2}]', "[Infinity]", '["\\ud800"]'],
)
def test_rows_that_are_no_json_are_refused_as_the_whole_is(text: str) -> None:
    with pytest.raises(DataError) as refused:
        list(parse_rows(text, "it"))
    assert str(refused.value).startswith("it must ")
    if text != "{}":
        with pytest.raises(DataError) as whole:
            parse(text, "it")
        assert str(refused.value) == str(whole.value)


def test_rows_are_not_read_beyond_the_limit_of_columns() -> None:
    read = []

    def rows() -> Iterator[Any]:
        for row in parse_rows(json.dumps([{f"a{place}": 1} for place in range(1_000)]), "it"):
            read.append(row)
            yield row

    with pytest.raises(DataError, match="it must have at most 10 columns; got 11"):
        gather(rows(), TableLimits(columns=10), "it")
    assert len(read) == 11


def _most_names(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max([len(value) if isinstance(value, dict) else 0, *map(_most_names, inner)])


@given(value=VALUES, most=st.integers(0, 4))
@settings(max_examples=200, database=None)
def test_the_scan_finds_objects_of_too_many_names(value: Any, most: int) -> None:
    text = np.frombuffer(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), np.uint8)
    assert (crowded_object(text, most) >= 0) == (_most_names(value) > most)


def test_the_scan_stops_at_the_limit() -> None:
    text = b'{"a": {"b": 1, "c": [{}], "d": "x:y\\\\", "e": 1, "f": 1' + b', "g": 2' * 1000
    assert crowded_object(np.frombuffer(text, np.uint8), 4) == text.index(b'"f"') + 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("begin", ["[{%s}]", '{"columns": {%s}}', '[{"b": {%s}}]'])
def test_objects_of_too_many_names_are_never_parsed(monkeypatch: pytest.MonkeyPatch, encoding: str, begin: str) -> None:
    monkeypatch.setattr("driftpace.tables.json_format.parse", None)
    monkeypatch.setattr("driftpace.tables.json_format.parse_rows", None)
    body = begin % ",".join(f'"∢{place}": {place}' for place in range(100_000))
    with pytest.raises(DataError, match="the upload must have at most 1,000 columns; an object in it has more names"):
        read_columns(body.encode(encoding), kind="json")
