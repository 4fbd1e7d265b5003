"""Sessions of the page: a random name in a cookie stands for a token that was shown once at log-in.

Nothing here outlives the process: the key that CSRF tokens are made with is drawn when it starts, so there is no default secret.
A session holds the digest of its token, and the store is asked each time, so that a revoked token ends its sessions at once.
"""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST = 1000
_PEERS = 4096


class Sessions:
    """Who logged in, for as long as the process and ``hours`` last; the oldest make room for new ones."""

    def __init__(self, *, hours: float = 12.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._key = secrets.token_bytes(32)
        self._seconds = 3600.0 * hours
        self._clock = clock
        self._open: OrderedDict[str, tuple[str, float]] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, token_digest: str) -> str:
        """Begin a session for a token and return its name."""
        session = secrets.token_urlsafe(32)
        with self._lock:
            self._open[_kept(session)] = (token_digest, self._clock() + self._seconds)
            while len(self._open) > _MOST:
                self._open.popitem(last=False)
        return session

    def find(self, session: str) -> str | None:
        """Return the digest of the token that a session was begun with; None where there is none, or it is over."""
        with self._lock:
            found = self._open.get(_kept(session))
            if found is not None and self._clock() >= found[1]:
                del self._open[_kept(session)]
                found = None
        return None if found is None else found[0]

    def close(self, session: str) -> None:
        """End a session."""
        with self._lock:
            self._open.pop(_kept(session), None)

    def csrf(self, session: str) -> str:
        """Return what a page of this session has to send along when it writes."""
        return hmac.new(self._key, session.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def csrf_holds(self, session: str, sent: str) -> bool:
        """Whether that is what was sent; it takes as long for a near miss as for a far one."""
        return hmac.compare_digest(self.csrf(session).encode(), sent.encode("utf-8", "replace"))


class Patience:
    """Slows down who fails to log in: after ``free`` failures each one doubles the wait, up to a minute.

    >>> now = [0.0]
    >>> patience = Patience(free=2, clock=lambda: now[0])
    >>> for _ in range(4):
    ...     patience.failed("10.0.0.7")
    >>> patience.wait("10.0.0.7"), patience.wait("10.0.0.8")
    (2.0, 0.0)
    """

    def __init__(self, *, free: int = 5, longest: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = free
        self._longest = longest
        self._clock = clock
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, peer: str) -> float:
        """Return for how many seconds nothing that this peer sends is looked at."""
        with self._lock:
            failures, last = self._failures.get(peer, (0, 0.0))
        if failures <= self._free:
            return 0.0
        pause = min(self._longest, 2.0 ** min(failures - self._free - 1, 30))
        return max(0.0, last + pause - self._clock())

    def failed(self, peer: str) -> None:
        """Remember a failure."""
        with self._lock:
            failures, last = self._failures.pop(peer, (0, 0.0))
            forgotten = self._clock() - last > 10.0 * self._longest
            self._failures[peer] = (1 if forgotten else failures + 1, self._clock())
            while len(self._failures) > _PEERS:
                self._failures.popitem(last=False)

    def succeeded(self, peer: str) -> None:
        """Forget the failures of a peer."""
        with self._lock:
            self._failures.pop(peer, None)


def _kept(session: str) -> str:
    """Return what a session is found by: a digest, so that looking it up says nothing about names that are near."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
