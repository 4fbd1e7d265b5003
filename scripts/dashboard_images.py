"""Take the pictures of docs/dashboard.md: ``python -m scripts.dashboard_images`` from the root of the repository, with Chromium."""

import shutil
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from driftpace.storage import MemoryStore
from tests.reference.serving import serving
from tests.service.dashboard.examples import many, one

HERE = Path("docs/images")


def _sales() -> bytes:
    """Return a table of orders whose demand depends on the price, less and less."""
    rng = np.random.default_rng(0)
    days = np.datetime64("2025-01-01") + np.arange(2400) * 365 // 2400
    price = rng.normal(size=2400)
    demand = (3.0 - np.linspace(0.0, 1.5, 2400)) * price + rng.normal(size=2400)
    lines = [f"{row},{day},{x:.3f},{y:.3f}" for row, (day, x, y) in enumerate(zip(days, price, demand, strict=True))]
    return "\n".join(["order_id,day,price,demand", *lines]).encode()


def main() -> None:
    """Serve an example store and photograph it."""
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser_path is None:
        sys.exit("no chromium, chromium-browser or google-chrome on PATH")
    store = MemoryStore()
    many(store, 40)
    one(store, periods=12)
    with serving(store, dashboard=True) as running, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 760})
        page.goto(running.url)
        page.screenshot(path=HERE / "dashboard-list.png")
        page.set_viewport_size({"width": 1200, "height": 1420})
        page.goto(f"{running.url}/campaigns/flat-prices")
        page.locator("#outcome .outcome").wait_for()
        page.screenshot(path=HERE / "dashboard-campaign.png")
        page.get_by_label("Budget (EUR)", exact=True).fill("150")
        page.get_by_text("A budget of 150 EUR does not meet").wait_for()
        page.locator("#what-if").screenshot(path=HERE / "dashboard-what-if.png")
        page.set_viewport_size({"width": 1200, "height": 1180})
        page.goto(f"{running.url}/check")
        page.locator("#check-file").set_input_files({"name": "sales.csv", "mimeType": "text/csv", "buffer": _sales()})
        page.locator("#check-target").fill("demand")
        page.get_by_role("button", name="Check", exact=True).click()
        page.locator("#check-commands pre").first.wait_for()
        page.locator("#note.there").wait_for(state="detached")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=HERE / "dashboard-check.png")
        page.close()
        phone = browser.new_page(viewport={"width": 360, "height": 780}, color_scheme="dark", device_scale_factor=2)
        phone.goto(f"{running.url}/campaigns/flat-prices")
        phone.locator("#outcome .outcome").wait_for()
        phone.screenshot(path=HERE / "dashboard-phone.png")
        phone.close()
        browser.close()
    for path in HERE.glob("dashboard-*.png"):
        with Image.open(path) as taken:
            taken.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
