"""Small files that stand for much: each is built to be far larger unpacked than it is packed."""

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

_MIB = 2**20


def _gzip(pieces: int) -> bytes:
    packer = zlib.compressobj(level=1, wbits=31)
    zeros = bytes(_MIB)
    return b"".join([*(packer.compress(zeros) for _ in range(pieces)), packer.flush()])


def gzip_of_zeros() -> bytes:
    return _gzip(200)


def gzip_in_gzip() -> bytes:
    return gzip.compress(_gzip(200))


def gzip_of_many_members() -> bytes:
    return gzip.compress(b"") * 500_000


def _parquet(table: pa.Table, **how: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **how)
    return sink.getvalue()


def parquet_of_many_rows() -> bytes:
    """A hundred million rows, in runs."""
    sink = io.BytesIO()
    group = pa.table({"x": np.zeros(5_000_000, dtype=np.int8)})
    with pq.ParquetWriter(sink, group.schema) as writer:
        for _ in range(20):
            writer.write_table(group, row_group_size=5_000_000)
    return sink.getvalue()


def parquet_of_one_long_text() -> bytes:
    return _parquet(
        pa.table({"x": ["a" * (200 * _MIB)]}), compression="snappy", use_dictionary=False, write_statistics=False
    )


def parquet_of_a_long_text_many_times() -> bytes:
    """A terabyte of text: a million rows that all stand for the one long text of the dictionary."""
    codes = pa.array(np.zeros(1_000_000, dtype=np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a" * _MIB]))
    return _parquet(pa.table({"x": column}), compression="zstd")


def parquet_of_differences() -> bytes:
    """A hundred gigabytes of text: each row is the one before, of which only the length is written."""
    table = pa.table({"x": ["a" * _MIB] * 50})
    return _parquet(table, use_dictionary=False, column_encoding={"x": "DELTA_BYTE_ARRAY"}, write_statistics=False)


def parquet_of_lists() -> bytes:
    """One row whose one cell holds twenty million numbers."""
    numbers = pa.array(np.zeros(20_000_000, dtype=np.int8))
    return _parquet(pa.table({"x": pa.ListArray.from_arrays(pa.array([0, 20_000_000], pa.int32()), numbers)}))


def _stream(table: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, table.schema, options=ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_of_one_long_text() -> bytes:
    return _stream(pa.table({"x": ["a" * (200 * _MIB)]}), "zstd")


def arrow_file_of_one_long_text() -> bytes:
    sink = io.BytesIO()
    table = pa.table({"x": ["a" * (200 * _MIB)]})
    with ipc.new_file(sink, table.schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    return sink.getvalue()


def arrow_dictionary_of_one_long_text() -> bytes:
    return _stream(pa.table({"x": pa.array(["a" * (200 * _MIB)]).dictionary_encode()}), "zstd")


def arrow_of_nothing_many_times() -> bytes:
    return _stream(pa.table({"x": pa.nulls(10**9)}))


def arrow_of_a_view_many_times() -> bytes:
    """A terabyte of text: a million views of one long text."""
    view = struct.pack("<i4sii", _MIB, b"aaaa", 0, 0)
    buffers = [None, pa.py_buffer(view * 1_000_000), pa.py_buffer(b"a" * _MIB)]
    return _stream(pa.table({"x": pa.Array.from_buffers(pa.string_view(), 1_000_000, buffers)}))


def arrow_file_of_one_batch_many_times() -> bytes:
    """A file whose table of contents names one batch, of no rows and many columns, again and again."""
    schema = pa.schema([(f"c{at}", pa.int8()) for at in range(500)])
    batch = pa.RecordBatch.from_pylist([], schema=schema)
    sink = io.BytesIO()
    with ipc.new_file(sink, schema) as writer:
        for _ in range(1_000):
            writer.write_batch(batch)
    content = bytearray(sink.getvalue())
    (size,) = struct.unpack_from("<i", content, len(content) - 10)
    footer = len(content) - 10 - size
    table_at = footer + struct.unpack_from("<I", content, footer)[0]
    vtable = table_at - struct.unpack_from("<i", content, table_at)[0]
    place = table_at + struct.unpack_from("<H", content, vtable + 4 + 2 * 3)[0]
    vector = place + struct.unpack_from("<I", content, place)[0]
    (count,) = struct.unpack_from("<I", content, vector)
    first = bytes(content[vector + 4 : vector + 28])
    content[vector + 4 : vector + 4 + 24 * count] = first * count
    return bytes(content)


def json_of_arrays() -> bytes:
    return b"[" * 5_000_000


def json_of_objects() -> bytes:
    return b'{"a":' * 5_000_000


def json_of_nothings() -> bytes:
    return b"[" + b"{}," * 20_000_000 + b"{}]"


def json_line_that_nests() -> bytes:
    return b'{"a": 1}\n{"a": ' + b"[" * 1_000_000 + b"\n"


def json_of_a_long_number() -> bytes:
    return b'[{"a": ' + b"9" * 10_000_000 + b"}]"


def csv_of_one_line() -> bytes:
    return b"a,b\n" + b"a" * (60 * _MIB)


def csv_of_one_cell() -> bytes:
    return b'a,b\n"' + b"a\n" * (30 * _MIB)


def csv_of_many_columns() -> bytes:
    return b"a," * 1_500_000 + b"\n1\n"


def csv_of_many_rows() -> bytes:
    return b"a\n" + b"1\n" * 30_000_000


def csv_of_empty_lines() -> bytes:
    return b"a\n" + b"\n" * 60_000_000


def csv_of_many_cells() -> bytes:
    return b",".join(b"c%d" % at for at in range(900)) + b"\n" + (b"," * 899 + b"\n") * 60_000


_SHEET = "xl/worksheets/sheet1.xml"
_SPREADSHEET = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_SHARED = (
    b'<Override PartName="/xl/sharedStrings.xml" '
    b'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/>'
)


def _workbook(parts: dict[str, bytes]) -> bytes:
    """Return a small workbook with some of its parts replaced."""
    import openpyxl

    book, plain = openpyxl.Workbook(), io.BytesIO()
    for row in (["a", "b"], ["x", 1], ["y", 2]):
        book.active.append(row)
    book.save(plain)
    sink = io.BytesIO()
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in {*source.namelist(), *parts}:
            content = parts[name] if name in parts else source.read(name)
            archive.writestr(name, content.replace(b"</Types>", _SHARED + b"</Types>"))
    return sink.getvalue()


def _sheet(rows: bytes) -> bytes:
    return _workbook({_SHEET: b"<worksheet " + _SPREADSHEET + b"><sheetData>" + rows + b"</sheetData></worksheet>"})


def excel_of_many_bytes() -> bytes:
    return _sheet(b" " * 200 * _MIB)


def excel_of_many_elements() -> bytes:
    return _sheet(b"<a/>" * (8 * _MIB))


def excel_of_one_long_row() -> bytes:
    return _sheet(b"<row>" + b"<c/>" * (8 * _MIB) + b"</row>")


def excel_of_many_rows() -> bytes:
    return _sheet(b"<row/>" * (8 * _MIB))


def excel_of_a_far_row() -> bytes:
    return _sheet(b'<row r="1"><c r="A1"><v>1</v></c></row><row r="900000000"><c r="A900000000"><v>1</v></c></row>')


def excel_of_many_styles() -> bytes:
    styles = b"<styleSheet " + _SPREADSHEET + b"><cellXfs>" + b"<xf/>" * (4 * _MIB) + b"</cellXfs></styleSheet>"
    return _workbook({"xl/styles.xml": styles})


def excel_of_many_texts() -> bytes:
    texts = b"<sst " + _SPREADSHEET + b">" + b"<si><t>a</t></si>" * (6 * _MIB) + b"</sst>"
    return _workbook({"xl/sharedStrings.xml": texts})


def excel_of_entities() -> bytes:
    entities = b"".join(b'<!ENTITY e%d "%s">' % (level, b"&e%d;" % (level - 1) * 50) for level in range(1, 9))
    return _workbook({_SHEET: b"<!DOCTYPE a [<!ENTITY e0 'lol'>" + entities + b"]><a>&e8;</a>"})


REFUSED: tuple[Callable[[], bytes], ...] = (
    gzip_of_zeros,
    gzip_in_gzip,
    gzip_of_many_members,
    parquet_of_many_rows,
    parquet_of_one_long_text,
    parquet_of_differences,
    parquet_of_lists,
    arrow_of_one_long_text,
    arrow_file_of_one_long_text,
    arrow_dictionary_of_one_long_text,
    arrow_of_nothing_many_times,
    arrow_file_of_one_batch_many_times,
    arrow_of_a_view_many_times,
    json_of_arrays,
    json_of_objects,
    json_of_nothings,
    json_line_that_nests,
    json_of_a_long_number,
    csv_of_one_line,
    csv_of_one_cell,
    csv_of_many_columns,
    csv_of_many_rows,
    csv_of_empty_lines,
    csv_of_many_cells,
    excel_of_many_bytes,
    excel_of_many_elements,
    excel_of_one_long_row,
    excel_of_many_rows,
    excel_of_a_far_row,
    excel_of_many_styles,
    excel_of_many_texts,
    excel_of_entities,
)
"""Too much, whatever is done with it."""
READ: tuple[Callable[[], bytes], ...] = (parquet_of_a_long_text_many_times,)
"""Much, but a million times the same, which is kept once."""
