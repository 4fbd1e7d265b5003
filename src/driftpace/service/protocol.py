"""HTTP as the server speaks it, with a time limit on the head of a request: who sends it a byte a minute is hung up on."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def protocol_with(head_seconds: float) -> type[H11Protocol]:
    """Return the protocol with that time limit."""

    class Prompt(H11Protocol):
        _waiting: asyncio.TimerHandle | None = None

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
