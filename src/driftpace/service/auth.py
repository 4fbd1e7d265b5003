"""Access rules and API tokens: which requests need a token, which scope each address needs, and how tokens are made and found.

On loopback nothing has to be set up: a request from the machine itself, to a service that listens on loopback only, needs no
token. Its Host must be the machine (another name that resolves here is DNS rebinding), and it must not have passed a proxy, which
would make every client look local. All other requests need a token.

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
from ipaddress import ip_address

from driftpace import validation
from driftpace.errors import ConflictError, ParameterError
from driftpace.storage.base import Store, Token

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC = frozenset({"/healthz", "/readyz", "/login", "/logout", "/favicon.ico"})
_READS = re.compile(r"/api/campaigns/[^/]+/(plans|predictions)|/api/(schema|check)")
_HOOK = re.compile(r"/api/hooks/[^/]+/[^/]+")
_FORWARDED = re.compile(
    r"forwarded|via|cdn-loop|(x-)?remote-addr|x-forwarded(-.+)?|x-(original|envoy|varnish|azure|appengine|amz|amzn|akamai)(-.+)?"
    r"|(cf|fly|fastly|cloudfront|akamai)-.+|(.+-)?(client|real|connecting|remote|source|peer|origin|proxyuser)-?ip(v6)?"
)
"""Headers that proxies and content delivery networks add; browsers and HTTP clients do not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Where the service listens, and whether it needs a token there.

    Parameters
    ----------
    host : str
        Address the service listens on.
    port : int, optional
        Port; None accepts any in ``Host``.
    token_always : bool
        Require a token on loopback too, such as behind a proxy.

    Examples
    --------
    >>> Access(host="127.0.0.1", port=8321).is_local, Access(host="0.0.0.0", port=8321).is_local
    (True, False)
    """

    host: str = "127.0.0.1"
    port: int | None = None
    token_always: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the service listens on loopback only."""
        return is_loopback(self.host)

    def allows_without_token(self, peer: str | None, headers: Mapping[str, str], version: str = "1.1") -> bool:
        """Return whether a request needs no token: from this machine, to a local service, and not through a proxy.

        Some proxies add no header unless configured to; nginx is recognised by HTTP/1.0, which no current browser or client
        speaks.
        """
        if self.token_always or not self.is_local or peer is None or not is_loopback(peer):
            return False
        return version != "1.0" and not any(_FORWARDED.fullmatch(name.replace("_", "-")) for name in headers)

    def is_own_host(self, host: str) -> bool:
        """Return whether ``Host`` names this machine.

        >>> access = Access(port=8321)
        >>> [access.is_own_host(host) for host in ("localhost:8321", "[::1]:8321", "evil.example:8321", "127.0.0.1")]
        [True, True, False, False]
        >>> Access(host="127.0.0.2", port=8321).is_own_host("127.0.0.2:8321"), access.is_own_host("127.0.0.2:8321")
        (True, False)
        """
        name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "80")
        known = {"localhost", "127.0.0.1", "[::1]", *([self.host.lower()] if self.is_local else [])}
        return name.lower() in known and (self.port is None or port == str(self.port))


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """An authenticated caller: the name of its token, or ``local``; ``by`` is how it was identified, ``digest`` by which token."""

    name: str
    scopes: tuple[str, ...]
    by: str
    digest: str | None = field(default=None, repr=False)

    @property
    def may_write(self) -> bool:
        """Whether the caller may change anything."""
        return "write" in self.scopes

    def may(self, scope: str) -> bool:
        """Return whether the caller has a scope; the scope write implies all others."""
        return scope in self.scopes or "write" in self.scopes


LOCAL = Caller(name="local", scopes=("read", "write"), by="loopback")


def required_scope(method: str, path: str) -> str | None:
    """Return the scope that a request needs; None if it is public. Unknown addresses need write.

    >>> required_scope("GET", "/api/campaigns"), required_scope("POST", "/api/campaigns")
    ('read', 'write')
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
    return "write"


def is_api(path: str) -> bool:
    """Return whether an address is for programs; all others, and the API documentation, are pages."""
    return path.startswith("/api/") and path != "/api/docs"


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "192.168.1.4", "")]
    [True, True, True, False, False, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]").split("%", 1)[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


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
