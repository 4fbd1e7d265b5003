"""Who may do what.

On loopback nothing has to be set up: a request from the machine itself, to a service that listens on loopback only, needs no
token. The name it was sent to must be that of the machine (a foreign name that leads here is a page playing DNS tricks), and it
must not have come through a proxy, which would make the whole world local. Everybody else shows a token.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN = frozenset({"/healthz", "/readyz", "/login", "/logout", "/favicon.ico"})
_READS = re.compile(r"/api/campaigns/[^/]+/(plans|predictions)")
_HOOK = re.compile(r"/api/hooks/[^/]+/[^/]+")
_FORWARDED = re.compile(
    r"forwarded|via|cdn-loop|(x-)?remote-addr|x-forwarded(-.+)?|x-(original|envoy|varnish|azure|appengine|amz|amzn|akamai)(-.+)?"
    r"|(cf|fly|fastly|cloudfront|akamai)-.+|(.+-)?(client|real|connecting|remote|source|peer|origin|proxyuser)-?ip(v6)?"
)
"""What proxies and the edges of content networks put on a request; no browser and no client does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Where the service listens. With ``always``, a token is needed on loopback too.

    >>> Access(host="127.0.0.1", port=8321).is_local, Access(host="0.0.0.0", port=8321).is_local
    (True, False)
    """

    host: str = "127.0.0.1"
    port: int | None = None
    always: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the service listens on loopback only."""
        return is_loopback(self.host)

    def lets_pass(self, peer: str | None, headers: Mapping[str, str], version: str = "1.1") -> bool:
        """Whether a request needs no token: from this machine, to a service for this machine, and not through a proxy.

        Some proxies say nothing of whom they speak for unless they are told to; nginx is known by HTTP/1.0, which no browser
        and no client of today speaks.
        """
        if self.always or not self.is_local or peer is None or not is_loopback(peer):
            return False
        return version != "1.0" and not any(_FORWARDED.fullmatch(name.replace("_", "-")) for name in headers)

    def knows_host(self, host: str) -> bool:
        """Whether a request was sent to this machine by its own name.

        >>> access = Access(port=8321)
        >>> [access.knows_host(host) for host in ("localhost:8321", "[::1]:8321", "evil.example:8321", "127.0.0.1")]
        [True, True, False, False]
        >>> Access(host="127.0.0.2", port=8321).knows_host("127.0.0.2:8321"), access.knows_host("127.0.0.2:8321")
        (True, False)
        """
        name, _, port = host.rpartition(":") if re.search(r":\d+$", host) else (host, "", "80")
        known = {"localhost", "127.0.0.1", "[::1]", *([self.host.lower()] if self.is_local else [])}
        return name.lower() in known and (self.port is None or port == str(self.port))


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who asks: the name of a token, or ``local``; ``by`` says how that is known, ``digest`` by which token."""

    name: str
    scopes: tuple[str, ...]
    by: str
    digest: str | None = field(default=None, repr=False)

    @property
    def may_write(self) -> bool:
        """Whether they may change anything."""
        return "write" in self.scopes

    def may(self, scope: str) -> bool:
        """Whether they may do what needs that scope; who may write may do everything else."""
        return scope in self.scopes or "write" in self.scopes


LOCAL = Caller(name="local", scopes=("read", "write"), by="loopback")


def needed(method: str, path: str) -> str | None:
    """Return the scope that a request needs; None where anybody may ask. What is not known needs the most.

    >>> needed("GET", "/api/campaigns"), needed("POST", "/api/campaigns"), needed("POST", "/api/campaigns/churn/plans")
    ('read', 'write', 'read')
    >>> needed("GET", "/healthz"), needed("POST", "/api/hooks/label-studio/churn")
    (None, 'hook')
    """
    if path in _OPEN or (path.startswith("/static/") and method in ("GET", "HEAD")):
        return None
    if _HOOK.fullmatch(path):
        return "hook"
    if method in SAFE or (method == "POST" and _READS.fullmatch(path)):
        return "read"
    return "write"


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own.

    >>> [is_loopback(one) for one in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "192.168.1.4", "")]
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
    """Whether nothing says that a request comes from a foreign page.

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


def is_followed(headers: Mapping[str, str]) -> bool:
    """Whether a link was followed to a page of its own: a picture, a frame or a script of another page is none.

    >>> is_followed({"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"})
    True
    >>> is_followed({"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"})
    False
    """
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def from_browser(headers: Mapping[str, str]) -> bool:
    """Whether a request was made by a browser, which may do so for a page that its user never meant to use."""
    return any(name in headers for name in ("origin", "sec-fetch-site", "sec-fetch-mode", "cookie"))
