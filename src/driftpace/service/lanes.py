"""Lanes: work that blocks is done in threads, so many at once for each kind, and no endless queue before them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from driftpace.service.failures import busy

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Lane:
    """A few threads for one kind of work; ``waiting`` may wait for one, more are sent away to come again."""

    def __init__(self, what: str, *, threads: int, waiting: int) -> None:
        self._what = what
        self._most = threads + waiting
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"driftpace-{what}")
        self.at_work = 0

    async def run(self, function: Callable[P, Answer], *args: P.args, **named: P.kwargs) -> Answer:
        """Return what a function returns, computed in a thread."""
        if self.at_work >= self._most:
            raise busy(f"the service is {self._what} as much as it can; try again.", seconds=2)
        self.at_work += 1
        work = self._threads.submit(function, *args, **named)
        try:
            answer = await asyncio.wrap_future(work)
        except asyncio.CancelledError:
            self._leave_when_done(work)
            raise
        except BaseException:
            self.at_work -= 1
            raise
        self.at_work -= 1
        return answer

    def _leave_when_done(self, work: Future[Answer]) -> None:
        """Keep the place of what nobody waits for any more, for as long as it has its thread."""
        loop = asyncio.get_running_loop()

        def left(_: Future[Answer]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._leave)

        work.add_done_callback(left)

    def _leave(self) -> None:
        self.at_work -= 1
