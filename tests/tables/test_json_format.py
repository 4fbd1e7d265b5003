"""JSON of millions of numbers: others get their turn while it is read, and what is refused is refused as before."""

import sys
import threading
from collections.abc import Iterator

import pytest

from driftpace.errors import DataError
from driftpace.tables.json_format import load_document
from driftpace.tables.limits import TableLimits


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
