"""The door for what people deliver: a file or the bytes of one become columns, within limits, or one sentence says why not."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, get_args

import numpy as np

from driftpace import validation
from driftpace.errors import DataError
from driftpace.tables import ipc, jsonfile
from driftpace.tables.cells import column_of
from driftpace.tables.columns import Column
from driftpace.tables.exports import (
    ROW_FOR,
    ROW_ID,
    Several,
    is_csv_export,
    is_full_export,
    is_short_export,
    rows_of_export,
)
from driftpace.tables.limits import Limits, clip
from driftpace.tables.parquet import read_parquet
from driftpace.tables.textfile import read_csv, read_csv_cells
from driftpace.tables.unpacking import Source, gunzip, take

FileKind = Literal["csv", "parquet", "jsonl", "json", "arrow", "label-studio"]

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
}
_ALLOWED = "a CSV, Parquet, JSON, JSON lines or Arrow file, or an export of Label Studio"


@dataclass(frozen=True, kw_only=True, slots=True)
class _How:
    """What is asked of every reader."""

    limits: Limits
    what: str
    as_text: frozenset[str]
    exact: bool
    target: str | None
    several: Several
    owner: str


def read_upload(
    data: Source,
    *,
    name: str | None = None,
    kind: FileKind | None = None,
    limits: Limits | None = None,
    owner: str = "read_upload",
    as_text: Collection[str] = (),
    exact: bool = False,
    target: str | None = None,
    several: Several = "latest",
) -> dict[str, Column]:
    r"""Return the columns of what was delivered, by name.

    ``data`` is a path, an open binary file, or bytes; only a path touches the file system, never ``name``, which is shown in
    messages and says by its ending what the bytes are. Where neither ``name`` nor ``kind`` does, the bytes themselves do.
    Gzipped files are unpacked. A JSON or CSV file that is an export of Label Studio is recognised and read as
    :func:`~driftpace.tables.exports.rows_of_export` says, with ``target`` and ``several``. What the cells of a text file stand for,
    and which of them are missing, :mod:`driftpace.tables.cells` says.

    Columns named in ``as_text`` stay texts as written, so that the ids 7 and 007 are two; so do codes, whole numbers with leading
    zeros or beyond 2**53. With ``exact``, columns of numbers and flags in a text file know how their cells were written.

    Raises :class:`~driftpace.errors.DataError` or :class:`~driftpace.errors.ParameterError` and nothing else.

    >>> columns = read_upload(b"id,age,churned\n7,41,yes\n8,,no\n", as_text=["id"])
    >>> {name: column.values.tolist() for name, column in columns.items()}
    {'id': ['7', '8'], 'age': [41.0, nan], 'churned': ['yes', 'no']}
    >>> read_upload(b"PK...", name="rows.xlsx")
    Traceback (most recent call last):
        ...
    driftpace.errors.DataError: read_upload: rows.xlsx must be a CSV, Parquet, JSON, JSON lines or Arrow file, or an export of
    Label Studio; it is a zip archive or a workbook: unpack it, or save it as CSV.
    """
    if kind is not None:
        validation.choice(owner, get_args(FileKind), kind=kind)
    validation.choice(owner, get_args(Several), several=several)
    limits = Limits() if limits is None else limits
    shown, packed = take(data, name, limits, owner)
    what = f"{owner}: {shown}"
    raw = gunzip(packed, limits, what)
    if not raw:
        raise DataError(f"{what} must hold at least one row; it is empty.")
    found = _guess(raw, shown) if kind is None else kind
    if found is None:
        raise _unknown(raw, what)
    names = frozenset((ROW_FOR, ROW_ID, *as_text))
    how = _How(limits=limits, what=what, as_text=names, exact=exact, target=target, several=several, owner=owner)
    try:
        if found == "parquet":
            return read_parquet(raw, limits, what, as_text=names, owner=owner)
        if found == "arrow":
            return ipc.read_ipc(raw, limits, what, as_text=names, owner=owner)
        if found == "csv" or (found == "label-studio" and raw.lstrip()[:1] not in (b"[", b"{")):
            return _of_csv(raw, found, how)
        return _of_json(raw, found, how)
    except MemoryError:
        raise DataError(f"{what} must fit into memory; it does not.") from None


def _guess(raw: bytes, shown: str) -> FileKind | None:
    """Return the kind by what the first bytes are, or else by the ending of the name."""
    if raw[:4] == b"PAR1":
        return "parquet"
    if raw[:6] == ipc.MAGIC or raw[:4] == b"\xff\xff\xff\xff":
        return "arrow"
    endings = [ending.lower() for ending in PurePath(shown).suffixes if ending.lower() != ".gz"]
    if endings and endings[-1] in _ENDINGS:
        found = _ENDINGS[endings[-1]]
        return "jsonl" if found == "json" and raw[:1] == b"{" and not _is_one_object(raw) else found
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
        return DataError(f"{what} must be {_ALLOWED}; it is a zip archive or a workbook: unpack it, or save it as CSV.")
    return DataError(f"{what} must be {_ALLOWED}; it begins with {raw[:8]!r}.")


def _of_csv(raw: bytes, kind: FileKind, how: _How) -> dict[str, Column]:
    beginning = raw[:65_536].split(b"\n", 1)[0].decode("utf-8", "replace")
    names = {name.strip().strip('"') for name in beginning.removeprefix("\ufeff").split(",")}
    if kind == "csv" and not is_csv_export(names):
        return read_csv(raw, how.limits, how.what, as_text=how.as_text, exact=how.exact)
    header, cells = read_csv_cells(raw, how.limits, how.what)
    if not is_csv_export(header):
        raise DataError(f"{how.what} must be an export of Label Studio; its columns are {clip(', '.join(header))}.")
    return _of_rows([dict(zip(header, row, strict=True)) for row in zip(*cells, strict=True)], how)


def _of_json(raw: bytes, kind: FileKind, how: _How) -> dict[str, Column]:
    if kind == "jsonl":
        table = jsonfile.read_lines(raw, how.limits, how.what)
        return jsonfile.as_columns(table, how.what, as_text=how.as_text)
    document = jsonfile.load_document(raw, how.limits, how.what)
    if is_full_export(document) or is_short_export(document):
        return _of_rows(document, how)
    if kind == "label-studio":
        raise DataError(
            f"{how.what} must be an export of Label Studio: tasks with data and annotations; it is other JSON."
        )
    table = jsonfile.table_of_document(document, how.limits, how.what)
    return jsonfile.as_columns(table, how.what, as_text=how.as_text)


def _questions(document: Any) -> frozenset[str]:
    """Return the names of everything that annotations answer."""
    tasks = document["tasks"] if isinstance(document, dict) else document
    results = (
        item
        for task in tasks
        for annotation in (task["annotations"] if isinstance(task["annotations"], list) else [])
        if isinstance(annotation, dict) and isinstance(annotation.get("result"), list)
        for item in annotation["result"]
    )
    return frozenset(str(item.get("from_name")) for item in results if isinstance(item, dict))


def _of_rows(document: Any, how: _How) -> dict[str, Column]:
    """Return the columns of an export; answers that are numbers become numbers, and so does all of a short export's text."""
    rows = rows_of_export(document, target=how.target, several=how.several, owner=how.owner)
    if not rows:
        raise DataError(f"{how.what} must have at least one labelled task; nobody has labelled any.")
    columns = jsonfile.as_columns(jsonfile.gather(rows, how.limits, how.what), how.what, as_text=how.as_text)
    typed = _questions(document) if is_full_export(document) else columns.keys()
    for name, column in columns.items():
        if column.kind == "text" and name in typed and name not in how.as_text:
            columns[name] = column_of(np.where(column.missing, "", column.values).tolist())
    return columns
