"""A cell stands for the same thing wherever it is read."""

import json
import re

import pytest

from driftpace.errors import DataError
from driftpace.tables import read_columns
from driftpace.tables.cells import column_of, is_mark
from driftpace.tables.learn import learn_encoding
from driftpace.tables.number_text import decimal_style

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
            column = read_columns(text.encode(), name=name, as_text=as_text)["garage"]
            assert (column.values.tolist(), column.missing.tolist()) == (cells, [False] * 3)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas_are_read_where_they_can_be_nothing_else(separator: str) -> None:
    rows = [("id", "age", "n"), ("1,0", "31,7", "3"), ("2,0", "40", "4"), ("3,0", "", "5")]
    text = "\n".join(separator.join(row) for row in rows).encode()
    found = read_columns(text, as_text=["id"], exact=True)
    assert {name: column.kind for name, column in found.items()} == {"id": "text", "age": "number", "n": "number"}
    assert found["age"].values[:2].tolist() == [31.7, 40.0]
    assert found["age"].missing.tolist() == [False, False, True]
    beside_points = read_columns(text.replace(b"4\n", b"4.5\n"), as_text=["id"])
    assert (beside_points["age"].kind, beside_points["n"].kind) == ("text", "number")
    assert read_columns(b'age,n\n"31,7",3\n')["age"].kind == "text"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("cells", [("1,234.50", "-1,021,939.53", "7.5"), ("1 234.5", "12 000", "NA")])
def test_thousands_are_read_where_they_can_be_nothing_else(separator: str, cells: tuple[str, ...]) -> None:
    text = "\n".join(["price" + separator + "n", *(f'"{cell}"{separator}1' for cell in cells)]).encode()
    column = read_columns(text)["price"]
    plain = [cell.replace(",", "").replace(" ", "") for cell in cells]
    assert column.kind == "number"
    assert [None if gone else value for value, gone in zip(column.values.tolist(), column.missing, strict=True)] == [
        None if cell == "NA" else float(cell) for cell in plain
    ]


def test_one_comma_and_three_digits_are_read_as_the_rest_of_the_file_shows() -> None:
    def price(text: str) -> tuple[str, list[object]]:
        column = read_columns(text.encode())["price"]
        return column.kind, column.values.tolist()

    assert price('price,n\n"1,234",3\n"12",4\n') == ("text", ["1,234", "12"])
    assert price('price,n\n"1,234",3.5\n"12",4\n') == ("number", [1234.0, 12.0])
    assert price("price;n\n1,234;3\n12;4\n") == ("number", [1.234, 12.0])
    assert price("price;n\n1,234;3.5\n12;4\n") == ("text", ["1,234", "12"])
    assert price("price;n\n1.234,5;3,5\n12;4\n") == ("number", [1234.5, 12.0])
    assert price('price,n\n"1,2",3.5\n"12",4\n') == ("text", ["1,2", "12"])
    assert price('price,n\n"1,2,3",3.5\n"12",4\n') == ("text", ["1,2,3", "12"])
    assert price('price,n\n"0,234",3.5\n"12",4\n') == ("text", ["0,234", "12"])


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"'])
def test_a_first_line_may_name_the_separator(first: str) -> None:
    found = read_columns(f"{first}\r\na,b;c\r\n1;2\r\n".encode())
    assert {name: column.values.tolist() for name, column in found.items()} == {"a,b": [1.0], "c": [2.0]}
    with pytest.raises(DataError, match="must have 2 cells on every line; line 3 has 3"):
        read_columns(f"{first}\na;b\n1;2;3\n".encode())


def test_python_s_own_thousands_are_no_number() -> None:
    assert column_of(["1_000", "2"]).kind == "text"


@pytest.mark.parametrize("before", [0, 1, 2_000])
def test_the_line_that_is_no_text_is_the_one_that_is_named(before: int) -> None:
    text = "name\n" + "Oslo\n" * before + "Köln\n" + "Oslo\n" * 5_000
    with pytest.raises(DataError, match=f"; line {before + 2:,} is neither: save the file as UTF-8"):
        read_columns(text.encode("latin-1"), kind="csv")


def test_codes_are_whole_numbers_that_a_float_would_change() -> None:
    texts = (["9007199254740993", "1"], ["007", "8"], [str(10**400), "1"])
    numbers = (["1000000000000000", "9007199254740992.0"], ["9007199254740992", "1"], ["1e20", "0"], ["0", "0.5"])
    assert [column_of(cells).kind for cells in (*texts, *numbers)] == ["text"] * 3 + ["number"] * 4


def test_long_runs_of_empty_cells_are_read_in_linear_time() -> None:
    cells = ["1"] + [""] * 200_000  # a quadratic search takes minutes here
    assert column_of(cells).kind == "number"
    assert column_of(["007", *[""] * 200_000]).kind == "text"


def test_many_distinct_separated_numbers_are_read_in_linear_time() -> None:
    cells = [f"{n:,}.5" for n in range(1_000, 101_000)]  # a search of the cells for each of them takes minutes here
    assert decimal_style(cells) == "point"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([f'"{n},5"' for n in range(60)], "numbers with decimal commas or separators of thousands"),
        ([f"{n}.5 kg" for n in range(60)], "numbers with 'kg'; write them without it"),
        ([f"${n}.50" for n in range(60)], "numbers with '[$]'; write them without it"),
        ([f"R{n}" for n in range(60)], "free text or ids"),
    ],
)
def test_numbers_that_cannot_be_read_are_left_out_with_the_reason(cells: list[str], reason: str) -> None:
    table = read_columns("\n".join(["a,b", *(f"{cell},{n}.5" for n, cell in enumerate(cells))]).encode())
    learned = learn_encoding(table)
    assert learned.encoding.sources == ("b",)
    assert re.match(reason, learned.left_out["a"])
