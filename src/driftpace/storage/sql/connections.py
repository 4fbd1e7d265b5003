"""Database connections: short transactions that are retried, safe across threads and forks, with a circuit breaker.

A transaction is a function of a connection. It is retried for a bounded time when the connection was lost, when another
transaction was in the way, or while the server restarts; so it must detect by itself that an earlier attempt of the same change
was committed. Every failure is raised as a StorageError of one sentence.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from driftpace.errors import StorageError
from driftpace.storage.sql.failures import is_busy, is_conflict, is_disconnect, sentence
from driftpace.storage.sql.statements import CompiledSelect
from driftpace.tracing import span

T = TypeVar("T")
KEPT = 16
"""Pool size: as many as the service has threads, because opening a connection costs more than a query."""

TRIES = 20
"""How often a file without locks is read again after a concurrent write."""

Fetch = Callable[[Any, str, Any], Sequence[Any]]

RECONNECTING = 8.0
"""Seconds for which a lost server is tried again."""

PROMPT, PAUSE = 0.5, 1.0
"""The same for interactive calls, and the seconds for which it is not tried at all afterwards."""


class Connections:
    """Connections to one database.

    ``wait``: seconds to wait for other writers; ``in_turn``: threads of this process write one by one; ``fetch``: executes a query
    with the driver outside a transaction; ``still``: returns a stamp that changes when a file read without locks was written to.

    A SQLite connection must not cross a fork, and two processes must not share a server session. Before a fork, running
    transactions are awaited and all connections closed; afterwards both processes open their own.
    """

    def __init__(
        self,
        engine: Engine,
        reader: Engine,
        url: str,
        *,
        fetch: Fetch,
        wait: float,
        in_turn: bool,
        still: Callable[[], object] | None = None,
        light: Fetch | None = None,
    ) -> None:
        self.url = url
        self._light = fetch if light is None else light
        self._still = still
        self._engine, self._reader, self._wait = engine, reader, wait
        self._fetch, self._failure = fetch, engine.dialect.loaded_dbapi.Error
        self._turn = threading.Lock() if in_turn else None
        self._breaker: CircuitBreaker | None = None
        self._idle = threading.Condition()
        self._running = 0
        with _FORKING:
            _OPEN.add(self)

    def promptly(self) -> "Connections":
        """Return the same connections with a circuit breaker: while the server is unavailable, calls fail at once.

        Only a commit in doubt is retried for :data:`RECONNECTING`, because its result has to be known.
        """
        prompt = Connections(
            self._engine, self._reader, self.url, fetch=self._fetch, wait=self._wait, in_turn=False, light=self._light
        )
        prompt._turn, prompt._still = self._turn, self._still
        prompt._breaker = CircuitBreaker(patience=PROMPT, pause=PAUSE)
        return prompt

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run queries outside a transaction: each sees what was committed when it began."""

        def once() -> T:
            with self._reader.connect() as connection:
                return work(connection)

        return self._guarded(lambda: self._undisturbed(once))

    def ask(self, query: CompiledSelect, values: dict[str, Any]) -> Sequence[Any]:
        """Return the rows of a compiled query, executed by the driver outside a transaction."""
        text, parameters = query.compiled_for(self._engine.dialect, values)

        def once() -> Sequence[Any]:
            line = self._engine.raw_connection()
            try:
                return self._fetch(line.driver_connection, text, parameters)
            except self._failure as error:
                if is_disconnect(error):
                    line.invalidate(error)
                    self._engine.dispose()  # the other pooled connections are lost too
                raise
            finally:
                line.close()

        return self._guarded(lambda: self._undisturbed(once))

    def lightly(self, statement: CompiledSelect, values: dict[str, Any]) -> Sequence[Any]:
        """Execute one statement that may be lost when the machine loses power, such as a ticket: nothing is synced for it."""
        text, parameters = statement.compiled_for(self._engine.dialect, values)

        def once() -> Sequence[Any]:
            line = self._engine.raw_connection()
            try:
                return self._light(line.driver_connection, text, parameters)
            finally:
                line.close()

        return self._guarded(once)

    def write(self, work: Callable[[Connection, bool], T], *, patience: float | None = None) -> T:
        """Run ``work(connection, again)`` in one transaction; ``again``: an earlier attempt may have been committed.

        An exception of ``work`` rolls back. ``patience`` is for how many seconds an unavailable server is tried again, by default
        :data:`RECONNECTING`.
        """
        doubt = False

        def once() -> T:
            nonlocal doubt
            committing = False
            try:
                with span("store.write"), self._in_turn(), self._engine.begin() as connection:
                    result = work(connection, doubt)
                    committing = True
            except SQLAlchemyError as error:
                doubt = doubt or (committing and is_disconnect(error))
                raise
            return result

        return self._guarded(once, patience=patience, in_doubt=lambda: doubt)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Yield a connection whose queries all see what was committed when the first one began; nothing is retried."""
        server = self._engine.dialect.name == "postgresql"
        options = {"isolation_level": "REPEATABLE READ"} if server else {}
        try:
            engine = self._engine if server else self._reader  # which takes no lock for a write
            with engine.connect().execution_options(**options) as connection, connection.begin():
                if not server:
                    connection.exec_driver_sql("BEGIN")
                yield connection
        except SQLAlchemyError as error:
            raise sentence(error, self.url) from error

    def _undisturbed(self, once: Callable[[], T]) -> T:
        """Read, and read again if a file without locks was written to meanwhile."""
        if self._still is None:
            return once()
        for _ in range(TRIES):
            before = self._still()
            try:
                result = once()
            except (SQLAlchemyError, self._failure):
                if self._still() == before:
                    raise
            else:
                if self._still() == before:
                    return result
        raise StorageError(
            "the store{where} was changed by other processes while it was read; try again.", store=self.url
        )

    def close(self) -> None:
        """Close idle connections; new ones are opened when needed."""
        self._engine.dispose()

    def _guarded(
        self, once: Callable[[], T], *, patience: float | None = None, in_doubt: Callable[[], bool] = lambda: False
    ) -> T:
        reconnecting = RECONNECTING if patience is None else patience
        if self._breaker is None:
            return self._retry(once, reconnecting, in_doubt)
        with self._breaker.guard() as left:
            return self._retry(once, min(left, reconnecting), in_doubt)

    def _retry(self, once: Callable[[], T], reconnecting: float, in_doubt: Callable[[], bool]) -> T:
        started, pause = time.monotonic(), 0.01
        while True:
            try:
                with self._counted():
                    return once()
            except (SQLAlchemyError, self._failure) as error:
                left = self._patience(error, reconnecting, in_doubt()) - (time.monotonic() - started)
                if left <= 0:
                    failure = sentence(error, self.url, doubt=in_doubt())
                    if self._breaker is not None and is_disconnect(error):
                        self._breaker.trip(sentence(error, self.url))
                    raise failure from error
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.5)

    def _patience(self, error: Exception, reconnecting: float, doubt: bool) -> float:
        if is_busy(error) or is_conflict(error):
            return self._wait
        if not is_disconnect(error):
            return 0.0
        return max(reconnecting, RECONNECTING) if doubt else reconnecting

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=self._wait):
            raise StorageError("writing to the store{where} timed out waiting for other writers.", store=self.url)
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._idle:
            self._running += 1
        try:
            yield
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    def _before_fork(self) -> None:
        self._idle.acquire()
        while self._running:
            self._idle.wait()
        self._engine.dispose()

    def _after_fork(self) -> None:
        self._idle.release()


_OPEN: "weakref.WeakSet[Connections]" = weakref.WeakSet()
_FORKING = threading.Lock()
_STOPPED: list[Connections] = []


def _before_fork() -> None:
    _FORKING.acquire()
    _STOPPED.extend(_OPEN)
    for connections in _STOPPED:
        connections._before_fork()


def _after_fork() -> None:
    for connections in _STOPPED:
        connections._after_fork()
    _STOPPED.clear()
    _FORKING.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


_SHORT_TIMEOUT = threading.local()
_LOOK = 0.05  # seconds to probe whether a server is back, since an old connection may fail first


class CircuitBreaker:
    """Fail fast while a server is unavailable: try it for ``patience`` seconds, then not at all for ``pause`` seconds.

    >>> now = [0.0]
    >>> breaker = CircuitBreaker(patience=0.5, pause=1.0, clock=lambda: now[0])
    >>> with breaker.guard() as patience:
    ...     patience, breaker.trip(StorageError("the server cannot be reached."))
    (0.5, None)
    >>> with breaker.guard():
    ...     pass
    Traceback (most recent call last):
    driftpace.errors.StorageError: the server cannot be reached.
    >>> now[0] = 1.0
    >>> with breaker.guard() as patience:
    ...     patience
    0.05
    """

    def __init__(self, *, patience: float, pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._pause, self._clock = patience, pause, clock
        self._lock = threading.Lock()
        self._error: StorageError | None = None
        self._until = 0.0
        self._trying = False
        self._misses = 0

    @contextmanager
    def guard(self) -> Iterator[float]:
        """Yield the seconds that a call may take; raise StorageError if the server is known to be unavailable."""
        with self._lock:
            known, misses = self._error, self._misses
            if known is not None and (self._trying or self._clock() < self._until):
                raise known.renamed()
            self._trying = known is not None
        try:
            with short_timeouts():
                yield min(self._patience, _LOOK) if known is not None else self._patience
        finally:
            with self._lock:
                if known is not None:
                    self._trying = False
                if misses == self._misses:  # the server answered, whatever the result
                    self._error = None

    def trip(self, error: StorageError) -> None:
        """Record that the server could not be reached, with the error to raise."""
        with self._lock:
            self._error, self._until = error, self._clock() + self._pause
            self._misses += 1


@contextmanager
def short_timeouts() -> Iterator[None]:
    """Shorten the timeout of connections that this thread opens meanwhile."""
    _SHORT_TIMEOUT.on = True
    try:
        yield
    finally:
        _SHORT_TIMEOUT.on = False


def uses_short_timeout() -> bool:
    """Return whether this thread uses the short timeout."""
    return getattr(_SHORT_TIMEOUT, "on", False)
