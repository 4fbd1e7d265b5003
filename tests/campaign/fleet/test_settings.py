"""What segments borrow and which targets they have, as the definition of a campaign says."""

from typing import Any

import pytest

from driftpace import Fleet, FleetCampaign, SquaredLoss
from driftpace.campaign.fleet.segment_settings import segment_settings
from driftpace.campaign.fleet.serialization import status_json
from driftpace.campaign.fleet.state import pack_segments
from driftpace.campaign.fleet.text import status_lines
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.errors import DriftpaceError
from driftpace.storage import MemoryStore
from driftpace.tables.columns import from_arrays
from tests.campaign.fleet.shops import DEFINITION, Market, bits, create, work

MANY = tuple(f"shop {place}" for place in range(8))


def worked(borrow: Any) -> FleetCampaign:
    """Return a campaign of eight shops after two periods, with the same rows whatever is borrowed."""
    campaign = create(MemoryStore(), segments=MANY, borrow=borrow)
    for period in range(2):
        campaign.ask(key=f"{period}")
        campaign.tell(Market(seed=period).rows(dict.fromkeys(MANY, 14)), final=True)
    return campaign


@pytest.mark.parametrize("borrow", [True, False, ["start", "drift"]])
def test_segments_borrow_what_the_definition_says(borrow: Any) -> None:
    """The campaign leads to the bits of a fleet with the same parts, and not to those of another."""
    campaign = worked(borrow)
    for parts in (borrow, not borrow):
        fleet = Fleet(
            SquaredLoss(), epsilon=0.1, segment="shop", target="sales", segments=sorted(MANY), borrow=parts, rng=0
        )
        for period in range(2):
            fleet.ask()
            rows = Market(seed=period).rows(dict.fromkeys(MANY, 14))
            fleet.tell({name: values for name, values in rows.items() if name != "id"}, final=False)
            fleet.tell()
        same = pack_segments(fleet.snapshot().segments)[1] == bits(campaign)
        assert same is (parts is borrow)
    assert compare_with_log(campaign).exact


def test_status_says_what_is_borrowed() -> None:
    everything, nothing = create(MemoryStore()).status(), create(MemoryStore(), borrow=False).status()
    assert dict(status_lines(everything))["Borrowing"] == "drift, start, slopes, common"
    assert dict(status_lines(nothing))["Borrowing"].startswith("nothing")
    assert status_json(nothing)["borrow"] == []


def test_segments_have_targets_that_differ() -> None:
    campaign = create(MemoryStore(), epsilon=0.02, epsilons={"Rome": 0.4, "Bari": 0.2})
    work(campaign, Market(), "a")
    assert {row.segment: row.epsilon for row in campaign.segments} == {"Oslo": 0.02, "Rome": 0.4, "Turin": 0.02}
    assert campaign.segments["Rome"].rows < campaign.segments["Oslo"].rows
    campaign.add(["Bari"])
    campaign.ask(key="b")
    assert campaign.segments["Bari"].epsilon == 0.2
    assert (
        campaign.status().target
        == "excess loss at most 0.02, on average, in each segment, 2 segments with targets of their own"
    )
    assert compare_with_log(campaign).exact
    assert FleetCampaign.open("shops", storage=campaign.store).definition.epsilons == {"Rome": 0.4, "Bari": 0.2}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"borrow": "drift"}, "Campaign(borrow=...) must be True, False, or some of 'drift'"),
        ({"borrow": ["levels"]}, "Campaign(borrow=...) must be True, False, or some of 'drift'"),
        ({"segment": None, "borrow": False}, "Campaign(borrow=...) must be left out without segment; got False."),
        ({"segment": None, "epsilons": {"a": 1.0}}, "Campaign(epsilons=...) must be left out without segment"),
        ({"epsilons": {"Oslo": 0.0}}, "Campaign(epsilons=...) must be positive"),
        ({"epsilons": [0.1]}, "Campaign(epsilons=...) must be a table of segments and their targets"),
        ({"epsilon": None, "tolerance": 0.1, "epsilons": {"a": 1.0}}, "must be left out without epsilon"),
    ],
)
def test_settings_that_cannot_be_are_refused(values: dict[str, Any], sentence: str) -> None:
    store = MemoryStore()
    with pytest.raises(DriftpaceError) as error:
        FleetCampaign.create({**DEFINITION, **values}, storage=store)
    assert sentence in str(error.value)
    assert store.count() == 0


def test_a_table_of_segments_has_targets_weights_and_prices() -> None:
    table = {"shop": ["Oslo", "Rome", "Bari"], "epsilon": [0.1, None, 0.3], "per_sample": ["0.10", None, "2"]}
    found = segment_settings(from_arrays({**table, "weight": [None, 2.0, 1.0]}, "test"), "shop", owner="test")
    assert found == {
        "segments": ["Oslo", "Rome", "Bari"],
        "epsilons": {"Oslo": 0.1, "Bari": 0.3},
        "weights": {"Rome": 2.0, "Bari": 1.0},
        "costs": {"Oslo": {"per_sample": "0.10"}, "Bari": {"per_sample": "2"}},
    }


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"epsilon": [0.1]}, "must have the column 'shop'"),
        ({"shop": ["a", "a"], "epsilon": [0.1, 0.2]}, "must name each segment once; got 'a' again"),
        ({"shop": ["a", None], "epsilon": [0.1, 0.2]}, "row 2 has none"),
        ({"shop": ["a"], "epsilom": [0.1]}, "some of epsilon, weight, per_sample, fixed as columns; got 'epsilom'"),
        ({"shop": ["a"], "epsilon": ["low"]}, "column 'epsilon' must hold numbers; got 'low'"),
        ({"shop": ["a"], "weight": [-1.0]}, "must be positive"),
    ],
)
def test_a_table_of_segments_that_cannot_be_used(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DriftpaceError) as error:
        segment_settings(from_arrays(table, "test"), "shop", owner="test")
    assert sentence in str(error.value)
