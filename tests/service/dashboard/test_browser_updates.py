"""What the pages say in a browser is so: the first campaign appears, the form goes with the periods, an override is told."""

from collections.abc import Callable

from playwright.sync_api import expect

from driftpace.campaign import Campaign
from driftpace.service import make_token
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched
from tests.service.dashboard.examples import one, spent

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]
COME_BACK = "document.dispatchEvent(new Event('visibilitychange'))"


def test_the_first_campaign_appears_without_reload(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    page = visit(serve(store).url).page
    page.get_by_text("No campaigns yet").wait_for()
    expect(page.get_by_role("search")).to_have_count(0)
    Campaign.create({"name": "churn", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    page.evaluate(COME_BACK)
    page.get_by_role("link", name="churn").wait_for()
    expect(page.get_by_text("No campaigns yet")).to_have_count(0)
    expect(page.locator("#list-summary")).to_contain_text("1 campaign")
    page.get_by_label("Find a campaign by name").fill("chu")
    page.keyboard.press("Enter")
    page.wait_for_url("**search=chu")
    expect(page.get_by_role("link", name="churn")).to_be_visible()


def test_the_form_follows_the_periods_and_keeps_edits(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=2)
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    page.locator("#outcome .outcome").wait_for()
    horizon = page.get_by_label("Horizon (periods)", exact=True)
    before = int(horizon.input_value())
    page.get_by_label("Target", exact=True).fill("0.07")
    order = campaign.override(3, reason="a holiday")
    campaign.tell(*world.rows(order.missing), final=True)
    campaign.ask(key="next")
    expect(horizon).to_have_value(str(before - 1))
    expect(page.get_by_label("Target", exact=True)).to_have_value("0.07")
    page.get_by_role("button", name="Reset").click()
    expect(horizon).to_have_value(str(before - 1))
    expect(page.locator("#outcome")).to_contain_text(f"in each of {before - 1} periods")


def test_dialogs_show_the_number_of_the_tracker(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=2)
    order = campaign.status().order
    assert order is not None
    campaign.override(500, reason="a census")
    campaign.tell(*world.rows(90), final=False)
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    page.get_by_role("button", name="Approve…").click()
    expect(page.get_by_role("dialog")).to_contain_text(
        f"{order.samples} rows for the whole period, 90 of them received"
    )
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Override…").click()
    expect(page.locator("#override-hint")).to_have_text(f"The tracker asks for {order.samples} in total; 90 received.")
    page.get_by_label("Rows for the whole period").fill("5000")
    expect(page.locator("#override-cost")).to_contain_text("over budget")


def test_campaigns_without_money_are_listed_first(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    spent(store)
    one(store, "a-usual-one", periods=1)
    page = visit(serve(store).url).page
    first = page.locator("tbody tr").first
    expect(first).to_contain_text("flat-prices")
    expect(first).to_contain_text("Budget short")
    page.get_by_role("link", name="Budget short 1").click()
    expect(page.locator("tbody tr")).to_have_count(1)


def test_logout_works_without_javascript(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=1)
    secret = make_token(store, "viewer", scopes=("read",))
    page = visit(f"{serve(store, always=True).url}/login", java_script_enabled=False).page
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="flat-prices").click()
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login**")
    page.goto(page.url.partition("/login")[0])
    page.wait_for_url("**/login**")
