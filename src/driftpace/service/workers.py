"""Thread pools with bounded queues for work that blocks, and the readiness probe of the store."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from driftpace.errors import StorageError
from driftpace.service.errors import busy_error
from driftpace.storage.base import Store
from driftpace.tracing import carried

P = ParamSpec("P")
Result = TypeVar("Result")


class WorkerPool:
    """A few threads for one kind of work, with a bounded queue.

    Parameters
    ----------
    activity : str
        What the pool does, such as ``"planning"``; names its threads and appears in the message when the queue is full.
    threads : int
        Calls that run at once.
    queue : int
        Calls that may wait for a thread; more are refused with 503.
    """

    def __init__(self, activity: str, *, threads: int, queue: int) -> None:
        self._activity = activity
        self._capacity = threads + queue
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"driftpace-{activity}")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.active = 0

    async def run(self, function: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result:
        """Return the result of a function, computed in a thread."""
        self._take_slot()
        return await self._run(partial(function, *args, **kwargs))

    async def run_in_turn(self, name: str, function: Callable[[], Result]) -> Result:
        """Return the result of a function, computed after those that came before under the same name, and not beside them."""
        self._take_slot()
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = asyncio.Lock()  # which is fair: first come, first served
        try:
            await turn.acquire()
        except BaseException:
            self.active -= 1
            raise
        return await self._run(function, turn)

    def close(self) -> None:
        """Wait for the calls that run, and drop those that wait."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def _run(self, function: Callable[[], Result], turn: asyncio.Lock | None = None) -> Result:
        """Return the result of a function; its slot and its turn end when its thread has finished, even if nothing awaits it."""
        loop = asyncio.get_running_loop()
        future = self._threads.submit(carried(function))
        waiting = asyncio.wrap_future(future)

        def release() -> None:
            self.active -= 1
            if turn is not None:
                turn.release()

        def done(_: Future[Result]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(release)

        try:
            result = await waiting
        except asyncio.CancelledError:
            future.add_done_callback(done)
            raise
        except BaseException:
            release()
            raise
        release()
        return result

    def _take_slot(self) -> None:
        if self.active >= self._capacity:
            raise busy_error(f"the service is at its limit for {self._activity}; try again.", seconds=2)
        self.active += 1


async def run_cancellable(request: Request, pool: WorkerPool, function: Callable[[], Result]) -> Result:
    """Return the result of a function, computed in a pool; cancelled if the client disconnects while it is queued.

    For functions without side effects of requests with a body, such as a plan: one that has started runs to its end in its
    thread. Requests without a body are cancelled by :class:`~driftpace.service.middleware.AbandonedMiddleware`.

    Raises
    ------
    starlette.requests.ClientDisconnect
        As soon as the client has disconnected.
    """
    return await unless_disconnected(pool.run(function), wait_for_disconnect(request.receive))


async def unless_disconnected(work: Coroutine[Any, Any, Result], disconnect: Coroutine[Any, Any, None]) -> Result:
    """Return the result of some work, cancelled with ClientDisconnect as soon as ``disconnect`` returns."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(disconnect)
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        leaving.result()  # raises if the body was too slow
        raise ClientDisconnect
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected; the rest of its body is discarded."""
    while (await receive())["type"] != "http.disconnect":
        pass


class ReadinessProbe:
    """Pings a store, once at a time however many callers ask; no answer within ``seconds`` counts as a failure."""

    def __init__(self, store: Store, pool: WorkerPool, *, seconds: float) -> None:
        self._store = store
        self._pool = pool
        self._seconds = seconds
        self._ping: asyncio.Task[None] | None = None

    async def require(self) -> None:
        """Raise StorageError if the store is unavailable or does not answer in time."""
        if self._ping is None or self._ping.done():
            self._ping = asyncio.create_task(self._pool.run(self._store.ping))
            self._ping.add_done_callback(_retrieve_exception)
        answered, _ = await asyncio.wait({self._ping}, timeout=self._seconds)
        if not answered:
            raise StorageError("the store{where} does not answer.", store=self._store.url)
        self._ping.result()


def _retrieve_exception(ping: asyncio.Task[None]) -> None:
    """Mark the exception of a ping as retrieved: by the time it fails, its callers may have timed out."""
    if not ping.cancelled():
        ping.exception()
