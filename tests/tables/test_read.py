"""Whatever a table comes as, it becomes the same columns; what cannot be used is refused in one sentence."""

import gzip
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, ipc

from driftpace.errors import DataError, DriftpaceError, MissingExtraError, ParameterError
from driftpace.tables import Column, FileKind, TableLimits, read_columns

_ROWS: dict[str, list[Any]] = {
    "id": ["007", "7", "8"],
    "city": ["Rome", None, 'Oslo, a "town"\nby the sea'],
    "rain": [1.5, -2.0, None],
    "count": [3, 4, 5],
    "member": [True, False, True],
}


def _text(value: Any) -> str:
    return "" if value is None else '"' + str(value).replace('"', '""') + '"'


def _csv(separator: str = ",", end: str = "\n") -> str:
    lines = [separator.join(_ROWS)]
    lines += [separator.join(map(_text, row)) for row in zip(*_ROWS.values(), strict=True)]
    return end.join(lines) + end


def _objects() -> list[dict[str, Any]]:
    return [dict(zip(_ROWS, row, strict=True)) for row in zip(*_ROWS.values(), strict=True)]


def _parquet(**how: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(_ROWS), sink, **how)
    return sink.getvalue()


def _arrow(stream: bool, compression: str | None = None) -> bytes:
    sink, table = io.BytesIO(), pa.table(_ROWS)
    options = ipc.IpcWriteOptions(compression=compression)
    opened = ipc.new_stream if stream else ipc.new_file
    with opened(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)
    return sink.getvalue()


def _feather() -> bytes:
    sink = io.BytesIO()
    feather.write_feather(pa.table(_ROWS), sink)
    return sink.getvalue()


def _polars(kind: str) -> bytes:
    sink = io.BytesIO()
    frame = pl.DataFrame(_ROWS).with_columns(pl.col("city").cast(pl.Categorical))
    frame.write_ipc(sink) if kind == "ipc" else frame.write_parquet(sink)
    return sink.getvalue()


_FORMS: dict[str, tuple[Callable[[], bytes], str]] = {
    "csv": (lambda: _csv().encode(), "rows.csv"),
    "csv of Excel": (lambda: b"\xef\xbb\xbf" + _csv(";", "\r\n").encode(), "rows.csv"),
    "text of Excel": (lambda: _csv("\t", "\r\n").encode("utf-16"), "rows.txt"),
    "csv, gzipped": (lambda: gzip.compress(_csv().encode()), "ROWS.CSV.GZ"),
    "csv, gzipped in two": (
        lambda: gzip.compress(_csv()[:9].encode()) + gzip.compress(_csv()[9:].encode()),
        "a.csv.gz",
    ),
    "json": (lambda: json.dumps(_objects()).encode(), "rows.json"),
    "json by columns": (lambda: json.dumps({"columns": _ROWS}).encode(), "rows.json"),
    "json lines": (lambda: "\r\n".join(map(json.dumps, _objects())).encode(), "rows.jsonl"),
    "json lines called json": (lambda: "\n".join(map(json.dumps, _objects())).encode(), "rows.json"),
    "parquet": (_parquet, "rows.parquet"),
    "parquet, second pages": (lambda: _parquet(data_page_version="2.0", compression="zstd", row_group_size=2), "a.pq"),
    "parquet, plain": (lambda: _parquet(use_dictionary=False, compression="none"), "a.pq"),
    "parquet of polars": (lambda: _polars("parquet"), "rows.parquet"),
    "arrow file": (lambda: _arrow(False), "rows.arrow"),
    "arrow stream": (lambda: _arrow(True), "rows.arrows"),
    "arrow stream, packed": (lambda: _arrow(True, "zstd"), "rows.arrows"),
    "feather": (_feather, "rows.feather"),
    "arrow of polars": (lambda: _polars("ipc"), "rows.arrow"),
}


def _plain(columns: dict[str, Column]) -> dict[str, tuple[str, list[Any]]]:
    return {
        name: (
            column.kind,
            [None if gone else value for value, gone in zip(column.values, column.missing, strict=True)],
        )
        for name, column in columns.items()
    }


@pytest.mark.parametrize("named", [True, False], ids=["named", "by its bytes"])
@pytest.mark.parametrize("form", _FORMS)
def test_every_form_gives_the_same_columns(form: str, named: bool, tmp_path: Path) -> None:
    make, name = _FORMS[form]
    content = make()
    columns = read_columns(content, name=name if named else None, as_text=["id"])
    city = 'Oslo, a "town"\nby the sea'
    assert _plain(columns) == {
        "id": ("text", ["007", "7", "8"]),
        "city": ("text", ["Rome", None, city]),
        "rain": ("number", [1.5, -2.0, None]),
        "count": ("number", [3.0, 4.0, 5.0]),
        "member": ("flag", [1.0, 0.0, 1.0]),
    }
    path = tmp_path / name
    path.write_bytes(content)
    assert _plain(read_columns(path, as_text=["id"])) == _plain(columns)
    assert _plain(read_columns(io.BytesIO(content), name=name, as_text=["id"])) == _plain(columns)


@pytest.mark.parametrize("make", [_parquet, lambda: _arrow(True)], ids=["parquet", "arrow"])
def test_a_name_never_says_more_than_the_bytes(make: Callable[[], bytes]) -> None:
    assert _plain(read_columns(make(), name="../../etc/rows.csv")) == _plain(read_columns(make()))


def test_times_come_in_utc_whatever_their_unit() -> None:
    moment = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
    units = {
        "s": pa.array([moment, None], pa.timestamp("s")),
        "ns": pa.array([moment, None], pa.timestamp("ns")),
        "zone": pa.array([moment, None], pa.timestamp("us", tz="America/Lima")),
    }
    sink = io.BytesIO()
    pq.write_table(pa.table(units), sink)
    for column in read_columns(sink.getvalue()).values():
        assert column.kind == "time"
        assert column.values[0] == np.datetime64("2026-11-15T12:30")
        assert column.missing.tolist() == [False, True]


def test_ids_are_kept_as_written_and_large_ones_exactly() -> None:
    large = 2**60 + 1
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [large, large + 1]}), sink)
    for content in (
        b"id\n%d\n%d\n" % (large, large + 1),
        sink.getvalue(),
        b'{"columns": {"id": [%d, %d]}}' % (large, large + 1),
    ):
        hows: list[dict[str, Any]] = [{"as_text": ["id"]}, {"exact": True}, {}]
        for how in hows:
            assert read_columns(content, **how)["id"].values.tolist() == [str(large), str(large + 1)]


def test_exact_knows_how_numbers_and_flags_were_written_and_codes_stay_text() -> None:
    text = b"zip,price,age,member\n00501,1.50,41,TRUE\n10001,2,NA,\n"
    columns = read_columns(text, exact=True)
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {"zip": "text", "price": "number", "age": "number", "member": "flag"}
    assert columns["zip"].values.tolist() == ["00501", "10001"]
    written = {name: None if one.written is None else one.written.tolist() for name, one in columns.items()}
    assert written == {"zip": None, "price": ["1.50", "2"], "age": ["41", "NA"], "member": ["TRUE", ""]}
    assert all(column.written is None for column in read_columns(text).values())


def test_nan_is_missing_in_json_as_python_writes_it() -> None:
    assert read_columns(b'[{"a": NaN, "b": "x"}, {"a": 1}]')["a"].missing.tolist() == [True, False]


_LONG = b"9" * 400
_REFUSED: list[tuple[bytes, FileKind | None, str]] = [
    (b"", None, "must hold at least one row; it is empty"),
    (b"\n", "csv", "must have a line of names and at least one row; got nothing"),
    (b"a,b\n", "csv", "must have a line of names and at least one row; got the names alone"),
    (b"a,b\n1\n", "csv", "must have 2 cells on every line; line 2 has 1"),
    (b"a,a\n1,2\n", "csv", "must have columns of different names; got 'a' twice"),
    (b"a\n\x00\n", "csv", "must be a text file; line 2 holds a NUL"),
    ("a\nä\n".encode("latin-1"), "csv", "must be text in UTF-8, or in UTF-16"),
    (b"\xff\xfea", "csv", "must be text in UTF-8, or in UTF-16"),
    (b'a\n"1', "csv", "must be a CSV file; line 2: unexpected end of data"),
    (b"\x1f\x8b\x08\x00", None, "must be a whole gzip file; it is damaged or cut short"),
    (b"PK\x03\x04", None, "it is a zip archive: unpack it"),
    (b"\x00\x01", None, "must be a CSV, Parquet, JSON, JSON lines, Arrow or Excel (.xlsx) file"),
    (b"\xd0\xcf\x11\xe0", None, "it is an old or a protected workbook: save it as .xlsx without a password"),
    (b"[]", "json", "must hold at least one row with a value; got none"),
    (b"[1]", "json", "must hold objects, one for each row; row 1 is a number"),
    (b"3", "json", "must be an array of objects"),
    (b"   ", "json", "must hold at least one row; it is empty"),
    (b'{"columns": {"a": 1}}', "json", "must have an array for each column; 'a' has a number"),
    (b'{"columns": {"a": [1], "b": [1, 2]}}', "json", "must have columns of one length; got lengths [1, 2]"),
    (b'{"columns": {}}', "json", "must hold at least one row; got none"),
    (b'[{"a": 1, "a": 2}]', "json", "must have columns of different names; got 'a' twice in one object"),
    (b'[{"a": Infinity}]', "json", "must hold finite numbers of an ordinary length"),
    (b'[{"a": ' + _LONG + b"}]", "json", "must hold numbers below 1e308; column 'a' has a larger one"),
    (b'[{"a": "\\ud800"}]', "json", "must hold text; it has half a character"),
    (b"[{", "json", "must be JSON; line 1, column 3"),
    (b'{"a": 1}\n{"a"', "jsonl", "must be JSON; line 2, column 5"),
    (b'{"a": 1}\n\xff', "jsonl", "must be text in UTF-8"),
    (b"PAR1", None, "must be a whole Parquet file; it is cut short"),
    (b"PAR1" + bytes(20) + b"PAR1", None, "must be a whole Parquet file"),
    (b"ARROW1\0\0", None, "must be an Arrow IPC file or stream; it cannot be read: its footer is damaged"),
    (b"\xff\xff\xff\xff\xff\xff\xff\x7f", None, "must be a whole Arrow IPC file or stream"),
    (b'[{"a": 1}]', "label-studio", "must be an export of Label Studio: tasks with data and annotations"),
    (b"a\n1\n", "label-studio", "must be an export of Label Studio; its columns are a"),
]


@pytest.mark.parametrize(("content", "kind", "why"), _REFUSED)
def test_what_cannot_be_used_is_refused_in_one_sentence(content: bytes, kind: FileKind | None, why: str) -> None:
    with pytest.raises(DataError) as refused:
        read_columns(content, kind=kind, owner="tell")
    sentence = str(refused.value)
    assert sentence.startswith("tell: the upload must ")
    assert why in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (TableLimits(bytes=10), "must be at most 10 bytes; it is larger"),
        (TableLimits(rows=2), "must have at most 2 rows; got 3 or more"),
        (TableLimits(columns=4), "must have at most 4 columns; got 5"),
        (TableLimits(cells=14), "must have at most 14 cells; got 3 or more rows of 5 columns"),
    ],
)
@pytest.mark.parametrize("form", _FORMS)
def test_every_form_keeps_every_limit(form: str, limits: TableLimits, why: str) -> None:
    with pytest.raises(DataError) as refused:
        read_columns(_FORMS[form][0](), limits=limits)
    json_is_weighed_first = "values" in str(refused.value) and "at most 14 cells" in str(refused.value)
    assert why in str(refused.value) or json_is_weighed_first


@pytest.mark.parametrize("form", _FORMS)
def test_every_form_keeps_the_limit_on_what_it_unpacks_to(form: str) -> None:
    with pytest.raises(DataError, match="must unpack to at most 8 bytes; it is larger"):
        read_columns(_FORMS[form][0](), limits=TableLimits(unpacked=8))


@pytest.mark.parametrize(
    "values", [[["a", "b"]], [[[1, 2]]], [{"a": 1}], [{"a": [1]}]], ids=["texts", "lists", "struct", "struct of a list"]
)
def test_cells_that_hold_other_than_single_values_and_vectors_are_refused(values: list[Any]) -> None:
    sink = io.BytesIO()
    table = pa.table({"x": values})
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DataError, match="must have columns of numbers, texts, flags or times; 'x' is "):
        read_columns(sink.getvalue())
    sink = io.BytesIO()
    pq.write_table(table, sink)
    with pytest.raises(DataError, match="'x"):
        read_columns(sink.getvalue())


_VECTORS = [[1.0, 2.5], None, [3.0, None], [-1.0, 0.0]]


def _with_vectors(vectors: Any, form: str) -> Any:
    table = pa.table({"a": [1, 2, 3, 4], "v": vectors, "b": ["x", "y", "x", "y"]})
    if form == "pandas":
        return table.to_pandas()
    if form == "polars":
        return pl.DataFrame(table)
    if form == "pyarrow":
        return table
    sink = io.BytesIO()
    if form == "parquet":
        pq.write_table(table, sink, row_group_size=3)
    else:
        with ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    return sink.getvalue()


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)],
    ids=["list", "large", "fixed"],
)
@pytest.mark.parametrize("form", ["parquet", "arrow", "pandas", "polars", "pyarrow"])
def test_vectors_become_columns(form: str, kind: Any) -> None:
    columns = read_columns(_with_vectors(pa.array(_VECTORS, kind), form))
    assert list(columns) == ["a", "v_0", "v_1", "b"]
    np.testing.assert_array_equal(columns["v_0"].values, [1.0, np.nan, 3.0, -1.0])
    np.testing.assert_array_equal(columns["v_1"].values, [2.5, np.nan, np.nan, 0.0])
    assert columns["v_1"].missing.tolist() == [False, True, True, False]


@pytest.mark.parametrize("form", ["parquet", "arrow", "pandas", "polars", "pyarrow"])
def test_vectors_of_other_lengths_are_refused_with_their_row(form: str) -> None:
    for uneven, why in (
        ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0]], "have lists of 2 numbers in column 'v'; row 4 has 1"),
        ([[1.0], [3.0, 4.0], [5.0], [7.0]], "have lists of 1 numbers in column 'v'; row 2 has 2"),
        ([[1.0], [], [5.0], [7.0]], "have lists of 1 numbers in column 'v'; row 2 has 0"),
        ([[], [], [], []], "have lists of 1 numbers in column 'v'; row 1 has 0"),
    ):
        with pytest.raises(DataError, match=why):
            read_columns(_with_vectors(pa.array(uneven, pa.list_(pa.float64())), form))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_vectors_count_as_columns_and_cells(form: str) -> None:
    content = _with_vectors(pa.array([[0.0] * 50, None, [0.0] * 50, [0.0] * 50], pa.list_(pa.float64())), form)
    assert len(read_columns(content, limits=TableLimits(columns=52, cells=208))) == 52
    with pytest.raises(DataError, match="must have at most 51 columns; got 52"):
        read_columns(content, limits=TableLimits(columns=51))
    with pytest.raises(DataError, match="must have at most 207 cells"):
        read_columns(content, limits=TableLimits(cells=207))


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_vectors_that_are_all_missing_are_one_missing_column(form: str) -> None:
    """However long the lists are said to be: nothing is allocated for lists that are not there."""
    for kind in (pa.list_(pa.float64()), pa.list_(pa.float64(), 900)):
        columns = read_columns(_with_vectors(pa.array([None] * 4, kind), form))
        assert columns["v_0"].missing.all()


def test_names_of_the_columns_of_vectors_must_be_free() -> None:
    with pytest.raises(DataError, match="must have columns of different names; got 'v_1' twice"):
        read_columns({"v": np.zeros((3, 2)), "v_1": [1, 2, 3]})


def test_an_array_of_vectors_becomes_columns() -> None:
    columns = read_columns({"v": np.arange(6, dtype=np.float32).reshape(3, 2), "y": [1, 2, 3]})
    assert {name: column.values.tolist() for name, column in columns.items()} == {
        "v_0": [0.0, 2.0, 4.0],
        "v_1": [1.0, 3.0, 5.0],
        "y": [1.0, 2.0, 3.0],
    }


def test_twins_are_refused_in_arrow_and_parquet() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    packed = io.BytesIO()
    pq.write_table(table, packed)
    for content in (sink.getvalue(), packed.getvalue()):
        with pytest.raises(DataError, match="must have columns of different names; got 'x' twice"):
            read_columns(content)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match=r"tell\(kind=...\) must be one of 'csv', "):
        read_columns(b"a\n1\n", kind="xml", owner="tell")  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match=r"tell\(source=...\) must be a path, bytes, an open binary file, .*; got int"
    ):
        read_columns(3, owner="tell")
    with pytest.raises(ParameterError, match=r"must be opened in binary mode; got text"):
        read_columns(io.StringIO("a"), owner="tell")
    with pytest.raises(ParameterError, match=r"TableLimits\(rows=...\) must be a whole number of at least 1; got 0"):
        TableLimits(rows=0)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    content = _parquet()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r'needs pyarrow for this file: pip install "driftpace\[tables\]"'):
        read_columns(content)


def test_a_name_is_shown_clipped_and_printable() -> None:
    with pytest.raises(DriftpaceError) as refused:
        read_columns(b"", name="a\n\x1b[31m" + "b" * 500)
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 150


@pytest.mark.parametrize(
    ("cells", "cell"),
    [([1, [2]], r"\[2\] in row 2"), (["a", (1, 2)], r"\(1, 2\) in row 2"), ([[1], [2, 3]], r"\[1\] in row 1")],
)
def test_lists_in_cells_are_refused_with_the_cell(cells: list[object], cell: str) -> None:
    with pytest.raises(DataError, match=rf"column 'a' must be one-dimensional; got {cell}"):
        read_columns({"a": cells})
