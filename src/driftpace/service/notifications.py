"""Alerts that are sent: to webhooks, signed, and by e-mail; once for as long as they hold, and again until they have arrived.

What was sent is in the store, so that neither a restart nor a second service repeats or loses it. A service that sends an alert
says so there first, for as long as sending may take; where it dies meanwhile, the alert is sent again. So each arrives at least
once, with a key that is the same each time. Only the addresses that the service was started with are called, and no redirect is
followed.
"""

import hashlib
import hmac
import http.client
import json
import smtplib
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from email.message import EmailMessage
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from driftpace.campaign.alerts import Alert, AlertRules, find_alerts
from driftpace.errors import ConflictError, DriftpaceError, ParameterError
from driftpace.service.logging import LOGGER, LogFields
from driftpace.service.metrics import all_heads
from driftpace.storage.base import Store, Value

_KIND = "alert"
_TIMEOUT = 10.0
_LEASE = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 3600.0


class Webhook:
    """An address that alerts are posted to as JSON, signed with a secret.

    ``X-Driftpace-Signature`` is ``sha256=`` and the HMAC-SHA256 of the time in ``X-Driftpace-Timestamp``, a dot, and the body.

    >>> Webhook("ftp://example.org", secret="0123456789abcdef")
    Traceback (most recent call last):
        ...
    driftpace.errors.ParameterError: serve(alert_webhooks=...) must be an http or https address; got 'ftp://example.org'.
    """

    def __init__(self, url: str, *, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._parts = _split(url, ("http", "https"), "alert_webhooks", "an http or https address")
        if len(secret) < 16:
            raise ParameterError(
                f"must have at least 16 characters; got {len(secret)}.", owner="serve", name="alert_secret"
            )
        self._secret = secret.encode()
        self._clock = clock
        self.name = f"{self._parts.scheme}://{self._parts.hostname}:{self._parts.port}{self._parts.path}"

    def send(self, alert: Alert) -> None:
        """Post an alert; raise OSError where it does not arrive."""
        body = json.dumps({**asdict(alert), "key": alert.key}).encode()
        at = str(int(self._clock()))
        signature = hmac.new(self._secret, f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": alert.key,
            "X-Driftpace-Timestamp": at,
            "X-Driftpace-Signature": f"sha256={signature}",
        }
        host, port = self._parts.hostname or "", self._parts.port
        connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(host, port, timeout=_TIMEOUT, context=ssl.create_default_context())
            if self._parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=_TIMEOUT)
        )
        try:
            query = f"?{self._parts.query}" if self._parts.query else ""
            connection.request("POST", (self._parts.path or "/") + query, body, headers)
            status = connection.getresponse().status
        except http.client.HTTPException as error:
            raise OSError(type(error).__name__) from None
        finally:
            connection.close()
        if not 200 <= status < 300:
            raise OSError(f"status {status}")


class Mailbox:
    """Addresses that alerts are sent to by e-mail: ``smtps://user:password@host?from=a@example.org&to=b@example.org``.

    ``smtp`` begins in clear text and is encrypted by STARTTLS where the server offers it; with a password it has to.
    """

    def __init__(self, url: str) -> None:
        self._parts = _split(
            url, ("smtp", "smtps"), "alert_mail", "an address such as smtps://host?from=a@b.org&to=c@d.org"
        )
        query = parse_qs(self._parts.query)
        self._sender, self._receivers = query.get("from", [""])[0], query.get("to", [])
        if not self._sender or not self._receivers or any("\n" in name for name in (self._sender, *self._receivers)):
            raise ParameterError("must name from and to; it does not.", owner="serve", name="alert_mail")
        self.name = f"{self._parts.scheme}://{self._parts.hostname}/{','.join(self._receivers)}"

    def send(self, alert: Alert) -> None:
        """Send an alert; raise OSError where the server does not take it."""
        message = EmailMessage()
        message["From"], message["To"] = self._sender, ", ".join(self._receivers)
        message["Subject"] = f"driftpace: {alert.campaign}: {alert.kind}"
        message["Message-ID"] = f"<{hashlib.sha256(alert.key.encode()).hexdigest()[:32]}@driftpace>"
        message.set_content(f"{alert.campaign}: {alert.sentence}\n")
        host, user, secret = self._parts.hostname or "", self._parts.username, self._parts.password
        context = ssl.create_default_context()
        try:
            with (
                smtplib.SMTP_SSL(host, self._parts.port or 465, timeout=_TIMEOUT, context=context)
                if self._parts.scheme == "smtps"
                else smtplib.SMTP(host, self._parts.port or 25, timeout=_TIMEOUT)
            ) as server:
                if self._parts.scheme == "smtp":
                    server.ehlo()
                    if user is not None or server.has_extn("starttls"):
                        server.starttls(context=context)
                if user is not None:
                    server.login(unquote(user), unquote(secret or ""))
                server.send_message(message)
        except smtplib.SMTPException as error:
            raise OSError(type(error).__name__) from None


def _split(url: str, schemes: tuple[str, ...], name: str, allowed: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        good = parts.scheme in schemes and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        shown = url.rpartition("@")[2][:100]  # without a password
        raise ParameterError(f"must be {allowed}; got {shown!r}.", owner="serve", name=name)
    return parts


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sending:
    """What the store has of an alert: where it has arrived, how often it was tried, and when it may be tried again."""

    arrived: tuple[str, ...] = ()
    tries: int = 0
    after: float = 0.0


class Notifier:
    """Sends the alerts of a store.

    Parameters
    ----------
    store : Store
        The store.
    targets : sequence of Webhook or Mailbox
        Where alerts are sent.
    rules : AlertRules, optional
        When there is an alert.
    clock : callable
        The time in seconds.
    """

    def __init__(
        self,
        store: Store,
        targets: Sequence[Webhook | Mailbox],
        *,
        rules: AlertRules | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._targets = list(targets)
        self._rules = AlertRules() if rules is None else rules
        self._clock = clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, *, seconds: float) -> None:
        """Look for alerts every so many seconds, in a thread."""
        self._thread = threading.Thread(target=self._run, args=(seconds,), name="driftpace-alerts", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop looking, and wait a second; an alert that is still being sent then is sent again by the next service."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def _run(self, seconds: float) -> None:
        while not self._over.is_set():
            try:
                self.send_due()
            except DriftpaceError as error:
                LOGGER.warning(LogFields(event="alerts", error=error.public_problem))
            self._over.wait(seconds)

    def send_due(self) -> int:
        """Send the alerts that have not arrived everywhere, and forget those that no longer hold; return how many were sent."""
        alerts = {alert.key: alert for alert in find_alerts(all_heads(self._store), self._rules)}
        known = {value.key: value for value in self._store.values(_KIND)}
        for key in known.keys() - alerts.keys():
            self._store.remove_value(_KIND, key)
        return sum(
            self._send(alert, known.get(key, Value(kind=_KIND, key=key, body={}))) for key, alert in alerts.items()
        )

    def _send(self, alert: Alert, value: Value) -> bool:
        state = _Sending(**{**value.body, "arrived": tuple(value.body.get("arrived", ()))})
        left = [target for target in self._targets if target.name not in state.arrived]
        if not left or self._clock() < state.after:
            return False
        try:
            value = self._put(value, replace(state, after=self._clock() + _LEASE))
        except ConflictError:  # another service sends it
            return False
        arrived = [*state.arrived]
        for target in left:
            try:
                target.send(alert)
                arrived.append(target.name)
            except (OSError, ValueError) as error:
                LOGGER.warning(
                    LogFields(event="alert", campaign=alert.campaign, kind=alert.kind, error=str(error)[:200])
                )
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(state.tries, 10))
        try:
            self._put(value, _Sending(arrived=tuple(arrived), tries=state.tries + 1, after=self._clock() + pause))
        except ConflictError:  # sending took longer than the lease
            return False
        return len(arrived) > len(state.arrived)

    def _put(self, value: Value, state: _Sending) -> Value:
        value = replace(value, body={**asdict(state), "arrived": list(state.arrived)})
        return replace(value, version=self._store.put_value(value))
