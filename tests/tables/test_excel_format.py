"""Workbooks are read as people keep them: dates, numbers, texts, errors and empty rows."""

import io
import sys
import zipfile
from datetime import date, datetime, time
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace.backtest import read_table
from driftpace.errors import DataError, MissingExtraError, ParameterError
from driftpace.tables import TableLimits, read_columns


def _book(rows: list[list[Any]], **sheets: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name, more in sheets.items():
        page = book.create_sheet(name)
        for row in more:
            page.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return sink.getvalue()


def _values(data: bytes, **options: Any) -> dict[str, tuple[str, list[Any]]]:
    columns = read_columns(data, name="rows.xlsx", **options)
    return {name: (column.kind, column.values.tolist()) for name, column in columns.items()}


ROWS: list[list[Any]] = [
    ["id", "day", "price", "city", "sold", "note"],
    [7, datetime(2010, 3, 15, 14, 30), 1.5, "Oslo", True, "NA"],
    [8, date(2010, 3, 16), 2, "Rome", False, 4],
    [9, None, None, None, None, 5.5],
]


def test_cells_are_of_the_kind_they_have_in_the_sheet() -> None:
    values = _values(_book(ROWS), as_text=["id"])
    assert values["id"] == ("text", ["7", "8", "9"])
    assert values["day"] == ("time", [datetime(2010, 3, 15, 14, 30), datetime(2010, 3, 16), None])
    assert values["price"][0] == "number"
    assert values["price"][1][:2] == [1.5, 2.0]
    assert values["city"] == ("text", ["Oslo", "Rome", None])
    assert values["sold"][0] == "flag"
    assert values["note"][0] == "number"  # NA among numbers is missing, as in a CSV file
    assert values["note"][1][1:] == [4.0, 5.5]


def test_the_format_is_known_by_its_bytes() -> None:
    assert list(read_columns(_book(ROWS))) == ROWS[0]
    assert list(read_columns(io.BytesIO(_book(ROWS)), name="upload", kind="excel")) == ROWS[0]


def test_it_reads_what_pandas_writes() -> None:
    frame = pd.DataFrame(
        {"when": pd.date_range("2010-01-27", periods=33, freq="D"), "x": range(33), "y": range(0, 66, 2)}
    )
    sink = io.BytesIO()
    frame.to_excel(sink, index=False)
    panel = read_table(sink.getvalue(), period="when:month", target="y")
    assert (panel.periods, panel.sizes) == (("2010-01", "2010-02"), (5, 28))


def test_errors_are_missing_and_times_are_texts() -> None:
    values = _values(_book([["a", "b", "c"], ["#N/A", time(10, 30), "#DIV/0!"], [2, None, "x"], [3, time(11), "y"]]))
    assert values["a"][0] == "number"
    assert values["a"][1][1:] == [2.0, 3.0]
    assert values["b"] == ("text", ["10:30:00", None, "11:00:00"])
    assert values["c"] == ("text", [None, "x", "y"])


def test_formulas_are_read_by_their_values() -> None:
    assert _values(_book([["a", "b"], [1, "=1+1"]]))["b"][1] != [
        "=1+1"
    ]  # openpyxl stores no value: the cell is missing


def test_empty_rows_and_columns_around_the_table_are_left_out() -> None:
    rows: list[list[Any]] = [
        [None],
        [None, "x", None, "y"],
        [None, 1, None, 2],
        [None],
        [None, 3, None, 4],
        [None, None],
    ]
    assert _values(_book(rows)) == {"x": ("number", [1.0, 3.0]), "y": ("number", [2.0, 4.0])}


def test_sheets() -> None:
    book = _book([["a"], [1]], Second=[["b"], [2]])
    assert list(_values(book)) == ["a"]
    assert list(_values(book, sheet="Second")) == list(_values(book, sheet=1)) == ["b"]
    with pytest.raises(
        ParameterError, match=r"sheet=\.\.\.\) must be a sheet of the workbook; got 'Secnd': did you mean 'Second'"
    ):
        read_columns(book, sheet="Secnd")
    with pytest.raises(ParameterError, match=r"got 5: it has Sheet, Second\."):
        read_columns(book, sheet=5)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[None]], "must have a row of names and at least one more; got nothing."),
        ([["a"]], "must have a row of names and at least one more; got the names alone."),
        ([["a", "a"], [1, 2]], "must have columns of different names; got 'a' twice."),
        ([["a"], [1], [1, "stray"]], "must have a name above every column; row 3 has 'stray' below none."),
    ],
)
def test_refusals(rows: list[list[Any]], sentence: str) -> None:
    with pytest.raises(DataError) as error:
        read_columns(_book(rows), name="rows.xlsx")
    assert str(error.value) == f"read_columns: rows.xlsx {sentence}"


def test_a_sheet_without_a_table_is_refused_with_the_names_of_the_others() -> None:
    titles: list[list[list[Any]]] = [[["Export of 1 January"]], [["Export of 1 January"], ["a", "b"], [1, 2]]]
    for title in titles:
        with pytest.raises(DataError, match=r"; the workbook has the sheets Customers, Shops too\.$"):
            read_columns(_book(title, Customers=[["b"], [2]], Shops=[["b"], [2]]))


def test_limits() -> None:
    book = _book([["a", "b"], *([1, 2] for _ in range(20))])
    with pytest.raises(DataError, match="must have at most 19 rows; got 20 or more"):
        read_columns(book, limits=TableLimits(rows=19))
    with pytest.raises(
        DataError, match=r"must have at most 5 rows and 1,000 columns; its part xl/worksheets/sheet1\.xml"
    ):
        read_columns(book, limits=TableLimits(rows=5))
    with pytest.raises(DataError, match="must have at most 1 columns; got 2"):
        read_columns(book, limits=TableLimits(columns=1))
    with pytest.raises(DataError, match="must unpack to at most 100 bytes"):
        read_columns(book, limits=TableLimits(unpacked=100))


def test_damaged_workbooks_are_refused() -> None:
    whole = _book(ROWS)
    for damaged in (whole[:-100], whole[:200] + whole[300:], b"PK\x03\x04 xl/workbook"):
        with pytest.raises(DataError, match="must be a whole workbook; it cannot be read"):
            read_columns(damaged, name="rows.xlsx")


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    book = _book(ROWS)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"read_columns\(\) needs openpyxl for this file: .*driftpace\[excel\]"):
        read_columns(book)


@settings(max_examples=150, deadline=None)
@given(
    part=st.integers(0, 8),
    place=st.floats(0.0, 1.0),
    cut=st.integers(0, 30),
    text=st.sampled_from(
        [b"", b"<", b"1048577", b"-1", b'r="XFD1"', b't="e"', b't="s"', b"<v>1e999</v>", b"&#0;", b"\xff"]
    ),
)
def test_workbooks_whose_parts_were_damaged(part: int, place: float, cut: int, text: bytes) -> None:
    """Parts that are valid archives of anything are read, or refused in a sentence."""
    whole, sink = _book(ROWS), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as source, zipfile.ZipFile(sink, "w") as archive:
        names = source.namelist()
        for name in names:
            content = source.read(name)
            if name == names[part % len(names)]:
                at = int(place * len(content))
                content = content[:at] + text + content[at + cut :]
            archive.writestr(name, content)
    try:
        columns = read_columns(sink.getvalue(), name="rows.xlsx", limits=TableLimits(rows=100, columns=50))
    except (DataError, ParameterError) as error:
        refused = str(error)
    else:
        refused = "."
        assert len({column.values.size for column in columns.values()}) == 1
    assert refused.endswith(".")
