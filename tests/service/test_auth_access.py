"""Who may do what: every kind of caller, every kind of request."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi.routing import APIRoute

from driftpace.service.access import ROLES
from driftpace.service.auth import make_token
from driftpace.service.dashboard import routes as pages
from driftpace.service.limits import ServiceLimits
from driftpace.service.routes import archive, campaigns, deliveries, docs, fleets, orders, system, tables
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, serving

READS = [
    ("GET", "/api/campaigns"),
    ("GET", "/api/campaigns/churn"),
    ("GET", "/api/campaigns/churn/definition"),
    ("GET", "/api/campaigns/churn/orders/current"),
    ("GET", "/api/campaigns/churn/reports"),
    ("GET", "/api/campaigns/churn/ledger"),
    ("GET", "/api/campaigns/churn/log"),
    ("GET", "/api/campaigns/churn/refusals"),
    ("GET", "/api/campaigns/churn/stream"),
    ("GET", "/api/campaigns/churn/export"),
    ("GET", "/api/campaigns/churn/report"),
    ("GET", "/api/session"),
    ("GET", "/api/alerts"),
    ("GET", "/api/openapi.json"),
    ("GET", "/api/docs"),
    ("GET", "/metrics"),
    ("POST", "/api/campaigns/churn/plans"),
    ("POST", "/api/schema"),
    ("POST", "/api/check"),
    ("POST", "/api/campaigns/churn/predictions"),
    ("GET", "/"),
    ("GET", "/check"),
    ("GET", "/campaigns/churn"),
    ("GET", "/campaigns/churn/what-if"),
    ("GET", "/campaigns/churn/ledger.csv"),
    ("GET", "/campaigns/churn/ledger.json"),
    ("GET", "/campaigns/churn/segments/berlin"),
    ("GET", "/api/campaigns/churn/fleet"),
    ("GET", "/api/campaigns/churn/fleet/segments"),
    ("GET", "/api/campaigns/churn/fleet/segments/berlin"),
    ("GET", "/api/campaigns/churn/fleet/ledger"),
    ("POST", "/api/campaigns/churn/fleet/predictions"),
]
LABELS = [
    ("POST", "/api/campaigns/churn/deliveries"),
    ("POST", "/api/campaigns/churn/orders/current/release"),
    ("POST", "/api/campaigns/churn/deliveries/forget"),
    ("POST", "/api/campaigns/churn/sample"),
    ("POST", "/api/campaigns/churn/fleet/deliveries"),
    ("POST", "/api/campaigns/churn/fleet/sample"),
]
ORDERS = [
    ("POST", "/api/campaigns/churn/orders"),
    ("POST", "/api/campaigns/churn/orders/current/approve"),
    ("POST", "/api/campaigns/churn/orders/current/override"),
    ("POST", "/api/campaigns/churn/undo"),
    ("POST", "/api/campaigns/churn/retrain"),
    ("POST", "/api/campaigns/churn/fleet/orders"),
    ("POST", "/api/campaigns/churn/fleet/undo"),
]
WRITES = [
    *LABELS,
    *ORDERS,
    ("POST", "/api/campaigns"),
    ("POST", "/api/campaigns/churn/pool"),
    ("POST", "/api/campaigns/churn/amend"),
    ("POST", "/api/campaigns/churn/budget"),
    ("POST", "/api/campaigns/churn/fleet/budget"),
    ("POST", "/api/campaigns/churn/erase"),
    ("POST", "/api/campaigns/churn/archive"),
    ("POST", "/api/campaigns/churn/unarchive"),
    ("DELETE", "/api/campaigns/churn"),
    ("PUT", "/nowhere"),
]
HOOKS = [("POST", "/api/hooks/label-studio/churn")]
OPEN = [("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/login")]
OTHERS = [("POST", "/login"), ("POST", "/logout")]  # these have tests of their own
SHORT = ServiceLimits(stream_seconds=0.05, poll_seconds=0.05)
CALLERS = ("nobody", "wrong", "basic", "read", "write", "hook", "over", "revoked", "label", "order")
MAY = {
    "read": READS,
    "label": READS + LABELS,
    "order": READS + LABELS + ORDERS,
    "write": READS + WRITES + HOOKS,
    "hook": HOOKS,
}


@pytest.fixture(scope="module")
def afar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, dict[str, str]]]:
    from driftpace.storage import open_store

    store = open_store(tmp_path_factory.mktemp("afar") / "store.db")
    begun(store, "churn")
    shown = {"nobody": "", "wrong": "Bearer dp_" + "A" * 43, "basic": "Basic YTpi"}
    for scope in ("read", "write", "hook"):
        shown[scope] = f"Bearer {make_token(store, scope, [scope])}"
    for role in ("label", "order"):
        shown[role] = f"Bearer {make_token(store, role, ROLES[role])}"
    past = datetime.now(UTC) - timedelta(days=2)
    shown["over"] = f"Bearer {make_token(store, 'over', ['write'], 1, now=past)}"
    shown["revoked"] = f"Bearer {make_token(store, 'revoked', ['write'])}"
    store.remove_token("revoked")
    with serving(store, host="0.0.0.0", limits=SHORT, dashboard=True) as running:
        yield running, shown
    store.close()


def test_every_route_is_covered() -> None:
    parts = (archive, campaigns, deliveries, docs, fleets, orders, system, tables, pages)
    there = [route for part in parts for route in part.router.routes if isinstance(route, APIRoute)]
    assert len(there) > 25
    for route in there:
        for method in route.methods or ():
            asked = [path for used, path in READS + WRITES + HOOKS + OPEN + OTHERS if used == method]
            assert any(route.path_regex.match(path) for path in asked), (method, route.path)


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(("method", "path"), READS + WRITES + HOOKS)
def test_beyond_loopback_requests_need_a_token_with_the_scope(
    afar: tuple[Serving, dict[str, str]], caller: str, method: str, path: str
) -> None:
    running, shown = afar
    running.service.token_throttle.failures.reset("127.0.0.1")
    headers = {"Authorization": shown[caller]} if shown[caller] else {}
    status = running.client.request(method, path, headers=headers, json={}).status_code
    if (method, path) in MAY.get(caller, []):
        assert status not in (401, 403)
    else:
        assert status == (403 if caller in MAY else 401)


@pytest.mark.parametrize(("method", "path"), OPEN)
def test_health_and_login_are_public(afar: tuple[Serving, dict[str, str]], method: str, path: str) -> None:
    assert afar[0].client.request(method, path).status_code == 200


def test_unauthenticated_requests_get_a_json_error(afar: tuple[Serving, dict[str, str]]) -> None:
    running, shown = afar
    refused = running.client.get("/api/campaigns")
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert refused.json()["error"]["code"] == "unauthenticated"
    forbidden = running.client.post("/api/campaigns", headers={"Authorization": shown["read"]}, json={})
    assert forbidden.json()["error"]["code"] == "scope"


def test_unauthenticated_pages_redirect_to_login(
    afar: tuple[Serving, dict[str, str]],
) -> None:
    answer = afar[0].client.get("/", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login")


@pytest.mark.parametrize(("method", "path"), [one for one in READS + WRITES if one != ("PUT", "/nowhere")])
def test_loopback_needs_no_token(store: Store, method: str, path: str) -> None:
    begun(store, "churn")
    with serving(store, limits=SHORT, dashboard=True) as running:
        assert running.client.request(method, path, json={}).status_code not in (401, 403)


def test_hooks_need_their_secret_on_loopback(served: Serving, store: Store) -> None:
    begun(store, "churn")
    assert served.client.post("/api/hooks/label-studio/churn", json={}).status_code == 401


@pytest.mark.parametrize("always", [True, False])
@pytest.mark.parametrize(
    "header",
    [
        *(
            "Forwarded",
            "X-Forwarded-For",
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
            "X-Real-IP",
            "Via",
            "X-Original-Host",
        ),
        *("X_Forwarded_For", "Fly-Client-IP", "Fastly-Client-IP", "X-Envoy-External-Address", "CF-Connecting-IP"),
        *("True-Client-IP", "X-Cluster-Client-IP", "Client-IP", "CDN-Loop", "X-Azure-ClientIP", "X-Amzn-Trace-Id"),
    ],
)
def test_proxied_requests_are_not_local(store: Store, header: str, always: bool) -> None:
    with serving(store, always=always) as running:
        assert running.client.get("/api/campaigns", headers={header: "127.0.0.1"}).status_code == 401
        assert running.client.get("/api/campaigns").status_code == (401 if always else 200)


def test_http_1_0_requests_are_not_local(served: Serving) -> None:
    """nginx, unless it is told otherwise: it names 127.0.0.1 as the host and does not say for whom it speaks."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30.0) as line:
        line.sendall(f"GET /api/campaigns HTTP/1.0\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode())
        assert line.makefile("rb").readline().split()[1] == b"401"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "", "127.0.0.1.evil.example:{port}"]
)
def test_foreign_host_names_are_refused(served: Serving, host: str) -> None:
    answer = served.client.get("/api/campaigns", headers={"Host": host.format(port=served.port)})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_own_host_names_are_accepted(served: Serving, host: str) -> None:
    answer = served.client.get("/api/campaigns", headers={"Host": f"{host}:{served.port}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "foreign",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_other_sites_cannot_write(served: Serving, store: Store, foreign: dict[str, str]) -> None:
    answer = served.client.post("/api/campaigns", headers=foreign, json={"name": "a", "target": "y", "epsilon": 1.0})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "origin")
    assert store.count() == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_can_link_but_not_call_the_api(store: Store, site: str) -> None:
    with serving(store, dashboard=True) as running:
        assert running.client.get("/api/campaigns", headers={"Sec-Fetch-Site": site}).status_code == 403
        followed = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert running.client.get("/", headers=followed).status_code == 200
        begun(store, "churn")
        for mode, kind in (("no-cors", "image"), ("navigate", "iframe"), ("cors", "empty")):
            within = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": kind}
            for address in ("/", "/metrics", "/campaigns/churn?horizon=520", "/campaigns/churn/what-if?horizon=520"):
                assert running.client.get(address, headers=within).status_code == 403


def test_browser_writes_need_the_csrf_token(served: Serving, store: Store) -> None:
    definition = {"name": "a", "target": "y", "epsilon": 1.0}
    own = {"Origin": served.url, "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=served.url, trust_env=False) as browser:
        refused = browser.post("/api/campaigns", headers=own, json=definition)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "csrf")
        system = {"Cookie": f"driftpace_session_{served.port}=mine"}
        csrf = browser.get("/api/session", headers=system).json()["csrf"]
        other = browser.get("/api/session", headers={"Cookie": f"driftpace_session_{served.port}=other"}).json()["csrf"]
        for wrong in (other, "", "0" * 64):
            headers = {**own, **system, "X-CSRF-Token": wrong}
            assert browser.post("/api/campaigns", headers=headers, json=definition).status_code == 403
        assert store.count() == 0
        taken = browser.post("/api/campaigns", headers={**own, **system, "X-CSRF-Token": csrf}, json=definition)
        assert taken.status_code == 201


def test_cookies_of_other_programs_are_ignored(served: Serving) -> None:
    ours = f"driftpace_session_{served.port}=mine"
    alone = served.client.get("/api/session", headers={"Cookie": ours}).json()["csrf"]
    for theirs in ('theirs={"a": 1, "b": 2}', "a[b]=c", "=", 'x="', "\x7f=1"):
        seen = served.client.get("/api/session", headers={"Cookie": f"{theirs}; {ours}"}).json()["csrf"]
        assert seen == alone, theirs


def test_revoked_tokens_are_refused_at_once(store: Store) -> None:
    secret = make_token(store, "a", ["read"])
    headers = {"Authorization": f"Bearer {secret}"}
    with serving(store, host="0.0.0.0") as running:
        assert running.client.get("/api/campaigns", headers=headers).status_code == 200
        store.remove_token("a")
        assert running.client.get("/api/campaigns", headers=headers).status_code == 401
