"""From the bytes of a request to rows: by its content type, through the one door that reads tables, or plain arrays X and y."""

from dataclasses import dataclass
from email.message import Message
from typing import Any

import numpy as np
from starlette.formparsers import MultiPartParser
from starlette.requests import Request

from driftpace.campaign import Campaign, Definition, Receipt
from driftpace.campaign.serialization import mapped_categories_json, number
from driftpace.errors import DataError, ParameterError
from driftpace.service.failures import Refused
from driftpace.tables.columns import Column
from driftpace.tables.json_format import load_document
from driftpace.tables.limits import TableLimits, clip
from driftpace.tables.read import FileKind, gunzip, read_columns

KINDS: dict[str, FileKind | None] = {
    "text/csv": "csv",
    "application/json": "json",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.parquet": "parquet",
    "multipart/form-data": None,
}
_ARRAYS = frozenset({"X", "y", "ids", "groups"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """What came: bytes, what they are where that is known, and what they are called."""

    data: bytes
    kind: FileKind | None
    name: str | None

    @property
    def source(self) -> str:
        """How the log calls where it came from."""
        return "REST" if self.name is None else f"REST: {self.name}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Arrays:
    """Rows as plain numbers."""

    X: Any
    y: Any
    ids: list[str] | None
    groups: list[Any] | None


async def take_upload(request: Request) -> Upload:
    """Return the body of a request, which is within its limits by now; nothing of it touches the file system."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    kind = header.get_content_type() if header["content-type"] else ""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", "gzip"):
        raise Refused(415, "media_type", "Content-Encoding must be gzip, or left out.")
    if kind == "multipart/form-data":
        return await _take_form(request)
    data = await request.body()
    if not data:
        return Upload(data=b"", kind=None, name=None)
    if kind not in KINDS:
        raise Refused(
            415, "media_type", f"Content-Type must be one of {', '.join(KINDS)}; got {clip(kind) or 'none'!r}."
        )
    return Upload(data=data, kind=KINDS[kind], name=None)


class _InMemory(MultiPartParser):
    spool_max_size = 2**40  # the body is bounded already, and rows about people are not left in a temporary folder


async def _take_form(request: Request) -> Upload:
    parser = _InMemory(request.headers, request.stream(), max_files=1, max_fields=8, max_part_size=1024)
    try:
        form = await parser.parse()
        try:
            file = form.get("file")
            if file is None or isinstance(file, str):
                raise ParameterError("must be a file in the form; got none.", owner="deliveries", name="file")
            return Upload(data=await file.read(), kind=None, name=clip(file.filename or "") or None)
        finally:
            await form.close()
    except (Refused, ParameterError):
        raise
    except Exception as error:  # the parser of forms has several kinds of errors, and none of them is ours
        why = clip(str(getattr(error, "message", error))).rstrip(".")
        raise Refused(400, "malformed", f"the form cannot be read: {why}.") from None


def read_rows(upload: Upload, campaign: Campaign, limits: TableLimits, *, owner: str) -> dict[str, Column] | Arrays:
    """Return the columns of a table, or arrays where the body holds X."""
    definition = campaign.definition
    data = upload.data
    if upload.kind == "json":
        data = gunzip(data, limits, f"{owner}: the body")
        if data.lstrip()[:1] == b"{" and b'"X"' in data:
            document = load_document(data, limits, f"{owner}: the body")
            if isinstance(document, dict) and "X" in document:
                return _arrays(document, limits, owner)
    return read_columns(
        data,
        name=upload.name,
        kind=upload.kind,
        limits=limits,
        owner=owner,
        as_text=words_of(definition),
        target=definition.target,
    )


def words_of(definition: Definition) -> list[str]:
    """Return the columns that stay as they were written: ids, groups, classes and categories."""
    classes = None if definition.classes is None else definition.target
    named = (definition.id, definition.groups, classes)
    return [*definition.categories, *(name for name in named if name is not None)]


def tell(campaign: Campaign, found: dict[str, Column] | Arrays | None, **how: Any) -> Receipt:
    """Tell a campaign what came; None closes its period with what is there."""
    if found is None:
        return campaign.tell(final=True, key=how["key"], period=how["period"], who=how["who"])
    if isinstance(found, Arrays):
        if found.y is None:
            raise DataError("must come together with X; got none.", owner="deliveries", name="y")
        return campaign.tell(found.X, found.y, ids=found.ids, groups=found.groups, **how)
    return campaign.tell_table(found, **how)


def predict(campaign: Campaign, found: dict[str, Column] | Arrays) -> dict[str, Any]:
    """Return what the model says of rows."""
    if isinstance(found, Arrays):
        values = [number(float(one)) for one in campaign.predict(found.X)]
        return {"predictions": values, "scores": values, "probabilities": None, "unknown_categories": []}
    said = campaign.predict_table(found)
    return {
        "predictions": [number(one) if isinstance(one, float) else one for one in said.values],
        "scores": [number(float(one)) for one in said.score],
        "probabilities": None if said.probability is None else [number(float(one)) for one in said.probability],
        "unknown_categories": [mapped_categories_json(one) for one in said.unknown_categories],
    }


def _arrays(document: dict[str, Any], limits: TableLimits, owner: str) -> Arrays:
    for name in document:
        if name not in _ARRAYS:
            raise DataError(f"{owner}({clip(name)}=...) must be one of X, y, ids and groups beside X.")
    X = _numbers(document["X"], "X", 2, owner)
    if X.shape[0] > limits.rows or X.shape[1] > limits.columns:
        raise DataError(
            f"must have at most {limits.rows:,} rows of {limits.columns:,}; got {X.shape}.",
            owner=owner,
            name="X",
        )
    y = None if document.get("y") is None else _numbers(document["y"], "y", 1, owner)
    ids = document.get("ids")
    if ids is not None and not (isinstance(ids, list) and all(isinstance(one, str | int) for one in ids)):
        raise DataError("must be an array of texts; it is not.", owner=owner, name="ids")
    groups = document.get("groups")
    if groups is not None and not (isinstance(groups, list) and all(isinstance(one, str | int) for one in groups)):
        raise DataError("must be an array of texts; it is not.", owner=owner, name="groups")
    return Arrays(
        X=X,
        y=y,
        ids=None if ids is None else [str(one) for one in ids],
        groups=None if groups is None else [str(one) for one in groups],
    )


def _numbers(value: Any, name: str, dimensions: int, owner: str) -> Any:
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        array = np.empty(0, dtype=object)
    if array.ndim != dimensions or array.dtype.kind not in "iuf" or array.size == 0:
        shape = "rows of numbers, all of one length" if dimensions == 2 else "an array of numbers"
        raise DataError(f"must be {shape}; it is not.", owner=owner, name=name)
    return array.astype(np.float64)
