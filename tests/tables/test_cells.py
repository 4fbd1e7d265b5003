"""A cell stands for the same thing wherever it is read."""

import json

import pytest

from driftpace.tables import read_upload
from driftpace.tables.cells import column_of, is_mark

MARKS = ("NA", "N/A", "nan", "null", "None", ".")


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_is_missing_among_numbers_and_flags_and_a_word_among_words(mark: str) -> None:
    assert is_mark(mark)
    numbers, flags, words = (column_of([one, mark, ""]) for one in ("1.5", "TRUE", "Carport"))
    assert (numbers.kind, numbers.missing.tolist()) == ("number", [False, True, True])
    assert (flags.kind, flags.missing.tolist()) == ("flag", [False, True, True])
    assert (words.kind, words.values.tolist()) == ("text", ["Carport", mark, None])
    assert words.missing.tolist() == [False, False, True]


@pytest.mark.parametrize("mark", MARKS)
def test_words_are_read_alike_whatever_the_file_and_whoever_reads(mark: str) -> None:
    cells = [mark, "Attached", "Carport"]
    files = {
        "a.csv": "\n".join(["garage", *cells]),
        "a.jsonl": "\n".join(json.dumps({"garage": cell}) for cell in cells),
        "a.json": json.dumps({"columns": {"garage": cells}}),
    }
    for name, text in files.items():
        for as_text in ((), ("garage",)):
            column = read_upload(text.encode(), name=name, as_text=as_text)["garage"]
            assert (column.values.tolist(), column.missing.tolist()) == (cells, [False] * 3)
