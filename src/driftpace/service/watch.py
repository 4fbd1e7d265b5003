"""Streams that tell when a campaign has changed: of what this process does at once, of what others do when the store is asked."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from driftpace.errors import DriftpaceError
from driftpace.service.failures import Refused, busy
from driftpace.service.lanes import Lane
from driftpace.service.limits import Limits
from driftpace.storage.base import Store

Holds = Callable[[], Awaitable[bool]]
"""Whether who listens may still do so."""


class Watch:
    """Hands out streams of server-sent events, so many at once, and ends them all when the service stops."""

    def __init__(self, store: Store, lane: Lane, limits: Limits) -> None:
        self._store = store
        self._lane = lane
        self._limits = limits
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._closed = False
        self.streams = 0

    def changed(self, name: str) -> None:
        """Wake the streams of a campaign, from within the event loop."""
        for event in self._waiting.get(name, ()):
            event.set()

    def close(self) -> None:
        """End all streams, and begin no more."""
        self._closed = True
        for name in list(self._waiting):
            self.changed(name)

    def begin(self, name: str, seq: int, holds: Holds) -> "EventStream":
        """Return an answer that begins with entry number ``seq`` and goes on while ``holds()`` does, or refuse one too many."""
        if self._closed or self.streams >= self._limits.streams:
            raise busy("the service follows as many campaigns as it can; try again.", seconds=10)
        return EventStream(self, self._follow(name, seq, holds))

    async def _follow(self, name: str, seq: int, holds: Holds) -> AsyncIterator[bytes]:
        woken = asyncio.Event()
        self._waiting.setdefault(name, set()).add(woken)
        try:
            yield b"retry: 2000\n\n" + _event(name, seq)
            quiet = 0.0
            until = time.monotonic() + self._limits.stream_seconds
            while time.monotonic() < until:
                try:
                    async with asyncio.timeout(self._limits.poll_seconds):
                        await woken.wait()
                except TimeoutError:
                    quiet += self._limits.poll_seconds
                woken.clear()
                if self._closed:
                    return
                try:
                    head = await self._lane.run(self._store.head, name) if await holds() else None
                except (
                    DriftpaceError,
                    Refused,
                ):  # the store is away, or there is too much to do: who listens comes again
                    return
                if head is None:
                    return
                if head.seq != seq:
                    seq, quiet = head.seq, 0.0
                    yield _event(name, seq)
                elif quiet >= self._limits.heartbeat_seconds:
                    quiet = 0.0
                    yield b": still here\n\n"
        finally:
            self._waiting[name].discard(woken)
            if not self._waiting[name]:
                del self._waiting[name]


class EventStream(StreamingResponse):
    """An answer that goes on until the client leaves or the service stops; counted as long as it lasts."""

    def __init__(self, watch: Watch, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._watch = watch
        watch.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._watch.streams -= 1


def _event(name: str, seq: int) -> bytes:
    data = json.dumps({"campaign": name, "entries": seq}, separators=(",", ":"))
    return f"id: {seq}\nevent: changed\ndata: {data}\n\n".encode()
