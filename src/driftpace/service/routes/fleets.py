"""Routes of fleets, campaigns with a model for each segment: status, orders, deliveries, undo, and segments in pages."""

import hashlib
from contextlib import AbstractContextManager
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Header, Path, Query, Request
from starlette.responses import Response

from driftpace.campaign import Campaign, FleetCampaign
from driftpace.campaign.fleet import FleetReceipt
from driftpace.campaign.fleet.serialization import (
    order_json,
    receipt_json,
    sample_json,
    segment_json,
    status_json,
    undone_json,
)
from driftpace.campaign.refusals import refusals_noted
from driftpace.errors import ParameterError
from driftpace.service.errors import error_responses
from driftpace.service.fleet_schemas import (
    FleetAskRequest,
    FleetLedgerResponse,
    FleetMoneyRequest,
    FleetOrderResponse,
    FleetReceiptResponse,
    FleetSampleResponse,
    FleetStatusResponse,
    FleetUndoneResponse,
    FleetUndoRequest,
    SegmentDetailResponse,
    SegmentsResponse,
    Show,
    SortColumn,
)
from driftpace.service.reading import Arrays
from driftpace.service.request_schemas import CampaignName, Limit, SegmentName, Sheet
from driftpace.service.response_schemas import PredictionsResponse, json_response
from driftpace.service.state import Service, caller_name, service_of
from driftpace.service.uploads import (
    ReadAhead,
    Upload,
    predictions_json,
    read_ahead,
    read_rows,
    receive_upload,
    table_body,
)
from driftpace.service.workers import run_cancellable

router = APIRouter(prefix="/api/campaigns/{name}/fleet", tags=["fleets"])

Flag = Literal["true", "false"]
_WRITE_ERRORS = error_responses(400, 404, 408, 409, 413, 422)
_READ_ERRORS = error_responses(404, 422)


@router.get("", response_model=FleetStatusResponse, responses=_READ_ERRORS)
async def fleet_status(request: Request, name: CampaignName) -> Response:
    """Return the status of a fleet, the next step, and the ten segments that matter."""

    def read(fleet: FleetCampaign) -> Response:
        return json_response(status_json(fleet.status(), segments=False))

    return await service_of(request).read_fleet(name, read)


@router.get("/segments", response_model=SegmentsResponse, responses=_READ_ERRORS)
async def segments(  # noqa: PLR0913  the parameters of the request
    request: Request,
    name: CampaignName,
    sort: Annotated[
        SortColumn, Query(description="Column to sort by; urgency puts those first that matter.")
    ] = "urgency",
    descending: Annotated[Flag, Query(description="Largest first.")] = "false",
    show: Annotated[Show, Query(description="Only these segments.")] = "",
    outcome: Annotated[str, Query(max_length=40, description="Outcome of the last closed period.")] = "",
    search: Annotated[str, Query(max_length=400, description="Part of the name.")] = "",
    offset: Annotated[int, Query(ge=0, le=10**9, description="Segments to skip.")] = 0,
    limit: Limit = 100,
) -> Response:
    """Return a page of the segments, sorted and filtered."""

    def read(fleet: FleetCampaign) -> Response:
        rows, total = fleet.segments.page(
            sort=sort,
            descending=descending == "true",
            show=show,
            outcome=outcome,
            search=search,
            offset=offset,
            limit=limit,
        )
        after = offset + len(rows)
        values = [row.to_values() for row in rows]
        return json_response({"segments": values, "total": total, "next": after if rows and after < total else None})

    return await service_of(request).read_fleet(name, read)


@router.get("/segments/{segment:path}", response_model=SegmentDetailResponse, responses=_READ_ERRORS)
async def segment_detail(
    request: Request, name: CampaignName, segment: Annotated[str, Path(min_length=1, max_length=400)]
) -> Response:
    """Return one segment: the reason for its order, its coefficients, and its closed periods."""
    service = service_of(request)
    return await service.render_fleet(name, lambda fleet: json_response(segment_json(fleet, segment)))


@router.get("/ledger", response_model=FleetLedgerResponse, responses=_READ_ERRORS)
async def fleet_ledger(request: Request, name: CampaignName) -> Response:
    """Return the closed periods of all segments together."""

    def read(fleet: FleetCampaign) -> Response:
        return json_response({"periods": [period.to_values() for period in fleet.ledger()]})

    return await service_of(request).read_fleet(name, read)


@router.post("/orders", response_model=FleetOrderResponse, responses=_WRITE_ERRORS)
async def ask(request: Request, name: CampaignName, body: Annotated[FleetAskRequest, Body()]) -> Response:
    """Ask how many rows of each segment this period needs; segments shows them. Asking again returns the same order."""
    service, who = service_of(request), caller_name(request)

    def change(fleet: FleetCampaign) -> Response:
        order = fleet.ask(key=body.key, pool=body.pool, segments=body.segments, who=who)
        return json_response(order_json(order, segments=False))

    response = await service.change_fleet(name, change)
    service.metrics.orders.inc()
    return response


@router.post(
    "/deliveries",
    response_model=FleetReceiptResponse,
    responses=error_responses(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=table_body(required=False),
)
async def deliver(  # noqa: PLR0913  parameters of the request
    request: Request,
    name: CampaignName,
    final: Annotated[
        Flag | None, Query(description="Close the period with the rows delivered, or keep it open.")
    ] = None,
    key: Annotated[str | None, Query(min_length=1, max_length=200, description="Key of the period.")] = None,
    again: Annotated[Flag, Query(description="Count a delivery that was counted before.")] = "false",
    accept: Annotated[
        list[SegmentName] | None,
        Query(max_length=1_000, description="Segments whose rows are right though far larger or smaller than before."),
    ] = None,
    dry_run: Annotated[Flag, Query(description="Return the receipt; write nothing.")] = "false",
    sheet: Sheet = None,
    idempotency_key: Annotated[
        str | None,
        Header(min_length=1, max_length=200, description="Identifies the delivery; the default is its rows."),
    ] = None,
) -> Response:
    """Deliver labelled rows of any segments; a repeated delivery counts once. final=true without a body closes the period."""
    service, who = service_of(request), caller_name(request)
    upload = await receive_upload(request, sheet)
    if not upload.data and final != "true":
        raise ParameterError(
            "must contain rows unless final=true closes the period; it is empty.", owner="deliveries", name="body"
        )
    options: dict[str, Any] = {
        "final": None if final is None else final == "true",
        "key": key,
        "who": who,
        "dry_run": dry_run == "true",
    }

    def noting(fleet: Campaign | FleetCampaign) -> AbstractContextManager[None]:
        return refusals_noted(fleet, source=upload.source, who=who, dry_run=dry_run == "true" or not upload.data)

    ahead = await read_ahead(request, name, upload, owner="deliveries", noting=noting, find=service.fleets.get)

    def change(fleet: FleetCampaign) -> tuple[Response, FleetReceipt]:
        with noting(fleet):
            rows = _table(service, upload, fleet, ahead, "deliveries") if upload.data else None
            if rows is None:
                receipt = fleet.tell(**options)
            else:
                named = idempotency_key or f"sha256:{hashlib.sha256(upload.data).hexdigest()}"
                given = options | {"delivery": named, "again": again == "true", "accept": accept or ()}
                receipt = fleet.tell(rows, source=upload.source, **given)
        return json_response(receipt_json(receipt)), receipt

    response, receipt = await service.change_fleet(name, change)
    if dry_run == "false":
        service.metrics.count_fleet_delivery(receipt)
    return response


@router.post(
    "/sample",
    response_model=FleetSampleResponse,
    responses=error_responses(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=table_body(required=True),
)
async def sample(request: Request, name: CampaignName, sheet: Sheet = None) -> Response:
    """Draw the rows to label of each segment from a pool, and record them; segments that are new in it are added.

    Rows that were drawn before in the period and have no label are returned again.
    """
    service, who = service_of(request), caller_name(request)
    upload = await receive_upload(request, sheet)
    ahead = await read_ahead(request, name, upload, owner="sample", find=service.fleets.get)

    def change(fleet: FleetCampaign) -> Response:
        drawn = fleet.sample(_table(service, upload, fleet, ahead, "sample"), source=upload.source, who=who)
        return json_response(sample_json(drawn))

    return await service.change_fleet(name, change)


@router.post(
    "/predictions",
    response_model=PredictionsResponse,
    responses=error_responses(400, 404, 408, 409, 413, 415, 422),
    openapi_extra=table_body(required=True),
)
async def predictions(request: Request, name: CampaignName, sheet: Sheet = None) -> Response:
    """Predict rows, each with the model of its segment; nothing is changed."""
    service = service_of(request)
    upload = await receive_upload(request, sheet)
    ahead = await read_ahead(request, name, upload, owner="predictions", find=service.fleets.get)

    def compute() -> Response:
        fleet = service.fleets.get(name)
        made = fleet.predict_table(_table(service, upload, fleet, ahead, "predictions"))
        return json_response(predictions_json(made))

    return await run_cancellable(request, service.plans, compute)


def _table(service: Service, upload: Upload, fleet: FleetCampaign, ahead: ReadAhead | None, owner: str) -> Any:
    """Return the columns of a table; arrays and an empty body are refused."""
    if not upload.data:
        raise ParameterError("must contain rows; it is empty.", owner=owner, name="body")
    rows = read_rows(service, upload, fleet, ahead, owner=owner)
    if isinstance(rows, Arrays):
        raise ParameterError(
            "must be a table with the column of segments; got arrays X and y.", owner=owner, name="body"
        )
    return rows


@router.post("/budget", response_model=FleetStatusResponse, responses=_WRITE_ERRORS)
async def add_money(request: Request, name: CampaignName, body: Annotated[FleetMoneyRequest, Body()]) -> Response:
    """Add money to the budget that segments share, and periods to its horizon; an open order is recomputed."""
    who = caller_name(request)

    def change(fleet: FleetCampaign) -> Response:
        status = fleet.add_money(body.money, periods=body.periods, reason=body.reason, who=who, **body.prices())
        return json_response(status_json(status, segments=False))

    return await service_of(request).change_fleet(name, change)


@router.post("/undo", response_model=FleetUndoneResponse, responses=_WRITE_ERRORS)
async def undo(request: Request, name: CampaignName, body: Annotated[FleetUndoRequest, Body()]) -> Response:
    """Undo a delivery, a draw or the closing of a period, with a reason; the log keeps both."""
    who = caller_name(request)

    def change(fleet: FleetCampaign) -> Response:
        undone = fleet.undo(body.entry, delivery=body.delivery, period=body.period, reason=body.reason, who=who)
        return json_response(undone_json(undone))

    return await service_of(request).change_fleet(name, change)
