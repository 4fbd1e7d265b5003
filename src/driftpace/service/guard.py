"""The door: every request is let in, sent to log in, or refused before anything else looks at it."""

import re
import secrets
from urllib.parse import urlencode

from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.errors import DriftpaceError, StorageError
from driftpace.service.access import LOCAL, SAFE, Access, Caller, from_browser, is_followed, needed, same_origin
from driftpace.service.failures import Refused, of_driftpace, retry_after
from driftpace.service.parts import Service
from driftpace.service.refusing import refusal, wants_page
from driftpace.service.tokens import find_digest, find_token
from driftpace.storage.base import Token

_LOCAL = re.compile(r"/(?:campaigns/[A-Za-z0-9][A-Za-z0-9._-]{0,99})?(?:\?[A-Za-z0-9._~%&=+*-]*)?")
"""The pages that people look at: the list, and one campaign."""


class Guard:
    """Lets in who may come in, and says who it is: ``request.state.caller``, ``.session`` and ``.csrf``."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._access = service.access
        self._sessions = service.sessions
        self._store = service.store
        self._run = service.reads.run
        self._metrics = service.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at a request before anything else does."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        state = scope.setdefault("state", {})
        state["caller"] = None
        given = cookie_of(headers.get("cookie", ""), cookie_name(self._access))
        session = given or secrets.token_urlsafe(32)
        state["session"], state["csrf"] = session, self._sessions.csrf(session)
        try:
            await self._enter(scope, headers, given)
        except Refused as refused:
            await _refusal(scope, refused)(scope, receive, send)
            return
        except DriftpaceError as error:
            if isinstance(error, StorageError):
                self._metrics.store_errors.inc()
            status, code, sentence = of_driftpace(error, store_url=self._store.url)
            await refusal(scope, status, code, sentence, retry_after(status))(scope, receive, send)
            return
        fresh = given is None and state["caller"] is not None and state["caller"].by == "loopback"
        await self._app(scope, receive, self._with_cookie(scope, headers, send) if fresh else send)

    async def _enter(self, scope: Scope, headers: dict[str, str], session: str | None) -> None:
        method, path = scope["method"], scope["path"]
        if "content-length" in headers and "transfer-encoding" in headers:
            raise Refused(  # a proxy in front may go by the other one, and take the rest for a request of its own
                400,
                "malformed",
                "a request must have Content-Length or Transfer-Encoding; it has both.",
                headers={"Connection": "close"},
            )
        need = needed(method, path)
        if need is None:
            if method not in SAFE and not same_origin(headers):
                raise _foreign()
            return
        caller = await self._identify(scope, headers, session, need)
        scope["state"]["caller"] = caller
        if not caller.may(need):
            raise Refused(
                403, "scope", f"this token must have the scope {need!r} for that; it has {', '.join(caller.scopes)}."
            )
        if caller.by != "token":
            may_follow = method in ("GET", "HEAD") and not path.startswith("/api/") and is_followed(headers)
            if not may_follow and not same_origin(headers):
                raise _foreign()
            if method not in SAFE and from_browser(headers):
                sent = headers.get("x-csrf-token", "")
                if session is None or not self._sessions.csrf_holds(session, sent):
                    raise Refused(
                        403, "csrf", "X-CSRF-Token must be the one of this page; load the page again, or send a token."
                    )

    async def _identify(self, scope: Scope, headers: dict[str, str], session: str | None, need: str) -> Caller:
        sent = headers.get("authorization")
        if sent is None and need == "hook" and "x-driftpace-secret" in headers:
            sent = f"Bearer {headers['x-driftpace-secret']}"  # how Label Studio shows it
        if sent is not None:
            kind, _, secret = sent.partition(" ")
            token = await self._run(find_token, self._store, secret.strip()) if kind.lower() == "bearer" else None
            if token is None:
                raise _unknown("the token is not known, or it is over")
            return _caller(token, "token")
        if need == "hook":
            raise _unknown("X-Driftpace-Secret must be a token with the scope 'hook'")
        held = None if session is None else self._sessions.find(session)
        if held is not None:
            token = await self._run(find_digest, self._store, held)
            if token is not None:
                return _caller(token, "session")
        peer = scope.get("client")
        if self._access.lets_pass(peer[0] if peer else None, headers, scope["http_version"]):
            if not self._access.knows_host(headers.get("host", "")):
                raise Refused(
                    403,
                    "host",
                    "Host must be localhost, 127.0.0.1 or [::1] with the port of the service, without a token.",
                )
            return LOCAL
        raise _unknown("Authorization must be 'Bearer' and a token that `driftpace token make` made")

    def _with_cookie(self, scope: Scope, headers: dict[str, str], send: Send) -> Send:
        """Return a way of sending that gives a page the session its CSRF token belongs to."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
                if any(value.startswith(b"text/html") for value in kinds):
                    text = set_cookie(self._access, scope["state"]["session"], secure=is_secure(scope, headers))
                    message = {**message, "headers": [*message["headers"], (b"set-cookie", text.encode("latin-1"))]}
            await send(message)

        return sending


def cookie_name(access: Access) -> str:
    """Return the name of the cookie: browsers mix up the cookies of one machine's ports."""
    return "driftpace_session" if access.port is None else f"driftpace_session_{access.port}"


def cookie_of(header: str, name: str) -> str | None:
    """Return a cookie's value; None where there is none that we could have set.

    Others on this machine set cookies for all of its ports, and what they hold need not be what a standard allows.

    >>> cookie_of('theirs={"a": 1, "b": 2}; ours=x', "ours")
    'x'
    """
    found = cookie_parser(header).get(name, "")
    return found if 0 < len(found) <= 100 and found.isascii() else None


def set_cookie(access: Access, session: str, *, secure: bool) -> str:
    """Return the header that sets the cookie: out of the reach of scripts and of other sites; an empty session ends it."""
    parts = [f"{cookie_name(access)}={session}", "HttpOnly", "SameSite=Strict", "Path=/"]
    return "; ".join([*parts, *([] if session else ["Max-Age=0"]), *(["Secure"] if secure else [])])


def is_secure(scope: Scope, headers: dict[str, str]) -> bool:
    """Whether the browser came by HTTPS, here or at a proxy before."""
    return scope.get("scheme") == "https" or headers.get("x-forwarded-proto", "").lower() == "https"


def _caller(token: Token, by: str) -> Caller:
    return Caller(name=token.name, scopes=token.scopes, by=by, digest=token.digest)


def _unknown(why: str) -> Refused:
    return Refused(401, "unknown_caller", f"{why}.", headers={"WWW-Authenticate": "Bearer"})


def _foreign() -> Refused:
    return Refused(403, "origin", "a page that asks for this must be one of this service; it is a foreign one.")


def _refusal(scope: Scope, refused: Refused) -> Response:
    if refused.status_code == 401 and scope["method"] in ("GET", "HEAD") and wants_page(scope):
        return RedirectResponse(login_address(scope), status_code=303)
    return refusal(scope, refused.status_code, refused.code, str(refused.detail), refused.headers)


def login_address(scope: Scope) -> str:
    """Return where to log in, and come back from."""
    query = scope.get("query_string", b"").decode("latin-1")
    wanted = local_path(scope["path"] + (f"?{query}" if query else ""))
    return "/login" if wanted == "/" else f"/login?{urlencode({'next': wanted})}"


def local_path(wanted: str) -> str:
    """Return a page of ours to go to after the log-in; whatever might lead elsewhere, or is no page, is the first one.

    >>> [local_path(one) for one in ("/campaigns/churn?log=2", "https://evil.example/", "//evil.example", "/login")]
    ['/campaigns/churn?log=2', '/', '/', '/']
    """
    return wanted if len(wanted) <= 500 and _LOCAL.fullmatch(wanted) else "/"
