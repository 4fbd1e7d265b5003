"""API tokens: creation, lookup and expiry.

A secret has 256 random bits, so it cannot be guessed, nor recovered from its SHA-256: a slow hash protects passwords that people
choose, and would only slow down every request here. The store holds the digest; the secret is shown once and stored nowhere.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from driftpace import validation
from driftpace.errors import ConflictError, ParameterError
from driftpace.storage.base import Store, Token

SCOPES = ("read", "write", "hook")
"""read: look; write: look and change; hook: only deliver rows from a labelling tool."""

PREFIX = "dp_"
_TOKEN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_MAX_SECRET = 200


def make_token(
    store: Store,
    name: str,
    scopes: Iterable[str] = ("read",),
    expires_days: float | None = None,
    *,
    now: datetime | None = None,
) -> str:
    """Store a new token and return its secret, which cannot be retrieved again.

    Parameters
    ----------
    store : Store
        Where the digest of the token is kept.
    name : str
        Unique name, recorded in the log of every campaign the token changes.
    scopes : iterable of str
        Any of ``"read"``, ``"write"`` and ``"hook"``.
    expires_days : float, optional
        Days until the token expires; None for never.
    now : datetime, optional
        Time of creation, for tests.

    Returns
    -------
    str
        The secret.

    Examples
    --------
    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> secret = make_token(store, "nightly", ["read", "write"])
    >>> secret[:3], find_token(store, secret).name, find_token(store, secret + "x")
    ('dp_', 'nightly', None)
    """
    if not isinstance(name, str) or not _TOKEN_NAME.fullmatch(name):
        raise ParameterError(
            "must be up to 100 letters, digits, dots, dashes, underscores and @, "
            f"a letter or digit first; got {str(name)[:120]!r}.",
            owner="make_token",
            name="name",
        )
    chosen = tuple(dict.fromkeys(scopes))
    for scope in chosen:
        validation.choice("make_token", SCOPES, scopes=scope)
    if not chosen:
        raise ParameterError(
            f"must have at least one of {', '.join(SCOPES)}; got none.",
            owner="make_token",
            name="scopes",
        )
    created = datetime.now(UTC) if now is None else now
    expires = None
    if expires_days is not None:
        validation.positive("make_token", expires_days=expires_days)
        if expires_days > 36_500:
            raise ParameterError(
                f"must be at most 36,500; got {expires_days!r}.",
                owner="make_token",
                name="expires_days",
            )
        expires = _timestamp(created + timedelta(days=expires_days))
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(name=name, digest=digest(secret), scopes=chosen, created_at=_timestamp(created), expires_at=expires)
    try:
        store.add_token(token)
    except ConflictError:
        raise ParameterError(
            f"must be unused; got {name!r}, which exists.",
            owner="make_token",
            name="name",
        ) from None
    return secret


def find_token(store: Store, secret: str, *, now: datetime | None = None) -> Token | None:
    """Return the valid token of a secret, or None; comparisons take constant time."""
    return find_digest(store, digest(secret[:_MAX_SECRET]), now=now)


def find_digest(store: Store, token_digest: str, *, now: datetime | None = None) -> Token | None:
    """Return the valid token with a digest, or None."""
    return match_token(store.tokens(), token_digest, now=now)


def match_token(tokens: Iterable[Token], token_digest: str, *, now: datetime | None = None) -> Token | None:
    """Return the token with a digest among several, or None if there is none or it has expired."""
    match = None
    for token in tokens:  # all of them, whether or not one has matched: constant time
        if hmac.compare_digest(token.digest.encode(), token_digest.encode()):
            match = token
    if match is None or match.expires_at is None:
        return match
    return match if _timestamp(datetime.now(UTC) if now is None else now) < match.expires_at else None


def digest(secret: str) -> str:
    """Return the SHA-256 of a secret in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _timestamp(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
