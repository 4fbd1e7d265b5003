"""Requests to a Label Studio server: signed, retried where that is safe; every failure is one sentence, without the token."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from driftpace import validation
from driftpace.errors import LabellingError, MissingExtraError, ParameterError, UnavailableError
from driftpace.tables.limits import clip, size

_LONGEST_PAUSE = 10.0
_LARGEST_ANSWER = 256 * 2**20
_PATIENCE = 10  # times the time-out, for the whole of an answer that keeps trickling in
_BUSY = (429, 502, 503, 504)
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    """What came back."""

    code: int
    location: str
    content: bytes


class Door:
    """Sends requests to one server under one token; knows both kinds of token that Label Studio gives out.

    A legacy token is sent as it is. A personal access token is three parts with points between them; it is exchanged for a
    short-lived one, again whenever that one has expired. The token is shown nowhere.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        retries: int,
        transport: Any = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        validation.positive("LabelStudio", timeout=timeout)
        validation.count("LabelStudio", retries=retries)
        self.url = _checked(url)
        if (
            not isinstance(token, str)
            or not token.strip()
            or not token.strip().isascii()
            or not token.strip().isprintable()
        ):
            raise ParameterError(
                "must be the token of an account, as Label Studio shows it; got none.",
                owner="LabelStudio",
                name="token",
            )
        self._token, self._retries, self._pause, self._timeout = token.strip(), retries, pause, timeout
        self._personal = self._token.count(".") == 2
        self._access: str | None = None
        httpx = _need_httpx()
        self._client = httpx.Client(
            timeout=timeout, transport=transport, follow_redirects=False, trust_env=transport is None
        )

    @property
    def _name(self) -> str:
        return f"Label Studio at {self.url}"

    def __repr__(self) -> str:
        return f"Door({self.url!r})"

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return what the server answers; asked again where it is busy or silent, for asking changes nothing."""
        return self._ask("GET", path, query=query, again=True)

    def post(self, path: str, body: Any, query: Mapping[str, Any] | None = None) -> Any:
        """Send something, once: where it is not known to have arrived, :class:`UnavailableError`."""
        return self._ask("POST", path, query=query, body=body, again=False)

    def patch(self, path: str, body: Any) -> Any:
        """Change something; sent again where the server is busy, for twice is as once."""
        return self._ask("PATCH", path, body=body, again=True)

    def _ask(
        self, method: str, path: str, *, again: bool, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Any:
        renewed = False
        for attempt in range(self._retries + 1):
            try:
                answer = self._send(method, path, query, body, self._authorization())
                if answer.code == 401 and self._personal and not renewed:
                    renewed, self._access = True, None
                    answer = self._send(method, path, query, body, self._authorization())
                return self._read(answer, method, path)
            except UnavailableError:
                if not again or attempt == self._retries:
                    raise
                self.rest(attempt)
        raise AssertionError("unreachable")

    def rest(self, attempt: int) -> None:
        """Wait, longer after each attempt, before the next."""
        self._pause(min(0.5 * 2.0**attempt, _LONGEST_PAUSE))

    def _authorization(self) -> str:
        if not self._personal:
            return f"Token {self._token}"
        if self._access is None:
            answer = self._send("POST", "/api/token/refresh/", None, {"refresh": self._token}, None)
            found = self._read(answer, "POST", "/api/token/refresh/")
            access = found.get("access") if isinstance(found, dict) else None
            if not isinstance(access, str) or not access.isascii() or not access.isprintable():
                raise LabellingError(f"{self._name} must answer a token with a short-lived one; it did not.")
            self._access = access
        return f"Bearer {self._access}"

    def _send(self, method: str, path: str, query: Mapping[str, Any] | None, body: Any, sign: str | None) -> _Answer:
        """Send one request and return the answer with its content; what fails on the way is UnavailableError."""
        httpx = _need_httpx()
        headers = {"Accept": "application/json", **({} if sign is None else {"Authorization": sign})}
        more = {} if body is None else {"json": body}
        started = time.monotonic()
        taken = bytearray()
        try:
            with self._client.stream(method, self.url + path, params=query, headers=headers, **more) as answer:
                for piece in answer.iter_bytes():
                    taken += piece
                    if len(taken) > _LARGEST_ANSWER:
                        raise LabellingError(
                            f"{self._name} must answer with at most {size(_LARGEST_ANSWER)}; got more."
                        )
                    if time.monotonic() - started > _PATIENCE * self._timeout:
                        raise UnavailableError(f"{self._name} must answer in time; it answers too slowly.")
        except httpx.TimeoutException:
            raise UnavailableError(
                f"{self._name} must answer in time; it did not: try again, or raise timeout=."
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise UnavailableError(f"{self._name} must be reachable; {self._clean(error)}.") from None
        _logger.debug("%s %s -> %s in %.3f s", method, path, answer.status_code, time.monotonic() - started)
        return _Answer(code=answer.status_code, location=answer.headers.get("location", ""), content=bytes(taken))

    def _read(self, answer: _Answer, method: str, path: str) -> Any:
        code = answer.code
        if code in _BUSY or code >= 500:
            raise UnavailableError(f"{self._name} must be able to answer; it says {code} to {method} {path}.")
        if 300 <= code < 400:
            where = urlsplit(answer.location)
            elsewhere = clip(f"{where.scheme}://{where.netloc}" if where.netloc else "another page")
            raise LabellingError(
                f"Label Studio must answer at {self.url} itself; it sends on to {elsewhere}: give that address."
            )
        if code in (401, 403):
            raise LabellingError(f"{self._name} must accept the token; it says {code}: {self._detail(answer)}.")
        if code == 404:
            raise LabellingError(f"{self._name} must have {path}; it says 404: {self._detail(answer)}.")
        if code >= 400:
            raise LabellingError(f"{self._name} must accept {method} {path}; it says {code}: {self._detail(answer)}.")
        try:
            return json.loads(answer.content) if answer.content else None
        except (ValueError, RecursionError):
            raise LabellingError(
                f"{self._name} must answer {method} {path} with JSON; it did not: see whether Label Studio is there."
            ) from None

    def _detail(self, answer: _Answer) -> str:
        """Return what the server says was wrong, in a few words."""
        try:
            said = json.loads(answer.content)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            return "no reason given"
        detail = said.get("validation_errors") or said.get("detail") or "no reason given"
        return self._clean(detail if isinstance(detail, str) else json.dumps(detail, ensure_ascii=False))

    def _clean(self, said: object) -> str:
        text = str(said) or type(said).__name__
        for secret in (self._token, self._access):
            text = text.replace(secret, "[token]") if secret else text
        return clip(" ".join(text.split()), 200).rstrip(".")


def _need_httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        raise MissingExtraError('LabelStudio needs httpx: pip install "driftpace[labelling]".') from None
    return httpx


def _checked(url: str) -> str:
    """Return the address without a slash at its end, or refuse one that is no plain http address."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except (ValueError, TypeError, AttributeError):
        fine = False
    if not fine or parts.query or parts.fragment or not url.isprintable() or " " in url:
        raise ParameterError(
            f"must be an address such as http://127.0.0.1:8080; got {clip(repr(url))}.",
            owner="LabelStudio",
            name="url",
        )
    if parts.username is not None or parts.password is not None:
        raise ParameterError(
            "must not hold a name or password; give the token as token=.",
            owner="LabelStudio",
            name="url",
        )
    return url.rstrip("/")
