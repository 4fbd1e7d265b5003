"""The rows of a request body: the columns of a table, or plain arrays X and y."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftpace.errors import DataError
from driftpace.tables.columns import Column
from driftpace.tables.json_format import load_document
from driftpace.tables.limits import TableLimits, clip
from driftpace.tables.read import FileKind, gunzip, read_columns

_ARRAYS = frozenset({"X", "y", "ids", "groups", "sample_weight", "exposure", "annotators"})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Arrays:
    """Rows as plain arrays."""

    X: Any
    y: Any
    ids: list[str] | None
    groups: list[Any] | None
    sample_weight: Any = None
    exposure: Any = None
    annotators: list[str] | None = None


Rows = dict[str, Column] | Arrays


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRequest:
    """What is read of a body, and how.

    Parameters
    ----------
    data : bytes
        The body.
    limits : TableLimits
        Limits of the table.
    owner : str
        The operation that messages name.
    kind, name, sheet, as_text, target, annotator
        As in :func:`driftpace.tables.read.read_columns`.
    arrays : bool
        Whether a JSON object with ``X`` is read as arrays.
    """

    data: bytes
    limits: TableLimits
    owner: str
    kind: FileKind | None = None
    name: str | None = None
    sheet: str | None = None
    as_text: tuple[str, ...] = ()
    target: str | None = None
    annotator: str | None = None
    arrays: bool = False


def read_body(request: TableRequest) -> Rows:
    """Return the columns of a table, or arrays if the body has X.

    >>> read_body(TableRequest(data=b'{"X": [[1.5]]}', kind="json", limits=TableLimits(), owner="tell", arrays=True)).X.tolist()
    [[1.5]]
    """
    limits, owner, data = request.limits, request.owner, request.data
    if request.arrays and request.kind == "json":
        data = gunzip(data, limits, f"{owner}: the body")
        if data.lstrip()[:1] == b"{" and b'"X"' in data:
            document = load_document(data, limits, f"{owner}: the body")
            if isinstance(document, dict) and "X" in document:
                return _arrays(document, limits, owner)
    return read_columns(
        data,
        name=request.name,
        kind=request.kind,
        limits=limits,
        owner=owner,
        as_text=request.as_text,
        target=request.target,
        annotator=request.annotator,
        sheet=request.sheet,
    )


def _arrays(document: dict[str, Any], limits: TableLimits, owner: str) -> Arrays:
    for name in document:
        if name not in _ARRAYS:
            raise DataError(
                "must be one of y, ids, groups, sample_weight, exposure and annotators beside X.",
                owner=owner,
                name=clip(name),
            )
    X = _numbers(document["X"], "X", 2, owner)
    if X.shape[0] > limits.rows or X.shape[1] > limits.columns:
        raise DataError(
            f"must have at most {limits.rows:,} rows of {limits.columns:,}; got {X.shape}.",
            owner=owner,
            name="X",
        )
    y = None if document.get("y") is None else _numbers(document["y"], "y", 1, owner)
    words = {name: _words(document, name, owner) for name in ("ids", "groups", "annotators")}
    numbers = {
        name: None if document.get(name) is None else _numbers(document[name], name, 1, owner)
        for name in ("sample_weight", "exposure")
    }
    return Arrays(
        X=X,
        y=y,
        **numbers,
        **words,
    )


def _words(document: dict[str, Any], name: str, owner: str) -> list[str] | None:
    """Return an array of texts; None where it is not given."""
    given = document.get(name)
    if given is not None and not (isinstance(given, list) and all(isinstance(item, str | int) for item in given)):
        raise DataError("must be an array of strings; it is not.", owner=owner, name=name)
    return None if given is None else [str(item) for item in given]


def _numbers(value: Any, name: str, dimensions: int, owner: str) -> Any:
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.ndim != dimensions or array.dtype.kind not in "iuf" or array.size == 0:
        shape = "rows of numbers, all of the same length" if dimensions == 2 else "an array of numbers"
        raise DataError(f"must be {shape}; it is not.", owner=owner, name=name)
    return array.astype(np.float64)
