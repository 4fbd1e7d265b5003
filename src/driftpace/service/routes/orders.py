"""Routes of orders: ask, approve, override, withdraw rows, undo, add to the budget, plan."""

from typing import Annotated

from fastapi import APIRouter, Body, Request
from starlette.responses import Response

from driftpace.campaign import Campaign
from driftpace.campaign.definition import make_cost
from driftpace.campaign.serialization import order_json, plan_json, status_json, undone_json
from driftpace.errors import ParameterError
from driftpace.service.errors import ApiError, error_responses
from driftpace.service.limits import plan_within
from driftpace.service.request_schemas import (
    ApproveRequest,
    AskRequest,
    CampaignName,
    ForgetRequest,
    MoneyRequest,
    OverrideRequest,
    PlanRequest,
    ReleaseRequest,
    UndoRequest,
)
from driftpace.service.response_schemas import (
    OrderResponse,
    PlanResponse,
    StatusResponse,
    UndoneResponse,
    json_response,
)
from driftpace.service.state import caller_name, service_of
from driftpace.service.workers import run_cancellable

router = APIRouter(prefix="/api/campaigns/{name}")

_WRITE_ERRORS = error_responses(400, 404, 408, 409, 413, 422)


@router.post("/orders", tags=["orders"], response_model=OrderResponse, responses=_WRITE_ERRORS)
async def ask(request: Request, name: CampaignName, body: Annotated[AskRequest, Body()]) -> Response:
    """Ask how many rows this period needs. Asking again, with the same key or none, returns the same order."""
    service, who = service_of(request), caller_name(request)

    def change(campaign: Campaign) -> Response:
        return json_response(order_json(campaign.ask(key=body.key, pool=body.pool, who=who)))

    response = await service.change(name, change)
    service.metrics.orders.inc()
    return response


@router.get("/orders/current", tags=["orders"], response_model=OrderResponse, responses=error_responses(404, 422))
async def current(request: Request, name: CampaignName) -> Response:
    """Return the open order."""

    def read(campaign: Campaign) -> Response:
        status = campaign.status()
        if status.order is None:
            raise ApiError(404, "no_order", f"no order is open in period {status.period}; POST orders creates one.")
        return json_response(order_json(status.order))

    return await service_of(request).read(name, read)


@router.post("/orders/current/approve", tags=["orders"], response_model=OrderResponse, responses=_WRITE_ERRORS)
async def approve(request: Request, name: CampaignName, body: Annotated[ApproveRequest, Body()]) -> Response:
    """Approve the open order as the tracker made it."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        return json_response(order_json(campaign.approve(reason=body.reason, period=body.period, who=who)))

    return await service_of(request).change(name, change)


@router.post("/orders/current/override", tags=["orders"], response_model=OrderResponse, responses=_WRITE_ERRORS)
async def override(request: Request, name: CampaignName, body: Annotated[OverrideRequest, Body()]) -> Response:
    """Replace the number of rows of the open order, with a reason."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        order = campaign.override(body.samples, reason=body.reason, period=body.period, who=who)
        return json_response(order_json(order))

    return await service_of(request).change(name, change)


@router.post("/deliveries/forget", tags=["deliveries"], response_model=OrderResponse, responses=_WRITE_ERRORS)
async def forget(request: Request, name: CampaignName, body: Annotated[ForgetRequest, Body()]) -> Response:
    """Withdraw the rows delivered so far in the open period, with a reason."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        return json_response(order_json(campaign.forget(reason=body.reason, period=body.period, who=who)))

    return await service_of(request).change(name, change)


@router.post("/undo", tags=["log"], response_model=UndoneResponse, responses=_WRITE_ERRORS)
async def undo(request: Request, name: CampaignName, body: Annotated[UndoRequest, Body()]) -> Response:
    """Undo a delivery, a decision, a draw or the closing of a period, with a reason; the log keeps both."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        undone = campaign.undo(
            body.entry, delivery=body.delivery, period=body.period, refund=body.refund, reason=body.reason, who=who
        )
        return json_response(undone_json(undone))

    return await service_of(request).change(name, change)


@router.post("/orders/current/release", tags=["orders"], response_model=UndoneResponse, responses=_WRITE_ERRORS)
async def release(request: Request, name: CampaignName, body: Annotated[ReleaseRequest, Body()]) -> Response:
    """Release the rows drawn for labelling in the open period, with a reason."""
    who = caller_name(request)

    def change(campaign: Campaign) -> Response:
        return json_response(undone_json(campaign.release(reason=body.reason, who=who)))

    return await service_of(request).change(name, change)


@router.post("/budget", tags=["orders"], response_model=StatusResponse, responses=_WRITE_ERRORS)
async def add_money(request: Request, name: CampaignName, body: Annotated[MoneyRequest, Body()]) -> Response:
    """Add money to the budget and periods to its horizon; an open order is recomputed."""
    service, who = service_of(request), caller_name(request)

    def change(campaign: Campaign) -> Response:
        budget, period = campaign.definition.budget, campaign.status().period
        remaining = body.periods + (0 if budget is None else max(0, int(budget["horizon"]) - period + 1))
        if remaining > service.limits.horizon:
            raise ParameterError(
                f"must leave at most {service.limits.horizon} periods to plan; got {remaining}.",
                owner="body",
                name="periods",
            )
        status = campaign.add_money(body.money, periods=body.periods, reason=body.reason, who=who, **body.prices())
        return json_response(status_json(status))

    return await service.change(name, change)


@router.post("/plans", tags=["plans"], response_model=PlanResponse, responses=_WRITE_ERRORS)
async def plan(request: Request, name: CampaignName, body: Annotated[PlanRequest, Body()]) -> Response:
    """Plan from this period on; nothing is changed.

    With a horizon alone the plan is the cheapest that meets the target; with a budget too, the best for that money.
    """
    service = service_of(request)

    def compute() -> Response:
        campaign = service.campaigns.get(name)
        prices = body.prices()
        if prices:
            budget = campaign.definition.budget or {}
            prices = {**({"currency": budget["currency"]} if "currency" in budget else {}), **prices}
        cost = make_cost(prices) if prices else None
        return json_response(
            plan_json(
                plan_within(
                    campaign,
                    service.limits.horizon,
                    cost=cost,
                    epsilon=body.epsilon,
                    budget=body.budget,
                    horizon=body.horizon,
                    gap=body.gap,
                )
            )
        )

    return await run_cancellable(request, service.plans, compute)
