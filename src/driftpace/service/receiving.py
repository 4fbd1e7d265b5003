"""Bodies are counted while they come: too large, too slow or too many at once, and they are refused before they fill the memory."""

import asyncio
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.service.failures import Refused, busy, failure
from driftpace.service.limits import Limits
from driftpace.tables.limits import size

_TABLE = re.compile(r"/api/campaigns/[^/]+/(deliveries|predictions)|/api/hooks/[^/]+/[^/]+")
_CLOSE = {"Connection": "close"}
_LINGER_BYTES = 4 * 2**20
_LINGER_SECONDS = 1.0


class Receiving:
    """Hands on the body of a request piece by piece, within limits."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._limits.tables.bytes if _TABLE.fullmatch(scope["path"]) else self._limits.body
        length = _length(scope)
        if length is None or length > most:
            await _refuse_early(_malformed() if length is None else _too_large(most), receive, send)
            return
        body = _Body(self, receive, most, self._limits)
        try:
            await self._app(scope, body.receive, send)
        finally:
            self._held -= body.taken

    def hold(self, count: int) -> None:
        """Take so many bytes of the memory that all bodies share."""
        if self._held + count > self._limits.in_flight:
            raise busy("the service is taking as many uploads as it can; try again.", seconds=5)
        self._held += count


class _Body:
    def __init__(self, shared: Receiving, receive: Receive, most: int, limits: Limits) -> None:
        self._shared = shared
        self._receive = receive
        self._most = most
        self._until = time.monotonic() + limits.body_seconds
        self._piece = limits.piece_seconds
        self._over = False
        self.taken = 0

    async def receive(self) -> Message:
        if self._over:  # what comes now is that the client goes away, and that may take its time
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, min(self._piece, self._until - time.monotonic()))):
                message = await self._receive()
        except TimeoutError:
            raise Refused(408, "too_slow", "the body of the request took too long to come.", headers=_CLOSE) from None
        count = len(message.get("body", b""))
        if self.taken + count > self._most:
            raise _too_large(self._most)
        self._shared.hold(count)
        self.taken += count
        self._over = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _length(scope: Scope) -> int | None:
    """Return the length that was announced, 0 where none was; None where it is no number."""
    for name, value in scope["headers"]:
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else None
    return 0


def _too_large(most: int) -> Refused:
    return Refused(
        413, "too_large", f"the body of the request must be at most {size(most)}; it is larger.", headers=_CLOSE
    )


def _malformed() -> Refused:
    return Refused(400, "malformed", "Content-Length must be a whole number; it is not.", headers=_CLOSE)


async def _refuse_early(refused: Refused, receive: Receive, send: Send) -> None:
    """Answer before the body has come, then drop a little of what is on its way, so that the answer is read before the end."""
    answer = failure(refused.status_code, refused.code, str(refused.detail), refused.headers)
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": bytes(answer.body), "more_body": True})
    dropped = 0
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while dropped < _LINGER_BYTES:
                message = await receive()
                dropped += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body", False):
                    break
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
