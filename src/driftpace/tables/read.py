"""The one reader of tables: files of any supported format, bytes, arrays and data frames become columns."""

import os
import stat
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, BinaryIO, Literal, get_args

import numpy as np

from driftpace import validation
from driftpace.errors import DataError, ParameterError
from driftpace.tables import arrow_format, json_format
from driftpace.tables.cells import column_of
from driftpace.tables.columns import Column, from_arrays, from_frame
from driftpace.tables.csv_format import read_csv, read_csv_cells
from driftpace.tables.excel_format import is_workbook, read_excel
from driftpace.tables.label_studio import (
    ROW_FOR,
    ROW_ID,
    AnnotationPolicy,
    is_csv_export,
    is_full_export,
    is_short_export,
    rows_of_export,
)
from driftpace.tables.limits import TableLimits, check_unpacked, clip, size
from driftpace.tables.parquet_format import read_parquet

FileKind = Literal["csv", "parquet", "jsonl", "json", "arrow", "excel", "label-studio"]

Source = bytes | bytearray | memoryview | BinaryIO | str | PathLike[str]
_FILES = (bytes, bytearray, memoryview, str, PathLike)
_ENDINGS: dict[str, FileKind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_GZIP = b"\x1f\x8b"
_PIECE = 2**16
_MEMBERS = 10_000
_ALLOWED = "a CSV, Parquet, JSON, JSON lines, Arrow or Excel (.xlsx) file, or an export of Label Studio"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Options:
    """Options passed to every format."""

    limits: TableLimits
    what: str
    as_text: frozenset[str]
    exact: bool
    target: str | None
    several: AnnotationPolicy
    annotator: str | None
    owner: str


def read_columns(  # noqa: PLR0913  public API
    source: Any,
    *,
    name: str | None = None,
    kind: FileKind | None = None,
    limits: TableLimits | None = None,
    owner: str = "read_columns",
    as_text: Collection[str] = (),
    exact: bool = False,
    target: str | None = None,
    several: AnnotationPolicy = "latest",
    annotator: str | None = None,
    sheet: str | int | None = None,
) -> dict[str, Column]:
    r"""Read a table from a file, bytes, arrays or a data frame.

    Backtests, campaigns, the service and the command line all read tables with this function. CSV (with comma, semicolon,
    tab or bar), JSON, JSON lines, Arrow, Parquet and Excel files are read, gzipped or not, and so are exports of Label Studio, as
    described in :func:`~driftpace.tables.label_studio.rows_of_export`. Text cells are interpreted as described in
    :mod:`driftpace.tables.cells`. Codes, whole numbers with leading zeros or beyond 2**53, stay texts.

    Parameters
    ----------
    source : path, bytes, binary file, mapping or frame
        A path, the bytes of a file, an open binary file, arrays by name, or a pandas, polars or pyarrow frame.
    name : str, optional
        File name of bytes: it is shown in messages, and its ending gives the format. It is never opened.
    kind : str, optional
        The format; inferred from the bytes and the name by default.
    limits : TableLimits, optional
        Size limits of files; the defaults suit untrusted uploads.
    owner : str
        The function that error messages name.
    as_text : collection of str
        Columns to keep as the texts in the file, so that the ids 7 and 007 differ; whole numbers of frames and arrays become
        texts of all their digits.
    exact : bool
        Keep the original text of numbers and flags of a text file in ``Column.written``.
    target, several, annotator
        Passed to ``rows_of_export`` for an export of Label Studio.
    sheet : str or int, optional
        The sheet of an Excel workbook, by its name or its place from 0; the first by default.

    Returns
    -------
    dict of str to Column

    Raises
    ------
    DataError, ParameterError, MissingExtraError

    Examples
    --------
    >>> columns = read_columns(b"id,age,churned\n7,41,yes\n8,,no\n", as_text=["id"])
    >>> {name: column.values.tolist() for name, column in columns.items()}
    {'id': ['7', '8'], 'age': [41.0, nan], 'churned': ['yes', 'no']}
    >>> read_columns({"city": ["Rome", None]})["city"].missing.tolist()
    [False, True]
    >>> read_columns(b"PK...", name="rows.zip")
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: read_columns: rows.zip must be a CSV, Parquet, JSON, JSON lines, Arrow or Excel (.xlsx) file, or an
    export of Label Studio; it is a zip archive: unpack it.
    """
    if kind is not None:
        validation.choice(owner, get_args(FileKind), kind=kind)
    validation.choice(owner, get_args(AnnotationPolicy), several=several)
    if isinstance(source, Mapping):
        return from_arrays(source, owner, as_text=as_text)
    if not isinstance(source, _FILES) and not callable(getattr(source, "read", None)):
        return from_frame(source, owner, as_text=as_text)
    limits = TableLimits() if limits is None else limits
    names = frozenset((ROW_FOR, ROW_ID, *as_text))
    try:
        label, packed = read_bytes(source, name, limits, owner)
        raw = gunzip(packed, limits, label)
        how = _Options(
            limits=limits,
            what=label,
            as_text=names,
            exact=exact,
            target=target,
            several=several,
            annotator=annotator,
            owner=owner,
        )
        return _read(raw, kind, how, sheet)
    except MemoryError:
        raise DataError("the table must fit into memory; it does not.", owner=owner) from None
    except DataError as error:
        raise (error.renamed(owner=owner) if error.owner is None else error) from None


def _read(raw: bytes, kind: FileKind | None, how: _Options, sheet: str | int | None) -> dict[str, Column]:
    """Return the columns of the bytes of a file."""
    limits, what = how.limits, how.what
    if not raw:
        raise DataError(f"{what} must hold at least one row; it is empty.")
    file_kind = _guess(raw, what) if kind is None else kind
    if file_kind is None:
        raise _unknown(raw, what)
    if file_kind == "parquet":
        return read_parquet(raw, limits, what, as_text=how.as_text, owner=how.owner)
    if file_kind == "arrow":
        return arrow_format.read_ipc(raw, limits, what, as_text=how.as_text, owner=how.owner)
    if file_kind == "excel":
        return read_excel(raw, limits, what, sheet=sheet, as_text=how.as_text, owner=how.owner)
    if file_kind == "csv" or (file_kind == "label-studio" and raw.lstrip()[:1] not in (b"[", b"{")):
        return _csv_columns(raw, file_kind, how)
    return _json_columns(raw, file_kind, how)


def _guess(raw: bytes, label: str) -> FileKind | None:
    """Return the format by the first bytes, or by the ending of the name."""
    if raw[:4] == b"PAR1":
        return "parquet"
    if raw[:6] == arrow_format.MAGIC or raw[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    if is_workbook(raw):
        return "excel"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raw = raw.decode("utf-16", "replace").encode("utf-8", "replace")
    endings = [ending.lower() for ending in PurePath(label).suffixes if ending.lower() != ".gz"]
    if endings and endings[-1] in _ENDINGS:
        file_kind = _ENDINGS[endings[-1]]
        return "jsonl" if file_kind == "json" and raw[:1] == b"{" and not _is_one_object(raw) else file_kind
    if raw[:4] in (b"PK\x03\x04", b"PK\x05\x06", b"%PDF", b"\xd0\xcf\x11\xe0") or raw[:2] in (b"\x1f\x8b", b"PK"):
        return None
    begins = raw.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if begins == b"[":
        return "json"
    if begins == b"{":
        return "json" if _is_one_object(raw) else "jsonl"
    return "csv" if _is_text(raw[:4096]) else None


def _is_one_object(raw: bytes) -> bool:
    """Whether text that begins with a brace is one object, not one on each line."""
    first = raw.strip().split(b"\n", 1)[0].strip()
    return not first.endswith(b"}") or b"\n" not in raw.strip()


def _is_text(beginning: bytes) -> bool:
    return beginning[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" not in beginning


def _unknown(raw: bytes, what: str) -> DataError:
    if raw[:2] == b"PK":
        return DataError(f"{what} must be {_ALLOWED}; it is a zip archive: unpack it.")
    if raw[:4] == b"\xd0\xcf\x11\xe0":
        return DataError(
            f"{what} must be {_ALLOWED}; it is an old or a protected workbook: save it as .xlsx without a password."
        )
    return DataError(f"{what} must be {_ALLOWED}; it begins with {raw[:8]!r}.")


def _csv_columns(raw: bytes, kind: FileKind, how: _Options) -> dict[str, Column]:
    beginning = raw[:65_536].split(b"\n", 1)[0].decode("utf-8", "replace")
    names = {name.strip().strip('"') for name in beginning.removeprefix("\ufeff").split(",")}
    if kind == "csv" and not is_csv_export(names):
        return read_csv(raw, how.limits, how.what, as_text=how.as_text, exact=how.exact)
    header, cells = read_csv_cells(raw, how.limits, how.what)
    if not is_csv_export(header):
        raise DataError(f"{how.what} must be an export of Label Studio; its columns are {clip(', '.join(header))}.")
    return _export_columns([dict(zip(header, row, strict=True)) for row in zip(*cells, strict=True)], how)


def _json_columns(raw: bytes, kind: FileKind, how: _Options) -> dict[str, Column]:
    if kind == "jsonl":
        table = json_format.read_lines(raw, how.limits, how.what)
        return json_format.as_columns(table, how.what, as_text=how.as_text)
    text = json_format.document_text(raw, how.limits, how.what)
    if kind != "label-studio" and text.lstrip()[:1] == "[":
        rows = json_format.parse_rows(text, how.what)
        first = next(rows, None)
        if isinstance(first, dict) and not (is_full_export([first]) or is_short_export([first])):
            table = json_format.gather(chain([first], rows), how.limits, how.what)
            return json_format.as_columns(table, how.what, as_text=how.as_text)
    document = json_format.parse(text, how.what)
    if is_full_export(document) or is_short_export(document):
        return _export_columns(document, how)
    if kind == "label-studio":
        raise DataError(
            f"{how.what} must be an export of Label Studio: tasks with data and annotations; it is other JSON."
        )
    table = json_format.table_of_document(document, how.limits, how.what)
    return json_format.as_columns(table, how.what, as_text=how.as_text)


def _questions(document: Any) -> frozenset[str]:
    """Return the names of the questions that annotations answer."""
    tasks = document["tasks"] if isinstance(document, dict) else document
    results = (
        item
        for task in tasks
        for annotation in (task["annotations"] if isinstance(task["annotations"], list) else [])
        if isinstance(annotation, dict) and isinstance(annotation.get("result"), list)
        for item in annotation["result"]
    )
    return frozenset(str(item.get("from_name")) for item in results if isinstance(item, dict))


def _export_columns(document: Any, how: _Options) -> dict[str, Column]:
    """Return the columns of an export; answers that are numbers become numbers, and so does all of a short export's text."""
    rows = rows_of_export(document, target=how.target, several=how.several, annotator=how.annotator, owner=how.owner)
    if not rows:
        raise DataError(f"{how.what} must have at least one labelled task; got none.")
    columns = json_format.as_columns(json_format.gather(rows, how.limits, how.what), how.what, as_text=how.as_text)
    typed = _questions(document) if is_full_export(document) else columns.keys()
    for name, column in columns.items():
        if column.kind == "text" and name in typed and name not in how.as_text:
            columns[name] = column_of(np.where(column.missing, "", column.values).tolist())
    return columns


def read_bytes(source: Source, name: str | None, limits: TableLimits, owner: str) -> tuple[str, bytes]:
    """Return the name for messages and the bytes, at most ``limits.bytes`` of them."""
    if isinstance(source, bytes | bytearray | memoryview):
        label = clip(name or "the upload")
        if len(memoryview(source).cast("B")) > limits.bytes:
            raise _too_large(owner, label, limits)
        return label, bytes(source)
    if isinstance(source, str | PathLike):
        path = Path(source)
        return _read_file(path, clip(name or path.name), limits, owner)
    label = clip(name or "the upload")
    return label, _read_all(source, label, limits, owner)


def _read_file(path: Path, label: str, limits: TableLimits, owner: str) -> tuple[str, bytes]:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # does not wait for a pipe without a writer
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ParameterError(
            f"must be a readable file; got {str(path)!r}: {why}.", owner=owner, name="source"
        ) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise ParameterError(
            f"must be a regular file; {str(path)!r} is a folder, a pipe or a device.", owner=owner, name="source"
        )
    with os.fdopen(handle, "rb") as file:
        return label, _read_all(file, label, limits, owner)


def _read_all(file: BinaryIO, label: str, limits: TableLimits, owner: str) -> bytes:
    pieces, taken = [], 0
    try:
        while piece := file.read(_PIECE):
            if not isinstance(piece, bytes):
                raise ParameterError("must be opened in binary mode; got text.", owner=owner, name="source")
            taken += len(piece)
            if taken > limits.bytes:
                raise _too_large(owner, label, limits)
            pieces.append(piece)
    except OSError as error:
        raise DataError(f"{label} must be a file that can be read; {error.strerror or error}.", owner=owner) from None
    return b"".join(pieces)


def _too_large(owner: str, label: str, limits: TableLimits) -> DataError:
    return DataError(f"{label} must be at most {size(limits.bytes)}; it is larger.", owner=owner)


def gunzip(data: bytes, limits: TableLimits, what: str) -> bytes:
    """Return the bytes, decompressed where they are gzipped.

    >>> import gzip
    >>> gunzip(gzip.compress(b"a,b"), TableLimits(), "read: rows.csv.gz")
    b'a,b'
    >>> gunzip(gzip.compress(bytes(10**6)), TableLimits(unpacked=1000), "read: rows.csv.gz")
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: read: rows.csv.gz must unpack to at most 1,000 bytes; it is larger.
    """
    if data[:2] != _GZIP:
        check_unpacked(limits, len(data), what)
        return data
    pieces, unpacked = [], 0
    try:
        for piece in _inflate(data):
            unpacked += len(piece)
            check_unpacked(limits, unpacked, what)
            pieces.append(piece)
    except (zlib.error, EOFError):
        raise DataError(f"{what} must be a whole gzip file; it is damaged or cut short.") from None
    return b"".join(pieces)


def _inflate(data: bytes) -> Iterator[bytes]:
    """Decompress one member after the other, in pieces; trailing zeros are padding."""
    at = 0
    for _ in range(_MEMBERS):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            given = member.unconsumed_tail
            if not given:
                given = data[at : at + _PIECE]
                at += len(given)
            if not given:
                raise EOFError
            if piece := member.decompress(given, _PIECE * 16):
                yield piece
        at -= len(member.unused_data)
        if not any(data[at : at + _PIECE]):
            return
    raise EOFError
