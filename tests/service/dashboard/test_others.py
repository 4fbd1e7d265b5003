"""What the page says of words that nobody listed."""

from driftpace.campaign import Campaign
from driftpace.service.dashboard.sentences import line
from driftpace.service.dashboard.single import facts
from driftpace.storage import MemoryStore
from driftpace.tables.columns import from_arrays

VALUES = {
    "name": "rents",
    "target": "rent",
    "features": ["size", "city"],
    "categories": {"city": ["Rome", "Milan"]},
    "epsilon": 0.1,
    "seed": 0,
}


def test_the_page_says_what_other_words_count_as_and_which_rows_had_one() -> None:
    campaign = Campaign.create(VALUES, storage=MemoryStore())
    assert dict(facts(campaign.definition, campaign.status()))["Words of city"] == "Rome, Milan"
    campaign.ask()
    campaign.amend(others={"city": "Milan"}, reason="a new shop", who="Ada")
    assert (
        dict(facts(campaign.definition, campaign.status()))["Words of city"] == "Rome, Milan; any other counts as Milan"
    )
    table = {"size": [1.0, 2.0, 3.0], "city": ["Bari", "Rome", "Milan"], "rent": [1.0, 2.0, 3.0]}
    campaign.tell_table(from_arrays(table, "test"), final=False)
    (delivered,) = campaign.log(kinds=("delivered",))
    assert line(delivered).sentence == (
        "3 rows came for period 1; 1 row with another “city” than those listed, taken for “Milan”."
    )
