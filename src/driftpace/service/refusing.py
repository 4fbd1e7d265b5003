"""What is refused is answered in the way it was asked for: with a page where a browser wants one, with JSON everywhere else."""

import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from driftpace.service.dashboard.rendering import message_page
from driftpace.service.failures import failure, in_brief

_TITLES = {
    403: "Not allowed",
    404: "Nothing here",
    429: "Wait a little",
    500: "Something went wrong",
    503: "Busy for the moment",
}
_OWNER = re.compile(r"^(?:query|path|header)\((\w+)=\.\.\.\)")


def wants_page(scope: Scope) -> bool:
    """Whether a browser asks for something to look at.

    >>> wants_page({"path": "/campaigns/x", "headers": [(b"accept", b"text/html,*/*")]})
    True
    >>> wants_page({"path": "/api/campaigns/x", "headers": [(b"accept", b"text/html,*/*")]})
    False
    """
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accepted and not scope["path"].startswith("/api/")


def refusal(scope: Scope, status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer to a request that is refused."""
    if not wants_page(scope):
        return failure(status, code, sentence, headers)
    title = "No such campaign" if code == "unknown_campaign" else _TITLES.get(status, "That did not work")
    said = in_brief(_OWNER.sub(r"In the address, \1", sentence))
    page = message_page(Request(scope), title=title, sentence=said)
    return HTMLResponse(page, status_code=status, headers=None if headers is None else dict(headers))
