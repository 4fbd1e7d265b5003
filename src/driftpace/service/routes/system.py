"""Routes of the service itself: login, logout, the current caller, liveness, readiness and metrics."""

from dataclasses import asdict
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from driftpace.campaign.alerts import find_alerts
from driftpace.service.auth import find_token
from driftpace.service.authentication import is_secure, local_path, set_cookie
from driftpace.service.errors import busy_error, error_responses
from driftpace.service.logging import peer_of
from driftpace.service.metrics import all_heads
from driftpace.service.response_schemas import AlertsResponse, HealthResponse, SessionResponse, json_response
from driftpace.service.state import caller_of, campaigns_of, service_of
from driftpace.service.templating import login_page

router = APIRouter()

_UNKNOWN_TOKEN = "The token is unknown or expired."
_HOOK_TOKEN = "This token is for labelling tools only. Log in with a token that has the scope “read”."


@router.get("/login", include_in_schema=False)
async def login_form(request: Request) -> Response:
    """Return the login page; ``next`` is the page to open afterwards."""
    return _login_page(request, local_path(request.query_params.get("next", "/")))


@router.post("/login", include_in_schema=False)
async def login(request: Request) -> Response:
    """Start a session with a token; repeated failures are throttled."""
    service = service_of(request)
    peer = peer_of(request.scope)
    seconds = service.login_throttle.seconds_left(peer)
    if seconds > 0.0:
        raise busy_error("too many failed logins; wait.", seconds=seconds, status=429)
    form = _form_fields(await request.body())
    target = local_path(form.get("next", "/"))
    token = await service.checks.run(find_token, service.store, form.get("token", "").strip())
    if token is None:
        service.login_throttle.record_failure(peer)
        return _login_page(request, target, _UNKNOWN_TOKEN, status=401)
    if not set(token.scopes) & {"read", "label", "order", "write"}:  # a valid secret, so it does not count as a failure
        return _login_page(request, target, _HOOK_TOKEN, status=403)
    service.login_throttle.reset(peer)
    await service.checks.run(service.sessions.close, request.state.session)  # the previous session of this browser
    session = await service.checks.run(service.sessions.open, token.digest)
    return _redirect(request, target, session)


@router.post("/logout", include_in_schema=False)
async def logout(request: Request) -> Response:
    """End the session."""
    service = service_of(request)
    await service.checks.run(service.sessions.close, request.state.session)
    return _redirect(request, "/login", "")


@router.get("/api/session", tags=["session"], response_model=SessionResponse, responses=error_responses())
async def session(request: Request) -> Response:
    """Return the caller, its scopes and the CSRF token for its writes."""
    caller = caller_of(request)
    return json_response(
        {
            "name": caller.name,
            "scopes": list(caller.scopes),
            "campaigns": list(caller.campaigns) or None,
            "csrf": request.state.csrf,
        }
    )


def _login_page(request: Request, target: str, message: str = "", *, status: int = 200) -> HTMLResponse:
    return HTMLResponse(login_page(request, message=message, target=target), status_code=status)


def _redirect(request: Request, address: str, session: str) -> Response:
    """Return a redirect that sets the session cookie, or deletes it for an empty session."""
    response = RedirectResponse(address, status_code=303)
    headers = dict(request.headers)
    secure = is_secure(request.scope, headers)
    response.headers.append("set-cookie", set_cookie(headers, session, secure=secure))
    return response


def _form_fields(body: bytes) -> dict[str, str]:
    try:
        return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=5).items()}
    except ValueError:  # more fields than the form has
        return {}


@router.get("/api/alerts", tags=["campaigns"], response_model=AlertsResponse, responses=error_responses())
async def alerts(request: Request) -> Response:
    """Return what somebody should look at: orders that wait too long, targets that are not supported, money nearly spent."""
    campaigns = campaigns_of(request)

    def read() -> Response:
        found = find_alerts(all_heads(campaigns))
        return json_response({"alerts": [{**asdict(alert), "key": alert.key} for alert in found]})

    return await service_of(request).reads.run(read)


@router.get("/healthz", tags=["health"], response_model=HealthResponse)
async def healthz() -> Response:
    """Return 200 while the process is alive."""
    return json_response({"status": "ok"})


@router.get("/readyz", tags=["health"], response_model=HealthResponse, responses={503: error_responses(503)[503]})
async def readyz(request: Request) -> Response:
    """Return 200 if the store can be reached and the service is not about to stop, else 503."""
    service = service_of(request)
    if service.draining.is_set():
        raise busy_error("the service is about to stop.", seconds=5)
    await service.readiness.require()
    return json_response({"status": "ok"})


@router.get(
    "/metrics",
    tags=["health"],
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
