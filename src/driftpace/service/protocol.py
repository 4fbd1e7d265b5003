"""HTTP as the server speaks it: a time limit on the head of a request, and refusals of its own in the shape of all others."""

import asyncio
import secrets
import sys
from typing import Any

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from driftpace.service.failures import busy, failure
from driftpace.service.logs import Facts
from driftpace.service.requestlog import LOGGER, bare_headers

_SAID = {
    400: "the request must be HTTP/1.1; it cannot be read.",
    431: "the head of the request must be shorter; it is too long to be read.",
    501: "Transfer-Encoding must be chunked; it is not.",
}


def protocol_with(head_seconds: float) -> type[H11Protocol]:
    """Return the protocol with that time limit."""

    class Prompt(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None

        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            self._most, self.limit_concurrency = (
                self.limit_concurrency,
                None,
            )  # it would be refused in a shape of its own
            self._all, self.app = self.app, self._few

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE:
                self._watch()
            else:
                self._stop()

        def send_400_response(self, msg: str) -> None:
            del msg
            hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
            if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                status = hint if hint in _SAID else 400
                headers, body = bare(status)
                start = h11.Response(status_code=status, headers=headers, reason=STATUS_PHRASES[status])
                self.transport.write(self._sent(start))
                self.transport.write(self._sent(h11.Data(data=body)) + self._sent(h11.EndOfMessage()))
            self.transport.close()  # who is in the middle of answering finds that nobody is there

        def _sent(self, event: h11.Event) -> bytes:
            return self.conn.send(event) or b""

        async def _few(self, scope: Scope, receive: Receive, send: Send) -> None:
            """Hand a request on, unless there are too many."""
            if self._most is None or max(len(self.connections), len(self.tasks)) <= self._most:
                await self._all(scope, receive, send)
                return
            refused = busy("the service has as many connections as it can; try again.", seconds=2)
            answer = failure(refused.status_code, refused.code, str(refused.detail), refused.headers)
            headers = [*answer.raw_headers, *bare_headers(_logged(refused.status_code)), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": refused.status_code, "headers": headers})
            await send({"type": "http.response.body", "body": bytes(answer.body)})

        def _watch(self) -> None:
            if self._waiting is None:
                self._waiting = self.loop.call_later(head_seconds, self._hang_up)

        def _stop(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

        def _hang_up(self) -> None:
            self._waiting = None
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self.transport.close()

    return Prompt


def bare(status: int) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return headers and body of the answer to what is no request, and write the line of the log about it."""
    answer = failure(status, "malformed", _SAID[status])
    return [*answer.raw_headers, *bare_headers(_logged(status)), (b"connection", b"close")], bytes(answer.body)


def _logged(status: int) -> str:
    request_id = secrets.token_hex(8)
    LOGGER.info(Facts(event="request", id=request_id, method="other", route="none", status=status))
    return request_id
