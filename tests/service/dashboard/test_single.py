"""What the page of one campaign is made of."""

import re

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.records import Money
from driftpace.service.dashboard.figures import LATEST, Figure
from driftpace.service.dashboard.rendering import render
from driftpace.service.dashboard.single import LOG_PAGE, log_of, view
from driftpace.storage import MemoryStore
from tests.service.dashboard.examples import World, one, through


def figure(campaign: Campaign, key: str) -> Figure:
    return next(found for found in view(campaign).figures if found.key == key)


def places(drawing: str) -> int:
    return len(re.findall('class="hit"', drawing))


def test_each_chart_has_a_row_of_its_table_for_each_place() -> None:
    campaign, _ = one(MemoryStore(), periods=5)
    for found in view(campaign).figures:
        for panel in found.panels:
            assert places(panel.wide) == places(panel.narrow)
            assert found.first + places(panel.wide) == len(found.rows)
        assert all(len(row) == len(found.columns) for row in found.rows)


def test_a_long_history_shows_its_end_and_the_table_all_of_it() -> None:
    store = MemoryStore()
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.2, "seed": 0}, storage=store)
    through(campaign, World(0), LATEST + 9)
    found = figure(campaign, "promise")
    assert len(found.rows) == LATEST + 9
    assert found.first == 9
    assert places(found.panels[0].wide) == LATEST


def test_the_ledger_in_the_table_is_the_ledger() -> None:
    campaign, _ = one(MemoryStore(), periods=5)
    rows = figure(campaign, "promise").rows
    assert [row[0] for row in rows] == [row.key for row in campaign.ledger()]
    assert [float(row[2]) for row in rows] == pytest.approx(
        [row.report.risk_bound for row in campaign.ledger()], rel=5e-3
    )


def test_an_override_is_priced() -> None:
    campaign, _ = one(MemoryStore(), periods=3)
    planned = figure(campaign, "spending").rows
    campaign.override(100, reason="a fair")
    seen = view(campaign)
    assert seen.cost == Money.of(20 + 100 * 1.5, "EUR")
    rows = figure(campaign, "spending").rows
    assert rows[3][1] == "170 EUR"
    assert rows[:3] == planned[:3]
    assert [row[3] for row in rows[:4]] == ["spent", "spent", "spent", "planned"]


def test_without_a_budget_there_is_no_money() -> None:
    campaign, _ = one(MemoryStore(), periods=2, budget=None)
    assert "spending" not in {found.key for found in view(campaign).figures}
    assert view(campaign).cost is None


def test_classes_are_counted_right() -> None:
    values = {"name": "a", "target": "y", "classes": ["no", "yes"], "epsilon": 0.2, "seed": 0}
    campaign = Campaign.create(values, storage=MemoryStore())
    rng = np.random.default_rng(0)
    for _ in range(2):
        campaign.ask()
        X = rng.normal(size=(80, 2))
        campaign.tell(X, (X[:, 0] + rng.normal(size=80) > 0).astype(float), final=True)
    found = figure(campaign, "promise")
    assert found.columns[-1] == "Right"
    assert re.fullmatch(r"\d+ %", found.rows[-1][-1])


def test_each_state_has_its_page() -> None:
    store = MemoryStore()
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.2, "seed": 0}, storage=store)
    world, needs = World(0), []
    needs.append(view(campaign).need)
    order = campaign.ask()
    needs.append(view(campaign).need)
    receipt = campaign.tell(*world.rows(order.missing + 300), final=False)
    assert receipt.order.missing == 0
    needs.append(view(campaign).need)
    campaign.tell(final=True)
    campaign.ask()
    campaign.override(0, reason="a holiday")
    needs.append(view(campaign).need)
    assert needs == ["ask", "labels", "close", "wait"]


def test_the_log_is_paged_from_its_end() -> None:
    campaign, _ = one(MemoryStore(), periods=5)
    entries = campaign.status().entries
    seen: list[int] = []
    page = 1
    while True:
        found = log_of(campaign, entries=entries, page=page)
        assert len(found.lines) <= LOG_PAGE
        seen += [line.seq for line in found.lines]
        if page == found.pages:
            break
        page += 1
    assert seen == list(range(entries, 0, -1))


def test_what_is_missing_in_a_template_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render("message.html", None, title="only")
