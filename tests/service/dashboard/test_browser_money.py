"""More money on the page: what there is then, refusals at the field, once and no more than once, and where the page suggests it."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from driftpace.campaign import Campaign
from driftpace.service.auth import make_token
from driftpace.storage import MemoryStore
from tests.reference.serving import Serving
from tests.service.dashboard.browser import CONTRAST, NAMELESS, Watched
from tests.service.dashboard.examples import BUDGET, one, spent

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]


def _campaign(shop: Serving) -> Campaign:
    return Campaign.open("flat-prices", storage=shop.service.store)


def _total(campaign: Campaign) -> tuple[Decimal, int]:
    budget = campaign.definition.budget
    assert budget is not None
    return Decimal(str(budget["total"])), int(budget["horizon"])


def _words(amount: Decimal) -> str:
    return f"{amount:,.2f}".removesuffix(".00") + " EUR"


def fill(page: Page, *, amount: str, reason: str = "next quarter", periods: str | None = None) -> None:
    page.get_by_label("Amount").fill(amount)
    if periods is not None:
        page.get_by_label("Additional periods").fill(periods)
    page.locator("#money-reason").fill(reason)


def add(page: Page) -> None:
    page.get_by_role("button", name="Add", exact=True).click()


@pytest.fixture
def page(shop: Serving, visit: Visit) -> Any:
    """The page of one campaign, with the dialog open."""
    page = visit(f"{shop.url}/campaigns/flat-prices", expected=("status of 422", "net::ERR_FAILED")).page
    page.locator("#card-spending").get_by_role("button", name="Add money…").click()
    return page


def test_adding_money_updates_the_page(shop: Serving, page: Page) -> None:
    campaign = _campaign(shop)
    left = campaign.status().to_plan
    assert left is not None
    expect(page.locator("#money-title + p")).to_contain_text("The budget is 1,200 EUR over 20 periods;")
    expect(page.get_by_label("Amount")).to_be_focused()
    expect(page.locator("#money-then")).to_be_hidden()
    fill(page, amount="250.5", periods="2")
    then = f"New total: {_words(left.amount + Decimal('250.5'))} for 18 periods."
    expect(page.locator("#money-then")).to_have_text(then)
    assert "money-then" in (page.get_by_label("Amount").get_attribute("aria-describedby") or "").split()
    add(page)
    expect(page.locator("#money")).to_be_hidden()
    expect(page.locator("#note")).to_have_text("Added to the budget: 250.50 EUR and 2 periods.")
    expect(page.locator("#open-money")).to_be_focused()
    expect(page.locator("#card-spending .finding")).to_contain_text("of 1,450.50 EUR spent")
    expect(page.locator("#log .log-text").nth(1)).to_contain_text(
        "250.5 added to the budget and 2 periods to its horizon from period 5, by local: “next quarter”."
    )
    assert _total(campaign) == (Decimal("1450.5"), 22)
    page.locator("#open-money").click()
    expect(page.locator("#money-title + p")).to_contain_text("The budget is 1,450.50 EUR over 22 periods;")
    expect(page.get_by_label("Amount")).to_have_value("")
    expect(page.locator("#money-reason")).to_have_value("")


WRONG = (
    ("", "0", "r", "money-amount", "Enter an amount of money, 0 or more."),
    ("-5", "0", "r", "money-amount", "Enter an amount of money, 0 or more."),
    ("0", "0", "r", "money-amount", "Enter money, periods, or both."),
    ("5", "1.5", "r", "money-periods", "Enter a whole number of periods, 0 or more."),
    ("5", "", "r", "money-periods", "Enter a whole number of periods, 0 or more."),
    ("5", "0", "  ", "money-reason", "Enter a reason for the log."),
    ("5", "600", "r", "money-periods", "Periods must leave at most 520 periods to plan; got 616."),
    ("1000000000000000", "0", "r", "money-amount", "Money must be an amount, such as 12.50; got '1000000000000000'."),
)
"""Amount, periods and reason, the field that is at fault, and what is said there."""


def test_errors_are_shown_at_their_field_and_change_nothing(shop: Serving, page: Page) -> None:
    before = _campaign(shop).log()
    for amount, periods, reason, at, sentence in WRONG:
        fill(page, amount=amount, periods=periods, reason=reason)
        add(page)
        expect(page.locator("#money .refused")).to_have_text(sentence)
        field = page.locator(f"#{at}")
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-invalid", "true")
        assert "money-refused" in (field.get_attribute("aria-describedby") or "").split()
        assert page.locator("#money [aria-invalid]").count() == 1
    assert _campaign(shop).log() == before


def test_double_submits_add_money_once(shop: Serving, page: Page) -> None:
    held: list[Route] = []
    page.route("**/budget", lambda route: held.append(route))
    fill(page, amount="100")
    button = page.get_by_role("button", name="Add", exact=True)
    with page.expect_request("**/budget"):
        button.press("Enter")
    expect(button).to_have_attribute("aria-disabled", "true")
    button.press("Enter")
    expect(button).to_be_focused()
    held[0].continue_()
    expect(page.locator("#money")).to_be_hidden()
    assert len(held) == 1
    assert _total(_campaign(shop))[0] == 1300


def test_lost_responses_are_checked_before_a_retry(shop: Serving, page: Page) -> None:
    sent: list[str] = []

    def written_and_lost(route: Route) -> None:
        sent.append(route.request.url)
        route.fetch()
        route.abort()

    page.route("**/budget", written_and_lost)
    fill(page, amount="100")
    add(page)
    refused = page.locator("#money .refused")
    expect(refused).to_contain_text("it is not known whether the money was added")
    expect(page.get_by_label("Amount")).to_have_value("100")
    add(page)
    expect(refused).to_have_text("The budget is now 1,300 EUR over 20 periods. Add money again if that is not enough.")
    assert len(sent) == 1
    assert _total(_campaign(shop))[0] == 1300
    page.unroute("**/budget")
    add(page)
    expect(page.locator("#money")).to_be_hidden()
    assert _total(_campaign(shop))[0] == 1400


def test_failed_requests_can_be_retried(shop: Serving, page: Page) -> None:
    page.route("**/budget", lambda route: route.abort())
    fill(page, amount="100")
    add(page)
    expect(page.locator("#money .refused")).to_contain_text("it is not known")
    page.unroute("**/budget")
    add(page)
    expect(page.locator("#money")).to_be_hidden()
    assert _total(_campaign(shop))[0] == 1300


def test_input_survives_concurrent_changes(shop: Serving, page: Page) -> None:
    campaign = _campaign(shop)
    fill(page, amount="70", reason="half a sentence")
    campaign.add_money(30, periods=1, reason="from elsewhere")
    left = campaign.status().money_left
    assert left is not None
    expect(page.locator("#money .meanwhile")).to_have_text(
        f"The campaign has changed: {_words(left.amount)} of 1,230 EUR over 21 periods left."
    )
    expect(page.get_by_label("Amount")).to_have_value("70")
    expect(page.locator("#money-reason")).to_have_value("half a sentence")
    expect(page.locator("#money-reason")).to_be_focused()
    expect(page.locator("#money-then")).to_have_text(f"New total: {_words(left.amount + 70)} for 17 periods.")
    page.keyboard.press("Escape")
    expect(page.locator("#open-money")).to_be_focused()
    assert _total(campaign)[0] == 1230


def test_a_spent_budget_suggests_adding_money(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign = spent(store)
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    order = page.locator("#order")
    expect(order.locator(".short")).to_contain_text(
        "The remaining budget does not meet the target over the 16 remaining periods"
    )
    suggested = order.get_by_role("button", name="Add money…")
    expect(suggested).to_have_class("button main")
    suggested.click()
    fill(page, amount="3000")
    spent_so_far = campaign.status().spent
    assert spent_so_far is not None
    left = _total(campaign)[0] - spent_so_far.amount
    assert left < 0  # more was spent than there was
    expect(page.locator("#money-then")).to_have_text(f"New total: {_words(left + 3000)} for 16 periods.")
    add(page)
    expect(order.locator(".short")).to_have_count(0)
    expect(page.locator("#order-title")).to_be_focused()  # nothing is short any more, and the button is gone
    expect(order.locator("#open-upload")).to_have_class("button main")
    assert campaign.ask().missing > 0


def test_missing_periods_are_prefilled(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, _ = one(store, periods=4, budget={**BUDGET, "horizon": 3})
    campaign.override(0, reason="a holiday")
    campaign.tell(final=True)
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    expect(page.locator("#order .short")).to_contain_text("The budget ended with period 3")
    page.locator("#open-money-order").click()
    expect(page.get_by_label("Additional periods")).to_have_value("3")
    expect(page.locator("#money-hint")).to_have_text("The budget ends with period 3; this is period 6.")
    fill(page, amount="0", periods="1")
    expect(page.locator("#money-then")).to_have_text("The budget still ends before period 6: add 2 periods more.")
    fill(page, amount="0", periods="5")
    add(page)
    expect(page.locator("#note")).to_have_text("Added to the budget: 5 periods.")
    expect(page.locator("#order .short")).to_have_count(0)
    assert _total(campaign) == (Decimal(1200), 8)


def test_campaigns_without_a_budget_offer_no_money_dialog(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    one(store, periods=1, budget=None)
    page = visit(f"{serve(store).url}/campaigns/flat-prices").page
    expect(page.get_by_role("button", name="Override…")).to_be_visible()
    expect(page.get_by_role("button", name="Add money…")).to_have_count(0)


def test_readers_see_the_shortage_but_cannot_add_money(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    spent(store)
    secret = make_token(store, "viewer", scopes=("read",))
    running = serve(store, always=True)
    page = visit(f"{running.url}/campaigns/flat-prices", expected=("status of 401",)).page
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#order .short")).to_be_visible()
    expect(page.get_by_role("button", name="Add money…")).to_have_count(0)
    expect(page.locator("#money")).to_have_count(0)


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_money_dialog_fits_a_phone(serve: Serve, visit: Visit, colours: str) -> None:
    store = MemoryStore()
    spent(store)
    seen = visit(f"{serve(store).url}/campaigns/flat-prices", size=(360, 740), color_scheme=colours)
    page = seen.page
    page.locator("#open-money-order").click()
    fill(page, amount="9.5", reason="")
    add(page)
    expect(page.locator("#money .refused")).to_be_visible()
    page.wait_for_function("() => document.getAnimations().every((one) => one.playState !== 'running')")
    found = page.evaluate(CONTRAST)
    assert found["seen"] > 0
    assert found["bad"] == []
    assert page.evaluate(NAMELESS) == []
    assert seen.overflow() <= 0
    box = page.locator("#money").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    assert page.evaluate("(d => d.scrollWidth - d.clientWidth)(document.getElementById('money'))") <= 0
