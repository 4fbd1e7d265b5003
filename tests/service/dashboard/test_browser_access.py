"""Whoever comes, however: keyboard, screen reader, dark, a phone, paper, no scripts, no token, bad intentions."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import expect

from driftpace.campaign import Campaign
from driftpace.service import make_token
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, serving
from tests.service.dashboard.browser import CONTRAST, NAMELESS, Watched, point_at, watched
from tests.service.dashboard.examples import HOSTILE, World, one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]
LONG = "a" * 100


@pytest.fixture(scope="module")
def hall() -> Iterator[Serving]:
    """A service to look at: one campaign in full swing, one with hostile words and huge numbers, one just begun."""
    store = MemoryStore()
    one(store, periods=4)
    bad: dict[str, Any] = {"name": "hostile", "description": HOSTILE, "target": HOSTILE, "epsilon": 0.1, "seed": 0}
    hostile = Campaign.create(bad, storage=store, who=HOSTILE)
    hostile.ask(key=HOSTILE, who=HOSTILE)
    hostile.tell(*World(1).rows(4), final=False, source=HOSTILE, who=HOSTILE)
    hostile.override(10**15, reason=HOSTILE, who=HOSTILE)
    wide = {"name": LONG, "description": "b" * 300, "target": "c" * 200, "epsilon": 1e-12, "seed": 0}
    Campaign.create({**wide, "features": ["d" * 200, "e" * 90]}, storage=store).ask(key="f" * 200)
    with serving(store, dashboard=True) as running:
        yield running


PAGES = ("/", "/campaigns/flat-prices", "/campaigns/hostile", f"/campaigns/{LONG}", "/login", "/campaigns/none")
REFUSED = ("status of 404",)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_text_contrast_meets_wcag_aa(hall: Serving, visit: Visit, colours: str) -> None:
    page = visit(f"{hall.url}/", color_scheme=colours, expected=REFUSED).page
    for address in PAGES:
        page.goto(hall.url + address)
        if "flat" in address:
            page.locator("#outcome .outcome").wait_for()
            for details in page.locator("details").all():
                details.locator("summary").click()
        found = page.evaluate(CONTRAST)
        assert found["bad"] == [], (address, colours)
        assert found["seen"] > 5
    page.goto(f"{hall.url}/campaigns/flat-prices")
    page.get_by_role("button", name="Upload a delivery…").click()
    assert page.evaluate(CONTRAST)["bad"] == []


def test_the_theme_is_remembered(hall: Serving, visit: Visit) -> None:
    page = visit(hall.url, color_scheme="light").page
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    switch = page.get_by_role("button", name="Colours: system")
    switch.click()
    page.get_by_role("button", name="Colours: light").click()
    dark = page.evaluate(paper)
    assert dark != light
    page.goto(f"{hall.url}/campaigns/flat-prices")
    assert page.evaluate(paper) == dark
    page.get_by_role("button", name="Colours: dark").click()
    assert page.evaluate(paper) == light


def test_pages_fit_a_phone(hall: Serving, visit: Visit) -> None:
    seen = visit(hall.url, size=(360, 740), has_touch=True, expected=REFUSED)
    page = seen.page
    for address in PAGES:
        page.goto(hall.url + address)
        if "flat" in address:
            page.locator("#outcome .outcome").wait_for()
            for details in page.locator("details").all():
                details.locator("summary").click()
            for name in ("Upload a delivery…", "Approve…", "Override…"):
                page.get_by_role("button", name=name).click()
                box = page.locator("dialog[open]").bounding_box()
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= 360
                page.keyboard.press("Escape")
        assert seen.overflow() <= 0, address


def test_elements_have_accessible_names_and_landmarks(hall: Serving, visit: Visit) -> None:
    page = visit(hall.url, expected=REFUSED).page
    for address in PAGES:
        page.goto(hall.url + address)
        if "flat" in address:
            page.locator("#outcome figure").wait_for()
        assert page.evaluate(NAMELESS) == [], address
        assert page.locator("h1").count() == 1, address
        assert page.get_by_role("banner").count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("contentinfo").count() == 1
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(ids) == len(set(ids)), address
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((one) => Number(one.localName[1]))")
        assert all(after <= before + 1 for before, after in pairwise(levels))
    page.goto(f"{hall.url}/campaigns/flat-prices")
    page.locator("#outcome figure").wait_for()
    for figure in page.locator("figure").all():
        assert figure.locator("table caption").count() == 1
        assert figure.get_attribute("aria-label")


def test_pages_work_with_the_keyboard(hall: Serving, visit: Visit) -> None:
    page = visit(hall.url).page
    focused = "document.activeElement.textContent.trim() || document.activeElement.id"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Skip to content"
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()

    def tab_to(wanted: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate(focused) == wanted:
                assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
                return
        pytest.fail(f"no way by Tab to {wanted!r}")

    tab_to("flat-prices")
    page.keyboard.press("Enter")
    page.wait_for_url("**/campaigns/flat-prices")
    tab_to("Override…")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Override the order")
    expect(dialog).to_be_visible()
    for _ in range(12):  # the focus stays within
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.activeElement === document.body || document.activeElement.closest('dialog') !== null"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.locator("#open-override")).to_be_focused()
    page.locator("#if-horizon + input[type=range]").focus()
    before = page.get_by_label("Horizon (periods)", exact=True).input_value()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("Horizon (periods)", exact=True)).not_to_have_value(before)


def test_hostile_text_is_escaped(hall: Serving, visit: Visit) -> None:
    page = visit(f"{hall.url}/campaigns/hostile").page
    page.get_by_role("button", name="Override…").click()
    page.keyboard.press("Escape")
    assert page.locator("img").count() == 0
    assert HOSTILE in page.locator("#order").inner_text()
    assert HOSTILE in page.locator("#lead").inner_text()
    assert page.evaluate("window.hacked") is None
    page.goto(hall.url)
    assert page.locator("img").count() == 0
    page.goto(f"{hall.url}/?search=%22%3E%3Cscript%3Ewindow.hacked%3D1%3C%2Fscript%3E")
    assert page.evaluate("window.hacked") is None


def test_pages_work_without_javascript(hall: Serving, visit: Visit) -> None:
    page = visit(f"{hall.url}/campaigns/flat-prices", java_script_enabled=False).page
    assert page.get_by_role("button", name="Override…").count() == 0
    page.get_by_label("Budget (EUR)", exact=True).fill("90000")
    page.get_by_role("button", name="Plan").click()
    expect(page.locator("#outcome")).to_contain_text("90,000 EUR meet")
    expect(page.get_by_label("Budget (EUR)", exact=True)).to_have_value("90000")


def test_print_hides_buttons(hall: Serving, visit: Visit) -> None:
    page = visit(f"{hall.url}/campaigns/flat-prices").page
    page.emulate_media(media="print", reduced_motion="reduce")
    expect(page.get_by_role("button", name="Override…")).to_be_hidden()
    expect(page.locator("#figure-drift svg").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.getElementById('note')).transitionDuration") == "0s"


def test_charts_show_tooltips(hall: Serving, visit: Visit) -> None:
    page = visit(f"{hall.url}/campaigns/flat-prices").page
    page.locator("#outcome figure").wait_for()
    point_at(page.locator("#figure-loss .hit[data-row='2']:visible").first)
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("2026-W30")
    expect(tip).to_contain_text("Upper bound")


def test_login_with_a_read_token_is_read_only(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=2)
    secret = make_token(store, "viewer", scopes=("read",))
    running = serve(store, always=True)
    page = visit(f"{running.url}/campaigns/flat-prices", expected=("status of 401",)).page
    page.wait_for_url("**/login?next=*")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert").filter(has_text="token")).to_contain_text("unknown or expired")
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/campaigns/flat-prices")  # where one was going
    expect(page.get_by_text("Your token is read-only")).to_be_visible()
    assert page.get_by_role("button", name="Override…").count() == 0
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")


def test_input_survives_a_revoked_token(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=2)
    secret = make_token(store, "desk", scopes=("read", "write"))
    running = serve(store, always=True)
    page = visit(f"{running.url}/login", expected=("status of 401",)).page
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="flat-prices").click()
    page.get_by_role("button", name="Override…").click()
    page.locator("#override").get_by_label("Reason (for the log)").fill("as I was saying")
    store.remove_token("desk")
    campaign.tell(*world.rows(1), final=False)
    expect(page.get_by_text("session has expired").first).to_be_visible()
    page.get_by_role("button", name="Override", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="session has expired").last).to_be_visible()
    assert page.locator("#override").get_by_label("Reason (for the log)").input_value() == "as I was saying"


def test_the_page_checks_can_fail(hall: Serving, browser: Any) -> None:
    with (
        pytest.raises(AssertionError, match="Content Security Policy"),
        watched(browser, hall.url) as seen,
        seen.page.expect_console_message(),
    ):
        seen.page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))"
        )
    with (
        pytest.raises(AssertionError, match=r"127\.0\.0\.1:9"),
        watched(browser, hall.url) as seen,
        seen.page.expect_console_message(),
    ):
        seen.page.evaluate("fetch('http://127.0.0.1:9/').catch(() => null)")
    with watched(browser, hall.url) as seen:
        seen.page.evaluate("document.querySelector('h1').style.color = '#cccccc'")
        assert len(seen.page.evaluate(CONTRAST)["bad"]) == 1
        seen.page.evaluate("document.body.append(document.createElement('button'))")
        assert len(seen.page.evaluate(NAMELESS)) == 1
        seen.page.evaluate("document.querySelector('h1').style.width = '5000px'")
        assert seen.overflow() > 0
