"""The page that checks a table: a file is chosen, a column is clicked, and the commands to run next are shown."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched

Visit = Callable[..., Watched]


@pytest.fixture
def sales(rng: np.random.Generator) -> bytes:
    """A table of 900 sales in nine months."""
    days = np.datetime64("2024-01-01") + np.arange(900) * 3 // 10
    price = rng.normal(size=900)
    demand = 2.0 * price + rng.normal(size=900)
    lines = [f"{row},{day},{x:.4f},{y:.4f}" for row, (day, x, y) in enumerate(zip(days, price, demand, strict=True))]
    return "\n".join(["order_id,day,price,demand", *lines]).encode()


@pytest.mark.parametrize("size", [(1200, 900), (360, 780)])
def test_a_table_is_checked(shop: Serving, visit: Visit, sales: bytes, size: tuple[int, int]) -> None:
    seen = visit(f"{shop.url}/check", size=size)
    page = seen.page
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.get_by_role("alert").first).to_have_text("Choose a file.")
    page.locator("#check-file").set_input_files({"name": "sales.csv", "mimeType": "text/csv", "buffer": sales})
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#check-result h2")).to_have_text("sales.csv: 900 rows, 4 columns")
    expect(page.locator("#check-commands")).to_be_hidden()
    page.get_by_role("button", name="Predict demand").click()
    expect(page.locator("#check-commands")).to_contain_text(
        "driftpace init NAME --table sales.csv --period day:month --target demand --id order_id --tolerance 0.1"
    )
    expect(page.locator("#check-lines")).to_contain_text("day:month: 9 periods")
    assert seen.overflow() <= 0


def test_complaints_are_shown_at_their_field(shop: Serving, visit: Visit, sales: bytes) -> None:
    page = visit(f"{shop.url}/check", expected=["422"]).page
    page.locator("#check-file").set_input_files({"name": "sales.csv", "mimeType": "text/csv", "buffer": sales})
    page.locator("#check-target").fill("demnd")
    page.get_by_role("button", name="Check", exact=True).click()
    alert = page.locator("#check-form .refused")
    expect(alert).to_have_text("Target must be a column of the table; got 'demnd': did you mean 'demand'?")
    expect(page.locator("#check-target")).to_have_attribute("aria-invalid", "true")
