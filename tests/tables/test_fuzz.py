"""Nothing that anybody can send raises anything but a sentence, and what was written is read back as it was."""

import gzip
import io
import json
import tempfile
from pathlib import Path
from typing import Any, get_args

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import ipc

from driftpace.errors import DataError, ParameterError
from driftpace.tables import FileKind, TableLimits, read_columns, write_rows
from tests.tables.test_label_studio import TASKS

_LIMITS = TableLimits(bytes=2**20, unpacked=2**22, rows=10_000, columns=200, cells=100_000)
_KINDS = st.sampled_from([None, *get_args(FileKind)])


def _read(content: bytes, kind: FileKind | None, **how: Any) -> bool:
    """Whether it could be read; only a sentence may say that it could not."""
    try:
        columns = read_columns(content, kind=kind, limits=_LIMITS, **how)
    except (DataError, ParameterError) as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert refused.endswith(".")
        return False
    assert len({column.values.size for column in columns.values()}) == 1
    assert all(column.values.shape == column.missing.shape for column in columns.values())
    return True


def _seeds() -> list[tuple[FileKind, bytes]]:
    table = pa.table(
        {
            "id": pa.array(range(12)),
            "text": pa.array([None if at % 5 == 0 else f"text {at % 3}" for at in range(12)]),
            "kind": pa.array([f"kind {at % 2}" for at in range(12)]).dictionary_encode(),
            "flag": pa.array([at % 2 == 0 for at in range(12)]),
            "number": pa.array([at / 7 for at in range(12)]),
            "when": pa.array(range(12)).cast(pa.timestamp("us", tz="UTC")),
        }
    )
    found: list[tuple[FileKind, bytes]] = []
    for how in ({"compression": "zstd"}, {"data_page_version": "2.0", "row_group_size": 5}, {"use_dictionary": False}):
        sink = io.BytesIO()
        pq.write_table(table, sink, **how)
        found.append(("parquet", sink.getvalue()))
    for opened in (ipc.new_file, ipc.new_stream):
        for compression in (None, "lz4"):
            sink = io.BytesIO()
            with opened(sink, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
                writer.write_table(table, max_chunksize=5)
            found.append(("arrow", sink.getvalue()))
    rows = [{"id": at, "text": f'a,"b" {at}', "x": at / 3} for at in range(6)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    csv = b'id,text,x\r\n1,"a,""b""",0.5\r\n2,,NA\r\n'
    sink, book = io.BytesIO(), openpyxl.Workbook()
    for row in (["id", "text"], [1, "a"], [2, "b"]):
        book.active.append(row)
    book.save(sink)
    found.append(("excel", sink.getvalue()))
    return [
        *found,
        ("csv", csv),
        ("csv", gzip.compress(csv)),
        ("csv", csv.decode().encode("utf-16")),
        ("json", json.dumps(rows).encode()),
        ("json", json.dumps({"columns": {"a": [1, 2], "b": ["x", None]}}).encode()),
        ("jsonl", lines),
        ("jsonl", gzip.compress(lines)),
        ("label-studio", json.dumps(TASKS).encode()),
    ]


_SEEDS = _seeds()
_ODD = [
    b"\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff",
    bytes(8),
    b"\xff" * 8,
    b"\x80" * 10,
    b"[" * 50,
    b'"',
    b"\n",
    b"NaN",
    b"1e999",
]


@given(content=st.binary(max_size=400), kind=_KINDS)
@settings(max_examples=500)
def test_random_bytes(content: bytes, kind: FileKind | None) -> None:
    _read(content, kind)
    _read(gzip.compress(content)[: len(content) + 10], kind)


@given(text=st.text(max_size=200), kind=_KINDS)
@settings(max_examples=500)
def test_random_text(text: str, kind: FileKind | None) -> None:
    _read(text.encode("utf-8", "surrogatepass"), kind, exact=True, as_text=["a"])


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(value=_VALUES, kind=st.sampled_from(["json", "jsonl", "label-studio", None]), exact=st.booleans())
@settings(max_examples=500)
def test_random_json(value: Any, kind: FileKind | None, exact: bool) -> None:
    _read(json.dumps(value).encode(), kind, exact=exact)
    _read(json.dumps([value, value]).encode(), kind, as_text=["", "a"])
    _read(json.dumps({"columns": {"a": [value, value, 1]}}).encode(), kind, exact=exact)


@given(data=st.data())
@settings(max_examples=200)
def test_random_exports(data: st.DataObject) -> None:
    """Tasks of the right shape that hold anything anywhere."""
    draw = data.draw
    result = st.fixed_dictionaries(
        {"from_name": st.text(max_size=3) | _VALUES, "value": _VALUES | st.fixed_dictionaries({"choices": _VALUES})}
    )
    annotation = st.fixed_dictionaries(
        {"result": st.lists(result, max_size=2) | _VALUES, "updated_at": _VALUES, "id": _VALUES}
    )
    tasks = st.fixed_dictionaries(
        {
            "data": st.dictionaries(st.text(max_size=3), _VALUES, max_size=3),
            "annotations": st.lists(annotation | _VALUES, max_size=3) | _VALUES,
        }
    )
    document = draw(st.lists(tasks, min_size=1, max_size=3))
    _read(
        json.dumps(document).encode(),
        "json",
        target=draw(st.none() | st.text(max_size=2)),
        several=draw(st.sampled_from(["latest", "majority"])),
    )
    short = st.dictionaries(st.text(max_size=3), _VALUES, max_size=3)
    rows = [
        {**row, "annotator": 1, "annotation_id": draw(_VALUES), "lead_time": 2.0}
        for row in draw(st.lists(short, min_size=1, max_size=3))
    ]
    _read(json.dumps(rows).encode(), None, several=draw(st.sampled_from(["latest", "majority"])))


@given(data=st.data())
@settings(max_examples=1000)
def test_valid_files_that_were_damaged(data: st.DataObject) -> None:
    kind, content = data.draw(st.sampled_from(_SEEDS))
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        how = data.draw(st.sampled_from(["set", "cut", "insert", "end", "odd"]))
        if how == "set" and damaged:
            damaged[at] = data.draw(st.integers(0, 255))
        elif how == "cut":
            del damaged[at : at + data.draw(st.integers(1, 16))]
        elif how == "insert":
            damaged[at:at] = data.draw(st.binary(min_size=1, max_size=8))
        elif how == "end":
            del damaged[at:]
        else:
            odd = data.draw(st.sampled_from(_ODD))
            damaged[at : at + len(odd)] = odd
    _read(bytes(damaged), data.draw(st.sampled_from([None, kind])))


def test_the_files_to_be_damaged_are_whole() -> None:
    assert all(_read(content, kind) for kind, content in _SEEDS)
    assert all(_read(content, None) for _, content in _SEEDS)


_NAMES = (
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n,;\t"), min_size=1, max_size=6)
    .map(str.strip)
    .filter(bool)
)
_CELLS = {
    "number": st.floats(allow_infinity=False, allow_nan=False) | st.none(),
    "text": st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1, max_size=9).map(
        lambda text: f"t{text}t"
    )
    | st.none(),
    "flag": st.booleans(),
}


@given(data=st.data())
@settings(max_examples=200)
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_what_is_written_is_read_back(ending: str, data: st.DataObject) -> None:
    names = data.draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))
    count = data.draw(st.integers(1, 6))
    kinds = [data.draw(st.sampled_from(sorted(_CELLS))) for _ in names]
    rows = {
        name: data.draw(st.lists(_CELLS[kind], min_size=count, max_size=count))
        for name, kind in zip(names, kinds, strict=True)
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"rows.{ending}")
        write_rows(path, {"key": list(range(count)), **{f"c {name}": values for name, values in rows.items()}})
        columns = read_columns(path)
    assert list(columns) == ["key", *(f"c {name}" for name in names)]
    for name, kind in zip(names, kinds, strict=True):
        column, values = columns[f"c {name}"], rows[name]
        assert column.missing.tolist() == [value is None for value in values]
        if any(value is not None for value in values):
            assert column.kind == kind
        assert [value for value, gone in zip(column.values.tolist(), column.missing, strict=True) if not gone] == [
            value for value in values if value is not None
        ]
