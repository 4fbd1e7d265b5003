"""An override on the page: what its own number promises is said at once, stands in the order, and is in the log."""

from collections.abc import Callable

from playwright.sync_api import expect

from driftpace.campaign import Campaign
from driftpace.service.templating import number
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched
from tests.service.dashboard.examples import one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]


def test_overrides_show_their_expected_excess_loss(shop: Serving, visit: Visit) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    promise = page.locator("#order .facts div", has=page.get_by_text("Expected excess loss", exact=True)).locator("dd")
    for rows, promised in ((3, False), (120, True)):
        page.get_by_role("button", name="Override…").click()
        page.get_by_label("Rows for the whole period").fill(str(rows))
        page.locator("#override-reason").fill("a trial")
        page.get_by_role("button", name="Override", exact=True).click()
        note = page.locator("#note")
        expect(note).to_contain_text(f"The order is now {rows} rows: ")
        order = campaign.status().order
        assert order is not None
        assert order.outcome.promised is promised
        risk = number(order.risk_bound)
        if promised:
            expect(note).to_contain_text("expected to be within the target.")
            expect(promise).to_have_text(f"✓ {risk} with {rows} rows")
        else:
            expect(note).to_contain_text(f"expected excess loss {risk}, above the target.")
            expect(promise).to_have_text(f"! {risk} with {rows} rows, above the target")
        expect(page.locator("#log .log-text").first).to_contain_text(f"expected excess loss {risk}")


def test_overrides_without_data_show_no_bound(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, _ = one(store, periods=0)
    campaign.override(500, reason="plenty")
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    expect(page.locator("#order .facts")).to_contain_text("no bound not enough data yet to predict the excess loss")
