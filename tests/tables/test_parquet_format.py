"""What a Parquet file says of itself is believed only where its parts agree, and read without Arrow where that could crash."""

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftpace.errors import DataError
from driftpace.tables import TableLimits, parquet_format, read_columns
from driftpace.tables.parquet_format import ColumnChunk, RowGroup, ThriftError, ThriftReader, read_footer, walk


def _file(rows: int = 1000, **how: Any) -> bytes:
    sink = io.BytesIO()
    table = pa.table(
        {"number": range(rows), "word": [f"word {at % 7}" for at in range(rows)], "flag": [True, None] * (rows // 2)}
    )
    pq.write_table(table, sink, **how)
    return sink.getvalue()


@pytest.mark.parametrize(
    "how", [{}, {"row_group_size": 300}, {"data_page_version": "2.0"}, {"compression": "none", "data_page_size": 64}]
)
def test_the_footer_and_the_pages_are_read_as_arrow_reads_them(how: dict[str, Any]) -> None:
    data = _file(**how)
    rows, groups = read_footer(data, "it")
    theirs = pq.read_metadata(io.BytesIO(data))
    assert rows == theirs.num_rows
    assert len(groups) == theirs.num_row_groups
    for index, group in enumerate(groups):
        assert group.rows == theirs.row_group(index).num_rows
        for place, chunk in enumerate(group.chunks):
            facts = theirs.row_group(index).column(place)
            assert (chunk.name, chunk.values, chunk.length) == (
                facts.path_in_schema,
                facts.num_values,
                facts.total_compressed_size,
            )
            pages = list(walk(memoryview(data), chunk, "it"))
            assert sum(page.values for page in pages if page.kind == "data") == chunk.values
            assert 0 < sum(page.unpacked for page in pages) <= facts.total_uncompressed_size


def _with_footer(monkeypatch: pytest.MonkeyPatch, rows: int, *groups: RowGroup) -> None:
    monkeypatch.setattr(parquet_format, "read_footer", lambda data, what: (rows, groups))


def test_parts_that_do_not_agree_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _file()
    chunk = ColumnChunk(name="x", values=5, start=4, length=10)
    for rows, groups, why in (
        (6, [RowGroup(rows=5, chunks=(chunk,))], "its row groups do not make up its 6 rows"),
        (
            10,
            [RowGroup(rows=5, chunks=(chunk,)), RowGroup(rows=5, chunks=())],
            "its row groups do not make up its 10 rows",
        ),
        (4, [RowGroup(rows=4, chunks=(chunk,))], "must hold one value in each cell; 'x' holds more or fewer"),
        (0, [], "must have at least one row; got none"),
        (500_000, [RowGroup(rows=1, chunks=(chunk,))] * 500_000, "must have at most 100,000 pieces"),
    ):
        _with_footer(monkeypatch, rows, *groups)
        with pytest.raises(DataError, match=why):
            read_columns(data)


def test_pages_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = bytes([0x15, 0, 0x15, 0, 0x15, 0, 0x2C, 0x15, 0, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0])
    data = b"PAR1" + empty * 200_000 + b"PAR1"
    _with_footer(monkeypatch, 1, RowGroup(rows=1, chunks=(ColumnChunk(name="x", values=1, start=4, length=len(data)),)))
    with pytest.raises(DataError, match="must have at most 100,000 pages; got more"):
        read_columns(data)


def test_a_page_that_says_it_is_large_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the footer says, a reader would allocate what the page says."""
    page = bytes([0x15, 0, 0x15, 0x80, 0x80, 0x80, 0x80, 0x08, 0x15, 0, 0x2C, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0])
    data = b"PAR1" + page + b"PAR1"
    _with_footer(monkeypatch, 1, RowGroup(rows=1, chunks=(ColumnChunk(name="x", values=1, start=4, length=len(page)),)))
    with pytest.raises(DataError, match="must unpack to at most 128 MiB; it is larger"):
        read_columns(data)


def test_a_footer_that_would_end_the_process_is_read() -> None:
    """Every byte of a footer set to every odd value: a sentence or a table, and the process lives."""
    data = _file(20, compression="none")
    size = int.from_bytes(data[-8:-4], "little")
    outcomes = set()
    for at in range(len(data) - 8 - size, len(data) - 8):
        for value in (0, 1, 0x7F, 0xFF):
            damaged = bytearray(data)
            damaged[at] = value
            try:
                read_columns(bytes(damaged), limits=TableLimits(unpacked=2**20))
                outcomes.add("read")
            except DataError:
                outcomes.add("refused")
    assert outcomes == {"read", "refused"}


@given(data=st.binary(max_size=200), at=st.integers(-5, 210))
def test_no_bytes_keep_the_reader_of_records_busy(data: bytes, at: int) -> None:
    reader = ThriftReader(memoryview(data), values=1_000)
    try:
        fields, behind = reader.record(at)
    except ThriftError:
        fields, behind = {}, at + 1
    assert behind > at
    assert all(isinstance(number, int) for number in fields)
