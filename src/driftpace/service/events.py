"""Server-sent events that tell clients when a campaign has changed."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from driftpace.errors import DriftpaceError
from driftpace.service.errors import ApiError, busy_error
from driftpace.service.limits import ServiceLimits
from driftpace.service.workers import WorkerPool
from driftpace.storage.base import Store

Authorized = Callable[[], Awaitable[bool]]
"""Whether the listening client is still authorized."""


class EventBroker:
    """Opens event streams, up to a limit, and ends them when the service stops.

    Changes by this process are sent at once; changes by other processes when the store is polled.
    """

    def __init__(self, store: Store, pool: WorkerPool, limits: ServiceLimits) -> None:
        self._store = store
        self._pool = pool
        self._limits = limits
        self._listeners: dict[str, set[asyncio.Event]] = {}
        self._closed = False
        self.streams = 0

    def notify(self, name: str) -> None:
        """Wake the streams of a campaign; call it from the event loop."""
        for event in self._listeners.get(name, ()):
            event.set()

    def close(self) -> None:
        """End all streams and refuse new ones."""
        self._closed = True
        for name in list(self._listeners):
            self.notify(name)

    def open(self, name: str, seq: int, authorized: Authorized) -> "EventStream":
        """Return a stream that starts with entry ``seq`` of the log and lasts while ``authorized()`` is true."""
        if self._closed or self.streams >= self._limits.streams:
            raise busy_error("the service has reached its limit of event streams; try again.", seconds=10)
        return EventStream(self, self._follow(name, seq, authorized))

    async def _follow(self, name: str, seq: int, authorized: Authorized) -> AsyncIterator[bytes]:
        changed = asyncio.Event()
        self._listeners.setdefault(name, set()).add(changed)
        try:
            yield b"retry: 2000\n\n" + _event(name, seq)
            silent = 0.0
            until = time.monotonic() + self._limits.stream_seconds
            while time.monotonic() < until:
                try:
                    async with asyncio.timeout(self._limits.poll_seconds):
                        await changed.wait()
                except TimeoutError:
                    silent += self._limits.poll_seconds
                changed.clear()
                if self._closed:
                    return
                try:
                    head = await self._pool.run(self._store.head, name) if await authorized() else None
                except (DriftpaceError, ApiError):  # the store is unavailable or the service busy: clients reconnect
                    return
                if head is None:
                    return
                if head.seq != seq:
                    seq, silent = head.seq, 0.0
                    yield _event(name, seq)
                elif silent >= self._limits.heartbeat_seconds:
                    silent = 0.0
                    yield b": keep-alive\n\n"
        finally:
            self._listeners[name].discard(changed)
            if not self._listeners[name]:
                del self._listeners[name]


class EventStream(StreamingResponse):
    """A response that lasts until the client disconnects or the service stops; the broker counts it."""

    def __init__(self, broker: EventBroker, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
        self._broker = broker
        broker.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._broker.streams -= 1


def _event(name: str, seq: int) -> bytes:
    data = json.dumps({"campaign": name, "entries": seq}, separators=(",", ":"))
    return f"id: {seq}\nevent: changed\ndata: {data}\n\n".encode()
