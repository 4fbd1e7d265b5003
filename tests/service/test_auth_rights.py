"""Tokens for single campaigns, users that a proxy has signed in, and wrong tokens that are slowed."""

import json
import logging
from collections.abc import Iterator

import httpx
import numpy as np
import pytest

from driftpace.errors import ParameterError
from driftpace.service.access import ROLES, Access
from driftpace.service.auth import make_token
from driftpace.service.sessions import LoginThrottle, TokenThrottle
from driftpace.storage.base import Store
from tests.reference.periods import as_csv, begun, rows
from tests.reference.serving import Serving, serving

USER = "X-Forwarded-User"


@pytest.fixture
def two(store: Store) -> Store:
    for name in ("churn", "prices"):
        begun(store, name).ask()
    return store


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_a_token_for_one_campaign_opens_nothing_else(two: Store) -> None:
    shown = bearer(make_token(two, "desk", ROLES["admin"], campaigns=["churn", "gone"]))
    with serving(two, host="0.0.0.0", dashboard=True) as running:
        client = running.client
        assert client.get("/api/campaigns/churn", headers=shown).status_code == 200
        assert client.post("/api/campaigns/churn/orders", headers=shown, json={}).status_code == 200
        listed = client.get("/api/campaigns", headers=shown).json()
        assert ([one["name"] for one in listed["campaigns"]], listed["total"]) == (["churn"], 1)
        assert client.get("/api/campaigns?search=prices", headers=shown).json()["total"] == 0
        page = client.get("/", headers=shown).text
        assert "churn" in page
        assert "prices" not in page
        assert client.get("/api/session", headers=shown).json()["campaigns"] == ["churn", "gone"]
        refused = [
            ("GET", "/api/campaigns/prices"),
            ("GET", "/api/campaigns/prices/export"),
            ("GET", "/campaigns/prices"),
            ("GET", "/campaigns/prices/ledger.csv"),
            ("POST", "/api/campaigns/prices/orders"),
            ("POST", "/api/hooks/label-studio/prices"),
            ("POST", "/api/campaigns"),
            ("GET", "/metrics"),
            ("GET", "/nowhere"),
            ("GET", "/api/campaigns/prices/"),
            ("GET", "/api/campaigns/%63hurn/../prices"),
        ]
        for method, path in refused:
            answer = client.request(method, path, headers=shown, json={} if method == "POST" else None)
            assert answer.status_code in (403, 404), path
            assert "period" not in answer.text, path


def test_what_a_role_did_stays_in_the_log(two: Store, rng: np.random.Generator) -> None:
    shown = bearer(make_token(two, "desk", ROLES["label"], campaigns=["churn"]))
    body = as_csv(*rows(rng, 4))
    with serving(two, host="0.0.0.0") as running:
        sent = running.client.post(
            "/api/campaigns/churn/deliveries?final=false", content=body, headers={**shown, "Content-Type": "text/csv"}
        )
        assert sent.status_code == 200, sent.text
    assert two.latest("churn", limit=1)[0].body["who"] == "desk"


@pytest.fixture
def proxied(two: Store) -> Iterator[Serving]:
    """A service behind a proxy on this machine that signs users in."""
    access = Access(trusted_proxies=("127.0.0.1",), user_header=USER)
    with serving(two, access=access, dashboard=True) as running:
        yield running


def ask(running: Serving, **headers: str) -> httpx.Response:
    return running.client.post(
        "/api/campaigns/churn/orders",
        json={},
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def test_the_proxy_names_the_user(proxied: Serving, two: Store) -> None:
    client = proxied.client
    assert client.get("/api/campaigns").status_code == 401  # loopback, but the proxy signed nobody in
    unknown = client.get("/api/session", headers={USER: "ada@example.org"}).json()
    assert (unknown["name"], unknown["scopes"]) == ("ada@example.org", ["read"])
    assert ask(proxied, **{USER: "ada@example.org"}).status_code == 403
    make_token(two, "ada@example.org", ROLES["order"], campaigns=["churn"])
    assert ask(proxied, **{USER: "ada@example.org"}).status_code == 200
    assert client.get("/api/campaigns/prices", headers={USER: "ada@example.org"}).status_code == 403


@pytest.mark.parametrize("names", [["ada", "root"], [""], ["a b"], ["x" * 200]])
def test_the_user_must_be_one_name(proxied: Serving, names: list[str]) -> None:
    answer = proxied.client.get("/api/campaigns", headers=[(USER, name) for name in names])
    assert answer.status_code == 401


def test_browsers_of_signed_in_users_need_the_csrf_token(proxied: Serving, two: Store) -> None:
    make_token(two, "ada", ROLES["order"])
    page = proxied.client.get("/campaigns/churn", headers={USER: "ada", "Accept": "text/html"})
    assert page.status_code == 200
    origin = {USER: "ada", "Origin": proxied.url}
    path = "/api/campaigns/churn/orders/current/approve"
    assert proxied.client.post(path, json={}, headers=origin).json()["error"]["code"] == "csrf"
    csrf = proxied.client.get("/api/session", headers={USER: "ada"}).json()["csrf"]
    assert proxied.client.post(path, json={}, headers={**origin, "X-CSRF-Token": csrf}).status_code == 200
    assert two.latest("churn", limit=1)[0].body["who"] == "ada"


def test_the_header_of_others_is_not_believed(two: Store) -> None:
    make_token(two, "ada", ROLES["admin"])
    access = Access(host="0.0.0.0", trusted_proxies=("10.0.0.0/8",), user_header=USER)
    with serving(two, access=access) as running:
        assert running.client.get("/api/campaigns", headers={USER: "ada"}).status_code == 401


def test_users_without_a_token_can_be_refused(two: Store) -> None:
    access = Access(trusted_proxies=("127.0.0.0/8",), user_header=USER, user_role=None)
    with serving(two, access=access) as running:
        assert running.client.get("/api/campaigns", headers={USER: "ada"}).status_code == 403


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"trusted_proxies": ("proxy.example",)}, "trusted_proxies"),
        ({"user_header": USER}, "trusted_proxies"),
        ({"trusted_proxies": ("10.0.0.1",), "user_header": "X User"}, "user_header"),
        ({"user_role": "owner"}, "user_role"),
    ],
)
def test_invalid_proxies_are_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Access(**given)  # type: ignore[arg-type]


def test_wrong_tokens_are_slowed_and_valid_ones_are_not(two: Store) -> None:
    good = bearer(make_token(two, "job"))
    with serving(two, host="0.0.0.0") as running:
        client = running.client
        assert client.get("/api/campaigns", headers=good).status_code == 200
        statuses = [client.get("/api/campaigns", headers=bearer("dp_wrong")).status_code for _ in range(7)]
        assert statuses == [401] * 6 + [429]
        wait = client.get("/api/campaigns", headers=bearer("dp_other"))
        assert (wait.status_code, wait.json()["error"]["code"]) == (429, "busy")
        assert int(wait.headers["Retry-After"]) >= 1
        assert client.get("/api/campaigns", headers=good).status_code == 200
        assert client.post("/login", data={"token": "dp_wrong"}).status_code == 401  # logins are counted apart


def test_valid_tokens_are_remembered_within_bounds() -> None:
    logins = LoginThrottle(free=0, clock=lambda: 0.0)
    throttle = TokenThrottle(logins)
    for number in range(2000):
        throttle.record("peer", f"token-{number}", valid=True)
    throttle.record("peer", "wrong", valid=False)
    assert throttle.seconds_left("peer", "token-0") > 0.0
    assert throttle.seconds_left("peer", "token-1999") == 0.0
    throttle.record("peer", "token-1999", valid=False)  # revoked meanwhile
    assert throttle.seconds_left("peer", "token-1999") > 0.0


def test_failures_are_counted_by_the_client_behind_the_proxy(two: Store) -> None:
    access = Access(host="0.0.0.0", trusted_proxies=("127.0.0.1",))
    with serving(two, access=access) as running:
        for client, wanted in (("1.2.3.4", [401] * 6 + [429]), ("5.6.7.8", [401])):
            headers = {**bearer("dp_wrong"), "X-Forwarded-For": f"9.9.9.9, {client}"}
            assert [running.client.get("/", headers=headers).status_code for _ in wanted] == wanted


@pytest.mark.parametrize(("trusted", "peer"), [((), "127.0.0.1"), (("127.0.0.1",), "1.2.3.4")])
def test_log_lines_name_the_peer(
    two: Store, caplog: pytest.LogCaptureFixture, trusted: tuple[str, ...], peer: str
) -> None:
    with (
        caplog.at_level(logging.INFO, logger="driftpace.service"),
        serving(two, access=Access(trusted_proxies=trusted)) as running,
    ):
        running.client.get("/api/campaigns", headers={**bearer("dp_wrong"), "X-Forwarded-For": "1.2.3.4"})
    (line,) = (json.loads(one.getMessage()) for one in caplog.records if one.name == "driftpace.service")
    assert (line["status"], line["peer"]) == (401, peer)
