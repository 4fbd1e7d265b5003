"""Lanes: work that blocks is done in threads, so many at once for each kind, and no endless queue before them."""

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from driftpace.service.failures import busy

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Lane:
    """A few threads for one kind of work; ``waiting`` may wait for one, more are sent away to come again."""

    def __init__(self, what: str, *, threads: int, waiting: int) -> None:
        self._what = what
        self._threads = threads
        self._most = threads + waiting
        self._limiter: CapacityLimiter | None = None
        self.at_work = 0

    async def run(self, function: Callable[P, Answer], *args: P.args, **named: P.kwargs) -> Answer:
        """Return what a function returns, computed in a thread."""
        if self.at_work >= self._most:
            raise busy(f"the service is {self._what} as much as it can; try again.", seconds=2)
        if self._limiter is None:
            self._limiter = CapacityLimiter(self._threads)
        self.at_work += 1
        try:
            return await to_thread.run_sync(partial(function, *args, **named), limiter=self._limiter)
        finally:
            self.at_work -= 1
