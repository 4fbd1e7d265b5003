"""Whether who was let in may still be here: for answers that go on, such as streams, while tokens are removed and run out."""

import asyncio
import time
from collections.abc import Callable

from driftpace.service.access import Caller
from driftpace.service.lanes import Lane
from driftpace.service.sessions import Sessions
from driftpace.service.tokens import among
from driftpace.storage.base import Store, Token


class Standing:
    """Asks the store for its tokens at most every ``seconds``, however many want to know."""

    def __init__(
        self,
        store: Store,
        lane: Lane,
        sessions: Sessions,
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._lane = lane
        self._sessions = sessions
        self._seconds = seconds
        self._clock = clock
        self._asking = asyncio.Lock()
        self._asked = -seconds
        self._tokens: list[Token] = []

    async def holds(self, caller: Caller, session: str) -> bool:
        """Whether the token that a caller came in by is still there, and their session too where they came by one."""
        if caller.digest is None:
            return True
        if caller.by == "session" and self._sessions.find(session) is None:
            return False
        async with self._asking:
            now = self._clock()
            known = among(self._tokens, caller.digest) is not None
            if not known or now - self._asked >= self._seconds:  # it may be newer than what is known
                self._tokens = await self._lane.run(self._store.tokens)
                self._asked = now
                known = among(self._tokens, caller.digest) is not None
        return known
