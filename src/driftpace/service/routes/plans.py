"""What if: a plan with another target, budget or price; nothing is changed by it."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from driftpace.campaign.definition import make_cost
from driftpace.campaign.serialization import plan_json
from driftpace.service.answers import PlanAnswer
from driftpace.service.bodies import PlanSent
from driftpace.service.failures import declared
from driftpace.service.parts import service_of
from driftpace.service.planning import plan_within
from driftpace.service.routes.answering import CampaignName, as_json
from driftpace.service.waiting import while_waited_for

router = APIRouter(prefix="/api/campaigns/{name}", tags=["plans"])


@router.post("/plans", response_model=PlanAnswer, responses=declared(400, 404, 408, 409, 413, 422))
async def plan(request: Request, name: CampaignName, wanted: Annotated[PlanSent, Body()]) -> Response:
    """Plan from this period on. With a horizon alone the cheapest plan that holds the target, with both the best for the money."""
    service = service_of(request)

    def run() -> Response:
        campaign = service.handles.campaign(name)
        prices = wanted.prices()
        if prices:
            own = campaign.definition.budget or {}
            prices = {**({"currency": own["currency"]} if "currency" in own else {}), **prices}
        asked = {one: getattr(wanted, one) for one in ("epsilon", "budget", "horizon", "gap")}
        cost = make_cost(prices) if prices else None
        return as_json(plan_json(plan_within(campaign, service.limits.horizon, cost=cost, **asked)))

    return await while_waited_for(request, service.plans, run)
