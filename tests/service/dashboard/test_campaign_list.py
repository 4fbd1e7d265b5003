"""The list: what needs doing comes first, and beyond a limit the store itself pages."""

import pytest

from driftpace.campaign import Campaign
from driftpace.service.dashboard import campaign_list
from driftpace.service.dashboard.campaign_list import NEEDS, PAGE_SIZE, load_list
from driftpace.service.dashboard.campaign_page import load_page
from driftpace.storage import MemoryStore
from tests.service.dashboard.examples import many, spent


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    made = MemoryStore()
    many(made, 20)
    return made


def test_the_list_is_complete_and_sorted_by_urgency(store: MemoryStore) -> None:
    found = load_list(store)
    ranks = [list(NEEDS).index(one.need) for one in found.campaigns]
    assert ranks == sorted(ranks)
    assert sum(found.needs.values()) == found.total == len(found.campaigns) == 20
    assert {"look", "labels", "ask"} <= {one.need for one in found.campaigns}


def test_the_list_can_be_filtered_by_need(store: MemoryStore) -> None:
    for need, count in load_list(store).needs.items():
        assert {one.need for one in load_list(store, show=need).campaigns} <= {need}
        assert load_list(store, show=need).matches == count


def test_search_ignores_case(store: MemoryStore) -> None:
    assert {one.name for one in load_list(store, search="CHURN").campaigns} == {
        head.name for head in store.heads() if "churn" in head.name
    }


def test_pages_beyond_the_end_are_the_last_page(store: MemoryStore) -> None:
    assert load_list(store, page=10**9).page == 1


def test_large_stores_are_listed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    names = [f"c{place:03d}" for place in range(2 * PAGE_SIZE + 7)]
    for name in names:
        Campaign.create({"name": name, "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    monkeypatch.setattr(campaign_list, "MAX_RANKED", PAGE_SIZE)
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = load_list(store, after=after)
        assert not page.ranked
        seen += [one.name for one in page.campaigns]
        after = page.after
    assert seen == names


def test_campaigns_without_money_are_urgent() -> None:
    store = MemoryStore()
    campaign = spent(store)
    order = campaign.status().order
    assert order is not None
    assert order.missing == 0
    Campaign.create({"name": "a-quiet-one", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    found = load_list(store)
    assert [(one.name, one.need) for one in found.campaigns] == [("flat-prices", "money"), ("a-quiet-one", "ask")]
    assert found.campaigns[0].phrase.startswith("The remaining budget does not meet the target")
    assert [one.name for one in load_list(store, show="money").campaigns] == ["flat-prices"]
    assert (load_page(campaign).need, load_page(campaign).need_text) == ("money", "Budget short")


def test_summaries_with_unknown_stages_are_listed() -> None:
    assert campaign_list.need({"stage": "close", "received": 0, "failed": False}) == "wait"
    assert campaign_list.need({"stage": "close", "received": 0, "failed": True, "exhausted": True}) == "look"
