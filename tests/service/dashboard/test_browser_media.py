"""Other ways to see the page: colours that the system insists on, paper, and fingers."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from driftpace.storage import MemoryStore
from tests.reference.serving import Serving, serving
from tests.service.dashboard.browser import Watched, point_at
from tests.service.dashboard.examples import one

Visit = Callable[..., Watched]


@pytest.fixture(scope="module")
def hall() -> Iterator[Serving]:
    """A service with one campaign in full swing, half of its rows there."""
    store = MemoryStore()
    campaign, world = one(store, periods=4)
    order = campaign.status().order
    assert order is not None
    campaign.tell(*world.rows(order.missing // 2), final=False)
    with serving(store, dashboard=True) as running:
        yield running


def colours(page: Any, selector: str) -> tuple[str, str, str]:
    """Return the colour of the ground, of the writing and of the border of the first of some elements."""
    found = page.evaluate(
        """(selector) => {
          const style = getComputedStyle(document.querySelector(selector));
          return [style.backgroundColor, style.color, style.borderTopColor];
        }""",
        selector,
    )
    return (found[0], found[1], found[2])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_keep_all_distinctions(hall: Serving, visit: Visit, scheme: str) -> None:
    page = visit(f"{hall.url}/campaigns/flat-prices", forced_colors="active", color_scheme=scheme).page
    page.locator("#outcome figure").wait_for()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for kind in ("barkey", "dotkey", "bandkey"):
        ground, _, _ = colours(page, f".key.{kind}")
        assert ground != paper, kind
        assert not ground.startswith("rgba"), kind  # not transparent
    series = page.evaluate(
        """() => [...document.querySelectorAll("#figure-loss .key")].map((key) => getComputedStyle(key).color)"""
    )
    drawn = page.evaluate(
        """() => [...document.querySelectorAll("#figure-loss svg .line, #figure-loss svg .stroke")]
          .map((line) => getComputedStyle(line).stroke)"""
    )
    assert drawn
    assert set(drawn) <= set(series)  # the legend has the colours of the drawing
    assert colours(page, "progress")[2] != paper
    main, other = colours(page, "#open-upload"), colours(page, "#open-override")
    assert main[0] not in (other[0], paper)
    assert main[0] != main[1]
    page.get_by_role("button", name="Override…").click()
    page.locator("#override-samples").fill("")
    page.get_by_role("button", name="Override", exact=True).click()
    assert page.evaluate("getComputedStyle(document.querySelector('#override-samples')).outlineStyle") == "solid"


def test_forced_colours_override_the_theme(hall: Serving, visit: Visit) -> None:
    page = visit(f"{hall.url}/campaigns/flat-prices", forced_colors="active", color_scheme="dark").page
    line = "getComputedStyle(document.querySelector('#figure-drift svg .line.own')).stroke"
    before = page.evaluate(line)
    assert (
        before == colours(page, ".downloads a")[1] == colours(page, ".sections a")[1]
    )  # the system's, and none of ours
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert page.evaluate(line) == before


def test_print_shows_the_open_content(hall: Serving, visit: Visit) -> None:
    page = visit(f"{hall.url}/campaigns/flat-prices").page
    page.locator("#outcome figure").wait_for()
    page.locator("#figure-drift summary").click()
    point_at(page.locator("#figure-loss .hit[data-row='2']:visible").first)
    expect(page.locator(".tip")).to_be_visible()
    page.emulate_media(media="print")
    expect(page.locator(".tip")).to_be_hidden()
    expect(page.locator("#figure-drift table")).to_be_visible()
    expect(page.locator("#figure-loss table")).to_be_hidden()
    expect(page.locator("#figure-loss summary")).to_be_hidden()
    expect(page.get_by_label("Budget (EUR)", exact=True)).to_be_visible()  # the plan is for these values
    expect(page.locator("#if-budget + input[type=range]")).to_be_hidden()
    card, plan = page.locator("#what-if").bounding_box(), page.locator("#outcome").bounding_box()
    assert plan["width"] > 0.9 * card["width"]


@pytest.mark.parametrize("width", [1200, 360])
def test_touch_targets_are_large_enough(hall: Serving, visit: Visit, width: int) -> None:
    page = visit(hall.url, size=(width, 800)).page
    for address in ("/", "/campaigns/flat-prices"):
        page.goto(hall.url + address)
        small = page.evaluate(
            """() => [...document.querySelectorAll("a[href], button, summary, .choice")]
              .filter((one) => !one.matches(".skip") && one.checkVisibility({ checkVisibilityCSS: true }))
              .filter((one) => one.getBoundingClientRect().height < 24)
              .map((one) => `${one.textContent.trim()} ${one.getBoundingClientRect().height}`)"""
        )
        assert small == [], address
