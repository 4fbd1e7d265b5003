"""The API documentation: complete, accessible, without other hosts, and its forms send requests with the session."""

from collections.abc import Callable

from playwright.sync_api import expect

from driftpace.service import make_token
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving
from tests.service.dashboard.browser import CONTRAST, NAMELESS, Watched
from tests.service.dashboard.examples import one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]


def test_the_documentation_lists_every_operation_and_sends_requests(shop: Serving, visit: Visit) -> None:
    visited = visit(f"{shop.url}/", size=(360, 800), expected=("status of 422",))
    page = visited.page
    page.get_by_role("link", name="API").click()
    expect(page.get_by_role("heading", name="REST API")).to_be_visible()
    described = shop.client.get("/api/openapi.json").json()
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert page.locator("details.operation").count() == len(operations)
    for details in page.locator("details.operation").all():
        details.locator("summary").first.click()
    assert page.evaluate(CONTRAST)["bad"] == []
    assert page.evaluate(NAMELESS) == []
    assert visited.overflow() <= 0
    links = page.evaluate("[...document.querySelectorAll('.api a[href^=\"#\"]')].map((link) => link.hash.slice(1))")
    assert [link for link in links if page.locator(f"[id='{link}']").count() != 1] == []

    status = page.locator("form[data-method=GET][data-path='/api/campaigns/{name}']")
    status.get_by_label("name").fill("flat-prices")
    status.get_by_role("button", name="Send").click()
    expect(status.locator("output")).to_contain_text('"period": 5')

    override = page.locator("form[data-path$='/orders/current/override']")
    override.get_by_label("name").fill("flat-prices")
    override.get_by_label("Body").fill('{"samples": 33}')
    override.get_by_role("button", name="Send").click()
    expect(override.locator("output")).to_contain_text("body(reason=...) must be given; got nothing.")
    override.get_by_label("Body").fill('{"samples": 33, "reason": "a trial"}')
    override.get_by_role("button", name="Send").click()
    expect(override.locator("output")).to_contain_text('"samples": 33')


def test_the_documentation_needs_a_login(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=0)
    secret = make_token(store, "viewer", scopes=("read",))
    running = serve(store, always=True)
    assert running.client.get("/api/docs").status_code == 401
    page = visit(f"{running.url}/api/docs").page
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/api/docs")
    expect(page.get_by_role("heading", name="REST API")).to_be_visible()
