"""A browser that is refused gets a page, everybody else JSON."""

from collections.abc import Iterator
from typing import Any

import pytest

from driftpace.service.limits import ServiceLimits
from driftpace.service.templating import assets
from driftpace.storage.base import Store
from tests.reference.periods import begun
from tests.reference.serving import Serving, serving

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def pages(store: Store) -> Iterator[Serving]:
    begun(store, "churn")
    with serving(store, dashboard=True, limits=ServiceLimits(pages=1, pages_queue=1)) as running:
        yield running


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/nowhere", 404, "There is nothing at this address."),
        ("/campaigns/nope/ledger.csv", 404, "There is no campaign named"),
        ("/campaigns/nope/ledger.json", 404, "There is no campaign named"),
        ("/campaigns/nope", 404, "There is no campaign named"),
        (f"/?search={'x' * 300}", 422, "In the address, search must be at most 200 characters long"),
    ],
)
def test_browsers_get_a_page(pages: Serving, path: str, status: int, said: str) -> None:
    answer = pages.client.get(path, headers=BROWSER)
    assert answer.status_code == status
    assert answer.headers["Content-Type"].startswith("text/html")
    assert said in answer.text
    assert 'href="/"' in answer.text  # a way on
    plain = pages.client.get(path)
    assert plain.status_code == status
    if path != "/campaigns/nope":
        assert plain.json()["error"]["message"]


def test_the_api_always_answers_in_json(pages: Serving) -> None:
    answer = pages.client.get("/api/campaigns/nope", headers=BROWSER)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_campaign")


def test_throttled_logins_get_a_page(pages: Serving) -> None:
    pages.service.login_throttle._clock = lambda: 0.0  # the wait does not end before the test does
    for _ in range(8):
        answer = pages.client.post("/login", data={"token": "dp_wrong"}, headers=BROWSER)
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) >= 1
    assert "Too many attempts" in answer.text


def test_a_busy_service_answers_with_a_page(pages: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages.service.pages, "active", 2)
    answer = pages.client.get("/", headers=BROWSER)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "2"
    assert "Service busy" in answer.text


def test_internal_errors_are_a_page_with_the_request_id(
    pages: Serving, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("inner workings")

    monkeypatch.setattr(type(store), "count", broken)
    answer = pages.client.get("/", headers=BROWSER)
    assert answer.status_code == 500
    assert answer.headers["X-Request-ID"] in answer.text
    assert "inner" not in answer.text


def test_addresses_are_escaped_in_error_pages(pages: Serving) -> None:
    answer = pages.client.get("/campaigns/%3Cscript%3Ealert(1)%3C%2Fscript%3E", headers=BROWSER)
    assert answer.status_code == 404
    assert "<script>alert" not in answer.text


def test_outdated_static_addresses_are_not_cached(pages: Serving) -> None:
    shown = pages.client.get("/login").text
    digest = shown.split("/static/")[1].split("/")[0]
    for name in assets():
        now = pages.client.get(f"/static/{digest}/{name}")
        old = pages.client.get(f"/static/0123456789ab/{name}")
        assert "immutable" in now.headers["Cache-Control"]
        assert old.headers["Cache-Control"] == "no-store"
        assert now.content == old.content
