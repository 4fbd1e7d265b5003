"""One shape for everything that goes wrong: ``{"error": {"code": ..., "sentence": ...}}``."""

import math
from collections.abc import Mapping
from typing import Any

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

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

_KINDS: tuple[tuple[type[DriftpaceError], int, str], ...] = (
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
_LONGEST = 1000
_CODES = {404: "not_found", 405: "method", 400: "malformed", 413: "too_large", 415: "media_type", 422: "parameter"}


class ErrorBody(BaseModel):
    """What went wrong: a word for machines, a sentence for people."""

    model_config = ConfigDict(extra="forbid")
    code: str
    sentence: str


class Failure(BaseModel):
    """The answer to whatever is refused."""

    model_config = ConfigDict(extra="forbid")
    error: ErrorBody


class Refused(HTTPException):
    """A request that is refused with a status, a code and a sentence."""

    def __init__(self, status: int, code: str, sentence: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status_code=status, detail=sentence, headers=dict(headers or {}))
        self.code = code


def busy(sentence: str, *, seconds: float = 1.0, status: int = 503) -> Refused:
    """Return the refusal of a service that has too much to do."""
    return Refused(status, "busy", sentence, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


def failure(status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return the answer.

    >>> len(failure(422, "parameter", "got " + "x" * 100_000).body) < 1100
    True
    """
    return JSONResponse(
        {"error": {"code": code, "sentence": in_brief(sentence)}},
        status_code=status,
        headers=None if headers is None else dict(headers),
    )


def in_brief(sentence: str) -> str:
    """Return a sentence as an answer can carry it: half characters are written out, and what is sent is not sent back whole."""
    plain = " ".join(sentence[: 4 * _LONGEST].split()).encode("utf-8", "backslashreplace").decode()
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…"


def of_driftpace(error: DriftpaceError, *, store_url: str) -> tuple[int, str, str]:
    """Return status, code and sentence of an error that was raised on purpose; where the store is stays inside."""
    status, code = next(((status, code) for kind, status, code in _KINDS if isinstance(error, kind)), (422, "refused"))
    said = str(error).replace(f" in {store_url}", "").replace(f" at {store_url}", "")
    return status, code, said.replace(store_url, "the store")


def retry_after(status: int) -> dict[str, str]:
    """Return the header that says when to come again, where that helps."""
    return {"Retry-After": "5"} if status == 503 else {}


def of_http(status: int, detail: object) -> tuple[str, str]:
    """Return code and sentence of what the framework refuses by itself."""
    said = {
        404: "there is nothing at this address.",
        405: "this address does not take that method.",
        400: "the body of the request cannot be read.",
    }
    return _CODES.get(status, "refused"), said.get(status, str(detail))


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the refusals of a route for its description."""
    words = {
        400: "The body cannot be read.",
        401: "No token, or one that is not known.",
        403: "The token does not allow it, or the request comes from a foreign page.",
        404: "There is no such campaign, or nothing at this address.",
        408: "The body took too long.",
        409: "Out of order: nothing was changed.",
        413: "The body is too large.",
        415: "The body is of a kind that is not read here.",
        422: "A value is not allowed; the sentence says which.",
        429: "Too many failures; wait.",
        503: "Too much to do, or the store cannot be used; try again.",
    }
    return {status: {"model": Failure, "description": words[status]} for status in sorted({*statuses, 401, 403, 503})}
