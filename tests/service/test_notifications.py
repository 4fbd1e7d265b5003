"""Alerts arrive at least once, signed, and not again; a restart or a second service neither loses nor repeats them."""

import hashlib
import hmac
import json
import smtplib
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from driftpace.campaign.alerts import Alert, AlertRules
from driftpace.errors import ParameterError
from driftpace.service.auth import make_token
from driftpace.service.notifications import Mailbox, Notifier, Webhook
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import serving

SECRET = "0123456789abcdef"
ALERT = Alert(campaign="churn", kind="money", period=2, sentence="5 EUR are left.")
NOW = AlertRules(overdue_days=1e-9)


class Receiver:
    """A server that keeps what it is sent, and answers with ``status``."""

    def __init__(self) -> None:
        self.status, self.got = 200, list[tuple[dict[str, str], bytes]]()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(outer.status)
                self.send_header("Location", f"http://127.0.0.1:{outer.port}/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/alerts?team=labels"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join(30.0)


class Clock:
    now = 1e9

    def __call__(self) -> float:
        return self.now


def notifier(store: Store, receiver: Receiver, clock: Clock) -> Notifier:
    return Notifier(store, [Webhook(receiver.url, secret=SECRET, clock=clock)], rules=NOW, clock=clock)


@pytest.fixture
def waiting(store: Store) -> Store:
    """A store with a campaign that waits for labels."""
    begun(store, "churn").ask()
    return store


def test_webhooks_are_signed(receiver: Receiver) -> None:
    clock = Clock()
    Webhook(receiver.url, secret=SECRET, clock=clock).send(ALERT)
    ((headers, body),) = receiver.got
    signed = hmac.new(SECRET.encode(), b"1000000000." + body, hashlib.sha256).hexdigest()
    assert headers["x-driftpace-signature"] == f"sha256={signed}"
    assert headers["x-driftpace-timestamp"] == "1000000000"
    assert headers["idempotency-key"] == json.loads(body)["key"] == "churn/2/money"
    assert json.loads(body)["sentence"] == "5 EUR are left."


def test_an_alert_is_sent_once(waiting: Store, receiver: Receiver) -> None:
    clock = Clock()
    assert notifier(waiting, receiver, clock).send_due() == 1
    for _ in range(3):  # again, after a restart, at another service
        clock.now += 10_000.0
        assert notifier(waiting, receiver, clock).send_due() == 0
    assert [json.loads(body)["kind"] for _, body in receiver.got] == ["overdue"]


@pytest.mark.parametrize("status", [500, 404, 302])
def test_an_alert_is_sent_again_until_it_has_arrived(waiting: Store, receiver: Receiver, status: int) -> None:
    """Redirects are not followed: only the address that was configured is called."""
    clock, receiver.status = Clock(), status
    for tries, pause in enumerate((30.0, 60.0, 120.0), start=1):
        assert notifier(waiting, receiver, clock).send_due() == 0
        clock.now += pause - 1.0
        notifier(waiting, receiver, clock).send_due()
        assert len(receiver.got) == tries
        clock.now += 2.0
    receiver.status = 204
    assert notifier(waiting, receiver, clock).send_due() == 1
    assert len({headers["idempotency-key"] for headers, _ in receiver.got}) == 1


def test_an_unreachable_address_does_not_keep_others_from_theirs(waiting: Store, receiver: Receiver) -> None:
    clock = Clock()
    gone = Webhook("http://127.0.0.1:1/", secret=SECRET)
    both = Notifier(waiting, [gone, Webhook(receiver.url, secret=SECRET)], rules=NOW, clock=clock)
    assert both.send_due() == 1
    clock.now += 1_000.0
    assert both.send_due() == 0
    assert len(receiver.got) == 1


def test_an_alert_is_sent_again_where_a_service_died_while_sending(waiting: Store, receiver: Receiver) -> None:
    clock = Clock()
    dying = notifier(waiting, receiver, clock)

    class DiedError(BaseException):
        pass

    def die(_: Alert) -> None:
        raise DiedError

    setattr(dying._targets[0], "send", die)  # noqa: B010
    with pytest.raises(DiedError):
        dying.send_due()
    other = notifier(waiting, receiver, clock)
    assert other.send_due() == 0  # it may still be sending
    clock.now += 61.0
    assert other.send_due() == 1


def test_one_of_several_services_sends(waiting: Store, receiver: Receiver) -> None:
    clock, barrier, sent = Clock(), threading.Barrier(4), []

    def send() -> None:
        made = notifier(waiting, receiver, clock)
        barrier.wait(30.0)
        sent.append(made.send_due())

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert sum(sent) == len(receiver.got) == 1


def test_alerts_that_no_longer_hold_are_forgotten(waiting: Store, receiver: Receiver) -> None:
    clock = Clock()
    notifier(waiting, receiver, clock).send_due()
    assert len(waiting.values("alert")) == 1
    waiting.remove("churn")
    notifier(waiting, receiver, clock).send_due()
    assert waiting.values("alert") == []


def test_mail_names_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[EmailMessage] = []

    class Server:
        def __init__(self, host: str, port: int, **_: Any) -> None:
            assert (host, port) == ("mail.example", 465)

        def __enter__(self) -> "Server":
            return self

        def __exit__(self, *_: Any) -> None:
            pass

        def login(self, user: str, secret: str) -> None:
            assert (user, secret) == ("ada", "p@ss")

        def send_message(self, message: EmailMessage) -> None:
            sent.append(message)

    monkeypatch.setattr(smtplib, "SMTP_SSL", Server)
    Mailbox("smtps://ada:p%40ss@mail.example?from=a@b.org&to=c@d.org&to=e@f.org").send(ALERT)
    (message,) = sent
    assert (message["To"], message["Subject"]) == ("c@d.org, e@f.org", "driftpace: churn: money")
    assert message.get_content() == "churn: 5 EUR are left.\n"


def test_mail_that_is_refused_is_an_error_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise smtplib.SMTPServerDisconnected("gone")

    monkeypatch.setattr(smtplib, "SMTP", refuse)
    with pytest.raises(OSError, match="SMTPServerDisconnected"):
        Mailbox("smtp://mail.example?from=a@b.org&to=c@d.org").send(ALERT)


@pytest.mark.parametrize(
    "url", ["ftp://a.b", "https://", "http://a:99999/", "smtps://user:hidden-secret@", "javascript:alert(1)", ""]
)
def test_other_addresses_are_refused_without_their_password(url: str) -> None:
    for make in (lambda: Webhook(url, secret=SECRET), lambda: Mailbox(url)):
        with pytest.raises(ParameterError, match="must be an") as refused:
            make()
        assert "hidden-secret" not in str(refused.value)


def test_mail_needs_a_sender_and_receivers() -> None:
    for url in ("smtps://host?from=a@b.org", "smtps://host?to=a@b.org", "smtps://host?from=a%0Ab@c.org&to=d@e.org"):
        with pytest.raises(ParameterError, match="must name from and to"):
            Mailbox(url)


def test_short_secrets_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"serve\(alert_secret=...\) must have at least 16 characters; got 3"):
        Webhook("https://a.b", secret="abc")


def test_alerts_are_listed_for_whom_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    for name in ("churn", "prices"):
        begun(store, name).ask()
    monkeypatch.setattr("driftpace.campaign.alerts.AlertRules", lambda: NOW)
    limited = make_token(store, "desk", ["read"], campaigns=["churn"])
    with serving(store) as running:
        every = running.client.get("/api/alerts").json()["alerts"]
        assert [(alert["campaign"], alert["kind"]) for alert in every] == [("churn", "overdue"), ("prices", "overdue")]
        one = running.client.get("/api/alerts", headers={"Authorization": f"Bearer {limited}"}).json()["alerts"]
        assert [alert["key"] for alert in one] == ["churn/1/overdue"]
        assert 'driftpace_alerts{kind="overdue"} 2.0' in running.client.get("/metrics").text
