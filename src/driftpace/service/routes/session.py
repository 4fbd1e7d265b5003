"""Logging in to the page: a token is shown once, and a cookie stands for it."""

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from driftpace.service.answers import SessionAnswer
from driftpace.service.dashboard.rendering import login_page
from driftpace.service.failures import busy, declared
from driftpace.service.guard import is_secure, local_path, set_cookie
from driftpace.service.parts import caller_of, service_of
from driftpace.service.routes.answering import as_json
from driftpace.service.tokens import find_token

router = APIRouter()


_UNKNOWN = "This token is not known, or it is over."
_HOOK = "This token only brings what a labelling tool sends; it opens no page. Log in with one that may read."


def _page(request: Request, wanted: str, said: str = "", *, status: int = 200) -> HTMLResponse:
    return HTMLResponse(login_page(request, sentence=said, wanted=wanted), status_code=status)


@router.get("/login", include_in_schema=False)
async def login_form(request: Request) -> Response:
    """Return the form; ``next`` is the page that was asked for."""
    return _page(request, local_path(request.query_params.get("next", "/")))


@router.post("/login", include_in_schema=False)
async def login(request: Request) -> Response:
    """Take a token and begin a session; who fails often has to wait."""
    service = service_of(request)
    peer = request.client.host if request.client else "unknown"
    wait = service.patience.wait(peer)
    if wait > 0.0:
        raise busy("too many tokens were wrong; wait.", seconds=wait, status=429)
    form = _form(await request.body())
    wanted = local_path(form.get("next", "/"))
    token = await service.reads.run(find_token, service.store, form.get("token", "").strip())
    if token is None:
        service.patience.failed(peer)
        return _page(request, wanted, _UNKNOWN, status=401)
    if not set(token.scopes) & {"read", "write"}:  # nobody guessed it, so nobody has to wait
        return _page(request, wanted, _HOOK, status=403)
    service.patience.succeeded(peer)
    service.sessions.close(request.state.session)  # the one that this browser had before
    session = service.sessions.open(token.digest)
    answer = RedirectResponse(wanted, status_code=303)
    secure = is_secure(request.scope, dict(request.headers))
    answer.headers.append("set-cookie", set_cookie(service.access, session, secure=secure))
    return answer


def _form(body: bytes) -> dict[str, str]:
    try:
        return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=5).items()}
    except ValueError:  # more fields than the form has
        return {}


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
