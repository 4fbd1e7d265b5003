"""Orders: asking how many rows a period needs, and deciding about the answer."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from driftpace.campaign.serialization import order_json
from driftpace.service.answers import OrderAnswer
from driftpace.service.bodies import ApproveSent, AskSent, ForgetSent, OverrideSent
from driftpace.service.failures import Refused, declared
from driftpace.service.parts import service_of, who
from driftpace.service.routes.answering import CampaignName, as_json

router = APIRouter(prefix="/api/campaigns/{name}", tags=["orders"])

_WRITES = declared(400, 404, 408, 409, 413, 422)


@router.post("/orders", response_model=OrderAnswer, responses=_WRITES)
async def ask(request: Request, name: CampaignName, asked: Annotated[AskSent, Body()]) -> Response:
    """Ask how many rows this period needs. Asking again, by the same key or by none, returns the same order."""
    service, by = service_of(request), who(request)

    def run() -> Response:
        return as_json(order_json(service.handles.campaign(name).ask(key=asked.key, pool=asked.pool, who=by)))

    answer = await service.fits.run(run)
    service.metrics.orders.inc()
    service.watch.changed(name)
    return answer


@router.get("/orders/current", response_model=OrderAnswer, responses=declared(404, 422))
async def current(request: Request, name: CampaignName) -> Response:
    """Return the open order."""
    service = service_of(request)

    def look() -> Response:
        status = service.handles.campaign(name).status()
        if status.order is None:
            raise Refused(404, "no_order", f"no order is open in period {status.period}; POST orders asks for one.")
        return as_json(order_json(status.order))

    return await service.reads.run(look)


@router.post("/orders/current/approve", response_model=OrderAnswer, responses=_WRITES)
async def approve(request: Request, name: CampaignName, approved: Annotated[ApproveSent, Body()]) -> Response:
    """Agree with the open order as it was made."""
    service, by = service_of(request), who(request)

    def run() -> Response:
        campaign = service.handles.campaign(name)
        return as_json(order_json(campaign.approve(reason=approved.reason, period=approved.period, who=by)))

    answer = await service.fits.run(run)
    service.watch.changed(name)
    return answer


@router.post("/orders/current/override", response_model=OrderAnswer, responses=_WRITES)
async def override(request: Request, name: CampaignName, decided: Annotated[OverrideSent, Body()]) -> Response:
    """Put a number of your own in the place of the open order, with the reason."""
    service, by = service_of(request), who(request)

    def run() -> Response:
        campaign = service.handles.campaign(name)
        order = campaign.override(decided.samples, reason=decided.reason, period=decided.period, who=by)
        return as_json(order_json(order))

    answer = await service.fits.run(run)
    service.watch.changed(name)
    return answer


@router.post("/deliveries/forget", response_model=OrderAnswer, responses=_WRITES)
async def forget(request: Request, name: CampaignName, said: Annotated[ForgetSent, Body()]) -> Response:
    """Take back the rows told so far in the open period."""
    service, by = service_of(request), who(request)

    def run() -> Response:
        campaign = service.handles.campaign(name)
        return as_json(order_json(campaign.forget(reason=said.reason, period=said.period, who=by)))

    answer = await service.fits.run(run)
    service.watch.changed(name)
    return answer
