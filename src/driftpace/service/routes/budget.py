"""More money for a campaign, and more periods for it to last."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from driftpace.campaign.serialization import status_json
from driftpace.errors import ParameterError
from driftpace.service.answers import StatusAnswer
from driftpace.service.bodies import MoneySent
from driftpace.service.failures import declared
from driftpace.service.parts import service_of, who
from driftpace.service.routes.answering import CampaignName, as_json

router = APIRouter(prefix="/api/campaigns/{name}", tags=["orders"])


@router.post("/budget", response_model=StatusAnswer, responses=declared(400, 404, 408, 409, 413, 422))
async def add_money(request: Request, name: CampaignName, added: Annotated[MoneySent, Body()]) -> Response:
    """Add money to the budget, and periods to its horizon; an open order is made anew."""
    service, by = service_of(request), who(request)

    def run() -> Response:
        campaign = service.handles.campaign(name)
        own, period = campaign.definition.budget, campaign.status().period
        ahead = added.periods + (0 if own is None else max(0, int(own["horizon"]) - period + 1))
        if ahead > service.limits.horizon:
            raise ParameterError(
                f"must leave at most {service.limits.horizon} periods to plan for; got {ahead}.",
                owner="body",
                name="periods",
            )
        status = campaign.add_money(added.money, periods=added.periods, reason=added.reason, who=by, **added.prices())
        return as_json(status_json(status))

    answer = await service.fits.run(run)
    service.watch.changed(name)
    return answer
