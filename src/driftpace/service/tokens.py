"""Tokens: who may come in from afar.

A secret has 256 random bits, so nobody guesses one, and nobody guesses it from its SHA-256 either: a slow hash protects passwords
that people choose, and would only make every request slow here. The store holds the digest; the secret is shown once and kept
nowhere.
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
"""What a token may do: look; look and change; only bring what a labelling tool sends by itself."""

PREFIX = "dp_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_LONGEST = 200


def make_token(
    store: Store,
    name: str,
    scopes: Iterable[str] = ("read",),
    expires_days: float | None = None,
    *,
    now: datetime | None = None,
) -> str:
    """Keep a new token and return its secret, which cannot be had again.

    >>> from driftpace.storage import MemoryStore
    >>> store = MemoryStore()
    >>> secret = make_token(store, "nightly", ["read", "write"])
    >>> secret[:3], find_token(store, secret).name, find_token(store, secret + "x")
    ('dp_', 'nightly', None)
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(
            "must be up to 100 letters, digits, dots, dashes, underscores and @, "
            f"a letter or digit first; got {str(name)[:120]!r}.",
            owner="make_token",
            name="name",
        )
    wanted = tuple(dict.fromkeys(scopes))
    for scope in wanted:
        validation.choice("make_token", SCOPES, scopes=scope)
    if not wanted:
        raise ParameterError(
            f"must be one of {', '.join(SCOPES)} at least; got none.",
            owner="make_token",
            name="scopes",
        )
    made = datetime.now(UTC) if now is None else now
    expires = None
    if expires_days is not None:
        validation.positive("make_token", expires_days=expires_days)
        if expires_days > 36_500:
            raise ParameterError(
                f"must be at most 36,500; got {expires_days!r}.",
                owner="make_token",
                name="expires_days",
            )
        expires = _moment(made + timedelta(days=expires_days))
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(name=name, digest=digest(secret), scopes=wanted, created_at=_moment(made), expires_at=expires)
    try:
        store.add_token(token)
    except ConflictError:
        raise ParameterError(
            f"must be a name that is free; got {name!r}, which exists.",
            owner="make_token",
            name="name",
        ) from None
    return secret


def find_token(store: Store, secret: str, *, now: datetime | None = None) -> Token | None:
    """Return the token of a secret, if it is kept and not over. It takes as long for a near miss as for a far one."""
    return find_digest(store, digest(secret[:_LONGEST]), now=now)


def find_digest(store: Store, wanted: str, *, now: datetime | None = None) -> Token | None:
    """Return the token with that digest, if it is kept and not over."""
    return among(store.tokens(), wanted, now=now)


def among(tokens: Iterable[Token], wanted: str, *, now: datetime | None = None) -> Token | None:
    """Return the one of several tokens that has that digest, if it is not over."""
    found = None
    for token in tokens:  # all of them, whether or not one has matched
        if hmac.compare_digest(token.digest.encode(), wanted.encode()):
            found = token
    if found is None or found.expires_at is None:
        return found
    return found if _moment(datetime.now(UTC) if now is None else now) < found.expires_at else None


def digest(secret: str) -> str:
    """Return the SHA-256 of a secret in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _moment(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
