"""Scopes and API tokens: which scope each address needs, and how tokens are made and found.

A secret has 256 random bits, so it cannot be guessed, nor recovered from its SHA-256: a slow hash protects passwords that people
choose, and would only slow down every request here. The store holds the digest; the secret is shown once and stored nowhere.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from driftpace import validation
from driftpace.campaign.definition import check_name
from driftpace.errors import ConflictError, ParameterError
from driftpace.service.access import SCOPES
from driftpace.storage.base import Store, Token

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC = frozenset({"/healthz", "/readyz", "/login", "/logout", "/favicon.ico"})
_READS = re.compile(r"/api/campaigns/[^/]+/(plans|(fleet/)?predictions)|/api/(schema|check)")
_LABELS = re.compile(
    r"/api/campaigns/[^/]+/(deliveries|deliveries/forget|sample|orders/current/release|fleet/(deliveries|sample))"
)
_ORDERS = re.compile(
    r"/api/campaigns/[^/]+/(orders|orders/current/(approve|override)|undo|retrain|fleet/(orders|undo))"
)
_CAMPAIGN = re.compile(r"/(?:api/)?(?:campaigns|hooks/label-studio)/([^/]+)(?:/.*)?")
_SHARED = re.compile(r"/(check|api/(session|docs|openapi\.json|alerts|check|schema|campaigns))?")
_HOOK = re.compile(r"/api/hooks/[^/]+/[^/]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """An authenticated caller: the name of its token or user, or ``local``.

    ``by`` is how it was identified, ``digest`` by which token; ``campaigns`` are those it is limited to, none where it is not
    limited.
    """

    name: str
    scopes: tuple[str, ...]
    by: str
    digest: str | None = field(default=None, repr=False)
    campaigns: tuple[str, ...] = ()

    def may(self, scope: str) -> bool:
        """Return whether the caller has a scope; the scope write implies all others."""
        return scope in self.scopes or "write" in self.scopes

    def may_open(self, method: str, path: str) -> bool:
        """Return whether an address is within the campaigns that the caller is limited to.

        >>> caller = Caller(name="desk", scopes=("read",), by="token", campaigns=("churn",))
        >>> [caller.may_open("GET", path) for path in ("/api/campaigns/churn/log", "/api/campaigns/prices", "/", "/metrics")]
        [True, False, True, False]
        """
        if not self.campaigns:
            return True
        named = _CAMPAIGN.fullmatch(path)
        if named is not None:
            return named[1] in self.campaigns
        return bool(_SHARED.fullmatch(path)) and (path != "/api/campaigns" or method in SAFE)


LOCAL = Caller(name="local", scopes=("read", "write"), by="loopback")


def required_scope(method: str, path: str) -> str | None:
    """Return the scope that a request needs; None if it is public. Unknown addresses need write.

    >>> required_scope("GET", "/api/campaigns"), required_scope("POST", "/api/campaigns")
    ('read', 'write')
    >>> [required_scope("POST", f"/api/campaigns/churn/{what}") for what in ("deliveries", "orders", "budget")]
    ['label', 'order', 'write']
    >>> required_scope("GET", "/healthz"), required_scope("POST", "/api/hooks/label-studio/churn")
    (None, 'hook')
    >>> required_scope("POST", "/api/campaigns/churn/plans")  # changes nothing
    'read'
    """
    if path in _PUBLIC or (path.startswith("/static/") and method in ("GET", "HEAD")):
        return None
    if _HOOK.fullmatch(path):
        return "hook"
    if method in SAFE or (method == "POST" and _READS.fullmatch(path)):
        return "read"
    if method == "POST" and _LABELS.fullmatch(path):
        return "label"
    return "order" if method == "POST" and _ORDERS.fullmatch(path) else "write"


def is_api(path: str) -> bool:
    """Return whether an address is for programs; all others, and the API documentation, are pages."""
    return path.startswith("/api/") and path != "/api/docs"


def same_origin(headers: Mapping[str, str]) -> bool:
    """Return whether a request does not come from a page of another site.

    >>> same_origin({"host": "127.0.0.1:8321", "origin": "http://127.0.0.1:8321"})
    True
    >>> same_origin({"host": "127.0.0.1:8321", "origin": "https://evil.example"})
    False
    >>> same_origin({"host": "127.0.0.1:8321", "sec-fetch-site": "cross-site"})
    False
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    scheme, mark, rest = origin.partition("://")
    return bool(mark) and scheme in ("http", "https") and rest.lower() == headers.get("host", "").lower()


def is_navigation(headers: Mapping[str, str]) -> bool:
    """Return whether a link was followed to a top-level page; an image, a frame or a script of another page is not.

    >>> is_navigation({"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"})
    True
    >>> is_navigation({"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"})
    False
    """
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def from_browser(headers: Mapping[str, str]) -> bool:
    """Return whether a request was made by a browser, which may act for a page its user never meant to use."""
    return any(name in headers for name in ("origin", "sec-fetch-site", "sec-fetch-mode", "cookie"))


_ONE_CAMPAIGN = "campaign:"
"""Beginning of a scope that limits a token to a campaign."""

PREFIX = "dp_"
USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")
_MAX_SECRET = 200


def make_token(
    store: Store,
    name: str,
    scopes: Iterable[str] = ("read",),
    expires_days: float | None = None,
    *,
    campaigns: Iterable[str] = (),
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
        Any of :data:`SCOPES`; ``ROLES[role]`` are those of a role.
    expires_days : float, optional
        Days until the token expires; None for never.
    campaigns : iterable of str
        The campaigns the token is for; none for all of them.
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
    if not isinstance(name, str) or not USER_NAME.fullmatch(name):
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
    limited = tuple(f"{_ONE_CAMPAIGN}{check_name(name)}" for name in dict.fromkeys(campaigns))
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
    token = Token(
        name=name, digest=digest(secret), scopes=(*chosen, *limited), created_at=_timestamp(created), expires_at=expires
    )
    try:
        store.add_token(token)
    except ConflictError:
        raise ParameterError(
            f"must be unused; got {name!r}, which exists.",
            owner="make_token",
            name="name",
        ) from None
    return secret


def caller_of_token(token: Token, by: str, *, name: str | None = None) -> Caller:
    """Return the caller that a token stands for; ``name`` is another name for the log."""
    limited = [scope.removeprefix(_ONE_CAMPAIGN) for scope in token.scopes if scope.startswith(_ONE_CAMPAIGN)]
    return Caller(
        name=token.name if name is None else name,
        scopes=tuple(scope for scope in token.scopes if not scope.startswith(_ONE_CAMPAIGN)),
        by=by,
        digest=token.digest,
        campaigns=tuple(limited),
    )


def find_token(store: Store, secret: str, *, now: datetime | None = None) -> Token | None:
    """Return the valid token of a secret, or None; comparisons take constant time."""
    return find_digest(store, secret_digest(secret), now=now)


def secret_digest(secret: str) -> str:
    """Return the digest of a secret as a client sent it, of which a bounded part counts."""
    return digest(secret[:_MAX_SECRET])


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
