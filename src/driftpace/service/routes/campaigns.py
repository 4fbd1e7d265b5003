"""Routes of campaigns: list, create, status, definition, ledger, log, export and event stream."""

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request
from starlette.responses import Response, StreamingResponse

from driftpace.campaign import Campaign, FleetCampaign
from driftpace.campaign.export_import import export_chunks
from driftpace.campaign.fleet.serialization import status_json as fleet_json
from driftpace.campaign.ledger import Ledger, ledger_columns
from driftpace.campaign.ledger_log import read_ledger_rows
from driftpace.campaign.serialization import entry_json, head_json, ledger_json, status_json
from driftpace.errors import ParameterError, UnknownCampaignError
from driftpace.service.errors import ApiError, error_responses
from driftpace.service.fleet_schemas import FleetStatusResponse
from driftpace.service.request_schemas import (
    PLAIN_DIGITS,
    AmendRequest,
    CampaignName,
    DefinitionRequest,
    Limit,
    RetrainRequest,
)
from driftpace.service.response_schemas import (
    CampaignsResponse,
    DefinitionResponse,
    LedgerTableResponse,
    LogResponse,
    RefusalsResponse,
    ReportsResponse,
    StatusResponse,
    json_response,
)
from driftpace.service.state import caller_name, caller_of, campaigns_of, service_of

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"])


@router.get("", response_model=CampaignsResponse, responses=error_responses(422))
async def list_campaigns(
    request: Request,
    search: Annotated[str, Query(max_length=100, description="Part of the name.")] = "",
    after: Annotated[str, Query(max_length=100, description="Start after this name.")] = "",
    limit: Limit = 100,
    archived: Annotated[bool, Query(description="Those that are archived, which are left out otherwise.")] = False,
) -> Response:
    """List campaigns by name, with the next step of each."""
    campaigns = campaigns_of(request)

    def read() -> Response:
        heads = campaigns.heads(after=after, limit=limit + 1, search=search, archived=archived)
        next_name = heads[limit - 1].name if len(heads) > limit else None
        total = campaigns.count(search=search, archived=archived)
        page = [head_json(head) for head in heads[:limit]]
        return json_response({"campaigns": page, "total": total, "next": next_name})

    return await service_of(request).reads.run(read)


@router.post(
    "",
    status_code=201,
    response_model=StatusResponse | FleetStatusResponse,
    responses=error_responses(400, 408, 409, 413, 422),
)
async def create_campaign(request: Request, definition: DefinitionRequest) -> Response:
    """Create a campaign; with a column of segments, one with a model for each."""
    service, who = service_of(request), caller_name(request)

    def create() -> Response:
        if service.store.head(definition.name) is not None:
            raise _name_taken(definition.name)
        values = definition.values_within(max_columns=service.limits.tables.columns, max_horizon=service.limits.horizon)
        try:
            if definition.segment is not None:
                names = definition.segments or ()
                fleet = FleetCampaign.create(values, storage=service.store, segments=names, who=who)
                made = fleet_json(fleet.status(), segments=False)
            else:
                made = status_json(Campaign.create(values, storage=service.store, who=who).status())
        except ParameterError:
            if service.store.head(definition.name) is None:
                raise
            raise _name_taken(definition.name) from None  # created concurrently
        headers = {"Location": f"/api/campaigns/{definition.name}"}
        return json_response(made, status=201, headers=headers)

    return await service.fits.run(create)


@router.get("/{name}", response_model=StatusResponse, responses=error_responses(404, 422))
async def campaign_status(request: Request, name: CampaignName) -> Response:
    """Return the status of a campaign and the next step."""
    return await service_of(request).read(name, lambda campaign: json_response(status_json(campaign.status())))


@router.get("/{name}/definition", response_model=DefinitionResponse, responses=error_responses(404, 422))
async def campaign_definition(request: Request, name: CampaignName) -> Response:
    """Return the definition of a campaign."""
    return await service_of(request).read_any(name, lambda campaign: json_response(campaign.definition.to_values()))


@router.post("/{name}/amend", response_model=StatusResponse, responses=error_responses(400, 404, 408, 409, 413, 422))
async def amend(request: Request, name: CampaignName, amendment: Annotated[AmendRequest, Body()]) -> Response:
    """Map unlisted categories of a column to a listed one, or add classes of the target, from now on."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        status = campaign.amend(
            unknown_categories=amendment.unknown_categories,
            new_classes=amendment.new_classes,
            reason=amendment.reason,
            who=who,
        )
        return json_response(status_json(status))

    return await service_of(request).change(name, change)


@router.post("/{name}/retrain", response_model=StatusResponse, responses=error_responses(400, 404, 408, 409, 413, 422))
async def retrain(request: Request, name: CampaignName, body: Annotated[RetrainRequest, Body()]) -> Response:
    """Train the base model of a campaign again on the rows labelled so far, with a reason; no label is bought for it."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        return json_response(status_json(campaign.retrain(reason=body.reason, who=who)))

    return await service_of(request).change(name, change)


@router.get("/{name}/reports", response_model=ReportsResponse, responses=error_responses(404, 422))
async def campaign_reports(
    request: Request,
    name: CampaignName,
    after: Annotated[int, Query(ge=0, le=10**9, description="Start after this period."), PLAIN_DIGITS] = 0,
    limit: Limit = 500,
) -> Response:
    """Return the full reports of the closed periods, with what was measured and who decided what."""
    service = service_of(request)

    def read() -> Response:
        if service.store.head(name) is None:
            raise _unknown(name)
        rows = read_ledger_rows(service.store, name, after=after, limit=limit + 1)
        next_period = rows[limit - 1].report.period if len(rows) > limit else None
        return json_response({"reports": [ledger_json(row) for row in rows[:limit]], "next": next_period})

    return await service.reads.run(read)


@router.get("/{name}/ledger", response_model=LedgerTableResponse, responses=error_responses(404, 422))
async def campaign_ledger(
    request: Request,
    name: CampaignName,
    after: Annotated[int, Query(ge=0, le=10**9, description="Start after this period."), PLAIN_DIGITS] = 0,
    limit: Limit = 500,
) -> Response:
    """Return the ledger as a table: the columns of the dashboard, the command line and the report, one row per closed period."""
    service = service_of(request)

    def read() -> Response:
        ledger = service.histories.get(name).ledger
        columns = ledger_columns(ledger)
        rows = Ledger(row for row in ledger if row.report.period > after)
        fields = ("key", "heading", "description", "kind", "shown")
        page = {
            "columns": [{field: getattr(column, field) for field in fields} for column in columns],
            "rows": [{column.key: column.value(row) for column in columns} for row in rows[:limit]],
            "next": rows[limit - 1].report.period if len(rows) > limit else None,
        }
        return json_response(page)

    return await service.reads.run(read)


@router.get("/{name}/log", response_model=LogResponse, responses=error_responses(404, 422))
async def campaign_log(
    request: Request,
    name: CampaignName,
    after: Annotated[int, Query(ge=0, le=10**9, description="Start after this entry."), PLAIN_DIGITS] = 0,
    limit: Limit = 100,
) -> Response:
    """Return the log of a campaign, oldest entry first."""

    def read(campaign: Campaign | FleetCampaign) -> Response:
        entries = campaign.log(after=after, limit=limit + 1)
        next_entry = entries[limit - 1].seq if len(entries) > limit else None
        return json_response({"entries": [entry_json(entry) for entry in entries[:limit]], "next": next_entry})

    return await service_of(request).read_any(name, read)


@router.get("/{name}/refusals", response_model=RefusalsResponse, responses=error_responses(404, 422))
async def campaign_refusals(request: Request, name: CampaignName) -> Response:
    """Return the last deliveries that were refused, oldest first: when, who, which file, and why."""

    def read(campaign: Campaign | FleetCampaign) -> Response:
        return json_response({"refusals": [asdict(refusal) for refusal in campaign.refusals()]})

    return await service_of(request).read_any(name, read)


@router.get(
    "/{name}/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The campaign as one file, for `driftpace import`.",
            "content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **error_responses(404, 422),
    },
)
async def campaign_export(request: Request, name: CampaignName) -> Response:
    """Return the whole campaign as one file, with its rows if they are kept."""
    service = service_of(request)
    pieces = await service.render_any(name, export_chunks)
    first = await service.pages.run(next, pieces, b"")

    async def content() -> AsyncIterator[bytes]:
        piece: bytes | None = first
        while piece is not None:
            if piece:
                yield piece
            piece = await service.pages.run(next, pieces, None)

    return StreamingResponse(
        content(),
        media_type="application/gzip",
        headers={"Content-Disposition": f'attachment; filename="{name}.campaign.gz"'},
    )


@router.get(
    "/{name}/report",
    response_class=Response,
    responses={
        200: {
            "description": "A self-contained HTML page, as a download.",
            "content": {"text/html": {"schema": {"type": "string"}}},
        },
        **error_responses(404, 415, 422),
    },
)
async def campaign_report(request: Request, name: CampaignName) -> Response:
    """Return the report of a campaign as one HTML file; its figures need plotly.

    It is a download because it contains scripts, which the content security policy of the service forbids in a page.
    """
    from driftpace.report import campaign_report as write_report

    page = await service_of(request).render(name, write_report)
    headers = {"Content-Disposition": f'attachment; filename="{name}-report.html"'}
    return Response(page.encode(), media_type="text/html; charset=utf-8", headers=headers)


@router.get(
    "/{name}/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events `changed` with `{campaign, entries}`; the first is sent at once.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **error_responses(404, 422),
    },
)
async def campaign_stream(request: Request, name: CampaignName) -> Response:
    """Stream an event whenever a campaign changes."""
    service = service_of(request)
    head = await service.reads.run(service.store.head, name)
    if head is None:
        raise _unknown(name)
    caller, session = caller_of(request), request.state.session
    return service.events.open(name, head.seq, lambda: service.token_recheck.is_valid(caller, session))


def _unknown(name: str) -> UnknownCampaignError:
    return UnknownCampaignError(f"there is no campaign named {name!r}.")


def _name_taken(name: str) -> ApiError:
    return ApiError(
        409, "name_taken", f"must be unused; got {name!r}, which exists.", owner="Campaign", parameter="name"
    )
