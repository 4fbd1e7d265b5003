"""The status of a campaign is read from its checkpoint alone; damaged or newer checkpoints are left to the campaign."""

import json
import zlib
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.records import CHECKPOINT_VERSION
from driftpace.campaign.status import StatusSnapshot
from driftpace.storage import MemoryStore
from driftpace.storage.base import Head
from tests.reference.campaigns import BUDGET, begun, run_period


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    """A store with a campaign in its second period, with a budget, and a new one."""
    store = MemoryStore()
    campaign = begun(store, budget=BUDGET)
    run_period(campaign, 1)
    campaign.ask(key="W2")
    begun(store, name="new")
    return store


def checkpoint_of(store: MemoryStore, name: str) -> tuple[Head, bytes]:
    head, record = store.head(name), store.checkpoint(name)
    assert head is not None
    assert record is not None
    return head, record[1]


def body_of(checkpoint: bytes) -> dict[str, Any]:
    return dict(json.loads(zlib.decompress(checkpoint)))


@pytest.mark.parametrize(("name", "last_key"), [("prices", "W1"), ("new", None)])
def test_the_snapshot_equals_the_status_of_the_campaign(store: MemoryStore, name: str, last_key: str | None) -> None:
    head, checkpoint = checkpoint_of(store, name)
    snapshot = StatusSnapshot.of_checkpoint(head, checkpoint)
    status = Campaign.open(name, storage=store).status()
    assert snapshot is not None
    assert repr(snapshot.order) == repr(status.order)  # compared as text because an unknown target is NaN
    assert repr(snapshot.last) == repr(status.last)
    assert snapshot.last_key == last_key
    assert body_of(checkpoint)["version"] == CHECKPOINT_VERSION


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: zlib.compress(b"[]"),
        lambda data: zlib.compress(b"{}"),
        lambda data: zlib.compress(b"\xff"),
        lambda data: zlib.compress(json.dumps({**body_of(data), "version": CHECKPOINT_VERSION + 1}).encode()),
        lambda data: zlib.compress(json.dumps({**body_of(data), "opened": {}}).encode()),
        lambda data: zlib.compress(
            json.dumps({**body_of(data), "last": {"!": "record", "type": "os:system"}}).encode()
        ),
    ],
    ids=["empty", "half", "a list", "no keys", "no text", "a later version", "no order", "no report"],
)
def test_damaged_checkpoints_have_no_snapshot(store: MemoryStore, spoil: Any) -> None:
    head, checkpoint = checkpoint_of(store, "prices")
    assert StatusSnapshot.of_checkpoint(head, checkpoint) is not None
    assert StatusSnapshot.of_checkpoint(head, spoil(checkpoint)) is None
