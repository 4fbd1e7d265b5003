"""ASGI middleware that bounds request bodies, drains the rest of refused ones, and answers HEAD."""

import asyncio
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.service.auth import SAFE
from driftpace.service.errors import ApiError, busy_error, error_response
from driftpace.service.limits import ServiceLimits
from driftpace.service.workers import unless_disconnected, wait_for_disconnect
from driftpace.tables.limits import size

_DRAIN_BYTES = 4 * 2**20
_DRAIN_SECONDS = 1.0
_SMALL_BODY = 64 * 2**10
_SMALL_BODY_SECONDS = 0.2
_LEFT = "client_left"
_CLOSE_HEADER = (b"connection", b"close")
_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"expect"})
_ROUTE_KEYS = ("endpoint", "path_params", "route", "router")
_TABLE = re.compile(
    r"/api/campaigns/[^/]+/((fleet/)?(deliveries|predictions|sample)|pool|fleet/orders)|/api/(schema|check)|/api/hooks/[^/]+/[^/]+"
)
_DEFINITIONS = "/api/campaigns"
_CLOSE = {"Connection": "close"}
_DECISION_BYTES = 64 * 2**10
_ANONYMOUS_BYTES = 2 * 2**10


class DrainBodyMiddleware:
    """Closes the connection after a response that was sent before the request body had arrived.

    Otherwise a client that needs no authorization to be refused could hold a connection open, a byte at a time. Some of the
    remaining body is read first, so that a client that is still sending gets to read the response; a small body, which most
    clients send right after the head, gets a moment to arrive, and the connection is kept. The body of a GET is ignored.

    This is the outermost layer.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; one without a body is passed on unchanged."""
        framing = {name: value for name, value in scope.get("headers", ()) if name in _FRAMING}
        has_body = b"transfer-encoding" in framing or framing.get(b"content-length", b"0") != b"0"
        if scope["type"] != "http" or not has_body:
            await self._app(scope, receive, send)
            return
        body = _DrainedBody(scope, receive)
        closing = False

        async def sending(message: Message) -> None:
            nonlocal closing
            if message["type"] == "http.response.start":
                if b"expect" not in framing:  # a client that waits for 100 Continue has sent nothing yet
                    await body.drain(_SMALL_BODY_SECONDS if _is_small(framing) else 0.0)
                closing = not body.complete
                if closing:
                    kept = [
                        (name, value) for name, value in message.get("headers", ()) if name.lower() != _CLOSE_HEADER[0]
                    ]
                    message = {**message, "headers": [*kept, _CLOSE_HEADER]}
                await send(message)
            elif closing and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await body.drain(_DRAIN_SECONDS)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            else:
                await send(message)

        await self._app(scope, body.receive_empty if scope["method"] in SAFE else body.receive, sending)


class _DrainedBody:
    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope = scope
        self._receive = receive
        self._hidden = False
        self.complete = False

    async def receive(self) -> Message:
        """Return the next message; note the end of the body, and a client that leaves before it."""
        message = await self._receive()
        if message["type"] != "http.request":
            if not self.complete:
                self._scope.setdefault("state", {})[_LEFT] = True
            self.complete = True
        elif not message.get("more_body", False):
            self.complete = True
        return message

    async def receive_empty(self) -> Message:
        """Return an empty body, then nothing until the client disconnects."""
        if not self._hidden:
            self._hidden = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while (message := await self._receive())["type"] == "http.request":
            self.complete = self.complete or not message.get("more_body", False)
        self.complete = True
        return message

    async def drain(self, seconds: float) -> None:
        """Discard what arrives within that time, or has arrived already, up to a few megabytes."""
        drained = 0
        try:
            async with asyncio.timeout(seconds):
                while not self.complete and drained < _DRAIN_BYTES:
                    drained += len((await self.receive()).get("body", b""))
        except TimeoutError:
            pass


def _is_small(framing: dict[bytes, bytes]) -> bool:
    length = framing.get(b"content-length", b"")
    return length.isdigit() and len(length) < 10 and int(length) <= _SMALL_BODY


def client_left(scope: Scope) -> bool:
    """Return whether the client disconnected before its request was complete."""
    return bool(scope.get("state", {}).get(_LEFT, False))


class AbandonedMiddleware:
    """Cancels a request that only reads when its client disconnects before the response: what is queued for it never starts.

    A response that has begun ends by itself, and so do requests that write: a delivery that has arrived counts, whether or not
    the client waits for the receipt.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; the body of one that only reads is ignored."""
        if scope["type"] != "http" or scope["method"] not in SAFE:
            await self._app(scope, receive, send)
            return
        left, body_sent, started = asyncio.Event(), False, False

        async def receiving() -> Message:
            nonlocal body_sent
            if not body_sent:
                body_sent = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await left.wait()
            return {"type": "http.disconnect"}

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        async def disconnect() -> None:
            await wait_for_disconnect(receive)
            left.set()
            if started:
                await asyncio.Event().wait()  # the response finds that out by itself

        await unless_disconnected(self._handle(scope, receiving, sending), disconnect())

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class HeadMiddleware:
    """Answers HEAD as the routes answer GET, without the body; a streamed body is cut off at its start."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; HEAD is routed as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        get_scope = {**scope, "method": "GET"}
        sent = False

        async def sending(message: Message) -> None:
            nonlocal sent
            if sent:
                return
            if message["type"] != "http.response.body":
                await send(message)
                return
            sent = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            if message.get("more_body", False):
                raise _BodyCutError

        try:
            await self._app(get_scope, receive, sending)
        except _BodyCutError:
            pass
        finally:
            scope.update(
                {name: get_scope[name] for name in _ROUTE_KEYS if name in get_scope}
            )  # the log names the route


class _BodyCutError(Exception):
    """Stops a streamed body that HEAD does not need."""


class BodyLimitMiddleware:
    """Passes on request bodies piece by piece, within limits of size, time and total memory.

    An unauthenticated caller, such as one at the login page, may send 2 KiB, which do not count towards the shared memory.
    """

    def __init__(self, app: ASGIApp, *, limits: ServiceLimits) -> None:
        self._app = app
        self._limits = limits
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; count its body while it arrives."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        authenticated = scope.get("state", {}).get("caller") is not None
        max_bytes = self._max_bytes(scope["path"]) if authenticated else _ANONYMOUS_BYTES
        length = _content_length(scope)
        if length is None or length > max_bytes:
            error = _malformed_length() if length is None else _too_large(max_bytes)
            await error_response(scope, error)(scope, receive, send)
            return
        body = _LimitedBody(self if authenticated else None, receive, max_bytes, self._limits)
        try:
            await self._app(scope, body.receive, send)
        finally:
            self._held -= body.held

    def _max_bytes(self, path: str) -> int:
        """Return the size limit of an address: a table, a definition, or a few values."""
        if _TABLE.fullmatch(path):
            return self._limits.tables.bytes
        return self._limits.body if path == _DEFINITIONS else min(self._limits.body, _DECISION_BYTES)

    def hold(self, count: int) -> None:
        """Reserve bytes of the memory that all bodies share."""
        if self._held + count > self._limits.in_flight:
            raise busy_error("the service has reached its limit of concurrent uploads; try again.", seconds=5)
        self._held += count


class _LimitedBody:
    def __init__(
        self, shared: BodyLimitMiddleware | None, receive: Receive, max_bytes: int, limits: ServiceLimits
    ) -> None:
        self._shared = shared
        self._receive = receive
        self._max_bytes = max_bytes
        self._until = time.monotonic() + limits.body_seconds
        self._piece_seconds = limits.piece_seconds
        self._complete = False
        self._received = 0
        self.held = 0

    async def receive(self) -> Message:
        if self._complete:  # only a disconnect is left, and it may take any time
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, min(self._piece_seconds, self._until - time.monotonic()))):
                message = await self._receive()
        except TimeoutError:
            raise ApiError(408, "too_slow", "the request body took too long to arrive.", headers=_CLOSE) from None
        count = len(message.get("body", b""))
        if self._received + count > self._max_bytes:
            raise _too_large(self._max_bytes)
        self._received += count
        if self._shared is not None:
            self._shared.hold(count)
            self.held += count
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _content_length(scope: Scope) -> int | None:
    """Return the declared length, 0 if there is none; None if it is not a number."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else None
    return 0


def _too_large(max_bytes: int) -> ApiError:
    return ApiError(
        413, "too_large", f"the request body must be at most {size(max_bytes)}; it is larger.", headers=_CLOSE
    )


def _malformed_length() -> ApiError:
    return ApiError(400, "malformed", "Content-Length must be an integer; it is not.", headers=_CLOSE)
