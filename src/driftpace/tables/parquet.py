"""Parquet files, read a few thousand rows at a time after their footer and their page headers were found to be within limits."""

from collections.abc import Collection

from driftpace.errors import DataError
from driftpace.tables.arrow import TEXTS, Gathered, check_schema, errors_of_arrow, need_pyarrow
from driftpace.tables.columns import Column
from driftpace.tables.limits import Limits, clip, refuse_size, refuse_unpacked
from driftpace.tables.parquet_pages import Chunk, Page, read_footer, walk

_BATCH = 8_192
_DELTA_BYTE_ARRAY = 7
_CHUNKS = 100_000


def read_parquet(data: bytes, limits: Limits, what: str, *, as_text: Collection[str], owner: str) -> dict[str, Column]:
    """Return the columns of a Parquet file."""
    pa = need_pyarrow(owner)
    import pyarrow.parquet as pq

    _check(data, limits, what)
    with errors_of_arrow(what, "a Parquet file"):
        schema = pq.read_schema(pa.BufferReader(data))
        check_schema(schema, what)
        texts = [field.name for field in schema if str(field.type) in TEXTS]
        with pq.ParquetFile(
            pa.BufferReader(data), read_dictionary=texts, pre_buffer=False, thrift_container_size_limit=_CHUNKS
        ) as file:
            gathered = Gathered(file.schema_arrow, limits, what, as_text=as_text)
            for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
                gathered.add(batch)
    return gathered.columns()


def _check(data: bytes, limits: Limits, what: str) -> None:
    """Refuse a file that says it is too large, or whose parts do not agree with each other.

    Arrow's own view of the footer is not asked: where the footer is damaged in some ways, that ends the whole process.
    """
    rows, groups = read_footer(data, what)
    columns = max((len(group.chunks) for group in groups), default=0)
    refuse_size(limits, rows, columns, what)
    if len(groups) * columns > _CHUNKS:
        raise DataError(
            f"{what} must have at most {_CHUNKS:,} pieces; got {len(groups):,} row groups of {columns:,} columns."
        )
    if sum(group.rows for group in groups) != rows or any(len(group.chunks) != columns for group in groups):
        raise DataError(f"{what} must be a whole Parquet file; its row groups do not make up its {rows:,} rows.")
    if not rows:
        raise DataError(f"{what} must have at least one row; got none.")
    pages, unpacked, view = 0, 0, memoryview(data)
    for group in groups:
        for chunk in group.chunks:
            if chunk.values != group.rows:
                raise DataError(f"{what} must hold one value in each cell; {clip(chunk.name)!r} holds more or fewer.")
            for page in walk(view, chunk, what):
                pages, unpacked = pages + 1, unpacked + page.unpacked
                refuse_unpacked(limits, unpacked, what)
                if pages > _CHUNKS:
                    raise DataError(f"{what} must have at most {_CHUNKS:,} pages; got more.")
                _check_page(page, chunk, what)


def _check_page(page: Page, chunk: Chunk, what: str) -> None:
    if page.kind == "data" and page.values > chunk.values:
        raise DataError(f"{what} must hold one value in each cell; a page of {clip(chunk.name)!r} holds more.")
    if page.kind == "data" and page.encoding == _DELTA_BYTE_ARRAY:
        raise DataError(
            f"{what} must not pack texts as differences (DELTA_BYTE_ARRAY), which can grow without limit; "
            f"{clip(chunk.name)!r} does."
        )
