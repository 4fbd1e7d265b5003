"""What words count as that a campaign does not list."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from driftpace.campaign.serialization import status_json
from driftpace.service.answers import StatusAnswer
from driftpace.service.bodies import AmendSent
from driftpace.service.failures import declared
from driftpace.service.parts import service_of, who
from driftpace.service.routes.answering import CampaignName, as_json

router = APIRouter(prefix="/api/campaigns/{name}", tags=["campaigns"])


@router.post("/amend", response_model=StatusAnswer, responses=declared(400, 404, 408, 409, 413, 422))
async def amend(request: Request, name: CampaignName, said: Annotated[AmendSent, Body()]) -> Response:
    """Say which of the listed words any other word of a column counts as, from now on."""
    service, by = service_of(request), who(request)

    def run() -> Response:
        campaign = service.handles.campaign(name)
        return as_json(
            status_json(campaign.amend(unknown_categories=said.unknown_categories, reason=said.reason, who=by))
        )

    answer = await service.fits.run(run)
    service.watch.changed(name)
    return answer
