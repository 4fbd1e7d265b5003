"""What the page of one campaign is made of."""

import csv
import io
import json
import re

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.records import Money, Verdict
from driftpace.service.dashboard import campaign_page
from driftpace.service.dashboard.campaign_page import (
    LOG_PAGE_SIZE,
    MEASURED_TEXTS,
    load_page,
    measured_badge,
    read_log,
    tally,
)
from driftpace.service.dashboard.charts import LATEST, PageFigure
from driftpace.service.dashboard.figures import drift_figure, excess_loss_figure
from driftpace.service.history import HistoryCache
from driftpace.service.templating import render
from driftpace.storage import MemoryStore
from tests.reference import audits
from tests.service.dashboard.examples import BUDGET, World, one, through


def figure(campaign: Campaign, key: str) -> PageFigure:
    return next(found for found in load_page(campaign).figures if found.key == key)


def places(drawing: str) -> int:
    return len(re.findall('class="hit"', drawing))


def test_every_chart_position_has_a_table_row() -> None:
    campaign, _ = one(MemoryStore(), periods=5)
    for found in load_page(campaign).figures:
        for panel in found.panels:
            assert places(panel.wide) == places(panel.narrow)
            assert places(panel.wide) == len(found.rows)
        assert all(len(row) == len(found.columns) for row in found.rows)


def test_the_history_is_paged_latest_first() -> None:
    store = MemoryStore()
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.2, "seed": 0}, storage=store)
    through(campaign, World(0), LATEST + 9)
    latest, older = ({found.key: found for found in load_page(campaign, history_page=page).figures} for page in (1, 2))
    keys = [row.key for row in campaign.ledger()]
    assert [row[1] for row in latest["loss"].rows] == keys[9:]
    assert [row[1] for row in older["loss"].rows] == keys[:9]
    assert {key: found.sentence for key, found in latest.items()} == {
        key: found.sentence for key, found in older.items()
    }
    for found in (*latest.values(), *older.values()):
        assert {places(panel.wide) for panel in found.panels} == {len(found.rows)}
    assert [load_page(campaign, history_page=page).history.page for page in (0, 2, 99)] == [1, 2, 2]


def test_unchanged_figures_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    campaign, world = one(store, periods=5)
    histories = HistoryCache(store)
    drawn = 0

    def counted(*args: object, **named: object) -> object:
        nonlocal drawn
        drawn += 1
        return drift_figure(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(campaign_page, "drift_figure", counted)
    first, again = (load_page(campaign, histories.get("flat-prices")) for _ in range(2))
    assert (drawn, first.figures) == (1, again.figures)
    campaign.tell(*world.rows(3), final=False)
    changed = load_page(campaign, histories.get("flat-prices"))
    assert drawn == 2
    assert changed.figures == load_page(campaign).figures != first.figures


def test_the_table_shows_the_ledger() -> None:
    campaign, _ = one(MemoryStore(), periods=5)
    rows = figure(campaign, "loss").rows
    place = figure(campaign, "loss").columns.index("Expected excess")
    assert [row[1] for row in rows] == [row.key for row in campaign.ledger()]
    assert [float(row[place]) for row in rows] == pytest.approx(
        [row.report.risk_bound for row in campaign.ledger()], rel=5e-3
    )


def test_overrides_are_priced() -> None:
    campaign, _ = one(MemoryStore(), periods=3)
    planned = figure(campaign, "spending").rows
    campaign.override(100, reason="a fair")
    seen = load_page(campaign)
    assert seen.cost == Money.of(20 + 100 * 1.5, "EUR")
    rows = figure(campaign, "spending").rows
    assert rows[3][1] == "170 EUR"
    assert rows[:3] == planned[:3]
    assert [row[3] for row in rows[:4]] == ["spent", "spent", "spent", "planned"]


def test_campaigns_without_a_budget_show_no_spending() -> None:
    campaign, _ = one(MemoryStore(), periods=2, budget=None)
    assert "spending" not in {found.key for found in load_page(campaign).figures}
    assert load_page(campaign).cost is None


def test_classification_shows_the_prior_accuracy() -> None:
    values = {"name": "a", "target": "y", "classes": ["no", "yes"], "epsilon": 0.2, "seed": 0}
    campaign = Campaign.create(values, storage=MemoryStore())
    rng = np.random.default_rng(0)
    for _ in range(2):
        campaign.ask()
        X = rng.normal(size=(80, 2))
        campaign.tell(X, (X[:, 0] + rng.normal(size=80) > 0).astype(float), final=True)
    found = figure(campaign, "loss")
    place = found.columns.index("Prior accuracy")
    assert re.fullmatch(r"\d+ %", found.rows[-1][place])


def test_every_stage_has_a_need() -> None:
    store = MemoryStore()
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.2, "seed": 0}, storage=store)
    world, needs = World(0), []
    needs.append(load_page(campaign).need)
    order = campaign.ask()
    needs.append(load_page(campaign).need)
    receipt = campaign.tell(*world.rows(order.missing + 300), final=False)
    assert receipt.order.missing == 0
    needs.append(load_page(campaign).need)
    campaign.tell(final=True)
    campaign.ask()
    campaign.override(0, reason="a holiday")
    needs.append(load_page(campaign).need)
    assert needs == ["ask", "labels", "close", "wait"]


def test_the_log_is_paged_latest_first() -> None:
    campaign, _ = one(MemoryStore(), periods=5)
    entries = campaign.status().entries
    seen: list[int] = []
    page = 1
    while True:
        found = read_log(campaign, {}, entries=entries, page=page)
        assert len(found.lines) <= LOG_PAGE_SIZE
        seen += [line.entry.seq for line in found.lines]
        if page == found.pages:
            break
        page += 1
    assert seen == list(range(entries, 0, -1))


def test_undefined_template_values_are_errors() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        render("message.html", None, title="only")


def test_overrides_beyond_the_budget_are_marked() -> None:
    campaign, _ = one(MemoryStore(), periods=3)
    assert load_page(campaign).over is None
    campaign.override(5000, reason="a census")
    seen = load_page(campaign)
    spent = seen.status.spent
    assert spent is not None
    assert seen.over == Money.of(20 + 5000 * 1.5, "EUR") - (Money.of(1200, "EUR") - spent)


def test_budget_shortages_are_explained() -> None:
    campaign, _ = one(MemoryStore(), periods=3, budget={**BUDGET, "horizon": 4})
    seen = load_page(campaign)
    assert (seen.budget, seen.last, seen.short, seen.needs_money) == ("1,200 EUR over 4 periods", 4, "", False)
    campaign.override(0, reason="a holiday")
    campaign.tell(final=True)
    assert load_page(campaign).short.startswith("The budget ended with period 4")
    assert load_page(campaign).needs_money
    poor, _ = one(MemoryStore(), periods=2, budget={**BUDGET, "total": 90, "horizon": 3})
    assert (
        load_page(poor).short
        == "The remaining budget does not meet the target over this period; adding money may help."
    )
    free = load_page(one(MemoryStore(), periods=1, budget=None)[0])
    assert (free.budget, free.last, free.short, free.needs_money) == ("", None, "", False)


def test_the_csv_ledger_has_overrides() -> None:
    campaign, world = one(MemoryStore(), periods=2)
    campaign.override(9, reason="a holiday")
    campaign.tell(*world.rows(9), final=True)
    mine = campaign.ledger()[-1].overridden
    rows = list(csv.DictReader(io.StringIO(campaign.ledger().to_csv())))
    assert [row["overridden_samples"] for row in rows] == ["", "", "9"]
    assert float(rows[-1]["overridden_risk_bound"]) == mine.risk_bound


def test_the_page_has_the_prices_for_overrides() -> None:
    campaign, world = one(MemoryStore(), periods=3)
    campaign.tell(*world.rows(2), final=False)
    seen = load_page(campaign)
    assert json.loads(seen.prices) == {"fixed": 20, "per_sample": 1.5, "currency": "EUR"}
    assert seen.status.spent is not None
    assert Money.of(seen.purse, "EUR") == Money.of(1200, "EUR") - seen.status.spent  # before what came is paid
    bare = load_page(Campaign.create({"name": "a", "target": "y", "epsilon": 0.2}, storage=MemoryStore()))
    assert (bare.prices, bare.purse) == ("", "")


def test_period_labels_are_consistent() -> None:
    campaign, _ = one(MemoryStore(), periods=3)
    weeks = ["2026-W28", "2026-W29", "2026-W30"]
    assert [row[1] for row in figure(campaign, "loss").rows] == weeks
    rows = figure(campaign, "rows")
    labels = re.findall('text-anchor="middle">([^<]*)<', rows.panels[0].wide)
    assert labels
    assert all(label.isdigit() for label in labels)  # the planned ones have no key
    assert [row[0] for row in rows.rows[:5]] == [
        *(f"{place} ({week})" for place, week in enumerate([*weeks, "2026-W31"], 1)),
        "5",
    ]
    alone = Campaign.create({"name": "b", "target": "y", "epsilon": 0.2, "seed": 0}, storage=MemoryStore())
    through(alone, World(0), 2)
    alone.ask(key="last")
    labels = re.findall('text-anchor="middle">([^<]*)<', figure(alone, "rows").panels[0].wide)
    assert labels == ["2026-W28", "2026-W29", "last"]


def test_rows_have_integer_ticks_and_a_sentence() -> None:
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.2, "seed": 0}, storage=MemoryStore())
    order = campaign.ask()
    assert figure(campaign, "rows").sentence == f"None of {order.samples} rows received in period 1."
    campaign.tell(*World(0).rows(1), final=False)
    assert "received in period 1." in figure(campaign, "rows").sentence
    campaign.forget(reason="a mistake")
    campaign.override(1, reason="a try")
    ticks = re.findall('text-anchor="end">([^<]*)<', figure(campaign, "rows").panels[0].wide)
    assert ticks[:2] == ["0", "1"]
    assert not any("." in tick for tick in ticks)
    campaign.override(0, reason="a holiday")
    assert figure(campaign, "rows").sentence == "No rows requested in period 1."


def test_untested_assumptions_are_not_called_holding() -> None:
    campaign, _ = one(MemoryStore(), periods=4)
    outcomes = {row[-1] for row in figure(campaign, "loss").rows}
    assert any(outcome.startswith("✓ ") for outcome in outcomes)
    assert not any("held" in outcome for outcome in outcomes)
    looks = {judged.sentence: judged.verdict for judged in load_page(campaign).assumptions}
    silent = [sentence for sentence in looks if "Not checked:" in sentence]
    assert silent
    assert {looks[sentence] for sentence in silent} == {"open"}
    assert tally(load_page(campaign).assumptions).endswith("untested")


def test_outliers_above_the_chart_are_marked() -> None:
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.05, "seed": 0}, storage=MemoryStore())
    world = World(0)
    campaign.ask(key="first")
    campaign.override(6, reason="a try")
    campaign.tell(*world.rows(6), final=True)
    through(campaign, world, 4)
    panel = figure(campaign, "loss").panels[0]
    bounds = [row.report.risk_bound for row in campaign.ledger()]
    assert bounds[0] > 2.5 * max(bounds[1:])  # the example is one in which the first period stands out
    assert panel.beyond
    assert panel.wide.count('class="beyond') >= 1


def test_tiered_prices_are_in_the_definition() -> None:
    tiers = {"total": 3000, "horizon": 20, "tiers": [[1, 2], [50, 1]], "currency": "EUR"}
    campaign, _ = one(MemoryStore(), periods=1, budget=tiers)
    facts = dict(load_page(campaign).facts)
    assert facts["Budget"] == "3,000 EUR over 20 periods; 0 EUR per order and 2 per row, 1 from row 50"


def test_requested_rows_are_not_received_rows() -> None:
    campaign, world = one(MemoryStore(), periods=3, budget=None)
    campaign.override(500, reason="a census")
    campaign.tell(*world.rows(100), final=False)
    assert load_page(campaign).asked == 100  # with these rows it decides anew, and they are enough
    planned, world = one(MemoryStore(), periods=3)
    asked = load_page(planned).asked
    planned.override(500, reason="a census")
    planned.tell(*world.rows(100), final=False)
    assert load_page(planned).asked == asked


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Verdict.PASS, "agrees with the target"),
        (Verdict.WARN, "above the target lately"),
        (Verdict.FAIL, "target not met"),
    ],
)
def test_the_measured_excess_loss_has_the_colour_of_its_verdict(verdict: Verdict, words: str) -> None:
    badge = measured_badge(audits.status(audits.report(verdict)))
    assert badge is not None
    assert (badge.verdict, MEASURED_TEXTS[badge.verdict]) == (verdict.value, words)
    assert badge.sentence == f"P{audits.WORDS} (target 0.02)."


def test_few_measured_periods_are_shown_without_a_verdict() -> None:
    badge = measured_badge(audits.status(audits.report(Verdict.PASS, judged=False)))
    assert badge is not None
    assert (badge.verdict, badge.sentence) == ("open", f"p{audits.WORDS}.")
    assert measured_badge(audits.status(audits.report(judged=False, audit=None))) is None
    assert measured_badge(audits.status(None)) is None


def test_the_loss_chart_has_a_band_of_what_was_measured() -> None:
    drawn = excess_loss_figure([audits.ledger_row(31), audits.ledger_row(32)])
    bare = excess_loss_figure([audits.ledger_row(31, None), audits.ledger_row(32, None)])
    assert drawn is not None
    assert bare is not None
    assert 'class="band teal"' in drawn.panels[0].wide
    assert any("measured, mean of the last periods" in text for _, text in drawn.panels[0].legend)
    assert "teal" not in bare.panels[0].wide
    assert "✗ the rows delivered" in drawn.rows[0][-1]


def test_the_page_says_what_is_waiting_refused_and_undone() -> None:
    campaign, world = one(MemoryStore(), periods=3)
    assert load_page(campaign).deliveries == ()
    for place in range(7):
        campaign.note_refusal(f"row {place} has none.", source=f"w{place}.csv", who="Ada")
    campaign.override(9, reason="a trial")
    campaign.undo(campaign.log(kinds=("overridden",))[-1].seq, reason="a slip")
    facts = dict(load_page(campaign).deliveries)
    assert list(facts) == ["Refused", "Undone"]
    assert len(facts["Refused"]) == 6
    assert "“w6.csv” by Ada. Row 6 has none." in facts["Refused"][0]
    assert facts["Refused"][-1] == "And 2 deliveries before."
    assert facts["Undone"] == ("1 entry of the log no longer counts.",)
    X, y = world.rows(3)
    campaign.tell(X, y, final=False)
    assert "Refused" not in dict(load_page(campaign).deliveries)
