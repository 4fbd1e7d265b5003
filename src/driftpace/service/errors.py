"""Error responses: one JSON shape for every refused request, or a page where a browser asks for one."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from driftpace.errors import (
    ConflictError,
    DataError,
    DriftpaceError,
    MissingExtraError,
    ParameterError,
    ProtocolError,
    StateFileError,
    StorageError,
    TooEarlyError,
    UnknownCampaignError,
)
from driftpace.service.auth import is_api
from driftpace.service.request_schemas import (
    AMOUNT_PATTERN,
    CURRENCY_PATTERN,
    NAME_PATTERN,
    PRICE_PATTERN,
    REASON_PATTERN,
)
from driftpace.service.templating import message_page
from driftpace.tables.limits import clip

_STATUS_OF: tuple[tuple[type[DriftpaceError], int, str], ...] = (
    (TooEarlyError, 409, "too_early"),
    (ProtocolError, 409, "out_of_order"),
    (UnknownCampaignError, 404, "unknown_campaign"),
    (DataError, 422, "data"),
    (ParameterError, 422, "parameter"),
    (ConflictError, 409, "conflict"),
    (StorageError, 503, "storage"),
    (StateFileError, 503, "state"),
    (MissingExtraError, 415, "missing_extra"),
)
_MAX_MESSAGE = 1000
_CODES = {404: "not_found", 405: "method", 400: "malformed", 413: "too_large", 415: "media_type", 422: "parameter"}
_MESSAGES = {
    404: "there is nothing at this address.",
    405: "this address does not accept that method.",
    400: "the request body cannot be read.",
}


class ErrorBody(BaseModel):
    """A code for programs, a message for people; ``parameter`` and ``problem`` are the parts of the message."""

    model_config = ConfigDict(extra="forbid")
    code: str
    message: str
    parameter: str | None
    problem: str


class ErrorResponse(BaseModel):
    """The body of every refused request."""

    model_config = ConfigDict(extra="forbid")
    error: ErrorBody


class ApiError(HTTPException):
    """A refused request.

    Parameters
    ----------
    status : int
        HTTP status.
    code : str
        A word for programs, such as ``"out_of_order"``.
    problem : str
        What is wrong, such as ``"must be positive; got -1."``; the whole message where there is no owner.
    owner, parameter : str, optional
        The operation and the parameter that the problem is about.
    headers : mapping, optional
        Further headers of the response.

    Examples
    --------
    >>> error = ApiError(422, "parameter", "must be positive; got -1.", owner="plan", parameter="epsilon")
    >>> error.message
    'plan(epsilon=...) must be positive; got -1.'
    """

    def __init__(
        self,
        status: int,
        code: str,
        problem: str,
        *,
        owner: str | None = None,
        parameter: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        named = DriftpaceError(problem, owner=owner, name=parameter)
        self.message = shorten(str(named))
        self.code = code
        self.owner = owner
        self.parameter = parameter
        self.problem = shorten(problem)
        super().__init__(status_code=status, detail=self.message, headers=dict(headers or {}))


def busy_error(problem: str, *, seconds: float = 1.0, status: int = 503) -> ApiError:
    """Return the error of a service at its limits, with the time after which to try again."""
    return ApiError(status, "busy", problem, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


def json_error(error: ApiError) -> JSONResponse:
    """Return an error as JSON.

    >>> len(json_error(ApiError(422, "parameter", "got " + "x" * 100_000)).body) < 2200
    True
    """
    body = {
        "code": error.code,
        "message": error.message,
        "parameter": error.parameter,
        "problem": error.problem,
    }
    return JSONResponse({"error": body}, status_code=error.status_code, headers=error.headers)


def shorten(message: str) -> str:
    """Return a message that is safe to send: lone surrogates escaped, whitespace collapsed, at most 1,000 characters."""
    plain = " ".join(message[: 4 * _MAX_MESSAGE].split()).encode("utf-8", "backslashreplace").decode()
    return plain if len(plain) <= _MAX_MESSAGE else f"{plain[: _MAX_MESSAGE - 1]}…"


def from_library(error: DriftpaceError) -> ApiError:
    """Return the response to an error of the library, without the location of the store, which callers must not learn."""
    status, code = next(
        ((status, code) for kind, status, code in _STATUS_OF if isinstance(error, kind)), (422, "refused")
    )
    problem = error.public_problem if error.subject is None else f"{error.subject} {error.public_problem}"
    owner = None if error.subject is not None else error.owner
    headers = {"Retry-After": "5"} if status == 503 else None
    return ApiError(status, code, problem, owner=owner, parameter=error.name, headers=headers)


def from_framework(error: StarletteHTTPException) -> ApiError:
    """Return the response to an error that FastAPI or Starlette raised."""
    if isinstance(error, ApiError):
        return error
    status = error.status_code
    message = _MESSAGES.get(status, str(error.detail))
    return ApiError(status, _CODES.get(status, "refused"), message, headers=error.headers)


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of a route for the OpenAPI description; 401, 403, 429, 431 and 503 are in every route."""
    descriptions = {
        400: "The body cannot be read.",
        401: "The token is missing, unknown or expired.",
        403: "The token lacks the scope, or the request comes from another site.",
        404: "No such campaign or address.",
        408: "The body took too long to arrive.",
        409: "Out of order, such as rows before an order; the campaign was not changed.",
        413: "The body is too large.",
        415: "The media type is not supported.",
        422: "A value is not allowed; the message says which.",
        429: "Too many failed logins or wrong tokens; wait.",
        431: "The address or the headers are too long.",
        503: "The service is at its limits, or the store is unavailable; try again.",
    }
    return {
        status: {"model": ErrorResponse, "description": descriptions[status]}
        for status in sorted({*statuses, 401, 403, 429, 431, 503})
    }


_INTEGER, _NUMBER, _TEXT = "an integer", "a number", "a string"
_KINDS = {
    "int_type": _INTEGER,
    "int_parsing": _INTEGER,
    "int_parsing_size": _INTEGER,
    "int_from_float": _INTEGER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": "a finite number",
    "string_type": _TEXT,
    "string_unicode": "valid Unicode",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than": lambda ctx: f"above {ctx['gt']:g}",
    "greater_than_equal": lambda ctx: f"at least {ctx['ge']:,}",
    "less_than": lambda ctx: f"below {ctx['lt']:g}",
    "less_than_equal": lambda ctx: f"at most {ctx['le']:,}",
}
_LENGTHS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "string_too_short": lambda ctx: f"at least {_counted(ctx['min_length'], 'character')} long",
    "string_too_long": lambda ctx: f"at most {_counted(ctx['max_length'], 'character')} long",
    "too_short": lambda ctx: f"a list of at least {ctx['min_length']:,}",
    "too_long": lambda ctx: f"a list of at most {ctx['max_length']:,}",
    "literal_error": lambda ctx: str(ctx["expected"]),
}
_PATTERNS = {
    NAME_PATTERN: "up to 100 letters, digits, dots, dashes and underscores, a letter or digit first",
    AMOUNT_PATTERN: "an amount, such as 12.50",
    PRICE_PATTERN: "a price, such as 0.25",
    CURRENCY_PATTERN: "three capital letters, such as EUR",
    REASON_PATTERN: "a reason: text without control characters",
}
_UNIONS = ("constrained-", "list[", "function-")


def from_validation(errors: Sequence[Mapping[str, Any]]) -> ApiError:
    """Return the response to a request that does not match its schema; it names the first problem.

    >>> wrong = {"type": "int_type", "loc": ("body", "samples"), "msg": "Input should be a valid integer", "input": "1"}
    >>> from_validation([wrong]).message
    "body(samples=...) must be an integer; got '1'."
    """
    if not errors:
        return ApiError(422, "invalid", "the request does not match its schema.")
    first = errors[0]
    if first.get("type") == "json_invalid":
        return ApiError(400, "malformed", "the request body must be JSON; it is not.")
    location = [str(part) for part in first.get("loc", ())]
    if len(location) > 1 and location[-1].startswith(_UNIONS):  # a value of several allowed types: one error for each
        location.pop()
        several = [
            error for error in errors if [str(part) for part in error.get("loc", ())][: len(location)] == location
        ]
        first = next((error for error in several if not str(error.get("type")).endswith("_type")), first)
        if str(first.get("type")).endswith("_type"):
            kinds = dict.fromkeys(_KINDS.get(str(error.get("type")), "") for error in several)
            first = {**first, "type": "", "msg": " or ".join(kind for kind in kinds if kind not in ("", _INTEGER))}
    owner = location[0] if location else "request"
    name = ".".join(location[1:])[:120]
    problem = f"must be {_expected(first)}; {_got(first)}."
    if not name:
        return ApiError(422, "invalid", f"the {owner} {problem}")
    return ApiError(422, "invalid", problem, owner=owner, parameter=name)


def _expected(error: Mapping[str, Any]) -> str:
    kind, ctx = str(error.get("type", "")), error.get("ctx") or {}
    if kind == "missing":
        return "given"
    if kind == "extra_forbidden":
        return "left out: it is not a known name"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(str(ctx.get("pattern")), "text without control characters")
    if kind in _KINDS:
        return _KINDS[kind]
    try:
        for phrases in (_BOUNDS, _LENGTHS):
            if kind in phrases:
                return phrases[kind](ctx)
    except (KeyError, TypeError, ValueError):
        pass  # another version of pydantic: use its message
    message = str(error.get("msg", "")).removeprefix("Value error, ").removeprefix("Input should be ").rstrip(".")
    return f"{message[:1].lower()}{message[1:300]}" if message else "as its schema says"


def _got(error: Mapping[str, Any]) -> str:
    kind, value = error.get("type"), error.get("input")
    if kind == "missing":
        return "got nothing"
    if kind in ("string_too_long", "string_too_short") and isinstance(value, str):
        return f"got {_counted(len(value), 'character')}"
    if value is None or isinstance(value, bool):
        return f"got {'null' if value is None else str(value).lower()}"
    if isinstance(value, str):
        return f"got {clip(value)!r}" if value.isascii() or value.isprintable() else "it is not"
    if isinstance(value, float) or (isinstance(value, int) and value.bit_length() < 200):
        return f"got {value!r}"
    if isinstance(value, int):
        return "got a larger number"
    if isinstance(value, list):
        return f"got a list of {len(value):,}"
    return "got an object" if isinstance(value, dict) else "it is not"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


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
