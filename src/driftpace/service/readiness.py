"""Whether the store answers, said in time: one question at a time, however many want to know, and no long wait for the answer."""

import asyncio

from driftpace.errors import StorageError
from driftpace.service.lanes import Lane
from driftpace.storage.base import Store


class Readiness:
    """Asks a store whether it is there, and takes no answer within ``seconds`` for a no."""

    def __init__(self, store: Store, lane: Lane, *, seconds: float) -> None:
        self._store = store
        self._lane = lane
        self._seconds = seconds
        self._asked: asyncio.Task[None] | None = None

    async def require(self) -> None:
        """Raise StorageError where the store is away, or does not answer."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._lane.run(self._store.ping))
            self._asked.add_done_callback(_heard)
        answered, _ = await asyncio.wait({self._asked}, timeout=self._seconds)
        if not answered:
            raise StorageError(f"the store at {self._store.url} does not answer.")
        self._asked.result()


def _heard(asked: asyncio.Task[None]) -> None:
    """Take note of how a question ended that nobody waits for any more."""
    if not asked.cancelled():
        asked.exception()
