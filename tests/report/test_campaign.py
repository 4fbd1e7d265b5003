"""The report of a campaign can be made from Python, for a campaign in any store, and does not change it."""

from pathlib import Path

import numpy as np

from driftpace import report
from driftpace.storage import MemoryStore
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
    for heading in ("Rows labelled", "Drift", "Expected risk and certificate", "Current order", "Assumptions", "Log"):
        assert f">{heading}<" in page
    written = report.write_page(page, tmp_path / "deep" / "prices.html")
    assert written.read_text(encoding="utf-8") == page
