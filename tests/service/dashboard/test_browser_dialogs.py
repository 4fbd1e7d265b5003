"""Deciding and uploading: what the dialogs say, where the keyboard is, and what an override costs while it is typed."""

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from driftpace.campaign import Campaign
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched
from tests.service.dashboard.examples import BUDGET, World, one

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]


def upload(page: Page, file: Path, *, then: str = "") -> None:
    page.get_by_label("File", exact=True).set_input_files(file)
    if then:
        page.get_by_label(then).check()
    page.get_by_role("button", name="Upload", exact=True).click()


@pytest.fixture
def page(shop: Serving, visit: Visit) -> Any:
    """The page of one campaign, which may be refused things."""
    return visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 422", "status of 409")).page


def test_closing_a_period_is_not_reported_as_a_foreign_change(shop: Serving, page: Page, tmp_path: Path) -> None:
    order = Campaign.open("flat-prices", storage=shop.service.store).status().order
    assert order is not None
    file = tmp_path / "all.csv"
    file.write_text(World(3).csv(order.missing + 60))
    meanwhile = page.locator("#upload .meanwhile")
    page.get_by_role("button", name="Upload a delivery…").click()
    upload(page, file, then="Close it even if rows are missing")
    receipt = page.locator("#upload .receipt")
    expect(receipt).to_contain_text("Period 5 is closed")
    page.locator("#order").get_by_text("not asked yet").wait_for(state="attached")
    expect(meanwhile).to_be_hidden()
    expect(receipt).to_be_focused()
    expect(page.locator("#upload [type=submit]")).to_be_hidden()
    expect(page.get_by_label("File", exact=True)).to_be_hidden()
    page.get_by_role("button", name="Done").click()
    expect(page.locator("#order-title")).to_be_focused()  # the button that was pressed is gone with its period


def test_receipts_have_a_tone(shop: Serving, page: Page, tmp_path: Path) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    receipt = page.locator("#upload .receipt")
    file = tmp_path / "some.csv"
    file.write_text(World(3).csv(2))
    page.get_by_role("button", name="Upload a delivery…").click()
    upload(page, file, then="Keep it open")
    expect(receipt).to_have_class("receipt tone-good")
    upload(page, file)
    expect(receipt).to_contain_text("was received before")
    expect(receipt).to_have_class("receipt tone-quiet")
    expect(page.locator("#upload .meanwhile")).to_be_hidden()
    page.get_by_label("Close it even if rows are missing").check()
    page.get_by_role("button", name="Close the period", exact=True).click()
    expect(receipt).to_contain_text("Period 5 is closed")
    last = campaign.status().last
    assert last is not None
    assert not last.outcome.promised  # two rows are too few
    expect(receipt).to_have_class("receipt tone-warn")


def test_foreign_changes_are_shown_after_a_refusal(shop: Serving, page: Page, tmp_path: Path) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    page.get_by_role("button", name="Upload a delivery…").click()
    file = tmp_path / "late.csv"
    file.write_text(World(3).csv(4))

    def others_first(route: Route) -> None:
        campaign.override(0, reason="a holiday")
        campaign.tell(final=True)
        route.continue_()

    page.route("**/deliveries?*", others_first)
    upload(page, file)
    expect(page.locator("#upload .refused")).to_be_visible()
    expect(page.locator("#upload .meanwhile")).to_have_text("Period 5 has been closed meanwhile.")


def test_errors_focus_their_field(page: Page, tmp_path: Path) -> None:
    page.get_by_role("button", name="Upload a delivery…").click()
    file = tmp_path / "wrong.csv"
    file.write_text("a,b\n1,2\n")
    upload(page, file)
    expect(page.locator("#upload .refused")).to_have_text(re.compile("^The table must have the column .price"))
    field = page.get_by_label("File", exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    assert page.locator("#upload .refused").get_attribute("id") == field.get_attribute("aria-describedby")
    file.write_text(World(3).csv(1))
    upload(page, file, then="Keep it open")
    expect(page.locator("#upload .receipt")).to_be_focused()
    assert field.get_attribute("aria-invalid") is None
    assert field.get_attribute("aria-describedby") is None
    page.get_by_role("button", name="Done").click()

    page.get_by_role("button", name="Override…").click()
    samples, reason = page.locator("#override-samples"), page.locator("#override-reason")
    samples.fill("")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(samples).to_be_focused()
    expect(samples).to_have_attribute("aria-invalid", "true")
    assert "override-refused" in (samples.get_attribute("aria-describedby") or "").split()
    samples.fill("99999999999999999999999")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(reason).to_be_focused()
    expect(reason).to_have_attribute("aria-invalid", "true")
    assert samples.get_attribute("aria-invalid") is None
    reason.fill("far too many")
    page.get_by_role("button", name="Override", exact=True).click()
    expect(samples).to_be_focused()
    expect(samples).to_have_attribute("aria-invalid", "true")
    assert "override-hint" in (samples.get_attribute("aria-describedby") or "").split()


def test_errors_without_a_field_keep_the_focus(shop: Serving, page: Page) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    page.get_by_role("button", name="Override…").click()
    page.locator("#override-reason").fill("too late")
    campaign.override(0, reason="a holiday")
    campaign.tell(final=True)
    page.get_by_role("button", name="Override", exact=True).click()
    expect(page.locator("#override .refused")).to_be_visible()
    expect(page.get_by_role("button", name="Override", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#order-title")).to_be_focused()


def test_focus_moves_to_the_heading_of_a_removed_button(shop: Serving, page: Page) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    page.get_by_role("button", name="Approve…").focus()
    campaign.override(0, reason="a holiday")
    campaign.tell(final=True)
    page.locator("#order").get_by_text("not asked yet").wait_for()
    expect(page.locator("#order-title")).to_be_focused()


def test_double_submits_are_sent_once(page: Page) -> None:
    held: list[Route] = []
    page.route("**/approve", lambda route: held.append(route))
    page.get_by_role("button", name="Approve…").click()
    button = page.get_by_role("button", name="Approve", exact=True)
    with page.expect_request("**/approve"):
        button.press("Enter")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.press("Enter")
    expect(button).to_be_focused()
    held[0].continue_()
    expect(page.locator("#order .decided")).to_be_visible()
    assert len(held) == 1


def test_override_costs_are_shown_while_typing(shop: Serving, page: Page) -> None:
    campaign = Campaign.open("flat-prices", storage=shop.service.store)
    status = campaign.status()
    assert status.to_plan is not None
    assert status.order is not None
    budget = campaign.definition.make_budget()
    assert budget is not None
    price = budget.price
    page.get_by_role("button", name="Override…").click()
    said = page.locator("#override-cost")
    samples = page.get_by_label("Rows for the whole period")

    def words(amount: Decimal) -> str:
        return f"{amount:,.2f}".removesuffix(".00") + " EUR"

    for rows in (status.order.samples, 31):
        samples.fill(str(rows))
        cost = price(rows).amount
        expect(said).to_have_text(f"{rows} rows cost {words(cost)}; {words(status.to_plan.amount - cost)} left.")
    samples.fill("5000")
    over = words(price(5000).amount - status.to_plan.amount)
    expect(said).to_have_text(f"5,000 rows cost {words(price(5000).amount)}; {over} over budget.")
    assert "override-cost" in (samples.get_attribute("aria-describedby") or "").split()
    samples.fill("")
    expect(said).to_be_hidden()
    campaign.tell(*World(3).rows(3), final=False)
    samples.fill("2")
    expect(said).to_contain_text(f"3 rows already received cost {words(price(3).amount)}")


def test_prices_in_javascript_equal_those_of_the_service(serve: Serve, visit: Visit) -> None:
    prices = {"fixed": "0.1", "tiers": [[1, "2.30"], [11, 1.1], [50, "0.7"]], "minimum": 10, "currency": "EUR"}
    store = MemoryStore()
    budget = {name: value for name, value in BUDGET.items() if name != "per_sample"} | prices
    campaign, _ = one(store, periods=0, budget=budget)
    made = campaign.definition.make_budget()
    assert made is not None
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    page.get_by_role("button", name="Override…").click()
    for rows in (0, 1, 9, 10, 11, 49, 50, 51, 300):
        page.get_by_label("Rows for the whole period").fill(str(rows))
        shown = f"{made.price(rows).amount:,.2f}".removesuffix(".00")
        expect(page.locator("#override-cost")).to_contain_text(f" {shown} EUR;")
