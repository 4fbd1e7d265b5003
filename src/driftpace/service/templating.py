"""Jinja templates, static files and the formats of values in pages; all values are escaped, and a missing one is an error."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib import resources
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from driftpace.campaign.log_text import quoted
from driftpace.errors import ParameterError
from driftpace.formatting import strip_bidi
from driftpace.records import Money

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
        count=count,
        number=number,
        money=money,
        money_of=money_of,
        cents=cents,
        verbatim=Verbatim,
        quoted=quoted,
        plural=plural,
        when=when,
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
    """Return a digest of all static files: it is part of their address, so that browsers can cache them forever."""
    content = hashlib.sha256()
    for name, asset in assets().items():
        content.update(name.encode() + b"\0" + asset.data + b"\0")
    return content.hexdigest()[:12]


def asset_url(name: str) -> str:
    """Return the address of a static file."""
    return f"/static/{assets_digest()}/{name}"


def cache_control(given: str) -> str:
    """Return the Cache-Control of a static file: immutable under the current digest, otherwise not cached.

    >>> cache_control(assets_digest()), cache_control("0123456789ab")
    ('public, max-age=31536000, immutable', 'no-store')
    """
    return "public, max-age=31536000, immutable" if given == assets_digest() else "no-store"


MISSING = "–"


def count(value: int) -> str:
    """Format a count with thousands separators; huge ones are rounded.

    >>> count(1520), count(3 * 10**15)
    ('1,520', '3e+15')
    """
    return f"{value:,}" if abs(value) < 10**12 else f"{float(value):.3g}"


def number(value: float | None) -> str:
    """Format a measured number with three significant digits.

    >>> number(0.014287), number(51234.0), number(None), number(math.inf), number(0.05)
    ('0.0143', '51,234', '–', '–', '0.05')
    """
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.0f}" if 1000.0 <= abs(value) < 1e9 else f"{value:.3g}"


def plural(value: int, singular: str, plural: str = "") -> str:
    """Format a count with its noun.

    >>> plural(1, "row"), plural(0, "row"), plural(2, "entry", "entries")
    ('1 row', '0 rows', '2 entries')
    """
    return f"{count(value)} {singular if value == 1 else plural or singular + 's'}"


def money(value: Money | None) -> str:
    """Format an amount with its currency, with cents unless they are zero.

    >>> money(Money.of("439.5", "EUR")), money(Money.of(3000, "EUR")), money(Money.of("0.004")), money(None)
    ('439.50 EUR', '3,000 EUR', '0.004', '–')
    """
    if value is None:
        return MISSING
    amount = value.amount.normalize()
    digits = f"{amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{amount:,f}"
    return f"{digits.removesuffix('.00')} {value.currency}".rstrip()


def money_of(text: str) -> str:
    """Format an amount that a summary has as text.

    >>> money_of("1,037.5 EUR"), money_of("0"), money_of("much")
    ('1,037.50 EUR', '0', 'much')
    """
    amount, _, currency = text.partition(" ")
    try:
        return money(Money.of(amount.replace(",", ""), currency))
    except ParameterError:
        return text


def cents(sentence: str, currency: str) -> str:
    """Give the amounts in a sentence of the tracker two decimals, as everywhere else on the page.

    >>> cents("3 periods and 1,037.5 EUR are left; the risk is 0.5", "EUR")
    '3 periods and 1,037.50 EUR are left; the risk is 0.5'
    """
    return re.sub(rf"(\d\.\d)(?= {re.escape(currency or 'of money')}(?!\w))", r"\g<1>0", sentence)


def numeral(value: object) -> str:
    """Format a number for an input field.

    >>> numeral(7417.0), numeral("0.50"), numeral(100), numeral(1e-05)
    ('7417', '0.5', '100', '0.00001')
    """
    return f"{Decimal(str(value)).normalize():f}"


def tier_text(tiers: Sequence[Sequence[Any]]) -> str:
    """Format tiered prices.

    >>> tier_text([[1, 2.0], [50, 1]])
    '2 per row, 1 from row 50'
    """
    (_, first), *later = tiers
    return ", ".join([f"{numeral(first)} per row", *(f"{numeral(price)} from row {start}" for start, price in later)])


def when(at: str) -> str:
    """Format a time in UTC.

    >>> when("2026-11-15T21:04:09.123Z"), when("yesterday")
    ('15 Nov 2026, 21:04 UTC', 'yesterday')
    """
    try:
        return datetime.fromisoformat(at).strftime("%-d %b %Y, %H:%M UTC")
    except ValueError:
        return at


def period_labels(periods: Sequence[tuple[int, str | None]]) -> list[str]:
    """Return the axis labels of periods: their keys if all have one, else their numbers.

    >>> period_labels([(3, "2026-W46"), (4, "2026-W47")]), period_labels([(3, "2026-W46"), (4, None)])
    (['2026-W46', '2026-W47'], ['3', '4'])
    """
    keys = [strip_bidi(key) for _, key in periods if key is not None]
    return keys if len(keys) == len(periods) else [str(period) for period, _ in periods]


def period_cells(periods: Sequence[tuple[int, str | None]]) -> list[str]:
    """Return the table cells of periods, with the key of each that has one.

    >>> period_cells([(3, "2026-W46"), (4, "2026-W47")]), period_cells([(3, "2026-W46"), (4, None)])
    (['2026-W46', '2026-W47'], ['3 (2026-W46)', '4'])
    """
    names = period_labels(periods)
    return [
        name if key is None or name == strip_bidi(key) else f"{name} ({strip_bidi(key)})"
        for name, (_, key) in zip(names, periods, strict=True)
    ]
