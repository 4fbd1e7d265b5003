"""Logging in to the page: a token is shown once, and a cookie stands for it."""

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from driftpace.service.answers import SessionAnswer
from driftpace.service.dashboard.rendering import login_page
from driftpace.service.failures import busy, declared
from driftpace.service.guard import is_secure, set_cookie
from driftpace.service.parts import caller_of, service_of
from driftpace.service.routes.answering import as_json
from driftpace.service.tokens import find_token

router = APIRouter()


def _page(request: Request, said: str = "", *, status: int = 200) -> HTMLResponse:
    return HTMLResponse(login_page(request, sentence=said), status_code=status)


@router.get("/login", include_in_schema=False)
async def login_form(request: Request) -> Response:
    """Return the form."""
    return _page(request)


@router.post("/login", include_in_schema=False)
async def login(request: Request) -> Response:
    """Take a token and begin a session; who fails often has to wait."""
    service = service_of(request)
    peer = request.client.host if request.client else "unknown"
    wait = service.patience.wait(peer)
    if wait > 0.0:
        raise busy("too many tokens were wrong; wait.", seconds=wait, status=429)
    token = await service.reads.run(find_token, service.store, _token_in(await request.body()))
    if token is None or not set(token.scopes) & {"read", "write"}:
        service.patience.failed(peer)
        return _page(request, "This token is not known, or it is over.", status=401)
    service.patience.succeeded(peer)
    session = service.sessions.open(token.digest)
    answer = RedirectResponse("/", status_code=303)
    secure = is_secure(request.scope, dict(request.headers))
    answer.headers.append("set-cookie", set_cookie(service.access, session, secure=secure))
    return answer


def _token_in(form: bytes) -> str:
    try:
        return parse_qs(form.decode("utf-8", "replace"), max_num_fields=5).get("token", [""])[0].strip()
    except ValueError:  # more fields than the form has
        return ""


@router.post("/logout", include_in_schema=False)
async def logout(request: Request) -> Response:
    """End the session."""
    service = service_of(request)
    service.sessions.close(request.state.session)
    answer = RedirectResponse("/login", status_code=303)
    secure = is_secure(request.scope, dict(request.headers))
    answer.headers.append("set-cookie", set_cookie(service.access, "", secure=secure))
    return answer


@router.get("/api/session", tags=["session"], response_model=SessionAnswer, responses=declared())
async def session(request: Request) -> Response:
    """Say who asks, what they may do, and what their page sends along when it writes."""
    caller = caller_of(request)
    return as_json({"name": caller.name, "scopes": list(caller.scopes), "csrf": request.state.csrf})
