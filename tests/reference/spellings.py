"""One table written in many ways: encodings, separators, quotes, marks of missing cells, orders of columns, formats and frames."""

import csv
import gzip
import io
import json
import random
from collections.abc import Sequence
from typing import Any

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

Row = dict[str, Any]

COLUMNS = ("id", "age", "rate", "member", "city", "price")
CITIES = ("Oslo", "Rome", "São Paulo", "Bari")
FORMATS = ("csv", "json", "jsonl", "parquet", "arrow", "stream", "xlsx", "pandas", "polars", "pyarrow", "arrays")
_MARKS = ("", "NA", "n/a", "NaN", "NULL", "None", ".", " ", "-", "?", "#N/A", "<NA>")
"""Marks of a missing number."""


def tidy_rows(rng: random.Random, count: int, *, first: int = 0, gaps: float = 0.1) -> list[Row]:
    """Return rows of a table with missing cells; one in twenty is not labelled yet."""
    rows: list[Row] = []
    for place in range(first, first + count):
        row: Row = {
            "id": f"r-{place:03d}",
            "age": rng.randint(18, 80),
            "rate": rng.randint(-4_000, 4_000) / 1_000,
            "member": rng.random() < 0.5,
            "city": rng.choice(CITIES),
            "price": rng.randint(-900, 900) / 8,
        }
        for name in ("age", "rate", "city"):
            if rng.random() < gaps:
                row[name] = None
        if rng.random() < 0.05:
            row["price"] = None
        rows.append(row)
    return rows


def written(rng: random.Random, rows: Sequence[Row], form: str) -> tuple[str, Any]:
    """Return a file name and the rows in some spelling of a format: bytes, or a frame or arrays by name."""
    names = list(COLUMNS)
    rng.shuffle(names)
    if rng.random() < 0.3:
        names.append("note")
        rows = [{**row, "note": rng.choice(("fine, thanks", 'a "quote"', "two\nlines", None))} for row in rows]
    if form == "csv":
        return _compressed(rng, "rows.csv", csv_bytes(rng, rows, names))
    table = {name: [row[name] for row in rows] for name in names}
    if form in ("json", "jsonl"):
        records = [{name: row[name] for name in names if row[name] is not None or rng.random() < 0.5} for row in rows]
        records[0] = dict.fromkeys(names) | records[0]
        return _compressed(rng, f"rows.{form}", json_bytes(rng, records, form))
    if form == "arrays":
        return "arrays", table
    if form == "xlsx":
        return "rows.xlsx", excel_bytes([names, *([row[name] for name in names] for row in rows)])
    if form == "pandas":
        return "pandas", pd.DataFrame(table)
    if form == "polars":
        return "polars", pl.DataFrame(table)
    return arrow_bytes(pa.table(table), form)


def _compressed(rng: random.Random, name: str, data: bytes) -> tuple[str, bytes]:
    return (f"{name}.gz", gzip.compress(data)) if rng.random() < 0.2 else (name, data)


def csv_bytes(rng: random.Random, rows: Sequence[Row], names: Sequence[str]) -> bytes:
    """Return a CSV file; one spelling of flags and of decimals in all of it, and any mark of a missing number."""
    separator = rng.choice(",;\t|")
    comma = separator != "," and rng.random() < 0.5
    flags = rng.choice((("true", "false"), ("TRUE", "FALSE"), ("True", "False"), ("1", "0"), ("1.0", "0.0")))
    flags = flags if not comma or "." not in flags[0] else ("1", "0")

    def cell(name: str, value: Any) -> str:
        if value is None:
            return rng.choice(_MARKS) if name in ("age", "rate") else rng.choice(("", " "))
        if isinstance(value, bool):
            return flags[0] if value else flags[1]
        if isinstance(value, str):
            return value if rng.random() < 0.8 or name == "note" else f" {value} "
        text = rng.choice((repr(value), f"{value:.6f}", f"+{value!r}" if value >= 0 else repr(value), f"{value:.9e}"))
        return text.replace(".", ",") if comma else text

    newline = rng.choice(("\n", "\r\n", "\r"))
    sink = io.StringIO()
    quoting = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    how: dict[str, Any] = {
        "quoting": csv.QUOTE_ALL if newline == "\r" else quoting
    }  # else "\n" in a cell is not quoted
    writer = csv.writer(sink, delimiter=separator, lineterminator=newline, **how)
    if rng.random() < 0.1:
        sink.write(f"sep={separator}{newline}")
    sink.write(rng.choice(("", "", newline)))
    pad = rng.choice(("", "", " "))
    writer.writerow([f"{pad}{name}{pad}" for name in names])
    for row in rows:
        writer.writerow([cell(name, row[name]) for name in names])
        if rng.random() < 0.1:
            sink.write(rng.choice((newline, f"  {newline}")))
    text = sink.getvalue()
    text = text.removesuffix(newline) if rng.random() < 0.3 else text
    return text.encode(rng.choice(("utf-8", "utf-8-sig", "utf-16")))


def json_bytes(rng: random.Random, records: Sequence[Row], form: str) -> bytes:
    """Return JSON lines or one JSON document."""
    plain = rng.random() < 0.5
    if form == "json":
        return json.dumps(list(records), ensure_ascii=plain, indent=rng.choice((None, 1))).encode()
    newline = rng.choice(("\n", "\r\n", "\n\n"))
    text = "".join(json.dumps(record, ensure_ascii=plain) + newline for record in records)
    return text.encode(rng.choice(("utf-8", "utf-8-sig", "utf-16")))


def excel_bytes(cells: Sequence[Sequence[Any]]) -> bytes:
    """Return a workbook of one sheet."""
    sink, book = io.BytesIO(), openpyxl.Workbook()
    assert book.active is not None
    for row in cells:
        book.active.append(list(row))
    book.save(sink)
    return sink.getvalue()


def arrow_bytes(table: pa.Table, form: str) -> tuple[str, Any]:
    """Return a Parquet file, an Arrow file or stream, or the table itself."""
    if form == "pyarrow":
        return "pyarrow", table
    sink = io.BytesIO()
    if form == "parquet":
        pq.write_table(table, sink)
        return "rows.parquet", sink.getvalue()
    opened = ipc.new_file if form == "arrow" else ipc.new_stream
    with opened(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return "rows.arrow", sink.getvalue()
