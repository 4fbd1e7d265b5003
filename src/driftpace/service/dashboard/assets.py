"""Scripts and styles of the page: read once from the package, under an address that changes with them."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """One file as it is sent."""

    data: bytes
    kind: str


@cache
def assets() -> dict[str, Asset]:
    """Return all files by name.

    >>> sorted(assets())[0], assets()["look.css"].kind
    ('campaign.js', 'text/css; charset=utf-8')
    """
    folder = resources.files("driftpace.service.dashboard") / "static"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        ending = file.name.rpartition(".")[2]
        if ending in _KINDS:
            found[file.name] = Asset(data=file.read_bytes(), kind=_KINDS[ending])
    return found


@cache
def digest() -> str:
    """Return what all files together are known by, so that browsers may keep them for ever."""
    content = hashlib.sha256()
    for name, asset in assets().items():
        content.update(name.encode() + b"\0" + asset.data + b"\0")
    return content.hexdigest()[:12]


def address(name: str) -> str:
    """Return where a file is."""
    return f"/static/{digest()}/{name}"


def kept(given: str) -> str:
    """Return for how long a browser may keep a file that it asked for under an address: for ever under its own, else not at all.

    >>> kept(digest()), kept("0123456789ab")
    ('public, max-age=31536000, immutable', 'no-store')
    """
    return "public, max-age=31536000, immutable" if given == digest() else "no-store"
