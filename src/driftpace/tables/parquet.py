"""Parquet files, read a few thousand rows at a time after their footer and their page headers were found to be within limits."""

from collections.abc import Collection
from typing import Any

from driftpace.errors import DataError
from driftpace.tables.arrow import Gathered, check_schema, errors_of_arrow, need_pyarrow
from driftpace.tables.columns import Column
from driftpace.tables.limits import Limits, clip, refuse_size, refuse_unpacked
from driftpace.tables.parquet_pages import walk

_BATCH = 8_192
_DELTA_BYTE_ARRAY = 7
_CHUNKS = 100_000


def read_parquet(
    data: bytes, limits: Limits, what: str, *, as_text: Collection[str], exact: bool, owner: str
) -> dict[str, Column]:
    """Return the columns of a Parquet file."""
    pa = need_pyarrow(owner)
    import pyarrow.parquet as pq

    with errors_of_arrow(what, "a Parquet file"):
        source = pa.BufferReader(data)
        footer = pq.read_metadata(source)
        _check_footer(footer, limits, what)
        schema = footer.schema.to_arrow_schema()
        check_schema(schema, what)
        _check_pages(memoryview(data), footer, limits, what)
        texts = [field.name for field in schema if _is_text(field.type)]
        with pq.ParquetFile(
            pa.BufferReader(data), read_dictionary=texts, pre_buffer=False, thrift_container_size_limit=_CHUNKS
        ) as file:
            gathered = Gathered(file.schema_arrow, limits, what, as_text=as_text, exact=exact)
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                gathered.add(batch)
    return gathered.columns()


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "binary", "large_binary")


def _check_footer(footer: Any, limits: Limits, what: str) -> None:
    rows = footer.num_rows
    if rows < 0:
        raise DataError(f"{what} must be a whole Parquet file; its footer is damaged.")
    refuse_size(limits, rows, footer.num_columns, what)
    if footer.num_row_groups * max(footer.num_columns, 1) > _CHUNKS:
        raise DataError(
            f"{what} must have fewer row groups; got {footer.num_row_groups:,} of {footer.num_columns:,} columns."
        )
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    if sum(max(group.num_rows, 0) for group in groups) != rows or any(group.num_rows < 0 for group in groups):
        raise DataError(f"{what} must be a whole Parquet file; its row groups do not make up its {rows:,} rows.")
    if not rows:
        raise DataError(f"{what} must have at least one row; got none.")


def _check_pages(data: memoryview, footer: Any, limits: Limits, what: str) -> None:
    """Refuse pages that unpack to more than is allowed, hold more values than rows, or repeat what came before at will."""
    unpacked = 0
    for index in range(footer.num_row_groups):
        group = footer.row_group(index)
        for place in range(group.num_columns):
            chunk = group.column(place)
            if chunk.num_values > group.num_rows:
                raise DataError(f"{what} must hold one value in each cell; {clip(chunk.path_in_schema)!r} holds more.")
            start = chunk.data_page_offset
            if chunk.dictionary_page_offset is not None and 0 < chunk.dictionary_page_offset < start:
                start = chunk.dictionary_page_offset
            values = 0
            for page in walk(data, start, chunk.total_compressed_size, chunk.num_values, what):
                unpacked += page.unpacked
                values += page.values
                refuse_unpacked(limits, unpacked, what)
                if page.values > max(group.num_rows, limits.rows) or values > 2 * limits.rows:
                    raise DataError(f"{what} must hold at most {limits.rows:,} rows; a page of it says it holds more.")
                if page.kind == "data" and page.encoding == _DELTA_BYTE_ARRAY:
                    raise DataError(
                        f"{what} must not pack texts as differences (DELTA_BYTE_ARRAY), which can grow without limit; "
                        f"{clip(chunk.path_in_schema)!r} does."
                    )
