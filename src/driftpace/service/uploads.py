"""Rows from request bodies: tables by their content type, or plain arrays X and y."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from email.message import Message
from typing import Any

from starlette.formparsers import MultiPartParser
from starlette.requests import Request

from driftpace.campaign import Campaign, FleetCampaign, Receipt
from driftpace.campaign.records import Predicted
from driftpace.campaign.serialization import filled_cells_json, mapped_categories_json, number
from driftpace.errors import DataError, ParameterError
from driftpace.service.errors import ApiError
from driftpace.service.reading import Arrays, Rows, TableRequest, is_small_text
from driftpace.service.state import Service, service_of
from driftpace.service.workers import run_cancellable
from driftpace.tables.columns import Column
from driftpace.tables.limits import TableLimits, clip
from driftpace.tables.read import FileKind
from driftpace.typing import FloatArray

KINDS: dict[str, FileKind | None] = {
    "text/csv": "csv",
    "application/json": "json",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "excel",
    "multipart/form-data": None,
}
_CELL = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}]}
_TABLE: dict[str, Any] = {
    "anyOf": [
        {
            "type": "array",
            "items": {"type": "object", "additionalProperties": _CELL},
            "description": "One object per row.",
        },
        {
            "type": "object",
            "required": ["columns"],
            "properties": {"columns": {"type": "object", "additionalProperties": {"type": "array", "items": _CELL}}},
        },
        {
            "type": "object",
            "required": ["X"],
            "properties": {
                "X": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                "y": {"type": "array", "items": {"type": "number"}},
                "ids": {"type": "array", "items": {"type": "string"}},
                "groups": {"type": "array", "items": {"type": "string"}},
                "sample_weight": {"type": "array", "items": {"type": "number"}},
                "exposure": {"type": "array", "items": {"type": "number"}},
            },
        },
    ]
}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
PREVIEW_ROWS, PREVIEW_COLUMNS = 5, 50
"""How much of a table a preview shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """An uploaded file: its bytes, its format and name where they are known, and which ``sheet`` of a workbook to read."""

    data: bytes
    kind: FileKind | None
    name: str | None
    sheet: str | None = None

    @property
    def source(self) -> str:
        """The source recorded in the log of a campaign."""
        return "REST" if self.name is None else f"REST: {self.name}"


async def receive_upload(request: Request, sheet: str | None = None) -> Upload:
    """Return the body of a request in memory; nothing of it is written to the file system."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    kind = header.get_content_type() if header["content-type"] else ""
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("identity", "gzip"):
        raise ApiError(415, "media_type", "Content-Encoding must be gzip or absent.")
    if kind == "multipart/form-data":
        return replace(await _receive_form(request), sheet=sheet)
    data = await request.body()
    if not data:
        return Upload(data=b"", kind=None, name=None)
    if kind not in KINDS:
        raise ApiError(
            415, "media_type", f"Content-Type must be one of {', '.join(KINDS)}; got {clip(kind) or 'none'!r}."
        )
    return Upload(data=data, kind=KINDS[kind], name=None, sheet=sheet)


class _InMemoryParser(MultiPartParser):
    spool_max_size = 2**40  # bodies are bounded, and personal data must not be spooled to a temporary file


async def _receive_form(request: Request) -> Upload:
    parser = _InMemoryParser(request.headers, request.stream(), max_files=1, max_fields=8, max_part_size=1024)
    try:
        form = await parser.parse()
        try:
            file = form.get("file")
            if file is None or isinstance(file, str):
                raise ParameterError("must be a file in the form; got none.", owner="deliveries", name="file")
            return Upload(data=await file.read(), kind=None, name=clip(file.filename or "") or None)
        finally:
            await form.close()
    except (ApiError, ParameterError):
        raise
    except Exception as error:  # the form parser raises several exception types
        why = clip(str(getattr(error, "message", error))).rstrip(".")
        raise ApiError(400, "malformed", f"the form cannot be parsed: {why}.") from None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ReadAhead:
    """Rows that were read before the work on their campaign began, and the columns that were read as text."""

    rows: Rows
    as_text: tuple[str, ...]


async def read_ahead(
    request: Request,
    name: str,
    upload: Upload,
    *,
    owner: str,
    noting: Callable[[Any], AbstractContextManager[None]] | None = None,
    find: Callable[[str], Campaign | FleetCampaign] | None = None,
) -> ReadAhead | None:
    """Return the rows of a table that a child process reads; None of a small text, which is read where it is needed.

    ``noting`` is a context of the reading, which notes a refusal; ``find`` returns the campaign by its name.
    """
    service = service_of(request)

    def read() -> ReadAhead:
        campaign = service.campaigns.get(name) if find is None else find(name)
        wanted = _request(upload, service.limits.tables, owner, campaign)
        with nullcontext() if noting is None else noting(campaign):
            return ReadAhead(rows=service.reader.read(wanted), as_text=wanted.as_text)

    if not upload.data or is_small_text(_request(upload, service.limits.tables, owner)):
        return None
    return await run_cancellable(request, service.parsers, read)


async def read_upload(request: Request, upload: Upload, *, owner: str) -> Callable[[], dict[str, Column]]:
    """Return a function with the columns of a table of no campaign; a large one is already read, in a child process."""
    service = service_of(request)
    wanted = _request(upload, service.limits.tables, owner)

    def read() -> dict[str, Column]:
        rows = service.reader.read(wanted)
        assert isinstance(rows, dict)  # arrays were not asked for
        return rows

    if is_small_text(wanted):
        return read
    columns = await run_cancellable(request, service.parsers, read)
    return lambda: columns


def read_rows(
    service: Service, upload: Upload, campaign: Campaign | FleetCampaign, ahead: ReadAhead | None, *, owner: str
) -> Rows:
    """Return the columns of a table, or arrays if the body has X: those read ahead, if they were read as the campaign needs now."""
    wanted = _request(upload, service.limits.tables, owner, campaign)
    return ahead.rows if ahead is not None and ahead.as_text == wanted.as_text else service.reader.read(wanted)


def _request(
    upload: Upload, limits: TableLimits, owner: str, campaign: Campaign | FleetCampaign | None = None
) -> TableRequest:
    given = {name: getattr(upload, name) for name in ("data", "kind", "name", "sheet")}
    if campaign is None:
        return TableRequest(**given, limits=limits, owner=owner)
    definition = campaign.definition
    return TableRequest(
        **given,
        limits=limits,
        owner=owner,
        as_text=tuple(campaign.text_columns),
        target=definition.target,
        annotator=definition.annotator,
        arrays=True,
    )


def tell(campaign: Campaign, rows: Rows | None, **options: Any) -> Receipt:
    """Deliver rows to a campaign; None closes its period with the rows it has."""
    if rows is None:
        given = {name: options[name] for name in ("key", "period", "who", "dry_run")}
        return campaign.tell(final=True, **given)
    if isinstance(rows, Arrays):
        if rows.y is None:
            raise DataError("must be given with X; got none.", owner="deliveries", name="y")
        return campaign.tell(
            rows.X,
            rows.y,
            ids=rows.ids,
            groups=rows.groups,
            sample_weight=rows.sample_weight,
            exposure=rows.exposure,
            annotators=rows.annotators,
            **options,
        )
    return campaign.tell_table(rows, **options)


def first_rows(rows: Rows | None) -> dict[str, Any] | None:
    """Return the first rows of a table as text, for a preview; None where there is no table."""
    if rows is None or isinstance(rows, Arrays):
        return None
    names = list(rows)[:PREVIEW_COLUMNS]
    count = min((rows[name].missing.size for name in names), default=0)
    shown = [
        [None if rows[name].missing[place] else str(rows[name].values[place])[:80] for name in names]
        for place in range(min(count, PREVIEW_ROWS))
    ]
    return {"columns": names, "rows": shown, "total": count}


def predict(campaign: Campaign, rows: Rows) -> dict[str, Any]:
    """Return the predictions of the current model as JSON."""
    if isinstance(rows, Arrays):
        return _predict_arrays(campaign, rows)
    return predictions_json(campaign.predict_table(rows))


def predictions_json(predictions: Predicted) -> dict[str, Any]:
    """Return the predictions of a table as JSON."""
    return {
        "predictions": [number(value) if isinstance(value, float) else value for value in predictions.values],
        "scores": _plain(predictions.score),
        "probabilities": None if predictions.probability is None else _plain(predictions.probability),
        "classes": list(predictions.classes) or None,
        "unknown_categories": [mapped_categories_json(item) for item in predictions.unknown_categories],
        "filled": [filled_cells_json(item) for item in predictions.filled],
    }


def _predict_arrays(campaign: Campaign, rows: Arrays) -> dict[str, Any]:
    """Return the predictions of rows that were given as numbers; of several classes with their probabilities."""
    values = [number(value) if isinstance(value, float) else value for value in campaign.predict(rows.X).tolist()]
    several = any(isinstance(value, str) for value in values)
    return {
        "predictions": values,
        "scores": None if several else values,
        "probabilities": _plain(campaign.predict_proba(rows.X)) if several else None,
        "classes": list(campaign.definition.classes or ()) if several else None,
        "unknown_categories": [],
        "filled": [],
    }


def _plain(values: FloatArray) -> list[Any]:
    """Return numbers, or rows of numbers, with None for those that are not finite."""
    if values.ndim == 2:
        return [_plain(row) for row in values]
    return [number(value) for value in values.tolist()]


def table_body(required: bool) -> dict[str, Any]:
    """Return the OpenAPI description of a body that is a table."""
    form = {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
    return {
        "requestBody": {
            "required": required,
            "content": {
                "application/json": {"schema": _TABLE},
                "text/csv": {"schema": {"type": "string"}},
                "application/x-ndjson": {"schema": {"type": "string"}},
                "application/vnd.apache.arrow.stream": _BYTES,
                "application/vnd.apache.arrow.file": _BYTES,
                "application/vnd.apache.parquet": _BYTES,
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": _BYTES,
                "multipart/form-data": {"schema": form},
            },
        }
    }
