"""What is known of a server that went away: for a while nobody tries it, then one at a time does, and the first answer ends it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from driftpace.errors import StorageError

_HURRY = threading.local()
_LOOK = 0.05  # seconds for a look whether a server is back: a connection of before may be in the way


class Absence:
    """For who must not wait: a server is tried for ``patience`` seconds, and not at all for ``pause`` seconds once that failed.

    >>> now = [0.0]
    >>> absence = Absence(patience=0.5, pause=1.0, clock=lambda: now[0])
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
