"""Access rules: which requests need a token, and which scope each address needs.

On loopback nothing has to be set up: a request from the machine itself, to a service that listens on loopback only, needs no
token. Its Host must be the machine (another name that resolves here is DNS rebinding), and it must not have passed a proxy, which
would make every client look local. All other requests need a token.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_PUBLIC = frozenset({"/healthz", "/readyz", "/login", "/logout", "/favicon.ico"})
_READS = re.compile(r"/api/campaigns/[^/]+/(plans|predictions)|/api/schema")
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
