"""Templates: everything that is put into a page is escaped, and what is missing is an error rather than a gap."""

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from driftpace.service.dashboard import formats
from driftpace.service.dashboard.assets import address
from driftpace.service.dashboard.sentences import quoted

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request


class Exactly(str):
    """Words that machines read again, and that are written into a page to the letter."""

    __slots__ = ()


@cache
def templates() -> "Environment":
    """Return the templates of the package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("driftpace.service.dashboard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_straight,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        count=formats.count,
        number=formats.number,
        money=formats.money,
        money_of=formats.money_of,
        cents=formats.cents,
        exactly=Exactly,
        quoted=quoted,
        plural=formats.plural,
        when=formats.when,
        sentence=_sentence,
        capfirst=_capital,
    )
    found.globals.update(static=address, version=version("driftpace"))
    return found


def render(template: str, request: "Request | None", **values: Any) -> str:
    """Return a page as HTML, for whoever asks.

    >>> "&lt;b&gt;" in render("message.html", None, title="No", sentence="<b>")
    True
    """
    state = getattr(request, "state", None)
    return (
        templates()
        .get_template(template)
        .render(csrf=getattr(state, "csrf", ""), caller=getattr(state, "caller", None), **values)
    )


def login_page(request: "Request | None" = None, *, sentence: str = "", wanted: str = "/") -> str:
    """Return the page where a token is shown; ``sentence`` is why the last one was refused, ``wanted`` where to go after."""
    return render("login.html", request, sentence=sentence, wanted=wanted)


def message_page(request: "Request | None", *, title: str, sentence: str) -> str:
    """Return a page that says one thing, such as that there is no such campaign."""
    return render("message.html", request, title=title, sentence=_sentence(sentence))


def _straight(value: Any) -> Any:
    """Take out of all that a page says what would turn the direction of writing; what is a piece of a page already has none."""
    plain = isinstance(value, str) and not isinstance(value, Exactly) and not hasattr(value, "__html__")
    return formats.straight(value) if plain else value


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    said = _capital(text.strip())
    return said if not said or said[-1] in ".!?…" else f"{said}."
