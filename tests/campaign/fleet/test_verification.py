"""A fleet campaign is compared with its log, segment by segment; damage is found."""

import zlib
from typing import Any

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.errors import StateFileError
from driftpace.storage import MemoryStore
from tests.campaign.fleet.shops import Market, create, work


def worked(**values: Any) -> MemoryStore:
    store = MemoryStore()
    campaign, market = create(store, **values), Market()
    work(campaign, market, "a")
    campaign.tell(market.rows(campaign.ask(key="b").segments.missing), final=False)
    campaign.undo(period=None, entry=campaign.log(kinds=("delivered",))[-1].seq, reason="wrong")
    return store


def reopened(store: MemoryStore) -> FleetCampaign:
    return FleetCampaign.open("shops", storage=store)


def test_a_campaign_agrees_with_its_log_to_the_bit() -> None:
    store = worked()
    found = compare_with_log(reopened(store))
    assert (found.problem, found.exact, found.segments) == (None, True, 3)


def test_rows_that_were_not_kept_cannot_be_recomputed() -> None:
    store = MemoryStore()
    campaign = create(store, keep_rows=False)
    work(campaign, Market(), "a")
    found = compare_with_log(campaign)
    assert (found.problem, found.recomputed) == (None, False)


@pytest.mark.parametrize("what", ["segments", "rows", "log", "state"])
def test_damage_is_found(what: str) -> None:
    store = worked()
    record = store._campaigns["shops"]
    saved = [entry.seq for entry in store.entries("shops", kinds=("saved",)) if "chunk" in entry.body]
    if what == "segments":
        last = max(seq for seq in saved if seq in record.rows)
        record.rows[last] = zlib.compress(zlib.decompress(record.rows[last]).replace(b'"rows_seen":', b'"rows_seen":1'))
    elif what == "rows":
        del record.rows[next(entry.seq for entry in store.entries("shops", kinds=("delivered",)))]
    elif what == "log":
        del record.log[3]
    else:
        record.checkpoint = record.checkpoint[:20]
    try:
        problem = compare_with_log(reopened(store)).problem
    except StateFileError as error:
        problem = str(error)
    assert problem is not None
    expected = {"segments": "damaged", "rows": "missing", "log": "gap", "state": "cannot be read"}
    assert expected[what] in problem
