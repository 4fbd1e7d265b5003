"""JSON logs, and the middleware that gives every request an id, one log line, a metric and security headers."""

import json
import logging
import re
import secrets
import sys
import threading
import time
from datetime import UTC, datetime
from typing import Any, TextIO

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace import tracing
from driftpace.service.errors import ApiError, error_response, json_error
from driftpace.service.metrics import Metrics
from driftpace.service.middleware import client_left

LOGGER = logging.getLogger("driftpace.service")

_LIBRARIES = ("uvicorn", "opentelemetry")
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"content-security-policy", CONTENT_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=()"),
)
_NO_STORE = (b"cache-control", b"no-store")
_CLIENT_LEFT = 499
"""Status in the log for a client that disconnected before it was answered; it is never sent."""


class LogFields(dict[str, Any]):
    """The fields of a log line; formatted as JSON only if a handler writes the record.

    >>> str(LogFields(event="request", status=200))
    '{"event":"request","status":200}'
    """

    def __str__(self) -> str:
        return json.dumps(self, separators=(",", ":"))


class JsonFormatter(logging.Formatter):
    """Formats a log record as one JSON object: time, level, logger and fields or message.

    >>> record = logging.LogRecord("driftpace.service", logging.INFO, "", 0, LogFields(event="request", status=200), None, None)
    >>> json.loads(JsonFormatter().format(record))["status"]
    200
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        line |= record.msg if isinstance(record.msg, LogFields) else {"message": record.getMessage()}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_logging(stream: TextIO | None = None, *, level: int = logging.INFO) -> logging.Handler:
    """Write the logs of the service, and the warnings of its libraries, to a stream (default: stderr) as JSON lines."""
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter(JsonFormatter())
    for name, least in (("driftpace.service", level), *((name, max(level, logging.WARNING)) for name in _LIBRARIES)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(least)
        logger.propagate = False
    return handler


class RequestLogMiddleware:
    """Logs and counts every request and adds security headers; unexpected errors become a 500 with the id of the log line.

    A log line names the route and the campaign, never a secret, a body or a query.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, draining: threading.Event) -> None:
        self._app = app
        self._metrics = metrics
        self._draining = draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
        request_id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        start = time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = _with_defaults(scope, message.get("headers", ()), request_id)
                if self._draining.is_set():  # the next request goes to another service
                    headers.append((b"connection", b"close"))
                message = {**message, "headers": headers}
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            status = _CLIENT_LEFT
        except Exception:
            LOGGER.exception(LogFields(event="error", id=request_id, route=_route(scope)))
            if status == 0:
                error = ApiError(500, "internal", f"an internal error occurred; the log has it as {request_id}.")
                await _internal_error(scope, error)(scope, receive, sending)
            else:
                status = 500
        finally:
            status = _CLIENT_LEFT if client_left(scope) else status
            seconds = time.perf_counter() - start
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.count_request(_route(scope), method, status, seconds)
            LOGGER.info(_fields(scope, method, status, seconds, request_id))


class TracingMiddleware:
    """Records a span for every request, below that of its header ``traceparent``: route, campaign and status, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http" or not tracing.is_on():
            await self._app(scope, receive, send)
            return
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        with tracing.request_span(scope["headers"]) as span:
            try:
                await self._app(scope, receive, sending)
            finally:
                method = scope["method"] if scope["method"] in _METHODS else "other"
                route, campaign = _route(scope), _campaign(scope)
                span.update_name(f"{method} {route}")
                span.set_attribute("http.request.method", method)
                span.set_attribute("http.route", route)
                span.set_attribute("http.response.status_code", _CLIENT_LEFT if client_left(scope) else status)
                if campaign is not None:
                    span.set_attribute("driftpace.campaign", campaign)
                if status >= 500:
                    tracing.mark_failed(span)


def peer_of(scope: Scope) -> str:
    """Return the address of the client, as a trusted proxy names it or as the connection has it."""
    peer = scope.get("client")
    return str(scope.get("state", {}).get("peer") or (peer[0] if peer else "unknown"))


def _internal_error(scope: Scope, error: ApiError) -> Response:
    try:
        return error_response(scope, error)
    except Exception:  # the templates may be the cause
        return json_error(error)


def default_headers(request_id: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response, for one that is sent before there is a request."""
    return [_NO_STORE, *_HEADERS, (b"x-request-id", request_id.encode())]


def _with_defaults(scope: Scope, headers: Any, request_id: str) -> list[tuple[bytes, bytes]]:
    """Return headers with the defaults added; nothing but static files may be cached."""
    kept = [(name, value) for name, value in headers if name.lower() != b"server"]
    present = {name.lower() for name, _ in kept}
    if not scope["path"].startswith("/static/") and b"cache-control" not in present:
        kept.append(_NO_STORE)
    kept += [(name, value) for name, value in _HEADERS if name not in present]
    return [*kept, (b"x-request-id", request_id.encode())]


def _route(scope: Scope) -> str:
    """Return the template of the matched route, such as /api/campaigns/{name}, never the requested path."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return "/static" if scope["path"].startswith("/static/") else "none"
    return str(path)


def _campaign(scope: Scope) -> str | None:
    """Return the campaign that a request names, if it can be one."""
    campaign = scope.get("path_params", {}).get("name")
    return campaign if isinstance(campaign, str) and _ID.fullmatch(campaign) else None


def _fields(scope: Scope, method: str, status: int, seconds: float, request_id: str) -> LogFields:
    caller = scope["state"].get("caller")
    return LogFields(
        event="request",
        id=request_id,
        who=None if caller is None else caller.name,
        by=None if caller is None else caller.by,
        peer=peer_of(scope),
        method=method,
        route=_route(scope),
        campaign=_campaign(scope),
        status=status,
        ms=round(1000.0 * seconds, 2),
    )
