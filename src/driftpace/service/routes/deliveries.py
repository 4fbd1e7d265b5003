"""Deliveries: labelled rows that come for the open period, and rows to predict."""

import hashlib
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from driftpace.campaign.serialization import receipt_json
from driftpace.errors import ParameterError
from driftpace.service.answers import PredictionsAnswer, ReceiptAnswer
from driftpace.service.delivered import predict, read_rows, take_upload, tell
from driftpace.service.failures import declared
from driftpace.service.parts import service_of, who
from driftpace.service.routes.answering import CampaignName, as_json
from driftpace.service.waiting import while_waited_for

router = APIRouter(prefix="/api/campaigns/{name}", tags=["deliveries"])

Flag = Literal["true", "false"]
_CELL = {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "boolean"}, {"type": "null"}]}
_TABLE: dict[str, Any] = {
    "anyOf": [
        {
            "type": "array",
            "items": {"type": "object", "additionalProperties": _CELL},
            "description": "One object for each row.",
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
            },
        },
    ]
}
_BYTES = {"schema": {"type": "string", "format": "binary"}}


def _bodies(required: bool) -> dict[str, Any]:
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
                "multipart/form-data": {"schema": form},
            },
        }
    }


@router.post(
    "/deliveries",
    response_model=ReceiptAnswer,
    responses=declared(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=_bodies(required=False),
)
async def deliver(
    request: Request,
    name: CampaignName,
    final: Annotated[Flag | None, Query(description="Close the period with what came, or leave it open.")] = None,
    key: Annotated[str | None, Query(min_length=1, max_length=200, description="The period it is meant for.")] = None,
    period: Annotated[
        int | None, Query(ge=1, le=10**9, description="The number of the period it is meant for.")
    ] = None,
    again: Annotated[Flag, Query(description="Count a delivery that was told before.")] = "false",
    idempotency_key: Annotated[
        str | None, Header(min_length=1, max_length=200, description="What the delivery is known by; else its rows.")
    ] = None,
) -> Response:
    """Take labelled rows; the same delivery is not counted twice. No body and final=true closes the period with what came."""
    service, by = service_of(request), who(request)
    upload = await take_upload(request)
    if not upload.data and final != "true":
        raise ParameterError(
            "must hold rows, unless final=true closes the period; it is empty.",
            owner="deliveries",
            name="body",
        )

    def run() -> tuple[Response, Any]:
        campaign = service.handles.campaign(name)
        found = read_rows(upload, campaign, service.limits.tables, owner="deliveries") if upload.data else None
        receipt = tell(
            campaign,
            found,
            final=None if final is None else final == "true",
            key=key,
            delivery=idempotency_key,
            digest=None if idempotency_key is None else f"sha256:{hashlib.sha256(upload.data).hexdigest()}",
            again=again == "true",
            source=upload.source,
            period=period,
            who=by,
        )
        return as_json(receipt_json(receipt)), receipt

    answer, receipt = await service.fits.run(run)
    service.metrics.told(receipt)
    service.watch.changed(name)
    return answer


@router.post(
    "/predictions",
    response_model=PredictionsAnswer,
    responses=declared(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=_bodies(required=True),
)
async def predictions(request: Request, name: CampaignName) -> Response:
    """Return what the current model says of rows; nothing is changed."""
    service = service_of(request)
    upload = await take_upload(request)
    if not upload.data:
        raise ParameterError("must hold rows; it is empty.", owner="predictions", name="body")

    def run() -> Response:
        campaign = service.handles.campaign(name)
        return as_json(predict(campaign, read_rows(upload, campaign, service.limits.tables, owner="predictions")))

    return await while_waited_for(request, service.plans, run)
