"""Whether the process lives, whether its store does, and its numbers."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from driftpace.service.answers import HealthAnswer
from driftpace.service.failures import declared
from driftpace.service.parts import service_of
from driftpace.service.routes.answering import as_json

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=HealthAnswer)
async def healthz() -> Response:
    """Say that the process answers."""
    return as_json({"status": "ok"})


@router.get("/readyz", response_model=HealthAnswer, responses={503: declared(503)[503]})
async def readyz(request: Request) -> Response:
    """Say whether the store can be reached."""
    service = service_of(request)
    await service.readiness.require()
    return as_json({"status": "ok"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **declared(),
    },
)
async def metrics(request: Request) -> Response:
    """Return counters as Prometheus reads them."""
    service = service_of(request)
    service.metrics.streams.set(service.watch.streams)
    text = await service.reads.run(service.metrics.text, service.store)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
