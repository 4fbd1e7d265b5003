"""Routes for monitoring: liveness, readiness and metrics."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from driftpace.service.errors import error_responses
from driftpace.service.schemas.responses import HealthResponse, json_response
from driftpace.service.state import service_of

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=HealthResponse)
async def healthz() -> Response:
    """Return 200 while the process is alive."""
    return json_response({"status": "ok"})


@router.get("/readyz", response_model=HealthResponse, responses={503: error_responses(503)[503]})
async def readyz(request: Request) -> Response:
    """Return 200 if the store can be reached, else 503."""
    await service_of(request).readiness.require()
    return json_response({"status": "ok"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus text.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **error_responses(),
    },
)
async def metrics(request: Request) -> Response:
    """Return metrics in the Prometheus text format."""
    service = service_of(request)
    service.metrics.streams.set(service.events.streams)
    text = await service.reads.run(service.metrics.text, service.store)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
