"""Through the whole page in a real browser, as a person goes through it."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from driftpace.campaign import Campaign
from driftpace.service import ServiceLimits
from driftpace.service.templating import cents
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, poll, serving
from tests.service.dashboard.browser import Watched
from tests.service.dashboard.examples import World, one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]


def campaign_of(shop: Serving, name: str = "flat-prices") -> Campaign:
    return Campaign.open(name, storage=shop.service.store)


def test_a_period_from_the_list_to_closing(shop: Serving, visit: Visit, tmp_path: Path) -> None:
    campaign = campaign_of(shop)
    asked = campaign.status().order
    assert asked is not None
    page = visit(shop.url).page
    page.get_by_role("link", name="flat-prices").click()
    order = page.locator("#order")
    expect(order.locator(".big-number")).to_have_text(str(asked.missing))
    expect(order).to_contain_text(cents(asked.request.reason, "EUR"))

    page.get_by_label("Budget (EUR)", exact=True).fill("100000")
    page.get_by_text("100,000 EUR meet").wait_for()
    expect(page.locator("#outcome")).to_contain_text("rows now")
    page.get_by_label("Target", exact=True).fill("0.0000001")
    page.locator("#outcome .tone-bad, #outcome .tone-warn").wait_for()
    page.get_by_role("button", name="Reset").click()
    page.locator("#outcome .tone-good").wait_for()

    page.get_by_role("button", name="Override…").click()
    dialog = page.get_by_role("dialog", name="Override the order")
    dialog.get_by_label("Rows for the whole period").fill("31")
    dialog.get_by_role("button", name="Override", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Enter a reason")
    assert campaign.status().order == asked  # nothing was sent
    dialog.get_by_label("Reason").fill("two streets were added")
    dialog.get_by_role("button", name="Override", exact=True).click()
    order.locator(".decided").filter(has_text="31 rows instead of").wait_for()
    expect(page.locator("#open-override")).to_be_focused()
    now = campaign.status().order
    assert now is not None
    assert now.overridden is not None
    assert (now.samples, now.overridden.reason) == (31, "two streets were added")

    file = tmp_path / "w32.csv"
    file.write_text(World(3).csv(20))
    page.get_by_role("button", name="Upload a delivery…").click()
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_text("20 rows counted.").wait_for()
    expect(page.locator("#upload .receipt")).to_contain_text("11 rows still missing.")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_text("was received before").wait_for()
    page.get_by_label("Close it even if rows are missing").check()
    page.get_by_role("button", name="Close the period", exact=True).click()
    page.get_by_text("Period 5 is closed").wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("not asked yet").wait_for()
    assert campaign.ledger()[-1].report.samples == 20


def test_approval_needs_no_reason(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog", name="Approve the order")
    order = campaign_of(shop).status().order
    assert order is not None
    expect(dialog).to_contain_text(f"{order.samples} rows")
    dialog.get_by_role("button", name="Approve").click()
    page.locator("#order .decided").wait_for()
    decided = campaign_of(shop).status().order
    assert decided is not None
    assert decided.approved is not None
    assert decided.approved.who == "local"


def test_concurrent_changes_appear_and_input_survives(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.get_by_label("Horizon (periods)", exact=True).fill("7")
    page.locator("#figure-drift summary").click()
    page.get_by_role("button", name="Override…").click()
    page.locator("#override").get_by_label("Reason (for the log)").fill("half a senten")
    X, y = World(3).rows(5)
    campaign_of(shop).tell(X, y, final=False, source="elsewhere.csv", who="desk")
    page.locator("#override .meanwhile:not([hidden])").wait_for()
    expect(page.locator("#override").get_by_label("Reason (for the log)")).to_have_value("half a senten")
    expect(page.locator("#override-reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#order .received")).to_contain_text("5 of")
    expect(page.locator("#log")).to_contain_text("elsewhere.csv")
    expect(page.get_by_label("Horizon (periods)", exact=True)).to_have_value("7")
    expect(page.locator("#figure-drift details")).to_have_attribute("open", "")
    expect(page.get_by_role("status").filter(has_text="Updated")).to_have_count(1)


def test_decisions_about_a_closed_period_are_refused_on_the_page(shop: Serving, visit: Visit, tmp_path: Path) -> None:
    campaign = campaign_of(shop)
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 409",)).page
    page.get_by_role("button", name="Override…").click()
    page.get_by_label("Rows for the whole period").fill("77")
    page.locator("#override").get_by_label("Reason (for the log)").fill("this week is special")
    other = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 409",)).page
    other.get_by_role("button", name="Upload a delivery…").click()
    file = tmp_path / "late.csv"
    file.write_text(World(3).csv(4))
    other.get_by_label("File", exact=True).set_input_files(file)
    campaign.override(0, reason="a holiday")
    campaign.tell(final=True)
    asked = campaign.ask(key="next")
    page.get_by_text("Period 5 has been closed meanwhile.").wait_for()
    page.get_by_role("button", name="Override", exact=True).click()
    page.get_by_role("alert").filter(has_text="not the open one").wait_for()
    other.get_by_role("button", name="Upload", exact=True).click()
    other.get_by_role("alert").filter(has_text="not the open one").wait_for()
    assert campaign.status().order == asked
    assert page.locator("#override").get_by_label("Reason (for the log)").input_value() == "this week is special"


def test_hidden_pages_close_their_stream(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    poll(lambda: shop.service.events.streams == 1)
    look = "(hidden) => { Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden }); "
    look += "document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(look, True)
    X, y = World(3).rows(5)
    campaign_of(shop).tell(X, y, final=False)
    poll(lambda: shop.service.events.streams == 0)
    page.evaluate(look, False)
    expect(page.locator("#order .received")).to_contain_text("5 of")


def test_pages_poll_when_streams_are_refused(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=2)
    running = serve(store, limits=ServiceLimits(streams=1))
    visit(f"{running.url}/campaigns/flat-prices")
    poll(lambda: running.service.events.streams == 1)
    page = visit(f"{running.url}/campaigns/flat-prices", expected=("status of 503",)).page
    campaign.tell(*world.rows(1), final=False)
    expect(page.locator("#order .received")).to_contain_text("1 of")
    expect(page.locator("#gone")).to_be_hidden()


def test_refused_uploads_show_the_error_and_change_nothing(shop: Serving, visit: Visit, tmp_path: Path) -> None:
    before = shop.service.store.head("flat-prices")
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 422",)).page
    page.get_by_role("button", name="Upload a delivery…").click()
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="Choose a file")).to_be_visible()
    file = tmp_path / "wrong.csv"
    file.write_text("a,b\n1,2\n")
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_role("alert").filter(has_text="price").wait_for()
    assert shop.service.store.head("flat-prices") == before


def test_files_can_be_dropped(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.get_by_role("button", name="Upload a delivery…").click()
    page.evaluate(
        """(text) => {
          const held = new DataTransfer();
          held.items.add(new File([text], "dropped.csv", { type: "text/csv" }));
          const event = new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true });
          document.getElementById("drop").dispatchEvent(event);
        }""",
        World(3).csv(4),
    )
    expect(page.locator("#drop-hint")).to_contain_text("dropped.csv")
    page.get_by_label("Keep it open").check()
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_text("4 rows counted.").wait_for()


def test_an_unreachable_server_shows_a_banner(visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=2)
    with serving(store, dashboard=True) as running:
        page = visit(f"{running.url}/campaigns/flat-prices", expected=("ERR_", "Failed to load")).page
        page.locator("#outcome .outcome").wait_for()
    banner = page.locator("#gone")
    expect(banner).to_be_visible()
    expect(banner).to_contain_text("unreachable since")
    page.get_by_role("button", name="Approve…").click()
    page.get_by_role("button", name="Approve", exact=True).click()
    page.get_by_role("alert").filter(has_text="may not have been saved").wait_for()


def test_input_survives_a_restart_of_the_service(serve: Serve, visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    campaign, _ = one(store, periods=2)
    running = serve(store, limits=ServiceLimits(stream_seconds=0.5, poll_seconds=0.1))
    page = visit(f"{running.url}/campaigns/flat-prices").page
    page.get_by_role("button", name="Override…").click()
    page.locator("#override").get_by_label("Reason (for the log)").fill("typed for long")
    token = page.locator('meta[name="csrf-token"]')
    before = token.get_attribute("content")
    monkeypatch.setattr(running.service.sessions, "_key", b"as another process would have drawn it")
    expect(token).not_to_have_attribute("content", before)
    expect(page.locator("#override .meanwhile")).to_be_hidden()
    page.get_by_role("button", name="Override", exact=True).click()
    expect(page.locator("#order .decided")).to_contain_text("typed for long")
    assert campaign.status().order is not None


def test_long_lists_are_paged_and_searchable(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    for place in range(61):
        Campaign.create({"name": f"zz-{place:03d}", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    running = serve(store)
    seen = visit(running.url, size=(360, 800))
    page = seen.page
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("link", name="Next →").click()
    expect(page.locator("tbody tr")).to_have_count(11)
    page.get_by_label("Find a campaign by name").fill("ZZ-04")
    expect(page.locator("tbody tr")).to_have_count(10)
    expect(page).to_have_url(re.compile("search=ZZ-04"))
    expect(page.get_by_label("Find a campaign by name")).to_have_value("ZZ-04")
    page.get_by_label("Find a campaign by name").fill("nowhere")
    page.get_by_text("No matches").wait_for()
    assert seen.overflow() <= 0


def test_a_complete_period_is_closed_with_two_clicks(shop: Serving, visit: Visit) -> None:
    campaign = campaign_of(shop)
    campaign.override(0, reason="a holiday")
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.get_by_role("button", name="Close the period…").click()
    page.get_by_role("button", name="Close the period", exact=True).click()
    page.get_by_text("Period 5 is closed").wait_for()
    page.get_by_role("button", name="Done").click()
    assert campaign.ledger()[-1].report.samples == 0
