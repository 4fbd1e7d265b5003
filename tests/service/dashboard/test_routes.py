"""The pages over HTTP, without a browser: what they say, what they refuse, and what protects them."""

import csv
import html
import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.errors import StorageError
from driftpace.service.dashboard.campaign_page import load_page
from driftpace.service.templating import assets, assets_digest, money, number
from driftpace.storage import Change, MemoryStore
from tests.reference.serving import Serving, serving
from tests.service.dashboard.examples import BUDGET, HOSTILE, World, one, through

INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)


@pytest.fixture(scope="module")
def shop() -> Iterator[Serving]:
    """A service with one campaign in full swing, which these tests only look at."""
    store = MemoryStore()
    one(store, periods=4)
    with serving(store, dashboard=True) as running:
        yield running


def test_pages_have_no_inline_scripts_or_styles(shop: Serving) -> None:
    for address in ("/", "/campaigns/flat-prices", "/campaigns/flat-prices?epsilon=0.1", "/login", "/campaigns/none"):
        answer = shop.client.get(address, headers={"Accept": "text/html"})
        assert INLINE.search(answer.text) is None, address
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "http:" not in re.sub(r"http://www.w3.org/\S+", "", answer.text)
        assert "https:" not in answer.text


def test_an_empty_store_says_how_to_create_a_campaign() -> None:
    with serving(MemoryStore(), dashboard=True) as running:
        text = running.client.get("/").text
    assert "No campaigns yet" in text
    assert "driftpace init churn\n" in text
    live = re.search(r'<div id="list" data-live>(.*?)</div>', text, re.DOTALL)
    assert live is not None
    assert "No campaigns yet" in live.group(1)


def test_unknown_campaigns_are_an_error_page(shop: Serving) -> None:
    for address in ("/campaigns/none", "/campaigns/none/what-if?epsilon=1", "/campaigns/%3Cscript%3E"):
        answer = shop.client.get(address, headers={"Accept": "text/html"})
        assert answer.status_code in (404, 422)
        assert answer.headers["content-type"].startswith("text/html")
        assert "<script>" not in answer.text
    assert shop.client.get("/campaigns/none/ledger.csv").status_code == 404


@pytest.mark.parametrize(
    "query",
    [
        "page=0",
        "page=99999999999999999999",
        "page=-1",
        "page=x",
        "show=nothing",
        "after=%00",
        "search=%00%ff",
        "search=" + "x" * 200,
        "page=%E2%91%A0",
    ],
)
def test_odd_queries_are_answered(shop: Serving, query: str) -> None:
    assert shop.client.get(f"/?{query}").status_code in (200, 422)
    assert shop.client.get(f"/campaigns/flat-prices?log={query[-3:]}").status_code in (200, 422)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"epsilon": "0.05", "budget": "90000", "horizon": "6"},
            "A budget of 90,000 EUR meets the target 0.05 in each of 6 periods",
        ),
        (
            {"epsilon": "0.05", "budget": "", "horizon": "6"},
            "meets the target 0.05 in each of 6 periods, with nothing to spare",
        ),
        ({"epsilon": "0.05", "budget": "1", "horizon": "6"}, "A budget of 1 EUR does not meet the target 0.05"),
        ({"epsilon": "-1", "horizon": "6"}, "The target must be"),
        ({"epsilon": "many", "horizon": "6"}, "The target must be a number; got"),
        ({"epsilon": "NaN", "horizon": "6"}, "The target must be a number"),
        ({"epsilon": "1e-300", "horizon": "6"}, "The target must be"),
        ({"horizon": "100000"}, "The horizon must be an integer from 1 to 520"),
        ({"horizon": "1e1000000"}, "The horizon must be a number; got"),
        ({"horizon": "1e30"}, "The horizon must be an integer from 1 to 520"),
        ({"horizon": "1.5"}, "The horizon must be an integer"),
        ({"budget": "-5"}, "The budget must be an amount of money"),
        ({"per_sample": "-5"}, "The price per row must be"),
        ({"per_sample": HOSTILE[:50]}, "The price per row must be a number"),
    ],
)
def test_what_if_answers_any_input_with_a_sentence(shop: Serving, given: dict[str, str], said: str) -> None:
    answer = shop.client.get("/campaigns/flat-prices/what-if", params=given)
    assert answer.status_code == 200
    assert said in answer.text
    assert "<script>" not in answer.text
    assert "plan(" not in answer.text


def test_planning_changes_nothing(shop: Serving) -> None:
    before = shop.service.store.head("flat-prices")
    shop.client.get("/campaigns/flat-prices/what-if", params={"epsilon": "0.2", "horizon": "3"})
    assert shop.service.store.head("flat-prices") == before


def test_too_early_to_plan_is_explained() -> None:
    store = MemoryStore()
    Campaign.create({"name": "new", "target": "y", "epsilon": 0.1}, storage=store)
    with serving(store, dashboard=True) as running:
        assert "Too early to plan" in running.client.get("/campaigns/new/what-if?horizon=6").text


def test_the_ledger_can_be_downloaded(shop: Serving) -> None:
    ledger = Campaign.open("flat-prices", storage=shop.service.store).ledger()
    text = shop.client.get("/campaigns/flat-prices/ledger.csv")
    assert 'filename="flat-prices-ledger.csv"' in text.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert [int(row["samples"]) for row in rows] == [row.report.samples for row in ledger]
    assert [float(row["risk_bound"]) for row in rows] == [row.report.risk_bound for row in ledger]
    found = json.loads(shop.client.get("/campaigns/flat-prices/ledger.json").text)
    assert [row["key"] for row in found] == [row.key for row in ledger]


def test_the_report_is_a_download(shop: Serving) -> None:
    response = shop.client.get("/api/campaigns/flat-prices/report")
    assert response.headers["content-disposition"] == 'attachment; filename="flat-prices-report.html"'
    assert "unsafe" not in response.headers["content-security-policy"]
    assert response.text.startswith("<!DOCTYPE html>")
    assert "flat-prices" in response.text
    assert shop.client.get("/api/campaigns/none/report").status_code == 404


def test_formulas_in_csv_are_escaped() -> None:
    store = MemoryStore()
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    campaign.ask(key="=1+1")
    campaign.tell([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.5], final=True)
    with serving(store, dashboard=True) as running:
        assert next(csv.DictReader(io.StringIO(running.client.get("/campaigns/a/ledger.csv").text)))["key"] == "'=1+1"


def test_static_files_are_cached_and_nothing_else_is_served(shop: Serving) -> None:
    for name in assets():
        answer = shop.client.get(f"/static/{assets_digest()}/{name}")
        assert answer.content == assets()[name].data
        assert "immutable" in answer.headers["cache-control"]
    for name in ("routes.py", "..%2Froutes.py", "%2e%2e/routes.py", ""):
        assert shop.client.get(f"/static/{assets_digest()}/{name}").status_code == 404


def test_ten_thousand_campaigns_are_paged() -> None:
    store = MemoryStore()
    campaign, _ = one(store, periods=1)
    head, first = store.head(campaign.name), store.entries(campaign.name, limit=1)
    assert head is not None
    for place in range(10_000):
        store.create(f"c-{place:05d}", Change(entries=first, checkpoint=b"", summary=head.summary))
    with serving(store, dashboard=True) as running:
        text = running.client.get("/?page=3").text
    assert text.count('<th scope="row">') == 50
    assert "Page 3 of 201" in text
    assert len(text) < 100_000


def test_store_failures_are_an_error_page(shop: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    store = shop.service.store

    def away(*_: Any, **__: Any) -> None:
        raise StorageError("the server of the store{where} cannot be reached.", store=store.url)

    monkeypatch.setattr(type(store), "head", away)
    answer = shop.client.get("/campaigns/flat-prices", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert "The server of the store cannot be reached." in answer.text
    assert "driftpace_store_errors_total 1.0" in shop.client.get("/metrics").text


def order_card(running: Serving, name: str = "flat-prices") -> str:
    """Return the words of the order card."""
    page = running.client.get(f"/campaigns/{name}").text
    found = re.search(r'<section class="card order".*?</section>', page, re.DOTALL)
    assert found is not None
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found.group())).split())


def test_overrides_are_shown_as_decided() -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=3)
    order = campaign.status().order
    assert order is not None
    with serving(store, dashboard=True) as running:
        campaign.override(order.samples, reason="as it is", who="Ada")
        assert f"{order.samples} rows, the same as the tracker asked for, by Ada" in order_card(running)
        campaign.override(5000, reason="a census", who="Ada")
        campaign.tell(*world.rows(900), final=False)
        card = order_card(running)
        assert f"5,000 rows instead of {order.samples}, by Ada . “a census”" in card
        assert "instead of 900" not in card
        assert "tracker's" not in card
        now = campaign.status().order
        assert now is not None
        assert f"{number(now.risk_bound)} with 5,000 rows" in card
        beyond = money(load_page(campaign).over)
        assert f"The order exceeds the remaining budget by {beyond}." in card
        assert now.cost is not None
        assert f"Cost of the missing rows {money(now.cost)}" in card
        page = running.client.get("/campaigns/flat-prices").text
    assert f'data-asked="{order.samples}"' in page  # what both dialogs say
    assert f'data-purse="{load_page(campaign).purse}"' in page
    assert "&#34;per_sample&#34;: 1.5" in page


def test_the_cap_is_not_shown_as_a_range() -> None:
    store = MemoryStore()
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 1e-4, "cap": 50, "seed": 0}, storage=store)
    through(campaign, World(0), 2)
    order = campaign.ask()
    assert order.request.interval[1] == 50
    with serving(store, dashboard=True) as running:
        card = order_card(running, "a")
    low = order.request.interval[0]
    assert ("Range 50 rows" if low == 50 else f"Range at least {low} rows") in card


def test_bidi_controls_are_stripped_from_pages() -> None:
    turn = "\u202e"
    store = MemoryStore()
    values = {"name": "a", "target": f"y{turn}", "features": [f"x{turn}"], "epsilon": 0.2, "seed": 0}
    campaign = Campaign.create({**values, "description": f"about{turn}"}, storage=store, who=f"Ada{turn}")
    campaign.ask(key=f"1{turn}")
    campaign.tell(*World(0, features=1).rows(9), final=True)
    campaign.ask(key=f"2{turn}")
    campaign.override(9, reason=f"so{turn}", who=f"Bo{turn}")
    with serving(store, dashboard=True) as running:
        for address in ("/", "/campaigns/a", "/campaigns/a?horizon=3"):
            page = running.client.get(address).text
            said = page.replace(f'data-key="2{turn}"', "")  # which the page sends back to the letter
            assert turn not in said, (address, said[said.index(turn) - 80 :][:100])
            assert (said != page) == (address != "/")


def test_amounts_have_one_format() -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=1, budget={**BUDGET, "per_sample": 0.5, "total": 1000})
    while str(campaign.status().money_left)[-6:-4] != ".5":
        campaign.tell(*world.rows(1), final=False)
    left = campaign.status().money_left
    order = campaign.status().order
    assert left is not None
    assert order is not None
    with serving(store, dashboard=True) as running:
        list_page, card = running.client.get("/").text, order_card(running)
        page = running.client.get("/campaigns/flat-prices").text
    assert money(left).endswith(".50 EUR")
    for text in (list_page, card):
        assert money(left) in text
    assert re.search(r"\d\.\d EUR", list_page + page) is None


def test_the_form_works_without_javascript(shop: Serving) -> None:
    page = shop.client.get("/campaigns/flat-prices").text
    assert "Press “Plan”" in page
    page = shop.client.get("/campaigns/flat-prices?horizon=7&epsilon=0.06").text
    pager = re.search(r'rel="next" href="([^"]*)#log"', page)
    assert pager is not None
    after = shop.client.get(f"/campaigns/flat-prices{html.unescape(pager.group(1))}").text
    assert re.search(r'name="horizon" value="7"', after) is not None
    assert re.search(r'name="epsilon" value="0.06"', after) is not None
    assert "Page 2 of" in after


def test_form_defaults_follow_the_periods() -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=2)
    usual = re.compile(r'name="(\w+)" value="[^"]*" data-default="([^"]*)"')
    with serving(store, dashboard=True) as running:
        before = dict(usual.findall(running.client.get("/campaigns/flat-prices").text))
        order = campaign.override(3, reason="a holiday")
        campaign.tell(*world.rows(order.missing), final=True)
        campaign.ask(key="next")
        after = dict(usual.findall(running.client.get("/campaigns/flat-prices").text))
    assert int(after["horizon"]) == int(before["horizon"]) - 1
    assert float(after["budget"]) == float(before["budget"]) - 24.5
