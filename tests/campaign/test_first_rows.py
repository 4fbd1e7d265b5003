"""The rows that show how columns are encoded arrive late, are undone, or come again: later tables are still read alike."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.errors import ProtocolError
from driftpace.storage import MemoryStore
from tests.campaign.test_undo import recomputed


def table(first: int, *cities: str) -> dict[str, list[Any]]:
    """Return twelve rows of these cities."""
    rng = np.random.default_rng(first)
    x = rng.normal(size=12)
    return {
        "id": [f"r{first + place}" for place in range(12)],
        "x": x.tolist(),
        "city": [cities[place % len(cities)] for place in range(12)],
        "y": (x + rng.normal(size=12)).tolist(),
    }


@pytest.fixture
def campaign() -> Campaign:
    """A campaign that learns its features from the first rows, with an order."""
    campaign = Campaign.create(
        {"name": "rents", "target": "y", "id": "id", "epsilon": 0.3, "seed": 0}, storage=MemoryStore()
    )
    campaign.ask(key="1")
    return campaign


def test_the_first_rows_of_all_may_arrive_late(campaign: Campaign) -> None:
    campaign.tell(final=True)
    campaign.ask(key="2")
    campaign.tell_table(table(0, "Oslo", "Rome"), key="1")
    encoding = campaign.encoding
    assert encoding is not None
    assert campaign.tell_table(table(20, "Bari", "Rome", "Oslo"), final=False).rows == 12
    assert campaign.encoding == encoding
    recomputed(campaign)


def test_rows_that_come_again_after_all_others_were_undone_are_encoded_as_they_were(campaign: Campaign) -> None:
    campaign.tell_table(table(0, "Oslo", "Rome"), delivery="a", final=False)
    campaign.tell_table(table(20, "Rome", "Oslo"), delivery="b", final=False)
    encoding = campaign.encoding
    undone = [campaign.undo(delivery=name, reason="wrong") for name in "ab"]
    assert campaign.encoding is None
    campaign.undo(undone[1].entry, reason="b was right")
    assert campaign.encoding == encoding
    assert campaign.tell_table(table(40, "Bari", "Oslo"), final=False).rows == 12
    recomputed(campaign)


def test_rows_with_other_columns_than_those_since_cannot_come_again(campaign: Campaign) -> None:
    campaign.tell_table(table(0, "Oslo", "Rome"), delivery="a", final=False)
    undone = campaign.undo(delivery="a", reason="wrong")
    campaign.tell_table(table(20, "Rome", "Oslo", "Bari"), delivery="b", final=False)
    before = campaign.log()
    with pytest.raises(
        ProtocolError, match="the rows of entry 3 have other columns than those delivered since"
    ) as error:
        campaign.undo(undone.entry, reason="a was right")
    assert "deliver them again" in str(error.value)
    assert campaign.log() == before
    assert campaign.tell_table(table(0, "Oslo", "Rome"), final=False).rows == 12
    recomputed(campaign)
