"""What the page says of words that nobody listed."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from driftpace.campaign import Campaign
from driftpace.campaign.log_text import describe_entry
from driftpace.service.dashboard.campaign_page import definition_facts
from driftpace.storage import MemoryStore
from driftpace.tables.columns import from_arrays
from tests.reference.serving import Serving
from tests.service.dashboard.browser import Watched

VALUES = {
    "name": "rents",
    "target": "rent",
    "features": ["size", "city"],
    "categories": {"city": ["Rome", "Milan"]},
    "epsilon": 0.1,
    "seed": 0,
}


def test_unseen_categories_are_shown_on_the_page() -> None:
    campaign = Campaign.create(VALUES, storage=MemoryStore())
    assert (
        dict(definition_facts(campaign.definition, campaign.status()))["Categories of city"]
        == "Rome, Milan; others count as Rome"
    )
    campaign.ask()
    campaign.amend(unknown_categories={"city": "Milan"}, reason="a new shop", who="Ada")
    assert (
        dict(definition_facts(campaign.definition, campaign.status()))["Categories of city"]
        == "Rome, Milan; others count as Milan"
    )
    table = {"size": [1.0, 2.0, 3.0], "city": ["Bari", "Rome", "Milan"], "rent": [1.0, 2.0, 3.0]}
    campaign.tell_table(from_arrays(table, "test"), final=False)
    (delivered,) = campaign.log(kinds=("delivered",))
    assert describe_entry(delivered).sentence == (
        "3 rows received for period 1; 1 row with an unlisted category of “city”, counted as “Milan”."
    )


def test_receipts_report_unseen_categories(
    serve: Callable[..., Serving], visit: Callable[..., Watched], tmp_path: Path
) -> None:
    store = MemoryStore()
    Campaign.create({**VALUES, "unknown_categories": {"city": "Milan"}}, storage=store).ask()
    page = visit(f"{serve(store).url}/campaigns/rents").page
    file = tmp_path / "rents.csv"
    file.write_text("size,city,rent\n1,Bari,1\n2,Rome,2\n3,Milan,3\n")
    page.get_by_role("button", name="Upload a delivery…").click()
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator("#upload .receipt")).to_contain_text("3 rows counted.")
    expect(page.locator("#upload .receipt")).to_contain_text("1 row with an unlisted category of city counts as Milan.")
