"""Where a campaign stands is read from its checkpoint alone; what is damaged or of another version is left to the campaign."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.snapshot import VERSION, StatusSnapshot
from driftpace.storage.base import Head
from tests.cli.loop import Run, in_store


def kept(name: str) -> tuple[Head, bytes]:
    head, (_, checkpoint) = in_store(lambda store: (store.head(name), store.checkpoint(name)))
    return head, checkpoint


def body_of(checkpoint: bytes) -> dict[str, Any]:
    return dict(json.loads(zlib.decompress(checkpoint)))


@pytest.mark.parametrize("name", ["churn", "Prices"])
def test_it_is_what_the_campaign_says(two: Path, name: str) -> None:
    found = StatusSnapshot.of_checkpoint(*kept(name))
    status = in_store(lambda store: Campaign.open(name, storage=store).status())
    assert found is not None
    assert repr(found.order) == repr(status.order)  # for a target that is not known yet is no number
    assert repr(found.last) == repr(status.last)
    assert found.last_key == ("W1" if name == "churn" else None)
    assert body_of(kept(name)[1])["version"] == VERSION


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: zlib.compress(b"[]"),
        lambda data: zlib.compress(b"{}"),
        lambda data: zlib.compress(b"\xff"),
        lambda data: zlib.compress(json.dumps({**body_of(data), "version": VERSION + 1}).encode()),
        lambda data: zlib.compress(json.dumps({**body_of(data), "opened": {}}).encode()),
        lambda data: zlib.compress(
            json.dumps({**body_of(data), "last": {"!": "record", "type": "os:system"}}).encode()
        ),
    ],
    ids=["nothing", "half", "a list", "no keys", "no text", "a later version", "no order", "no report"],
)
def test_what_is_damaged_is_left_to_the_campaign(two: Path, spoil: Any) -> None:
    head, checkpoint = kept("churn")
    assert StatusSnapshot.of_checkpoint(head, spoil(checkpoint)) is None


def test_a_damaged_checkpoint_is_a_sentence(two: Path, run: Run) -> None:
    import sqlite3

    connection = sqlite3.connect("driftpace.db")
    connection.execute("UPDATE driftpace_checkpoints SET data = x'00'")
    connection.commit()
    connection.close()
    for words in (("status", "churn"), ("ask", "churn"), ("status", "churn", "--format", "json")):
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert "the checkpoint of the campaign cannot be read" in err
