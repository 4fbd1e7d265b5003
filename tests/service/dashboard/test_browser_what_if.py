"""What-if in a browser: the last wish is answered, and no plan is shown that is not for the values in the form."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from driftpace.campaign import Campaign
from driftpace.service import ServiceLimits, make_token
from driftpace.service.dashboard import routes, what_if
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, serving
from tests.service.dashboard.browser import Held, Watched
from tests.service.dashboard.examples import World, one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]
PLANS = "**/what-if?*"


def planned(page: Page) -> Any:
    """Wait for the first plan and return where plans are shown."""
    outcome = page.locator("#outcome")
    outcome.locator("figure").wait_for()
    return outcome


def refuse(route: Route) -> None:
    route.fulfill(status=503, headers={"Retry-After": "1"}, content_type="text/html", body="busy")


def test_the_last_request_is_retried_until_answered(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 503",)).page
    outcome = planned(page)
    held = Held(first=[refuse, refuse])
    page.route(PLANS, held)
    page.get_by_label("Budget (EUR)", exact=True).fill("90000")
    expect(outcome).to_contain_text("No plan for these values yet. The service is busy; retrying.")
    expect(outcome.locator("figure")).to_have_count(0)
    held.let_go()
    expect(outcome).to_contain_text("90,000 EUR meet")
    assert len(held.asked) == 3
    assert all("budget=90000" in one for one in held.asked)


def test_superseded_requests_are_aborted_and_not_shown(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    outcome = planned(page)
    held: list[Route] = []

    def slow(route: Route) -> None:
        if "budget=70000" in route.request.url:
            held.append(route)
        else:
            route.continue_()

    page.route(PLANS, slow)
    with page.expect_request(lambda request: "budget=70000" in request.url):
        page.get_by_label("Budget (EUR)", exact=True).fill("70000")
    with page.expect_event("requestfailed", lambda request: "budget=70000" in request.url):
        page.get_by_label("Budget (EUR)", exact=True).fill("80000")
    expect(outcome).to_contain_text("80,000 EUR meet")
    held[0].fulfill(status=200, content_type="text/html", body="<p>70,000 EUR are too late</p>")
    page.get_by_label("Budget (EUR)", exact=True).fill("81000")
    expect(outcome).to_contain_text("81,000 EUR meet")
    expect(outcome).not_to_contain_text("too late")


def test_a_slow_planner_ends_with_the_last_values(serve: Serve, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    one(store, periods=2)
    running = serve(store, limits=ServiceLimits(plans=1, plans_queue=1))
    page = visit(f"{running.url}/campaigns/flat-prices", expected=("status of 503",)).page
    outcome = planned(page)
    quick, go_on = what_if.evaluate, threading.Event()

    def slow(*args: Any, **named: Any) -> Any:
        assert go_on.wait(60.0)  # as a long plan takes
        return quick(*args, **named)

    monkeypatch.setattr(routes, "evaluate", slow)
    field = page.get_by_label("Budget (EUR)", exact=True)
    for place in range(6):
        with page.expect_request(lambda request, place=place: f"budget={90000 + place}" in request.url):
            field.fill(str(90000 + place))
    go_on.set()
    expect(outcome).to_contain_text("90,005 EUR meet")


def test_typing_is_debounced(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    outcome = planned(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/what-if?" in request.url else None)
    field = page.get_by_label("Budget (EUR)", exact=True)
    page.clock.install()
    page.clock.pause_at(
        page.evaluate("Date.now() + 1000")
    )  # no time goes by between the keys, however slow the machine
    field.fill("")
    field.press_sequentially("123456")
    assert asked == []
    page.clock.resume()
    expect(outcome).to_contain_text("123,456 EUR meet")
    assert len(asked) == 1
    assert "budget=123456" in asked[0]


def test_invalid_numbers_are_not_taken_for_empty(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    outcome = planned(page)
    field = page.get_by_label("Target", exact=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/what-if?" in request.url else None)
    for text in ("1e999", "-e"):
        with page.expect_request(lambda request: "epsilon=&" in request.url):
            field.fill("")
        asked.clear()
        field.press_sequentially(text)
        expect(outcome).to_contain_text("“Target” is not a valid number")
        expect(outcome.locator("figure")).to_have_count(0)
        expect(field).to_have_attribute("aria-invalid", "true")
        assert "outcome" in (field.get_attribute("aria-describedby") or "").split()
        assert not [one for one in asked if "epsilon=&" in one]
        field.fill("0.05")
        planned(page)
        assert field.get_attribute("aria-invalid") is None
        assert field.get_attribute("aria-describedby") == "hint-epsilon"


def test_stale_plans_disappear_when_the_service_is_unreachable(visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=2)
    with serving(store, dashboard=True) as running:
        page = visit(f"{running.url}/campaigns/flat-prices", expected=("ERR_", "Failed to load")).page
        outcome = planned(page)
    page.get_by_label("Budget (EUR)", exact=True).fill("90000")
    expect(outcome).to_contain_text("No plan for these values yet. The service cannot be reached")
    expect(outcome.locator("figure")).to_have_count(0)


def test_stale_plans_disappear_when_the_session_expires(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=2)
    secret = make_token(store, "desk", scopes=("read",))
    running = serve(store, always=True)
    page = visit(f"{running.url}/login", expected=("status of 401",)).page
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="flat-prices").click()
    outcome = planned(page)
    store.remove_token("desk")
    page.get_by_label("Budget (EUR)", exact=True).fill("90000")
    expect(outcome).to_contain_text("Your session has expired")
    expect(outcome.locator("figure")).to_have_count(0)


def test_unedited_fields_follow_the_periods(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    outcome = planned(page)
    horizon = page.get_by_label("Horizon (periods)", exact=True)
    left = int(horizon.input_value())
    page.get_by_label("Price per row (EUR)", exact=True).fill("3")
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    before = campaign.status()
    assert before.order is not None
    campaign.tell(*World(3).rows(before.order.missing), final=True)
    campaign.ask(key="next")
    expect(horizon).to_have_value(str(left - 1))
    expect(page.get_by_label("Price per row (EUR)", exact=True)).to_have_value("3")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_label("Price per row (EUR)", exact=True)).not_to_have_value("3")
    expect(horizon).to_have_value(str(left - 1))
    expect(outcome.locator("figure")).to_be_visible()


def test_the_address_holds_the_edited_values(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices?log=1").page
    outcome = planned(page)
    assert page.url.endswith("/campaigns/flat-prices?log=1")
    page.get_by_label("Budget (EUR)", exact=True).fill("90000")
    expect(outcome).to_contain_text("90,000 EUR meet")
    expect(page).to_have_url(f"{shop.url}/campaigns/flat-prices?log=1&budget=90000#what-if")
    other = visit(page.url).page
    expect(other.locator("#outcome")).to_contain_text("90,000 EUR meet")
    expect(other.get_by_label("Budget (EUR)", exact=True)).to_have_value("90000")
    read: list[str] = []
    other.on("request", lambda request: read.append(request.url))
    Campaign.open("flat-prices", storage=shop.service.store).tell(*World(3).rows(1), final=False)
    expect(other.locator("#order .received")).to_contain_text("1 of")
    assert f"{shop.url}/campaigns/flat-prices?log=1" in read  # the page is read again without being planned for
    other.get_by_role("button", name="Reset").click()
    expect(other.locator("#outcome")).not_to_contain_text("90,000 EUR meet")
    expect(other).to_have_url(re.compile(r"/campaigns/flat-prices\?log=1(#.*)?$"))
