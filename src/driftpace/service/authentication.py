"""Authentication of every request, before anything else handles it."""

import re
import secrets
from collections.abc import Mapping
from urllib.parse import urlencode

from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.errors import DriftpaceError, StorageError
from driftpace.service.access import ROLES
from driftpace.service.auth import (
    LOCAL,
    SAFE,
    USER_NAME,
    Caller,
    caller_of_token,
    find_digest,
    from_browser,
    is_api,
    is_navigation,
    match_token,
    required_scope,
    same_origin,
    secret_digest,
)
from driftpace.service.errors import ApiError, busy_error, error_response, from_library, wants_page
from driftpace.service.state import Service

_PAGES = re.compile(
    r"/(?:campaigns/[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:/segments/[A-Za-z0-9._~%-]+)?|check|api/docs)?(?:\?[A-Za-z0-9._~%&=+*-]*)?"
)
"""Pages that a login may lead to: the list, one campaign, the check of a table, and the API documentation."""


class AuthMiddleware:
    """Authenticates callers; sets ``request.state.caller``, ``.session`` and ``.csrf``."""

    def __init__(self, app: ASGIApp, *, service: Service) -> None:
        self._app = app
        self._access = service.access
        self._sessions = service.sessions
        self._store = service.store
        self._run = service.checks.run
        self._throttle = service.token_throttle
        self._metrics = service.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate a request, redirect it to the login page, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        state = scope.setdefault("state", {})
        state["caller"] = None
        peer = scope.get("client")
        state["peer"] = self._access.client(peer[0] if peer else None, headers)
        cookie = read_cookie(headers.get("cookie", ""), cookie_name(headers))
        session = cookie or secrets.token_urlsafe(32)
        state["session"], state["csrf"] = session, ""
        try:
            await self._authenticate(scope, headers, cookie)
            if state["caller"] is not None:
                state["csrf"] = await self._csrf(session)
        except ApiError as error:
            await _error_response(scope, error)(scope, receive, send)
            return
        except DriftpaceError as error:
            if isinstance(error, StorageError):
                self._metrics.store_errors.inc()
            failure = from_library(error)
            await error_response(scope, failure)(scope, receive, send)
            return
        fresh = cookie is None and state["caller"] is not None and state["caller"].by in ("loopback", "proxy")
        await self._app(scope, receive, self._with_cookie(scope, headers, send) if fresh else send)

    async def _authenticate(self, scope: Scope, headers: dict[str, str], session: str | None) -> None:
        method, path = scope["method"], scope["path"]
        if "content-length" in headers and "transfer-encoding" in headers:
            raise ApiError(  # request smuggling: a proxy in front may go by the other header
                400,
                "malformed",
                "a request must have either Content-Length or Transfer-Encoding; got both.",
                headers={"Connection": "close"},
            )
        scope_name = required_scope(method, path)
        if scope_name is None:
            if method not in SAFE and not same_origin(headers):
                raise _cross_site()
            return
        caller = await self._identify(scope, headers, session, scope_name)
        scope["state"]["caller"] = caller
        if not caller.may(scope_name):
            raise ApiError(
                403, "scope", f"the token must have the scope {scope_name!r}; it has {', '.join(caller.scopes)}."
            )
        if not caller.may_open(method, path):
            raise ApiError(403, "scope", f"the token is for {' and '.join(caller.campaigns)} only.")
        if caller.by != "token":
            navigates = method in ("GET", "HEAD") and not is_api(path) and is_navigation(headers)
            if not navigates and not same_origin(headers):
                raise _cross_site()
            if method not in SAFE and from_browser(headers):
                token = headers.get("x-csrf-token", "")
                if session is None or not await self._is_valid_csrf(session, token):
                    raise ApiError(
                        403, "csrf", "X-CSRF-Token must be the one of this page; reload the page, or send a token."
                    )

    async def _identify(self, scope: Scope, headers: dict[str, str], session: str | None, scope_name: str) -> Caller:
        authorization = headers.get("authorization")
        if authorization is None and scope_name == "hook" and "x-driftpace-secret" in headers:
            authorization = f"Bearer {headers['x-driftpace-secret']}"  # as Label Studio sends it
        if authorization is not None:
            kind, _, secret = authorization.partition(" ")
            return await self._bearer(secret.strip() if kind.lower() == "bearer" else "", scope["state"]["peer"])
        if scope_name == "hook":
            raise _unauthenticated("X-Driftpace-Secret must be a token with the scope 'hook'")
        peer = scope.get("client")
        if self._access.user_header is not None and self._access.is_trusted(peer[0] if peer else None):
            return await self._signed_in(scope, self._access.user_header.lower())
        digest = None if session is None else await self._run(self._sessions.find, session)
        if digest is not None:
            token = await self._run(find_digest, self._store, digest)
            if token is not None:
                return caller_of_token(token, "session")
        if self._access.allows_without_token(peer[0] if peer else None, headers, scope["http_version"]):
            if not self._access.is_own_host(headers.get("host", "")):
                raise ApiError(
                    403,
                    "host",
                    "without a token, Host must be localhost, 127.0.0.1 or [::1] with the port of the service.",
                )
            return LOCAL
        raise _unauthenticated("Authorization must be 'Bearer' and a token; `driftpace token make` creates one")

    async def _bearer(self, secret: str, peer: str | None) -> Caller:
        """Return the caller of a token; wrong ones are slowed like failed logins."""
        token_digest, peer = secret_digest(secret), peer or "unknown"
        seconds = self._throttle.seconds_left(peer, token_digest)
        if seconds > 0.0:
            raise busy_error("too many wrong tokens; wait.", seconds=seconds, status=429)
        token = await self._run(find_digest, self._store, token_digest)
        self._throttle.record(peer, token_digest, valid=token is not None)
        if token is None:
            raise _unauthenticated("the token is unknown or expired")
        return caller_of_token(token, "token")

    async def _signed_in(self, scope: Scope, header: str) -> Caller:
        """Return the user that a trusted proxy has signed in, with the rights of the token of that name, or the default role."""
        names = [value.decode("latin-1").strip() for name, value in scope["headers"] if name == header.encode()]
        if len(names) != 1 or not USER_NAME.fullmatch(names[0]):
            raise _unauthenticated(f"the proxy must name one signed-in user in {self._access.user_header}")
        tokens = await self._run(self._store.tokens)
        token = next((token for token in tokens if token.name == names[0]), None)
        if token is not None and match_token(tokens, token.digest) is not None:
            return caller_of_token(token, "proxy")
        if self._access.user_role is None or token is not None:
            raise ApiError(
                403, "scope", "the user must have a token of that name in the store; there is none that is valid."
            )
        return Caller(name=names[0], scopes=ROLES[self._access.user_role], by="proxy")

    async def _csrf(self, session: str) -> str:
        await self._need_key()
        return self._sessions.csrf(session)

    async def _is_valid_csrf(self, session: str, token: str) -> bool:
        await self._need_key()
        return self._sessions.is_valid_csrf(session, token)

    async def _need_key(self) -> None:
        if not self._sessions.has_key:
            await self._run(self._sessions.read_key)

    def _with_cookie(self, scope: Scope, headers: dict[str, str], send: Send) -> Send:
        """Return a send function that sets the session cookie on pages, which the CSRF token belongs to."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                kinds = [value for name, value in message["headers"] if name.lower() == b"content-type"]
                if any(value.startswith(b"text/html") for value in kinds):
                    text = set_cookie(headers, scope["state"]["session"], secure=is_secure(scope, headers))
                    message = {**message, "headers": [*message["headers"], (b"set-cookie", text.encode("latin-1"))]}
            await send(message)

        return sending


def cookie_name(headers: Mapping[str, str]) -> str:
    """Return the name of the session cookie, with the port that the browser uses: browsers share cookies between ports.

    >>> cookie_name({"host": "127.0.0.1:8321"}), cookie_name({"host": "labels.example"})
    ('driftpace_session_8321', 'driftpace_session')
    """
    port = re.search(r":([0-9]{1,5})$", headers.get("host", ""))
    return "driftpace_session" if port is None else f"driftpace_session_{port[1]}"


def read_cookie(header: str, name: str) -> str | None:
    """Return the value of a cookie; None if there is none that this service could have set.

    Other programs on the machine set cookies for all of its ports, and not always standard ones.

    >>> read_cookie('theirs={"a": 1, "b": 2}; ours=x', "ours")
    'x'
    """
    value = cookie_parser(header).get(name, "")
    return value if 0 < len(value) <= 100 and value.isascii() else None


def set_cookie(headers: Mapping[str, str], session: str, *, secure: bool) -> str:
    """Return the Set-Cookie header: not readable by scripts, not sent by other sites; an empty session deletes it."""
    parts = [f"{cookie_name(headers)}={session}", "HttpOnly", "SameSite=Strict", "Path=/"]
    return "; ".join([*parts, *([] if session else ["Max-Age=0"]), *(["Secure"] if secure else [])])


def is_secure(scope: Scope, headers: dict[str, str]) -> bool:
    """Return whether the browser uses HTTPS, to this service or to a proxy before it."""
    return scope.get("scheme") == "https" or headers.get("x-forwarded-proto", "").lower() == "https"


def _unauthenticated(problem: str) -> ApiError:
    return ApiError(401, "unauthenticated", f"{problem}.", headers={"WWW-Authenticate": "Bearer"})


def _cross_site() -> ApiError:
    return ApiError(403, "origin", "the request must come from a page of this service; it comes from another site.")


def _error_response(scope: Scope, error: ApiError) -> Response:
    if error.status_code == 401 and scope["method"] in ("GET", "HEAD") and wants_page(scope):
        return RedirectResponse(login_url(scope), status_code=303)
    return error_response(scope, error)


def login_url(scope: Scope) -> str:
    """Return the address of the login page, with the requested page as ``next``."""
    query = scope.get("query_string", b"").decode("latin-1")
    target = local_path(scope["path"] + (f"?{query}" if query else ""))
    return "/login" if target == "/" else f"/login?{urlencode({'next': target})}"


def local_path(target: str) -> str:
    """Return the page to open after login; anything that is not a page of this service becomes the list.

    >>> [local_path(path) for path in ("/campaigns/churn?log=2", "https://evil.example/", "//evil.example", "/login")]
    ['/campaigns/churn?log=2', '/', '/', '/']
    """
    return target if len(target) <= 500 and _PAGES.fullmatch(target) else "/"
