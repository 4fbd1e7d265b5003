"""The report of a campaign can be made from Python, for a campaign in any store, and does not change it."""

from pathlib import Path

import numpy as np
import pytest

from driftpace import report
from driftpace.records import Verdict
from driftpace.report.campaign import _cards
from driftpace.report.campaign_figures import risk_section
from driftpace.storage import MemoryStore
from tests.reference import audits
from tests.reference.periods import begun, run_periods


def test_a_report_is_one_page_and_leaves_the_campaign_alone(tmp_path: Path) -> None:
    store = MemoryStore()
    campaign = begun(store, "prices")
    run_periods(campaign, np.random.default_rng(1), 2)
    campaign.ask(key="2026-W03")
    entries = campaign.status().entries
    page = report.campaign_report(campaign)
    assert campaign.status().entries == entries
    assert campaign.status().todo in page
    for heading in (
        "Rows labelled",
        "Drift",
        "Expected and measured risk, and certificate",
        "Current order",
        "Assumptions",
        "Log",
    ):
        assert f">{heading}<" in page
    order = campaign.status().order
    assert order is not None
    assert page.count("– untested") == sum(not one.judged for one in order.request.assumptions) > 0
    written = report.write_page(page, tmp_path / "deep" / "prices.html")
    assert written.read_text(encoding="utf-8") == page


@pytest.mark.parametrize(("verdict", "tone"), [(Verdict.PASS, "good"), (Verdict.WARN, "warn"), (Verdict.FAIL, "bad")])
def test_the_measured_excess_loss_has_a_card_in_the_colour_of_its_verdict(verdict: Verdict, tone: str) -> None:
    last = audits.report(verdict)
    cards = _cards(audits.status(last), (audits.ledger_row(),))
    card = cards[: cards.index("Measured excess loss")].rsplit("<li", 1)[1]
    assert f'class="card {tone}"' in card
    assert "0.027 ± 0.004" in cards
    assert f"p{audits.WORDS}" in cards
    assert "Target not met" in cards


def test_the_risk_section_shows_what_was_measured() -> None:
    section = risk_section((audits.ledger_row(31, None), audits.ledger_row(32)))
    assert f" P{audits.WORDS}." in section.text
    assert section.columns[2:4] == ("Measured", "Measured mean")
    assert [row[2:4] for row in section.rows] == [("–", "–"), ("0.031 ± 0.021", "0.027 ± 0.004")]
