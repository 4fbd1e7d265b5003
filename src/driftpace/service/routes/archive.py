"""Routes that erase rows, and archive campaigns of one model and of segments; they need the role admin."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from driftpace.campaign import Campaign, FleetCampaign
from driftpace.campaign.fleet.records import FleetStatus
from driftpace.campaign.fleet.serialization import status_json as fleet_json
from driftpace.campaign.records import Status
from driftpace.campaign.serialization import erasure_json, status_json
from driftpace.service.errors import error_responses
from driftpace.service.fleet_schemas import FleetStatusResponse
from driftpace.service.request_schemas import ArchiveRequest, CampaignName, EraseRequest
from driftpace.service.response_schemas import ErasureResponse, StatusResponse, json_response
from driftpace.service.state import caller_name, service_of

router = APIRouter(prefix="/api/campaigns/{name}", tags=["campaigns"])

_WRITE_ERRORS = error_responses(400, 404, 408, 409, 413, 422)


@router.post("/erase", response_model=ErasureResponse, responses=_WRITE_ERRORS)
async def erase(request: Request, name: CampaignName, body: Annotated[EraseRequest, Body()]) -> Response:
    """Erase the content of rows, of persons by their ids or of old periods; the log stays verifiable. It cannot be undone."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        erasure = campaign.erase(
            body.ids,
            before=body.before,
            older_than=body.older_than,
            reason=body.reason,
            who=who,
            dry_run=body.dry_run,
        )
        return json_response(erasure_json(erasure))

    return await service_of(request).change(name, change)


@router.post("/archive", response_model=StatusResponse | FleetStatusResponse, responses=_WRITE_ERRORS)
async def archive(request: Request, name: CampaignName, body: Annotated[ArchiveRequest, Body()]) -> Response:
    """Archive a campaign: it can be read, changes are refused, and lists leave it out."""
    who = caller_name(request)
    return await _change(request, name, lambda campaign: campaign.archive(reason=body.reason, who=who))


@router.post("/unarchive", response_model=StatusResponse | FleetStatusResponse, responses=_WRITE_ERRORS)
async def unarchive(request: Request, name: CampaignName, body: Annotated[ArchiveRequest, Body()]) -> Response:
    """Open an archived campaign again, as it was."""
    who = caller_name(request)
    return await _change(request, name, lambda campaign: campaign.unarchive(reason=body.reason, who=who))


async def _change(
    request: Request, name: str, function: Callable[[Campaign | FleetCampaign], Status | FleetStatus]
) -> Response:
    """Change a campaign of one model or of segments, and return its status."""

    def change(campaign: Any) -> Response:
        status = function(campaign)
        values = fleet_json(status, segments=False) if isinstance(status, FleetStatus) else status_json(status)
        return json_response(values)

    service = service_of(request)
    if await service.reads.run(service.is_fleet, name):
        return await service.change_fleet(name, change)
    return await service.change(name, change)
