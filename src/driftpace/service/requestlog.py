"""Around every request: an id, one line in the log, a count, headers that keep browsers strict, and no traceback for anybody."""

import logging
import re
import secrets
import time
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.service.early import has_left
from driftpace.service.failures import failure
from driftpace.service.logs import Facts
from driftpace.service.metrics import Metrics
from driftpace.service.refusing import refusal

LOGGER = logging.getLogger("driftpace.service")

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=()"),
)
_NO_STORE = (b"cache-control", b"no-store")
_LEFT = 499
"""What the log says of a client that hung up before it was answered; nobody is sent this."""


class RequestLog:
    """The outermost layer. What it writes names the route and the campaign, never a secret, a body or a query."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Watch a request from its beginning to its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        began = time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": _dressed(scope, message.get("headers", ()), request_id)}
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            status = _LEFT
        except Exception:
            LOGGER.exception(Facts(event="error", id=request_id, route=_route(scope)))
            if status == 0:
                said = f"something went wrong that should not; the log has it as {request_id}."
                await _broken(scope, said)(scope, receive, sending)
            else:
                status = 500
        finally:
            status = _LEFT if has_left(scope) else status
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.answered(_route(scope), method, status, seconds)
            LOGGER.info(_facts(scope, method, status, seconds, request_id))


def _broken(scope: Scope, said: str) -> Response:
    try:
        return refusal(scope, 500, "internal", said)
    except Exception:  # it may be the pages that are broken
        return failure(500, "internal", said)


def bare_headers(request_id: str) -> list[tuple[bytes, bytes]]:
    """Return what every answer has, for one that is given before there is a request."""
    return [_NO_STORE, *_HEADERS, (b"x-request-id", request_id.encode())]


def _dressed(scope: Scope, headers: Any, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers with those that every answer has; pages and the API are not kept by anybody on the way."""
    kept = [(name, value) for name, value in headers if name.lower() != b"server"]
    there = {name.lower() for name, _ in kept}
    if not scope["path"].startswith("/static/") and b"cache-control" not in there:
        kept.append(_NO_STORE)
    kept += [(name, value) for name, value in _HEADERS if name not in there]
    return [*kept, (b"x-request-id", request_id.encode())]


def _route(scope: Scope) -> str:
    """Return the template of the route that answered, such as /api/campaigns/{name}: what was asked for is not repeated."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return "/static" if scope["path"].startswith("/static/") else "none"
    return str(path)


def _facts(scope: Scope, method: str, status: int, seconds: float, request_id: str) -> Facts:
    caller = scope["state"].get("caller")
    campaign = scope.get("path_params", {}).get("name")
    return Facts(
        event="request",
        id=request_id,
        who=None if caller is None else caller.name,
        by=None if caller is None else caller.by,
        method=method,
        route=_route(scope),
        campaign=campaign if isinstance(campaign, str) and _ID.fullmatch(campaign) else None,
        status=status,
        ms=round(1000.0 * seconds, 2),
    )
