"""The page beyond loopback: log in, write, log out."""

import html
import re
import time
from collections.abc import Iterator

import httpx
import pytest

from driftpace.service.auth import make_token
from driftpace.storage.base import Store
from tests.reference.serving import Serving, serving

DEFINITION = {"name": "a", "target": "y", "epsilon": 1.0}


@pytest.fixture
def afar(store: Store) -> Iterator[Serving]:
    with serving(store, host="0.0.0.0") as running:
        yield running


def log_in(running: Serving, secret: str, **headers: str) -> httpx.Response:
    return running.client.post("/login", data={"token": secret}, headers=headers)


def test_login_sets_a_strict_http_only_cookie(afar: Serving, store: Store) -> None:
    answer = log_in(afar, make_token(store, "ann", ["read", "write"]))
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    cookie = answer.headers["Set-Cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    assert "dp_" not in cookie
    assert afar.client.get("/api/session").json()["name"] == "ann"


def test_the_cookie_is_secure_over_https(afar: Serving, store: Store) -> None:
    answer = log_in(afar, make_token(store, "ann"), **{"X-Forwarded-Proto": "https"})
    assert "Secure" in answer.headers["Set-Cookie"].split("; ")


def test_session_writes_need_the_csrf_token(afar: Serving, store: Store) -> None:
    log_in(afar, make_token(store, "ann", ["read", "write"]))
    client = afar.client
    assert client.post("/api/campaigns", json=DEFINITION).json()["error"]["code"] == "csrf"
    csrf = client.get("/api/session").json()["csrf"]
    foreign = {"X-CSRF-Token": csrf, "Origin": "https://evil.example"}
    assert client.post("/api/campaigns", json=DEFINITION, headers=foreign).json()["error"]["code"] == "origin"
    assert store.count() == 0
    assert client.post("/api/campaigns", json=DEFINITION, headers={"X-CSRF-Token": csrf}).status_code == 201
    assert store.entries("a")[0].body["who"] == "ann"


def test_sessions_have_the_scopes_of_their_token(afar: Serving, store: Store) -> None:
    log_in(afar, make_token(store, "bob", ["read"]))
    csrf = afar.client.get("/api/session").json()["csrf"]
    answer = afar.client.post("/api/campaigns", json=DEFINITION, headers={"X-CSRF-Token": csrf})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "scope")


def test_sessions_end_with_logout_or_their_token(afar: Serving, store: Store) -> None:
    secret = make_token(store, "ann")
    log_in(afar, secret)
    before = dict(afar.client.cookies)
    afar.client.post("/logout")
    assert afar.client.get("/api/session").status_code == 401
    kept = {"Cookie": "; ".join(f"{name}={value}" for name, value in before.items())}
    assert afar.client.get("/api/session", headers=kept).status_code == 401  # the old cookie is worth nothing
    log_in(afar, secret)
    assert afar.client.get("/api/session").status_code == 200
    store.remove_token("ann")
    assert afar.client.get("/api/session").status_code == 401


def test_hook_tokens_cannot_log_in(afar: Serving, store: Store) -> None:
    for _ in range(8):  # nobody guessed anything, so nobody has to wait
        answer = log_in(afar, make_token(store, f"tool-{time.monotonic_ns()}", ["hook"]))
        assert answer.status_code == 403
    assert "for labelling tools only" in answer.text
    assert "not known" not in answer.text
    assert "Set-Cookie" not in answer.headers


def test_the_login_page_says_how_to_create_a_token(afar: Serving) -> None:
    assert "driftpace token make NAME" in afar.client.get("/login").text


def test_a_new_login_ends_the_previous_session(afar: Serving, store: Store) -> None:
    log_in(afar, make_token(store, "ann"))
    before = {"Cookie": "; ".join(f"{name}={value}" for name, value in afar.client.cookies.items())}
    log_in(afar, make_token(store, "bob"))
    assert afar.client.get("/api/session").json()["name"] == "bob"
    afar.client.cookies.clear()
    assert afar.client.get("/api/session", headers=before).status_code == 401


@pytest.mark.parametrize("path", ["/campaigns/churn", "/campaigns/churn?log=2&epsilon=0.1", "/?search=a+b&show=look"])
def test_login_leads_to_the_requested_page(afar: Serving, store: Store, path: str) -> None:
    sent_on = afar.client.get(path, headers={"Accept": "text/html"})
    assert sent_on.status_code == 303
    form = afar.client.get(sent_on.headers["Location"]).text
    named = re.search(r'name="next" value="([^"]*)"', form)
    assert named is not None
    wanted = html.unescape(named[1])
    assert wanted == path
    wrong = afar.client.post("/login", data={"token": "dp_wrong", "next": wanted})
    assert named[0] in wrong.text  # a slip of the finger does not lose it
    answer = afar.client.post("/login", data={"token": make_token(store, "ann"), "next": wanted})
    assert (answer.status_code, answer.headers["Location"]) == (303, path)


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "/campaigns/..//evil.example",
        "javascript:alert(1)",
        "campaigns/a",
        "/api/campaigns",
        "/login",
        "/logout",
        "/campaigns/a\r\nSet-Cookie: x=y",
        "/campaigns/a#b",
        "/?" + "a" * 600,
        "",
    ],
)
def test_login_never_leads_to_another_site(afar: Serving, store: Store, wanted: str) -> None:
    assert 'name="next"' not in afar.client.get("/login", params={"next": wanted}).text
    answer = afar.client.post("/login", data={"token": make_token(store, "ann"), "next": wanted})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")


def test_other_sites_cannot_log_in(afar: Serving, store: Store) -> None:
    answer = log_in(afar, make_token(store, "ann"), Origin="https://evil.example")
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


def test_repeated_failures_are_throttled(afar: Serving, store: Store) -> None:
    secret = make_token(store, "ann")
    afar.service.login_throttle._clock = lambda: 0.0  # the wait does not end before the test does
    seen = [log_in(afar, "dp_wrong").status_code for _ in range(7)]
    assert seen == [401] * 6 + [429]
    refused = log_in(afar, secret)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) >= 1
    headers = {"Authorization": f"Bearer {secret}"}
    assert (
        afar.client.get("/api/campaigns", headers=headers).status_code == 200
    )  # whoever has a token is not slowed down


@pytest.mark.parametrize(
    "body", [b"", b"\xff\xfe", b"token", b"&" * 100, b"a=1" + b"&a=1" * 100, b"token=" + b"x" * 2000]
)
def test_malformed_login_forms_are_refused(afar: Serving, body: bytes) -> None:
    assert afar.client.post("/login", content=body).status_code == 401
