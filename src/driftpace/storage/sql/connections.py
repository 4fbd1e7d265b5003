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
from driftpace.storage.sql.failures import busy, collided, gone, sentence
from driftpace.storage.sql.statements import CompiledSelect

T = TypeVar("T")
KEPT = 16
"""How many connections are kept for the next to come: as many as a service has threads, for making one costs more than its use."""

TRIES = 20
"""How often a file is read again that others wrote to meanwhile."""

Fetch = Callable[[Any, str, Any], Sequence[Any]]

RECONNECTING = 8.0
"""Seconds for which a server that went away is tried again."""

PROMPT, PAUSE = 0.5, 1.0
"""The same where somebody waits for an answer, and for how long it is not tried at all after that."""


class Connections:
    """The way to a database.

    ``wait``: seconds to wait for others; ``in_turn``: threads of this process write one by one; ``fetch``: how the driver is
    asked outside any transaction; ``still``: what tells whether a file that is read without locks was left alone meanwhile.

    A SQLite connection must not cross a fork, nor a session with a server be shared by two processes. So before a fork the
    transactions under way are waited for and every connection is closed; afterwards both sides open their own.
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
    ) -> None:
        self.url = url
        self._still = still
        self._engine, self._reader, self._wait = engine, reader, wait
        self._fetch, self._failure = fetch, engine.dialect.loaded_dbapi.Error
        self._turn = threading.Lock() if in_turn else None
        self._absence: CircuitBreaker | None = None
        self._idle = threading.Condition()
        self._running = 0
        with _FORKING:
            _OPEN.add(self)

    def promptly(self) -> "Connections":
        """Return the same connections for somebody who must not wait: once a server is gone, the next calls are refused at once.

        Only what was in the middle of being written is tried for :data:`RECONNECTING`, for whoever waits wants to know.
        """
        prompt = Connections(self._engine, self._reader, self.url, fetch=self._fetch, wait=self._wait, in_turn=False)
        prompt._turn, prompt._still = self._turn, self._still
        prompt._absence = CircuitBreaker(patience=PROMPT, pause=PAUSE)
        return prompt

    def read(self, work: Callable[[Connection], T]) -> T:
        """Read outside any transaction: each statement sees what was written when it began."""

        def once() -> T:
            with self._reader.connect() as connection:
                return work(connection)

        return self._tried(lambda: self._undisturbed(once))

    def ask(self, question: CompiledSelect, values: dict[str, Any]) -> Sequence[Any]:
        """Return the rows that a question finds, outside any transaction and straight from the driver."""
        text, parameters = question.to(self._engine.dialect, values)

        def once() -> Sequence[Any]:
            line = self._engine.raw_connection()
            try:
                return self._fetch(line.driver_connection, text, parameters)
            except self._failure as error:
                if gone(error):
                    line.invalidate(error)
                    self._engine.dispose()  # what else lies ready has been lost with it
                raise
            finally:
                line.close()

        return self._tried(lambda: self._undisturbed(once))

    def write(self, work: Callable[[Connection, bool], T], *, patience: float | None = None) -> T:
        """Run ``work(connection, again)`` in one transaction; ``again``: an earlier try of it may have been written.

        What ``work`` raises undoes it. ``patience`` is for how many seconds a server that cannot be reached is tried again, where
        that is not :data:`RECONNECTING`.
        """
        doubt = False

        def once() -> T:
            nonlocal doubt
            committing = False
            try:
                with self._in_turn(), self._engine.begin() as connection:
                    result = work(connection, doubt)
                    committing = True
            except SQLAlchemyError as error:
                doubt = doubt or (committing and gone(error))
                raise
            return result

        return self._tried(once, patience=patience, in_doubt=lambda: doubt)

    def _undisturbed(self, once: Callable[[], T]) -> T:
        """Read, and read again where somebody wrote to a file meanwhile that is read without locks."""
        if self._still is None:
            return once()
        for _ in range(TRIES):
            before = self._still()
            try:
                found = once()
            except (SQLAlchemyError, self._failure):
                if self._still() == before:
                    raise
            else:
                if self._still() == before:
                    return found
        raise StorageError(f"the store at {self.url} was changed by others all the time while it was read; try again.")

    def close(self) -> None:
        """Close the connections that are not in use; others are opened when needed."""
        self._engine.dispose()

    def _tried(
        self, once: Callable[[], T], *, patience: float | None = None, in_doubt: Callable[[], bool] = lambda: False
    ) -> T:
        reconnecting = RECONNECTING if patience is None else patience
        if self._absence is None:
            return self._again_and_again(once, reconnecting, in_doubt)
        with self._absence.watched() as left:
            return self._again_and_again(once, min(left, reconnecting), in_doubt)

    def _again_and_again(self, once: Callable[[], T], reconnecting: float, in_doubt: Callable[[], bool]) -> T:
        started, pause = time.monotonic(), 0.01
        while True:
            try:
                with self._counted():
                    return once()
            except (SQLAlchemyError, self._failure) as error:
                left = self._patience(error, reconnecting, in_doubt()) - (time.monotonic() - started)
                if left <= 0:
                    said = sentence(error, self.url, doubt=in_doubt())
                    if self._absence is not None and gone(error):
                        self._absence.seen(sentence(error, self.url))
                    raise said from error
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.5)

    def _patience(self, error: Exception, reconnecting: float, doubt: bool) -> float:
        if busy(error) or collided(error):
            return self._wait
        if not gone(error):
            return 0.0
        return max(reconnecting, RECONNECTING) if doubt else reconnecting

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if self._turn is None:
            yield
            return
        if not self._turn.acquire(timeout=self._wait):
            raise StorageError(f"writing to the store at {self.url} had to wait for so long that it was given up.")
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


_HURRY = threading.local()
_LOOK = 0.05  # seconds for a look whether a server is back: a connection of before may be in the way


class CircuitBreaker:
    """For who must not wait: a server is tried for ``patience`` seconds, and not at all for ``pause`` seconds once that failed.

    >>> now = [0.0]
    >>> absence = CircuitBreaker(patience=0.5, pause=1.0, clock=lambda: now[0])
    >>> with absence.watched() as patience:
    ...     patience, absence.seen(StorageError("the server cannot be reached."))
    (0.5, None)
    >>> with absence.watched():
    ...     pass
    Traceback (most recent call last):
    driftpace.errors.StorageError: the server cannot be reached.
    >>> now[0] = 1.0
    >>> with absence.watched() as patience:
    ...     patience
    0.05
    """

    def __init__(self, *, patience: float, pause: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience, self._pause, self._clock = patience, pause, clock
        self._lock = threading.Lock()
        self._said: StorageError | None = None
        self._until = 0.0
        self._trying = False
        self._misses = 0

    @contextmanager
    def watched(self) -> Iterator[float]:
        """Let a call to the server happen, for so many seconds as it yields; refuse it where the server is known to be gone."""
        with self._lock:
            known, misses = self._said, self._misses
            if known is not None and (self._trying or self._clock() < self._until):
                raise StorageError(str(known))
            self._trying = known is not None
        try:
            with in_a_hurry():
                yield min(self._patience, _LOOK) if known is not None else self._patience
        finally:
            with self._lock:
                if known is not None:
                    self._trying = False
                if misses == self._misses:  # whatever came of it, the server was there
                    self._said = None

    def seen(self, said: StorageError) -> None:
        """Remember that the server could not be reached, and what is said about it."""
        with self._lock:
            self._said, self._until = said, self._clock() + self._pause
            self._misses += 1


@contextmanager
def in_a_hurry() -> Iterator[None]:
    """Let connections that this thread makes meanwhile be given up early."""
    _HURRY.on = True
    try:
        yield
    finally:
        _HURRY.on = False


def hurried() -> bool:
    """Whether this thread is in a hurry."""
    return getattr(_HURRY, "on", False)
