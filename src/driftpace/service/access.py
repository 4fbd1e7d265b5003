"""Where the service listens, whom it believes, and the roles of its users.

On loopback nothing has to be set up: a request from the machine itself, to a service that listens on loopback only, needs no
token. Its Host must be the machine (another name that resolves here is DNS rebinding), and it must not have passed a proxy, which
would make every client look local. All other requests need a token, or a user whom a trusted proxy has signed in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from driftpace import validation
from driftpace.errors import ParameterError

SCOPES = ("read", "label", "order", "write", "hook")
"""read: look; label: draw and deliver rows; order: ask, decide, undo, train; write: everything; hook: only deliver rows from a
labelling tool."""
ROLES: Mapping[str, tuple[str, ...]] = {
    "read": ("read",),
    "label": ("read", "label"),
    "order": ("read", "label", "order"),
    "admin": ("read", "write"),
}
"""Roles and their scopes, each with those of the roles before it."""
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
    trusted_proxies : tuple of str
        Addresses or networks of proxies whose ``X-Forwarded-For`` names the client.
    user_header : str, optional
        Header in which a trusted proxy names the user that it has signed in, such as ``X-Forwarded-User``.
    user_role : {"read", "label", "order", "admin"}, optional
        Role of signed-in users that have no token of their name; None refuses them.

    Examples
    --------
    >>> Access(host="127.0.0.1", port=8321).is_local, Access(host="0.0.0.0", port=8321).is_local
    (True, False)
    """

    host: str = "127.0.0.1"
    port: int | None = None
    token_always: bool = False
    trusted_proxies: tuple[str, ...] = ()
    user_header: str | None = None
    user_role: str | None = "read"

    def __post_init__(self) -> None:
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise ParameterError(
                    f"must be an IP address or network such as 10.0.0.0/8; got {proxy!r}.",
                    owner="serve",
                    name="trusted_proxies",
                ) from None
        if self.user_role is not None:
            validation.choice("serve", tuple(ROLES), user_role=self.user_role)
        if self.user_header is not None and not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,99}", self.user_header):
            raise ParameterError(
                f"must be the name of a header such as X-Forwarded-User; got {self.user_header!r}.",
                owner="serve",
                name="user_header",
            )
        if self.user_header is not None and not self.trusted_proxies:
            raise ParameterError(
                f"must be given with trusted_proxies, whose header is believed; got {self.user_header!r} alone.",
                owner="serve",
                name="user_header",
            )

    def is_trusted(self, peer: str | None) -> bool:
        """Return whether a peer is a trusted proxy.

        >>> access = Access(trusted_proxies=("10.0.0.0/8",))
        >>> access.is_trusted("10.2.3.4"), access.is_trusted("11.2.3.4"), access.is_trusted(None)
        (True, False, False)
        """
        address = _address(peer or "")
        return address is not None and any(address in ip_network(proxy) for proxy in self.trusted_proxies)

    def client(self, peer: str | None, headers: Mapping[str, str]) -> str | None:
        """Return the address of the client: the peer, or behind trusted proxies the last address that is not one of them.

        >>> access = Access(trusted_proxies=("10.0.0.0/8",))
        >>> access.client("10.0.0.1", {"x-forwarded-for": "6.6.6.6, 1.2.3.4, 10.0.0.2"})
        '1.2.3.4'
        >>> access.client("1.2.3.4", {"x-forwarded-for": "6.6.6.6"})  # anyone can send a header
        '1.2.3.4'
        """
        if not self.is_trusted(peer):
            return peer
        for hop in reversed(headers.get("x-forwarded-for", "").split(",")):
            address = _address(hop.strip())
            if address is None:
                return peer
            if not self.is_trusted(str(address)):
                return str(address)
        return peer

    @property
    def is_local(self) -> bool:
        """Whether the service listens on loopback only."""
        return is_loopback(self.host)

    def allows_without_token(self, peer: str | None, headers: Mapping[str, str], version: str = "1.1") -> bool:
        """Return whether a request needs no token: from this machine, to a local service, and not through a proxy.

        Some proxies add no header unless configured to; nginx is recognised by HTTP/1.0, which no current browser or client
        speaks.
        """
        if self.token_always or not self.is_local or peer is None or not is_loopback(peer) or self.is_trusted(peer):
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


def is_loopback(host: str) -> bool:
    """Return whether a host is a loopback address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "192.168.1.4", "")]
    [True, True, True, False, False, False, False]
    """
    if host.lower() == "localhost":
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an IP address, an IPv4 one where IPv6 maps it; None for any other text."""
    try:
        address = ip_address(text.strip("[]").split("%", 1)[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
