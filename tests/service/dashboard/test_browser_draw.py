"""Rows to label are drawn on the page: a pool is uploaded, and the rows that were drawn are offered as a file."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from driftpace.campaign import Campaign
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched
from tests.service.dashboard.examples import World

Visit = Callable[..., Watched]


def test_rows_are_drawn_and_downloaded(shop: Serving, visit: Visit, tmp_path: Path) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    order = campaign.status().order
    assert order is not None
    text = World(3).csv(80)
    page = visit(f"{shop.url}/campaigns/flat-prices").page
    page.locator("#open-draw").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Draw", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text("Choose a file.")
    page.locator("#draw-file").set_input_files({"name": "pool.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.locator("#draw-choose").select_option("informative")
    dialog.get_by_role("button", name="Draw", exact=True).click()
    expect(page.locator("#draw-preview table")).to_contain_text("income")
    with page.expect_download() as loading:
        page.locator("#draw-download").click()
    saved = tmp_path / "rows.csv"
    loading.value.save_as(saved)
    lines = saved.read_text().splitlines()
    assert len(lines) == order.missing + 1
    assert set(lines[0].split(",")) >= {"income", "tenure", "usage"}
    (entry,) = campaign.log(kinds=("selected",))[-1:]
    assert entry.body["rows"] == order.missing


def test_a_pool_that_cannot_be_used_is_refused(shop: Serving, visit: Visit) -> None:
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=["422"]).page
    page.locator("#open-draw").click()
    page.locator("#draw-file").set_input_files({"name": "pool.csv", "mimeType": "text/csv", "buffer": b"income\n1\n"})
    page.get_by_role("dialog").get_by_role("button", name="Draw", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("must have the column")
