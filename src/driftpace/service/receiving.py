"""Bodies are counted while they come: too large, too slow or too many at once, and they are refused before they fill the memory."""

import asyncio
import re
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftpace.service.failures import Refused, busy
from driftpace.service.limits import Limits
from driftpace.service.refusing import refusal
from driftpace.tables.limits import size

_TABLE = re.compile(r"/api/campaigns/[^/]+/(deliveries|predictions)|/api/hooks/[^/]+/[^/]+")
_DEFINITIONS = "/api/campaigns"
_CLOSE = {"Connection": "close"}
_DECISION = 64 * 2**10
_STRANGER = 2 * 2**10


class Receiving:
    """Hands on the body of a request piece by piece, within limits.

    Who is not known, such as somebody who logs in, may send little, and it takes nothing of the memory that all bodies share.
    """

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self._app = app
        self._limits = limits
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what comes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        known = scope.get("state", {}).get("caller") is not None
        most = self._most(scope["path"]) if known else _STRANGER
        length = _length(scope)
        if length is None or length > most:
            refused = _malformed() if length is None else _too_large(most)
            answer = refusal(scope, refused.status_code, refused.code, str(refused.detail), refused.headers)
            await answer(scope, receive, send)
            return
        body = _Body(self if known else None, receive, most, self._limits)
        try:
            await self._app(scope, body.receive, send)
        finally:
            self._held -= body.held

    def _most(self, path: str) -> int:
        """Return how much may be sent to an address: a table, a definition, or a few values."""
        if _TABLE.fullmatch(path):
            return self._limits.tables.bytes
        return self._limits.body if path == _DEFINITIONS else min(self._limits.body, _DECISION)

    def hold(self, count: int) -> None:
        """Take so many bytes of the memory that all bodies share."""
        if self._held + count > self._limits.in_flight:
            raise busy("the service is taking as many uploads as it can; try again.", seconds=5)
        self._held += count


class _Body:
    def __init__(self, shared: Receiving | None, receive: Receive, most: int, limits: Limits) -> None:
        self._shared = shared
        self._receive = receive
        self._most = most
        self._until = time.monotonic() + limits.body_seconds
        self._piece = limits.piece_seconds
        self._over = False
        self._taken = 0
        self.held = 0

    async def receive(self) -> Message:
        if self._over:  # what comes now is that the client goes away, and that may take its time
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, min(self._piece, self._until - time.monotonic()))):
                message = await self._receive()
        except TimeoutError:
            raise Refused(408, "too_slow", "the body of the request took too long to come.", headers=_CLOSE) from None
        count = len(message.get("body", b""))
        if self._taken + count > self._most:
            raise _too_large(self._most)
        self._taken += count
        if self._shared is not None:
            self._shared.hold(count)
            self.held += count
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
