"""HTTP requests to a Label Studio server: authorised, retried where that is safe, and with errors that never show the token."""

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
class _Response:
    """A response with its whole content."""

    code: int
    location: str
    content: bytes


class RestClient:
    """Send requests to one server with one token, legacy or personal.

    A legacy token is sent unchanged. A personal access token (three parts separated by points) is exchanged for a short-lived
    one, and again whenever that has expired. The token is never shown.
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
        self.url = _check_url(url)
        if (
            not isinstance(token, str)
            or not token.strip()
            or not token.strip().isascii()
            or not token.strip().isprintable()
        ):
            raise ParameterError(
                "must be the access token of an account; got none.",
                owner="LabelStudio",
                name="token",
            )
        self._token, self._retries, self._pause, self._timeout = token.strip(), retries, pause, timeout
        self._personal = self._token.count(".") == 2
        self._access: str | None = None
        httpx = _require_httpx()
        self._client = httpx.Client(
            timeout=timeout, transport=transport, follow_redirects=False, trust_env=transport is None
        )

    @property
    def _name(self) -> str:
        return f"Label Studio at {self.url}"

    def __repr__(self) -> str:
        return f"RestClient({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return the response to a GET request, which is repeated while the server is busy or does not respond."""
        return self._request("GET", path, query=query, retry=True)

    def post(self, path: str, body: Any, query: Mapping[str, Any] | None = None) -> Any:
        """Send a POST request once; :class:`UnavailableError` where it may not have arrived."""
        return self._request("POST", path, query=query, body=body, retry=False)

    def patch(self, path: str, body: Any) -> Any:
        """Send a PATCH request, which is idempotent and repeated while the server is busy."""
        return self._request("PATCH", path, body=body, retry=True)

    def _request(
        self, method: str, path: str, *, retry: bool, query: Mapping[str, Any] | None = None, body: Any = None
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
                if not retry or attempt == self._retries:
                    raise
                self.wait(attempt)
        raise AssertionError("unreachable")

    def wait(self, attempt: int) -> None:
        """Wait before the next attempt, longer each time."""
        self._pause(min(0.5 * 2.0**attempt, _LONGEST_PAUSE))

    def _authorization(self) -> str:
        if not self._personal:
            return f"Token {self._token}"
        if self._access is None:
            answer = self._send("POST", "/api/token/refresh/", None, {"refresh": self._token}, None)
            found = self._read(answer, "POST", "/api/token/refresh/")
            access = found.get("access") if isinstance(found, dict) else None
            if not isinstance(access, str) or not access.isascii() or not access.isprintable():
                raise LabellingError(f"{self._name} must exchange the token for a short-lived one; it did not.")
            self._access = access
        return f"Bearer {self._access}"

    def _send(self, method: str, path: str, query: Mapping[str, Any] | None, body: Any, sign: str | None) -> _Response:
        """Send one request and return its response; UnavailableError where the connection fails."""
        httpx = _require_httpx()
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
                        raise UnavailableError(f"{self._name} must answer in time; the response is too slow.")
        except httpx.TimeoutException:
            raise UnavailableError(
                f"{self._name} must answer in time; it did not: try again, or raise timeout=."
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise UnavailableError(f"{self._name} must be reachable; {self._clean(error)}.") from None
        _logger.debug("%s %s -> %s in %.3f s", method, path, answer.status_code, time.monotonic() - started)
        return _Response(code=answer.status_code, location=answer.headers.get("location", ""), content=bytes(taken))

    def _read(self, answer: _Response, method: str, path: str) -> Any:
        code = answer.code
        if code in _BUSY or code >= 500:
            raise UnavailableError(f"{self._name} must be available; it answers {code} to {method} {path}.")
        if 300 <= code < 400:
            where = urlsplit(answer.location)
            target = clip(f"{where.scheme}://{where.netloc}" if where.netloc else "another page")
            raise LabellingError(
                f"Label Studio must answer at {self.url} itself; it redirects to {target}: use that address."
            )
        if code in (401, 403):
            raise LabellingError(f"{self._name} must accept the token; it answers {code}: {self._detail(answer)}.")
        if code == 404:
            raise LabellingError(f"{self._name} must have {path}; it answers 404: {self._detail(answer)}.")
        if code >= 400:
            raise LabellingError(
                f"{self._name} must accept {method} {path}; it answers {code}: {self._detail(answer)}."
            )
        try:
            return json.loads(answer.content) if answer.content else None
        except (ValueError, RecursionError):
            raise LabellingError(
                f"{self._name} must answer {method} {path} with JSON; it did not: check that the address is that of Label Studio."
            ) from None

    def _detail(self, answer: _Response) -> str:
        """Return the reason that the server gives."""
        try:
            body = json.loads(answer.content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            return "no reason given"
        detail = body.get("validation_errors") or body.get("detail") or "no reason given"
        return self._clean(detail if isinstance(detail, str) else json.dumps(detail, ensure_ascii=False))

    def _clean(self, reason: object) -> str:
        text = str(reason) or type(reason).__name__
        for secret in (self._token, self._access):
            text = text.replace(secret, "[token]") if secret else text
        return clip(" ".join(text.split()), 200).rstrip(".")


def _require_httpx() -> Any:
    try:
        import httpx
    except ModuleNotFoundError:
        raise MissingExtraError('LabelStudio needs httpx: pip install "driftpace[labelling]".') from None
    return httpx


def _check_url(url: str) -> str:
    """Return the address without a trailing slash, or refuse one that is not a plain http address."""
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
            "must not contain a user name or password; pass token= instead.",
            owner="LabelStudio",
            name="url",
        )
    return url.rstrip("/")
