"""The pages of a fleet in a browser: sorted, filtered, paged, drilled into, refreshed; their size does not grow with the fleet."""

from collections.abc import Callable

from playwright.sync_api import expect

from driftpace.storage import MemoryStore
from tests.campaign.fleet.shops import Market, create, work
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched

Visit = Callable[..., Watched]
Serve = Callable[..., Serving]
NAMES = tuple(f"shop {place:02d}" for place in range(60))


def test_segments_are_sorted_filtered_and_paged(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, market = create(store, segments=NAMES), Market()
    campaign.ask(key="W1")
    campaign.tell(market.rows(dict.fromkeys(NAMES[:3], 10)), final=False)
    page = visit(f"{serve(store).url}/campaigns/shops").page
    rows = page.locator("#segment-table tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("link", name="Next").click()
    expect(rows).to_have_count(10)
    page.get_by_role("link", name="Received").click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Received")
    assert set(rows.locator("th").all_inner_texts()[:3]) == set(NAMES[:3])
    page.get_by_role("link", name="Received").click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("Received")
    page.get_by_label("Find a segment by name").fill("SHOP 1")
    expect(rows).to_have_count(10)
    assert "search=SHOP+1" in page.url
    page.get_by_label("Find a segment by name").fill("nosuch")
    expect(page.get_by_text("No segment has “nosuch” in its name")).to_be_visible()


def test_a_segment_that_is_set_aside_leads_to_its_page(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, market = create(store, segments=("Oslo", "a/b")), Market()
    work(campaign, market, "W1")
    order = campaign.ask(key="W2")
    campaign.tell(
        {**market.rows({"a/b": order.segments.missing["a/b"]}), "sales": ["much"] * order.segments.missing["a/b"]}
    )
    watched = visit(f"{serve(store).url}/campaigns/shops", size=(390, 800))
    page = watched.page
    assert watched.overflow() <= 0
    first = page.locator(".multiples li").first
    expect(first).to_contain_text("set aside")
    assert first.locator("svg circle").count() == 1
    first.get_by_role("link").click()
    page.wait_for_url("**/campaigns/shops/segments/a%2Fb")
    expect(page.get_by_role("heading", level=1)).to_have_text("a/b")
    expect(page.locator("#figure-loss .panel")).to_have_count(2)
    expect(page.get_by_text("price")).to_be_visible()
    assert watched.overflow() <= 0


def test_the_page_follows_other_writers(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    campaign, market = create(store), Market()
    order = campaign.ask(key="W1")
    page = visit(f"{serve(store).url}/campaigns/shops?sort=missing&order=descending").page
    expect(page.locator(".big-number")).to_have_text("30")
    campaign.tell(market.rows(order.segments.missing), final=True, source="w1.csv")
    expect(page.locator("#periods tbody tr")).to_have_count(1)
    expect(page.locator("#log li").first).to_contain_text("Period 1 (W1) closed with 30 of 30 rows")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Missing")


def test_the_size_of_the_page_does_not_grow_with_the_fleet(serve: Serve, visit: Visit) -> None:
    sizes = []
    for count in (60, 3000):
        store = MemoryStore()
        create(store, segments=tuple(f"shop {place:05d}" for place in range(count)))
        page = visit(f"{serve(store).url}/campaigns/shops?sort=segment").page
        expect(page.locator("#segment-table tbody tr")).to_have_count(50)
        sizes.append(page.locator("*").count())
    assert sizes[0] == sizes[1]


def test_the_money_and_what_is_borrowed(serve: Serve, visit: Visit) -> None:
    store = MemoryStore()
    budget = {"total": 70, "horizon": 3, "per_sample": "0.5", "currency": "EUR"}
    campaign, market = create(store, segments=("Oslo", "Rome"), borrow=["drift"], budget=budget), Market()
    campaign.tell(market.rows(campaign.ask(key="W1").segments.missing), final=True)
    order = campaign.ask(key="W2")
    watched = visit(f"{serve(store).url}/campaigns/shops", size=(390, 800))
    page = watched.page
    facts = page.locator("#order .facts")
    expect(facts).to_contain_text(f"Cost of the missing rows\n{order.cost}", use_inner_text=True)
    expect(facts).to_contain_text("Spent on closed periods\n10 EUR", use_inner_text=True)
    expect(facts).to_contain_text("Budget left\n60 EUR", use_inner_text=True)
    expect(page.locator("#lead")).to_contain_text("segments learn from each other: drift")
    assert order.share is not None
    expect(page.locator("#order")).to_contain_text(order.share.sentence)
    expect(page.locator("#periods tbody td").last).to_have_text("10 EUR")
    assert watched.overflow() <= 0
