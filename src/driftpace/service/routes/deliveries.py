"""Routes that receive rows: deliveries of labelled rows, rows to predict, and webhooks of labelling tools."""

import hashlib
import json
from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from driftpace.campaign import Campaign, Receipt
from driftpace.campaign.refusals import refusals_noted
from driftpace.campaign.serialization import receipt_json
from driftpace.errors import ParameterError
from driftpace.labelling.webhook import SECRET_HEADER, parse_webhook
from driftpace.service.errors import error_responses
from driftpace.service.request_schemas import PLAIN_DIGITS, CampaignName, Sheet
from driftpace.service.response_schemas import HookResponse, PredictionsResponse, ReceiptResponse, json_response
from driftpace.service.state import caller_name, service_of
from driftpace.service.uploads import first_rows, predict, read_ahead, read_rows, receive_upload, table_body, tell
from driftpace.service.workers import run_cancellable
from driftpace.tables.label_studio import ROW_FOR, ROW_ID
from driftpace.tables.limits import TableLimits
from driftpace.tables.read import read_columns

router = APIRouter(prefix="/api")

Flag = Literal["true", "false"]
_WEBHOOK_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object", "required": ["action"], "properties": {"action": {"type": "string"}}}
            }
        },
    }
}


@router.post(
    "/campaigns/{name}/deliveries",
    tags=["deliveries"],
    response_model=ReceiptResponse,
    responses=error_responses(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=table_body(required=False),
)
async def deliver(  # noqa: PLR0913  the parameters of the request
    request: Request,
    name: CampaignName,
    final: Annotated[
        Flag | None, Query(description="Close the period with the rows delivered, or keep it open.")
    ] = None,
    key: Annotated[str | None, Query(min_length=1, max_length=200, description="Key of the period.")] = None,
    period: Annotated[int | None, Query(ge=1, le=10**9, description="Number of the period."), PLAIN_DIGITS] = None,
    again: Annotated[Flag, Query(description="Count a delivery that was counted before.")] = "false",
    accept_others: Annotated[Flag, Query(description="Take rows that were not drawn for the period.")] = "false",
    balance: Annotated[Flag, Query(description="Weight the rows of the period to look like their pool.")] = "false",
    dry_run: Annotated[Flag, Query(description="Return the receipt and the first rows; write nothing.")] = "false",
    sheet: Sheet = None,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="Identifies the delivery; the default is its rows."),
    ] = None,
) -> Response:
    """Deliver labelled rows; a repeated delivery is not counted twice. final=true without a body closes the period."""
    service, who = service_of(request), caller_name(request)
    upload = await receive_upload(request, sheet)
    if not upload.data and final != "true":
        raise ParameterError(
            "must contain rows unless final=true closes the period; it is empty.",
            owner="deliveries",
            name="body",
        )

    options: dict[str, Any] = {
        "final": None if final is None else final == "true",
        "key": key,
        "delivery": idempotency_key,
        "digest": None if idempotency_key is None else f"sha256:{hashlib.sha256(upload.data).hexdigest()}",
        "again": again == "true",
        "accept_others": accept_others == "true",
        "balance": balance == "true",
        "source": upload.source,
        "period": period,
        "who": who,
        "dry_run": dry_run == "true",
    }

    def noting(campaign: Campaign) -> AbstractContextManager[None]:
        return refusals_noted(campaign, source=upload.source, who=who, dry_run=dry_run == "true" or not upload.data)

    ahead = await read_ahead(request, name, upload, owner="deliveries", noting=noting)

    def change(campaign: Campaign) -> tuple[Response, Receipt]:
        with noting(campaign):
            rows = read_rows(service, upload, campaign, ahead, owner="deliveries") if upload.data else None
            receipt = tell(campaign, rows, **options)
        preview = first_rows(rows) if dry_run == "true" else None
        return json_response({**receipt_json(receipt), "preview": preview}), receipt

    response, receipt = await service.change(name, change)
    if dry_run == "false":
        service.metrics.count_delivery(receipt)
    return response


@router.post(
    "/campaigns/{name}/predictions",
    tags=["deliveries"],
    response_model=PredictionsResponse,
    responses=error_responses(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=table_body(required=True),
)
async def predictions(request: Request, name: CampaignName, sheet: Sheet = None) -> Response:
    """Predict rows with the current model; nothing is changed."""
    service = service_of(request)
    upload = await receive_upload(request, sheet)
    if not upload.data:
        raise ParameterError("must contain rows; it is empty.", owner="predictions", name="body")

    ahead = await read_ahead(request, name, upload, owner="predictions")

    def compute() -> Response:
        campaign = service.campaigns.get(name)
        rows = read_rows(service, upload, campaign, ahead, owner="predictions")
        return json_response(predict(campaign, rows))

    return await run_cancellable(request, service.plans, compute)


@router.post(
    "/hooks/label-studio/{name}",
    tags=["hooks"],
    response_model=HookResponse,
    responses=error_responses(400, 404, 408, 409, 413, 422),
    openapi_extra=_WEBHOOK_BODY,
)
async def label_studio(request: Request, name: CampaignName) -> Response:
    """Receive a Label Studio webhook; a row that is sent again is not counted again.

    The secret in `X-Driftpace-Secret` is a token with the scope `hook`, which allows nothing else.
    """
    service, who = service_of(request), caller_name(request)
    body = await request.body()

    def change(campaign: Campaign) -> tuple[Response, Receipt | None]:
        secret = "x" * 16  # the middleware has authenticated the caller
        target, annotator = campaign.definition.target, campaign.definition.annotator
        call = parse_webhook(body, {SECRET_HEADER: secret}, secret, target=target, annotator=annotator)
        drawn, late = set(campaign.drawn()), campaign.outstanding_ids()
        rows = [row for row in call.rows if not drawn or row[ROW_ID] in drawn or row[ROW_ID] in late]
        with refusals_noted(campaign, source="Label Studio", who=who):
            receipt = _tell_webhook(campaign, call.project, rows, service.limits.tables, who) if rows else None
        order = None if receipt is None else receipt.order
        result = {
            "action": call.action,
            "rows": 0 if receipt is None else receipt.rows,
            "missing": None if order is None else order.missing,
            "closed": order is not None and order.closed,
        }
        return json_response(result), receipt

    response, receipt = await service.change(name, change)
    if receipt is not None:
        service.metrics.count_delivery(receipt)
    return response


def _tell_webhook(
    campaign: Campaign, project: int | None, rows: list[dict[str, Any]], limits: TableLimits, who: str
) -> Receipt:
    definition = campaign.definition
    data = json.dumps(rows).encode()
    as_text = campaign.text_columns
    columns = read_columns(data, kind="json", limits=limits, owner="hooks", as_text=as_text, target=definition.target)
    people = "" if definition.annotator is None else definition.annotator
    ids = sorted(f"{row.get(ROW_FOR)} {row[ROW_ID]} {row.get(people, '')}".rstrip() for row in rows)
    digest = hashlib.sha256(json.dumps(ids).encode()).hexdigest()
    return campaign.tell_table(columns, delivery=f"label-studio:{project}:{digest}", source="Label Studio", who=who)
