"""Errors in the format a client asks for: a page for browsers, JSON for everything else."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from driftpace.service.auth.access import is_api
from driftpace.service.dashboard.templating import message_page
from driftpace.service.errors import ApiError, json_error

_TITLES = {
    403: "Not allowed",
    404: "Not found",
    429: "Too many attempts",
    500: "Internal error",
    503: "Service busy",
}
_ADDRESS = ("query", "path", "header")
"""Owners of parameters that are part of a page's address."""


def error_response(scope: Scope, error: ApiError) -> Response:
    """Return an error as a page where a browser asks for one, else as JSON."""
    if not wants_page(scope):
        return json_error(error)
    title = (
        "No such campaign" if error.code == "unknown_campaign" else _TITLES.get(error.status_code, "Request refused")
    )
    message = f"In the address, {error.parameter} {error.problem}" if error.owner in _ADDRESS else error.message
    page = message_page(Request(scope), title=title, message=message)
    return HTMLResponse(page, status_code=error.status_code, headers=error.headers)


def wants_page(scope: Scope) -> bool:
    """Return whether a browser asks for a page.

    >>> wants_page({"path": "/campaigns/x", "headers": [(b"accept", b"text/html,*/*")]})
    True
    >>> wants_page({"path": "/api/campaigns/x", "headers": [(b"accept", b"text/html,*/*")]})
    False
    """
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accepted and not is_api(scope["path"])
