"""Jinja templates and static files of the dashboard; all values are escaped, and a missing one is an error."""

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from driftpace.campaign.log_text import quoted
from driftpace.formatting import strip_bidi
from driftpace.service.dashboard import formats

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request


class Verbatim(str):
    """Text for scripts, written into a page without removing bidirectional control characters."""

    __slots__ = ()


@cache
def templates() -> "Environment":
    """Return the template environment."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("driftpace.service.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        count=formats.count,
        number=formats.number,
        money=formats.money,
        money_of=formats.money_of,
        cents=formats.cents,
        verbatim=Verbatim,
        quoted=quoted,
        plural=formats.plural,
        when=formats.when,
        sentence=_sentence,
        capfirst=_capital,
    )
    has_report = find_spec("plotly") is not None
    environment.globals.update(static=asset_url, version=version("driftpace"), has_report=has_report)
    return environment


def render(template: str, request: "Request | None", **values: Any) -> str:
    """Return a page as HTML.

    >>> "&lt;b&gt;" in render("message.html", None, title="No", message="<b>")
    True
    """
    state = getattr(request, "state", None)
    return (
        templates()
        .get_template(template)
        .render(csrf=getattr(state, "csrf", ""), caller=getattr(state, "caller", None), **values)
    )


def login_page(request: "Request | None" = None, *, message: str = "", target: str = "/") -> str:
    """Return the login page; ``message`` is why the last token was refused, ``target`` the page to open afterwards."""
    return render("login.html", request, message=message, target=target)


def message_page(request: "Request | None", *, title: str, message: str) -> str:
    """Return a page with a single message, such as an error."""
    return render("message.html", request, title=title, message=_sentence(message))


def _finalize(value: Any) -> Any:
    """Strip bidirectional control characters from every value of a page except markup and verbatim text."""
    plain = isinstance(value, str) and not isinstance(value, Verbatim) and not hasattr(value, "__html__")
    return strip_bidi(value) if plain else value


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    sentence = _capital(text.strip())
    return sentence if not sentence or sentence[-1] in ".!?…" else f"{sentence}."


_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asset:
    """A static file."""

    data: bytes
    kind: str


@cache
def assets() -> dict[str, Asset]:
    """Return all static files by name.

    >>> sorted(assets())[0], assets()["base.css"].kind
    ('api_docs.js', 'text/css; charset=utf-8')
    """
    folder = resources.files("driftpace.service.dashboard") / "static"
    files = {}
    for file in sorted(folder.iterdir(), key=lambda path: path.name):
        ending = file.name.rpartition(".")[2]
        if ending in _KINDS:
            files[file.name] = Asset(data=file.read_bytes(), kind=_KINDS[ending])
    return files


@cache
def assets_digest() -> str:
    """Return a digest of all static files: it is part of their address, so that browsers may cache them for ever."""
    content = hashlib.sha256()
    for name, asset in assets().items():
        content.update(name.encode() + b"\0" + asset.data + b"\0")
    return content.hexdigest()[:12]


def asset_url(name: str) -> str:
    """Return the address of a static file."""
    return f"/static/{assets_digest()}/{name}"


def cache_control(given: str) -> str:
    """Return the Cache-Control of a static file: for ever under the current digest, else not at all.

    >>> cache_control(assets_digest()), cache_control("0123456789ab")
    ('public, max-age=31536000, immutable', 'no-store')
    """
    return "public, max-age=31536000, immutable" if given == assets_digest() else "no-store"
