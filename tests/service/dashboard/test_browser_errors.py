"""When the service cannot answer, or answers late: the page says so where it is seen, and comes right by itself."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from driftpace.campaign import Campaign
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, serving
from tests.service.dashboard.browser import Held, Watched
from tests.service.dashboard.examples import World, one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]
GONE = ("ERR_", "Failed to load")


def in_sight(page: Page) -> None:
    """Wait until the strip is what is seen at its middle, and not below, above or behind something."""
    page.wait_for_function(
        """() => {
          const strip = document.getElementById("gone");
          const box = strip.getBoundingClientRect();
          const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
          return box.height > 0 && box.top >= 0 && box.bottom <= window.innerHeight && strip === seen;
        }"""
    )


@pytest.mark.parametrize("width", [1200, 360])
def test_the_banner_is_visible_everywhere(visit: Visit, width: int) -> None:
    store = MemoryStore()
    one(store, periods=2)
    with serving(store, dashboard=True) as running:
        page = visit(f"{running.url}/campaigns/flat-prices", size=(width, 700), expected=GONE).page
        page.locator("#outcome figure").wait_for()
    strip = page.locator("#gone")
    expect(strip).to_be_visible()
    page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    in_sight(page)
    page.evaluate("window.scrollTo(0, 0)")
    for name, button in (("Override…", "Override"), ("Upload a delivery…", "Upload")):
        page.get_by_role("button", name=name).click()
        dialog = page.locator("dialog[open]")
        in_sight(page)
        expect(dialog.get_by_role("alert").filter(has_text="unreachable since")).to_be_visible()
        dialog.get_by_role("button", name=button, exact=True).focus()
        page.evaluate("document.querySelector('dialog[open]').scrollTo(0, 10000)")
        in_sight(page)
        page.keyboard.press("Escape")
        expect(page.locator("body > #gone")).to_be_visible()
        in_sight(page)


def test_the_banner_is_visible_in_dialogs(visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=2)
    with serving(store, dashboard=True) as running:
        page = visit(f"{running.url}/campaigns/flat-prices", expected=GONE).page
        page.get_by_role("button", name="Override…").click()
    expect(page.locator("dialog[open] #gone")).to_contain_text("unreachable since")
    in_sight(page)


def test_removed_campaigns_show_a_banner(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=2)
    running = serve(store)
    page = visit(f"{running.url}/campaigns/flat-prices", expected=("status of 404",)).page
    page.locator("#outcome figure").wait_for()
    store.remove("flat-prices")
    expect(page.locator("#gone")).to_contain_text("No such campaign")
    expect(page.locator("#gone")).to_contain_text("This page is out of date")


def test_failed_refreshes_are_retried(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 500",)).page
    page.locator("#outcome figure").wait_for()

    def fail(route: Route) -> None:
        route.fulfill(status=500, headers={"Retry-After": "1"}, content_type="application/json", body="{}")

    held = Held(first=[fail])
    page.route("**/campaigns/flat-prices", held)
    Campaign.open("flat-prices", storage=shop.service.store).tell(*World(3).rows(3), final=False)
    expect(page.locator("#gone")).to_contain_text("The service answered with 500")
    expect(page.locator("#gone")).to_be_visible()
    held.let_go()
    expect(page.locator("#order .received")).to_contain_text("3 of")
    expect(page.locator("#gone")).to_be_hidden()


def test_the_last_search_wins(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    for name in ("alpha", "alphabet", "beta"):
        Campaign.create({"name": name, "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    running = serve(store)
    page = visit(running.url).page
    held = Held()
    page.route("**/?search=al", held)
    finder = page.get_by_label("Find a campaign by name")
    with page.expect_request("**/?search=al"):
        finder.fill("al")
    with page.expect_event("requestfailed", lambda request: request.url.endswith("search=al")):
        finder.fill("beta")  # nobody waits for the first any more
    expect(page.locator("tbody tr")).to_have_count(1)
    held.let_go()
    expect(page.locator("tbody tr")).to_contain_text("beta")
    expect(page).to_have_url(f"{running.url}/?search=beta")
    page.evaluate("() => fetch('/healthz').then((answer) => answer.text())")
    expect(page.locator("tbody tr")).to_contain_text("beta")  # an answer to the first would be here by then
    assert len(held.asked) == 1


def test_a_failed_list_shows_a_banner_and_recovers(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    Campaign.create({"name": "alpha", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    running = serve(store)
    page = visit(running.url, expected=("status of 503",)).page

    def busy(route: Route) -> None:
        route.fulfill(status=503, headers={"Retry-After": "1"}, content_type="text/html", body="")

    held = Held(first=[busy])
    page.route("**/?search=*", held)
    page.get_by_label("Find a campaign by name").fill("nowhere")
    expect(page.locator("#gone")).to_contain_text("The service is busy")
    expect(page.locator("#gone")).to_be_visible()
    held.let_go()
    page.get_by_text("No matches").wait_for()
    expect(page.locator("#gone")).to_be_hidden()


def test_writes_after_a_restart_are_repeated(shop: Serving, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 403",)).page
    page.locator("#outcome figure").wait_for()
    page.get_by_role("button", name="Override…").click()
    page.get_by_label("Rows for the whole period").fill("33")
    page.locator("#override").get_by_label("Reason (for the log)").fill("typed before")
    monkeypatch.setattr(shop.service.sessions, "_key", b"as another process would have drawn it")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(page.locator("#order .decided")).to_contain_text("typed before")
    order = Campaign.open("flat-prices", storage=shop.service.store).status().order
    assert order is not None
    assert order.samples == 33


def test_csrf_failures_have_a_plain_message(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 403",)).page

    def foreign(route: Route) -> None:
        said = '{"error": {"code": "csrf", "message": "", "parameter": null, "problem": "must be another."}}'
        route.fulfill(status=403, content_type="application/json", body=said)

    page.route("**/approve", foreign)
    page.get_by_role("button", name="Approve…").click()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.locator("#approve .refused")).to_have_text("The service was restarted. Reload the page.")
