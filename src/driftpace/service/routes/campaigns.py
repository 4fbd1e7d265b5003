"""Campaigns: the list of them, beginning one, where one stands, and what is known of it."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from driftpace.campaign import Campaign
from driftpace.campaign.export_import import export_chunks
from driftpace.campaign.serialization import entry_json, head_json, ledger_json, status_json
from driftpace.errors import ParameterError, UnknownCampaignError
from driftpace.service.answers import CampaignsAnswer, DefinitionAnswer, LogAnswer, ReportsAnswer, StatusAnswer
from driftpace.service.bodies import DefinitionSent
from driftpace.service.failures import Refused, declared
from driftpace.service.parts import Service, caller_of, service_of, who
from driftpace.service.routes.answering import CampaignName, Limit, as_json

router = APIRouter(prefix="/api/campaigns", tags=["campaigns"])

Search = Annotated[str, Query(max_length=100, description="Part of the name.")]


@router.get("", response_model=CampaignsAnswer, responses=declared(422))
async def list_campaigns(
    request: Request,
    search: Search = "",
    after: Annotated[str, Query(max_length=100, description="Go on behind this name.")] = "",
    limit: Limit = 100,
) -> Response:
    """List campaigns by name, with what is to be done in each."""
    service = service_of(request)

    def look() -> Response:
        found = service.store.heads(after=after, limit=limit + 1, search=search)
        more = found[limit - 1].name if len(found) > limit else None
        total = service.store.count(search=search)
        return as_json({"campaigns": [head_json(one) for one in found[:limit]], "total": total, "next": more})

    return await service.reads.run(look)


@router.post("", status_code=201, response_model=StatusAnswer, responses=declared(400, 408, 409, 413, 422))
async def create_campaign(request: Request, definition: DefinitionSent) -> Response:
    """Begin a campaign."""
    service, by = service_of(request), who(request)

    def create() -> Response:
        if service.store.head(definition.name) is not None:
            raise _taken(definition.name)
        values = definition.values_for(most_columns=service.limits.tables.columns, longest=service.limits.horizon)
        try:
            campaign = Campaign.create(values, storage=service.store, who=by)
        except ParameterError:
            if service.store.head(definition.name) is None:
                raise
            raise _taken(definition.name) from None  # somebody was faster
        where = {"Location": f"/api/campaigns/{campaign.name}"}
        return as_json(status_json(campaign.status()), status=201, headers=where)

    return await service.fits.run(create)


@router.get("/{name}", response_model=StatusAnswer, responses=declared(404, 422))
async def campaign_status(request: Request, name: CampaignName) -> Response:
    """Say where a campaign stands, and what to do now."""
    service = service_of(request)
    return await service.reads.run(lambda: as_json(status_json(service.handles.campaign(name).status())))


@router.get("/{name}/definition", response_model=DefinitionAnswer, responses=declared(404, 422))
async def campaign_definition(request: Request, name: CampaignName) -> Response:
    """Say what a campaign is about."""
    service = service_of(request)
    return await service.reads.run(lambda: as_json(service.handles.campaign(name).definition.to_values()))


@router.get("/{name}/reports", response_model=ReportsAnswer, responses=declared(404, 422))
async def campaign_reports(
    request: Request,
    name: CampaignName,
    after: Annotated[int, Query(ge=0, le=10**9, description="Go on behind this period.")] = 0,
    limit: Limit = 500,
) -> Response:
    """Return the ledger: what was promised in each closed period, and what was measured."""
    service = service_of(request)

    def look() -> Response:
        campaign = service.handles.campaign(name)
        _require(service, name)
        rows = [row for row in campaign.ledger() if row.report.period > after]
        more = rows[limit - 1].report.period if len(rows) > limit else None
        return as_json({"reports": [ledger_json(row) for row in rows[:limit]], "next": more})

    return await service.reads.run(look)


@router.get("/{name}/log", response_model=LogAnswer, responses=declared(404, 422))
async def campaign_log(
    request: Request,
    name: CampaignName,
    after: Annotated[int, Query(ge=0, le=10**9, description="Go on behind this number.")] = 0,
    limit: Limit = 100,
) -> Response:
    """Return what happened, in order."""
    service = service_of(request)

    def look() -> Response:
        found = service.handles.campaign(name).log(after=after, limit=limit + 1)
        more = found[limit - 1].seq if len(found) > limit else None
        return as_json({"entries": [entry_json(one) for one in found[:limit]], "next": more})

    return await service.reads.run(look)


@router.get(
    "/{name}/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The campaign as one file, for `driftpace import`.",
            "content": {"application/gzip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **declared(404, 422),
    },
)
async def campaign_export(request: Request, name: CampaignName) -> Response:
    """Return the whole campaign as one file, rows included where they were kept."""
    service = service_of(request)
    pieces = await service.reads.run(lambda: export_chunks(service.handles.campaign(name)))
    first = await service.reads.run(next, pieces, b"")

    async def file() -> AsyncIterator[bytes]:
        piece: bytes | None = first
        while piece is not None:
            if piece:
                yield piece
            piece = await service.reads.run(next, pieces, None)

    return StreamingResponse(
        file(),
        media_type="application/gzip",
        headers={"Content-Disposition": f'attachment; filename="{name}.campaign.gz"'},
    )


@router.get(
    "/{name}/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Server-sent events `changed` with `{campaign, entries}`, the first at once.",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
        **declared(404, 422),
    },
)
async def campaign_stream(request: Request, name: CampaignName) -> Response:
    """Tell when a campaign changes, for as long as the client listens."""
    service = service_of(request)
    head = await service.reads.run(service.store.head, name)
    if head is None:
        raise UnknownCampaignError(f"there is no campaign named {name!r}.")
    caller, session = caller_of(request), request.state.session
    return service.watch.begin(name, head.seq, lambda: service.standing.holds(caller, session))


def _require(service: Service, name: str) -> None:
    if service.store.head(name) is None:
        raise UnknownCampaignError(f"there is no campaign named {name!r}.")


def _taken(name: str) -> Refused:
    return Refused(409, "name_taken", f"Campaign(name=...) must be a name that is free; got {name!r}, which exists.")
