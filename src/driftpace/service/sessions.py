"""Browser sessions, the login throttle, and the re-check of tokens during long responses.

Sessions and the key of CSRF tokens are in the store, so that every service over it knows them, and there is no default secret: the
key is drawn when it is first needed. A session holds the digest of its token, and the store is asked on every request, so that a
revoked token ends its sessions at once. The throttles are of one process.
"""

import asyncio
import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from driftpace.errors import ConflictError
from driftpace.service.auth import Caller, match_token
from driftpace.service.workers import WorkerPool
from driftpace.storage.base import Store, Token, Value

_MAX_SESSIONS = 1000
_MAX_PEERS = 4096
_SESSION, _SECRET, _CSRF = "session", "secret", "csrf"


class Sessions:
    """Browser sessions: a random id in a cookie stands for a token entered at login.

    A session ends after ``hours``; beyond 1,000 sessions those that end first are dropped. All methods but :meth:`csrf` and
    :meth:`is_valid_csrf` read or write the store.
    """

    def __init__(self, store: Store, *, hours: float = 12.0, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._seconds = 3600.0 * hours
        self._clock = clock
        self._key: bytes | None = None

    def open(self, token_digest: str) -> str:
        """Start a session for a token and return its id."""
        session = secrets.token_urlsafe(32)
        now = self._clock()
        body = {"token": token_digest, "until": now + self._seconds}
        self._store.put_value(Value(kind=_SESSION, key=_lookup_key(session), body=body))
        kept = sorted(self._store.values(_SESSION), key=lambda value: float(value.body["until"]))
        for place, value in enumerate(kept):
            if now >= value.body["until"] or len(kept) - place > _MAX_SESSIONS:
                self._store.remove_value(_SESSION, value.key)
        return session

    def find(self, session: str) -> str | None:
        """Return the digest of the token a session was started with; None if it is unknown or expired."""
        value = self._store.value(_SESSION, _lookup_key(session))
        return None if value is None or self._clock() >= value.body["until"] else str(value.body["token"])

    def close(self, session: str) -> None:
        """End a session."""
        self._store.remove_value(_SESSION, _lookup_key(session))

    @property
    def has_key(self) -> bool:
        """Whether the key of CSRF tokens has been read."""
        return self._key is not None

    def read_key(self) -> None:
        """Read the key of CSRF tokens, or draw it where no service has yet."""
        value = self._store.value(_SECRET, _CSRF)
        while value is None:
            drawn = Value(kind=_SECRET, key=_CSRF, body={"key": secrets.token_hex(32)})
            try:
                self._store.put_value(drawn)
                value = drawn
            except ConflictError:  # another service has
                value = self._store.value(_SECRET, _CSRF)
        self._key = bytes.fromhex(value.body["key"])

    def csrf(self, session: str) -> str:
        """Return the CSRF token that pages of this session send with every write."""
        if self._key is None:
            self.read_key()
        assert self._key is not None
        return hmac.new(self._key, session.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_valid_csrf(self, session: str, token: str) -> bool:
        """Return whether a CSRF token belongs to a session, in constant time."""
        return hmac.compare_digest(self.csrf(session).encode(), token.encode("utf-8", "replace"))


class LoginThrottle:
    """Exponential back-off for failed logins: after ``free`` failures each one doubles the wait, up to ``max_seconds``.

    >>> now = [0.0]
    >>> throttle = LoginThrottle(free=2, clock=lambda: now[0])
    >>> for _ in range(4):
    ...     throttle.record_failure("10.0.0.7")
    >>> throttle.seconds_left("10.0.0.7"), throttle.seconds_left("10.0.0.8")
    (2.0, 0.0)
    """

    def __init__(
        self, *, free: int = 5, max_seconds: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._free = free
        self._max_seconds = max_seconds
        self._clock = clock
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def seconds_left(self, peer: str) -> float:
        """Return for how many seconds logins from a peer are still refused."""
        with self._lock:
            failures, last = self._failures.get(peer, (0, 0.0))
        if failures <= self._free:
            return 0.0
        pause = min(self._max_seconds, 2.0 ** min(failures - self._free - 1, 30))
        return max(0.0, last + pause - self._clock())

    def record_failure(self, peer: str) -> None:
        """Count a failed login."""
        with self._lock:
            failures, last = self._failures.pop(peer, (0, 0.0))
            expired = self._clock() - last > 10.0 * self._max_seconds
            self._failures[peer] = (1 if expired else failures + 1, self._clock())
            while len(self._failures) > _MAX_PEERS:
                self._failures.popitem(last=False)

    def reset(self, peer: str) -> None:
        """Drop the failures of a peer."""
        with self._lock:
            self._failures.pop(peer, None)


class TokenThrottle:
    """Back-off for wrong tokens, apart from that of failed logins; a token that was valid before is checked at once.

    So a client that sends wrong tokens does not lock out others of the same address that have sent a valid one.
    """

    def __init__(self, failures: LoginThrottle | None = None) -> None:
        self.failures = LoginThrottle() if failures is None else failures
        self._known: OrderedDict[str, None] = OrderedDict()

    def seconds_left(self, peer: str, token_digest: str) -> float:
        """Return for how many seconds this token is not checked."""
        return 0.0 if token_digest in self._known else self.failures.seconds_left(peer)

    def record(self, peer: str, token_digest: str, *, valid: bool) -> None:
        """Note whether a token was valid."""
        self._known.pop(token_digest, None)
        if not valid:
            self.failures.record_failure(peer)
            return
        self._known[token_digest] = None
        while len(self._known) > _MAX_SESSIONS:
            self._known.popitem(last=False)


class TokenRecheck:
    """Re-checks whether the token behind a long response, such as an event stream, is still valid.

    The store is asked for its tokens at most every ``seconds``, however many streams are open.
    """

    def __init__(
        self,
        store: Store,
        pool: WorkerPool,
        sessions: Sessions,
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._pool = pool
        self._sessions = sessions
        self._seconds = seconds
        self._clock = clock
        self._lock = asyncio.Lock()
        self._read_at = -seconds
        self._tokens: list[Token] = []

    async def is_valid(self, caller: Caller, session: str) -> bool:
        """Return whether the caller's token, and session if they use one, are still valid."""
        if caller.digest is None:
            return True
        if caller.by == "session" and await self._pool.run(self._sessions.find, session) is None:
            return False
        async with self._lock:
            now = self._clock()
            known = match_token(self._tokens, caller.digest) is not None
            if not known or now - self._read_at >= self._seconds:  # the token may be newer than the cached list
                self._tokens = await self._pool.run(self._store.tokens)
                self._read_at = now
                known = match_token(self._tokens, caller.digest) is not None
        return known


def _lookup_key(session: str) -> str:
    """Return the digest a session is stored under, so that lookup time reveals nothing about similar ids."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
