"""Only chunks of segments that changed are written again; what is no longer needed is deleted."""

from collections import Counter
from typing import Any

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet import draft, state
from driftpace.errors import StorageError
from driftpace.storage import MemoryStore
from driftpace.storage.base import Entry
from tests.campaign.fleet.shops import Market, bits, create, work

NAMES = tuple(f"shop-{place}" for place in range(7))


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "CHUNK", 2)
    monkeypatch.setattr(draft, "CHUNK", 2)


def chunks(entries: list[Entry]) -> list[int]:
    return [entry.body["chunk"] for entry in entries if entry.kind == "saved" and "chunk" in entry.body]


def test_only_chunks_that_changed_are_written() -> None:
    store = MemoryStore()
    campaign, market = create(store, segments=NAMES), Market()
    campaign.ask()
    campaign.tell(market.rows(dict.fromkeys(NAMES, 3)), final=False)
    before = len(store.entries("shops"))
    campaign.fleet()
    campaign.tell(market.rows({"shop-4": 2}), final=False)
    assert "shop-4" in campaign.segments.missing
    written = chunks(store.entries("shops", after=before))
    assert 3 in written
    assert Counter(written).most_common(1)[0][1] == 1


def test_what_no_state_needs_is_deleted() -> None:
    """The rows in the store are those of the log, of the current state, and of the two that an undo starts from."""
    store = MemoryStore()
    campaign, market = create(store, segments=NAMES), Market()
    sizes = []
    for key in "abcdef":
        work(campaign, market, key)
        saved = [entry.seq for entry in store.entries("shops", kinds=("saved",))]
        sizes.append(len(store.rows("shops", saved)))
    assert sizes[-1] == sizes[2] == 2 * (4 + 1)


def test_a_reader_reads_the_chunk_of_its_segment_alone() -> None:
    store = MemoryStore()
    work(create(store, segments=NAMES), Market(), "a")
    asked: list[int] = []
    rows = store.rows

    def counted(name: str, seqs: Any) -> dict[int, bytes]:
        asked.extend(seqs)
        return rows(name, seqs)

    store.rows = counted  # type: ignore[method-assign]
    reader = FleetCampaign.open("shops", storage=store)
    assert reader.status().segments["shop-4"].last == "met"
    assert asked == []
    assert reader.segment("shop-4").coef is not None
    assert len(asked) == 1


def test_a_write_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    campaign, market = create(store, segments=NAMES), Market()
    campaign.ask(key="a")
    rows, before = market.rows(dict.fromkeys(NAMES, 10)), bits(campaign)

    def gone(*_: Any) -> int:
        raise StorageError("the server is gone.")

    with monkeypatch.context() as broken:
        broken.setattr(store, "append", gone)
        with pytest.raises(StorageError):
            campaign.tell(rows, final=True)
    assert bits(campaign) == bits(FleetCampaign.open("shops", storage=store)) == before
    assert campaign.tell(rows, final=True).rows == 70


def test_missing_segments_are_named() -> None:
    store = MemoryStore()
    work(create(store, segments=NAMES), Market(), "a")
    reader = FleetCampaign.open("shops", storage=store)
    store._campaigns["shops"].rows = {}
    with pytest.raises(StorageError, match="are missing; run driftpace doctor"):
        reader.segment("shop-1")
    with pytest.raises(StorageError, match="are missing; run driftpace doctor"):
        reader.ask(key="b")


def test_a_reader_goes_on_where_a_writer_replaced_what_it_was_reading() -> None:
    store = MemoryStore()
    campaign, market = create(store, segments=NAMES), Market()
    work(campaign, market, "a")
    reader = FleetCampaign.open("shops", storage=store)
    assert len(reader.segments) == 7
    held = reader._handle.load()
    for key in "bcd":
        work(campaign, market, key)
    reader._handle._known = held
    assert len(reader.segment("shop-1").history) == 4
