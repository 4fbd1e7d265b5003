"""A fleet campaign in a file: it goes on elsewhere with the same bits, and a file that was edited is refused."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.export_import import export_campaign, import_campaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.errors import ParameterError, StateFileError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from tests.campaign.fleet.shops import Market, bits, create, work


def worked(store: Store, **values: Any) -> FleetCampaign:
    """Return a campaign with a closed period, an undo, and rows of an open period."""
    campaign, market = create(store, budget={"total": 300, "horizon": 5}, **values), Market()
    work(campaign, market, "a")
    campaign.tell(market.rows(campaign.ask(key="b").segments.missing), final=False, delivery="wrong")
    campaign.undo(delivery="wrong", reason="wrong")
    campaign.tell(market.rows({"Oslo": 4}), final=False, delivery="right")
    return campaign


def fleet_of(campaign: Any) -> FleetCampaign:
    assert isinstance(campaign, FleetCampaign)
    return campaign


def test_a_campaign_goes_on_in_another_store(store: Store, tmp_path: Path) -> None:
    campaign = worked(MemoryStore())
    export_campaign(campaign, tmp_path / "shops.file")
    copy = fleet_of(import_campaign(tmp_path / "shops.file", storage=store, who="anna"))
    assert bits(copy) == bits(campaign)
    assert copy.status().money_left == campaign.status().money_left
    assert [row.to_values() for row in copy.segments] == [row.to_values() for row in campaign.segments]
    assert copy.log(kinds=("imported",))[0].body["who"] == "anna"
    for one in (copy, campaign):
        one.tell(Market(seed=7).rows({"Rome": 9, "Turin": 9}), final=True)
    assert bits(FleetCampaign.open("shops", storage=store)) == bits(campaign)
    assert compare_with_log(copy).exact
    copy.undo(period=2, reason="more")
    assert compare_with_log(copy).exact


def test_under_another_name_the_past_can_be_undone(store: Store, tmp_path: Path) -> None:
    campaign = worked(MemoryStore())
    export_campaign(campaign, tmp_path / "shops.file")
    copy = fleet_of(import_campaign(tmp_path / "shops.file", storage=store, name="copy"))
    copy.undo(delivery="right", reason="wrong")
    undone = copy.undo(period=1, reason="more rows")
    assert undone.status.name == "copy"
    assert copy.definition.name == "copy"
    assert copy.tell(final=True).order.campaign == "copy"
    assert compare_with_log(fleet_of(FleetCampaign.open("copy", storage=store))).problem is None
    with pytest.raises(ParameterError, match="a campaign named 'copy' exists"):
        import_campaign(tmp_path / "shops.file", storage=store, name="copy")


def test_rows_that_are_not_kept_are_not_needed(tmp_path: Path) -> None:
    campaign, market = create(MemoryStore(), keep_rows=False), Market()
    work(campaign, market, "a")
    campaign.tell(market.rows(campaign.ask(key="b").segments.missing), final=False)
    export_campaign(campaign, tmp_path / "shops.file")
    copy = fleet_of(import_campaign(tmp_path / "shops.file", storage=MemoryStore()))
    assert bits(copy) == bits(campaign)
    received = [one.tell(final=True).order.received for one in (copy, campaign)]
    assert received[0] == received[1] > 0
    assert bits(copy) == bits(campaign)


def edited(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change a file and its checksum, as one who wants it to pass would."""
    import hashlib

    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    change(lines)
    body = [json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n" for line in lines[:-1]]
    lines[-1]["sha256"] = hashlib.sha256(b"".join(body)).hexdigest()
    last = json.dumps(lines[-1], sort_keys=True, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(gzip.compress(b"".join(body) + last))


def swapped(lines: list[dict[str, Any]]) -> None:
    """Exchange the rows of deliveries of two periods, hashes and all."""
    one, *_, other = (line for line in lines if line.get("kind") == "delivered")
    one["rows"], other["rows"] = other["rows"], one["rows"]
    one["body"]["rows_hash"], other["body"]["rows_hash"] = other["body"]["rows_hash"], one["body"]["rows_hash"]


def without_segments(lines: list[dict[str, Any]]) -> None:
    next(line for line in reversed(lines) if line.get("kind") == "saved" and line["rows"])["rows"] = None


def cheaper(lines: list[dict[str, Any]]) -> None:
    lines[1]["body"]["definition"]["budget"]["total"] = 900


@pytest.mark.parametrize("change", [swapped, without_segments, cheaper])
def test_a_file_that_was_edited_is_refused(change: Callable[[list[dict[str, Any]]], None], tmp_path: Path) -> None:
    path = tmp_path / "shops.file"
    export_campaign(worked(MemoryStore()), path)
    edited(path, lambda lines: None)
    import_campaign(path, storage=MemoryStore())  # an unchanged one passes
    edited(path, change)
    store = MemoryStore()
    with pytest.raises(StateFileError, match=r"'shops\.file'") as error:
        import_campaign(path, storage=store)
    assert "\n" not in str(error.value)
    assert store.count() == 0


def test_an_export_while_another_process_writes_has_one_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The chunks that a checkpoint names are replaced while they are read; the export starts again."""
    store = MemoryStore()
    campaign = worked(store)
    other = FleetCampaign.open("shops", storage=store)
    checkpoint = store.checkpoint
    raced: list[str] = []

    def late(name: str) -> Any:
        record = checkpoint(name)
        if not raced:
            raced.append(name)
            other.tell(Market(seed=9).rows({"Rome": 5}), final=False)
        return record

    monkeypatch.setattr(store, "checkpoint", late)
    export_campaign(campaign, tmp_path / "shops.file")
    copy = fleet_of(import_campaign(tmp_path / "shops.file", storage=MemoryStore()))
    assert bits(copy) == bits(other)
