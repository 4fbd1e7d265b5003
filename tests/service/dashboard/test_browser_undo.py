"""Undo on the page: an entry of the log is taken back with a reason, and a delivery is previewed before it counts."""

from collections.abc import Callable

from playwright.sync_api import expect

from driftpace.campaign import Campaign
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched
from tests.service.dashboard.examples import World

Visit = Callable[..., Watched]


def test_entries_are_undone_with_a_reason(shop: Serving, visit: Visit) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    campaign.override(77, reason="a trial")
    seq = campaign.log()[-1].seq
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.get_by_role("button", name=f"Undo entry {seq}", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("set to 77 rows")
    dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text("Enter a reason for the log.")
    page.locator("#undo-reason").fill("a slip")
    dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("#note")).to_contain_text(f"Entry {seq} undone")
    expect(page.locator("#log li.undone")).to_contain_text(f"Undone by entry {seq + 1}.")
    order = campaign.status().order
    assert order is not None
    assert order.overridden is None


def test_a_delivery_is_previewed(shop: Serving, visit: Visit) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    entries = campaign.status().entries
    text = World(3).csv(4)
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.locator("#open-upload").click()
    page.locator("#upload-file").set_input_files({"name": "week.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#upload .receipt")).to_contain_text("A preview: nothing was counted.")
    expect(page.locator("#upload-preview table")).to_contain_text("income")
    assert campaign.status().entries == entries
