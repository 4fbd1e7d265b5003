"""A campaign carried from store to store as one file."""

import base64
import gzip
import hashlib
import json
import stat
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.export_import import LARGEST_FILE, export_campaign, export_chunks, import_campaign
from driftpace.campaign.packing import unpack_ids, unpack_rows
from driftpace.campaign.state import from_checkpoint, to_checkpoint
from driftpace.errors import DataError, ParameterError, StateFileError
from driftpace.storage import MemoryStore, inflate, open_store
from driftpace.storage.base import Store
from driftpace.storage.inflate import most_bytes
from driftpace.tables import read_columns
from driftpace.tables.label_studio import ROW_FOR, ROW_ID, row_for
from tests.reference.campaigns import begun, rows_of, run_period
from tests.reference.periods import imported


@pytest.fixture
def carried(tmp_path: Path) -> Path:
    """The file of a campaign with two closed periods and one half delivered."""
    campaign = begun(MemoryStore())
    for period in (1, 2):
        run_period(campaign, period)
    campaign.ask(key="W3")
    campaign.override(25, reason="a fair")
    campaign.tell(*rows_of(3, 0, 4), final=False)
    export_campaign(campaign, tmp_path / "prices.campaign")
    return tmp_path / "prices.campaign"


@pytest.mark.parametrize("name", [None, "other"])
def test_what_is_imported_goes_on_as_it_would_have(store: Store, carried: Path, name: str | None) -> None:
    copy = imported(carried, storage=store, name=name, who="Ada")
    original = imported(carried, storage=MemoryStore())
    assert copy.name == (name or "prices")
    ours, theirs = copy.status(), original.status()
    assert (ours.period, ours.rows, ours.stage, ours.entries) == (
        theirs.period,
        theirs.rows,
        theirs.stage,
        theirs.entries,
    )
    assert ours.order is not None
    assert (ours.order.received, ours.order.samples) == (4, 25)
    head = store.head(copy.name)
    assert head is not None
    assert (head.summary["received"], head.summary["missing"]) == (4, 21), (
        "the list shows the rows of the open period too"
    )
    for campaign in (copy, original):
        campaign.tell(*rows_of(3, 4, 21))
    assert [row.report for row in copy.ledger()] == [row.report for row in original.ledger()]
    *_, (_, folded) = copy.replay()
    assert folded.seq == copy.status().entries
    assert copy.log(kinds=("imported",))[0].body["who"] == "Ada"


def test_a_file_of_an_imported_campaign_can_be_carried_on(carried: Path, tmp_path: Path) -> None:
    campaign = imported(carried, storage=MemoryStore(), name="second")
    export_campaign(campaign, tmp_path / "again")
    third = imported(tmp_path / "again", storage=MemoryStore())
    assert third.name == "second"
    assert len(third.log(kinds=("imported",))) == 2


def test_rows_that_were_drawn_under_the_old_name_are_told_under_the_new_one(tmp_path: Path) -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    for place, name in enumerate(["second", "prices", "third"]):
        export_campaign(campaign, tmp_path / str(place))
        campaign = imported(tmp_path / str(place), storage=MemoryStore(), name=name)
    made_for = [
        row_for("second", 1),
        row_for("prices", 1),
        row_for("third", 1),
        row_for("fourth", 1),
        row_for("prices", 2),
    ]
    table = {ROW_ID: list("abcde"), ROW_FOR: made_for, "x": range(5), "price": range(5)}
    receipt = campaign.tell_table(read_columns(table, owner="test"), final=True)
    assert (receipt.rows, receipt.other_period_rows) == (3, 2)
    *_, (_, folded) = campaign.replay()
    assert to_checkpoint(folded) == (campaign.store.checkpoint("third") or (0, b""))[1]
    campaign.ask()
    late = campaign.tell_table(read_columns({**table, ROW_FOR: [row_for("prices", 2)] * 5}, owner="test"))
    assert (late.rows, late.other_period_rows) == (0, 5)


def test_a_campaign_that_forgets_its_rows_is_carried_without_them(tmp_path: Path) -> None:
    campaign = begun(MemoryStore(), keep_rows=False)
    run_period(campaign, 1)
    export_campaign(campaign, tmp_path / "file")
    copy = imported(tmp_path / "file", storage=MemoryStore())
    assert copy.ask().request == campaign.ask().request


def test_a_period_that_is_closed_and_forgotten_during_an_export_is_carried_as_it_was(tmp_path: Path) -> None:
    campaign = begun(MemoryStore(), keep_rows=False)
    campaign.ask()
    campaign.tell(*rows_of(1, 0, 4), final=False)
    pieces = export_chunks(campaign)
    first = next(pieces)
    campaign.tell(final=True)
    (tmp_path / "file").write_bytes(first + b"".join(pieces))
    order = imported(tmp_path / "file", storage=MemoryStore()).status().order
    assert order is not None
    assert order.received == 4


def test_the_same_campaign_gives_the_same_bytes(carried: Path, tmp_path: Path) -> None:
    store = open_store(tmp_path / "a.db")
    campaign = imported(carried, storage=store)
    export_campaign(campaign, tmp_path / "one")
    export_campaign(campaign, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    store.close()


def test_a_name_that_is_taken_is_refused(store: Store, carried: Path) -> None:
    begun(store)
    with pytest.raises(
        ParameterError, match=r"import\(name=\.\.\.\) must not be taken; a campaign named 'prices' exists"
    ):
        import_campaign(carried, storage=store)
    assert Campaign.open("prices", storage=store).status().entries == 1


def test_a_dry_run_reads_everything_and_writes_nothing(store: Store, carried: Path) -> None:
    import_campaign(carried, storage=store, dry_run=True)
    assert store.head("prices") is None


def test_a_file_that_was_cut_anywhere_is_refused(carried: Path, tmp_path: Path) -> None:
    whole = carried.read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 60)):
        (tmp_path / "cut").write_bytes(whole[:size])
        store = MemoryStore()
        with pytest.raises(StateFileError, match=r"'cut' (is truncated, or not|is not a campaign)"):
            import_campaign(tmp_path / "cut", storage=store)
        assert store.count() == 0


def test_a_file_in_which_something_was_changed_is_refused(carried: Path, tmp_path: Path) -> None:
    lines = gzip.decompress(carried.read_bytes()).splitlines()
    for place in (1, 3, len(lines) - 1):
        changed = list(lines)
        value = json.loads(changed[place])
        if "at" in value:
            value["at"] = "2020-01-01T00:00:00.000Z"
        else:
            value["sha256"] = "0" * 64
        changed[place] = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        (tmp_path / "edited").write_bytes(gzip.compress(b"\n".join(changed) + b"\n"))
        with pytest.raises(StateFileError, match="edited"):
            import_campaign(tmp_path / "edited", storage=MemoryStore())


def test_a_log_whose_checksum_was_made_to_fit_must_still_lead_to_its_state(carried: Path, tmp_path: Path) -> None:
    values = [json.loads(line) for line in gzip.decompress(carried.read_bytes()).splitlines()]
    place = next(at for at, value in enumerate(values) if value.get("kind") == "overridden")
    values[place]["body"]["samples"] = 1
    (tmp_path / "forged").write_bytes(_forged(values))
    with pytest.raises(StateFileError, match="its log leads to another state"):
        import_campaign(tmp_path / "forged", storage=MemoryStore())


@pytest.mark.parametrize(
    "edit", ["no entries", "a number as key", "an entry without a body", "a request of another shape"]
)
def test_forged_files_of_another_shape_are_refused_in_one_sentence(carried: Path, tmp_path: Path, edit: str) -> None:
    values = [json.loads(line) for line in gzip.decompress(carried.read_bytes()).splitlines()]
    if edit == "no entries":
        values = [{**values[0], "entries": 0}, values[-1]]
    elif edit == "a number as key":
        values[-2]["key"] = -1
    elif edit == "an entry without a body":
        values[-2]["body"] = 3
    else:
        checkpoint = json.loads(zlib.decompress(base64.b64decode(values[-1]["checkpoint"])))
        checkpoint["opened"]["request"]["assumptions"] = [0]
        data = zlib.compress(json.dumps(checkpoint, sort_keys=True, separators=(",", ":")).encode(), 1)
        values[-1]["checkpoint"] = base64.b64encode(data).decode()
    (tmp_path / "forged").write_bytes(_forged(values))
    store = MemoryStore()
    with pytest.raises(StateFileError) as caught:
        import_campaign(tmp_path / "forged", storage=store)
    assert "\n" not in str(caught.value)
    assert store.count() == 0


def test_endless_nesting_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep").write_bytes(gzip.compress(b"[" * 200_000 + b"\n"))
    with pytest.raises(StateFileError, match="'deep' is truncated, or not an exported campaign"):
        import_campaign(tmp_path / "deep", storage=MemoryStore())


def _forged(values: list[dict[str, Any]]) -> bytes:
    """Return the lines of an export as a file whose checksum fits them."""
    texts = [json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n" for value in values[:-1]]
    last = {**values[-1], "sha256": hashlib.sha256(b"".join(texts)).hexdigest()}
    texts.append(json.dumps(last, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    return gzip.compress(b"".join(texts))


def test_a_newer_version_is_named(carried: Path, tmp_path: Path) -> None:
    lines = gzip.decompress(carried.read_bytes()).splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"version":1', b'"version":9')
    (tmp_path / "newer").write_bytes(gzip.compress(b"".join(lines)))
    with pytest.raises(StateFileError, match="has version 9 and this driftpace reads version 1; upgrade driftpace"):
        import_campaign(tmp_path / "newer", storage=MemoryStore())


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"import\(path=\.\.\.\) must be a file written by export"):
        import_campaign(tmp_path, storage=MemoryStore())


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    """A gigabyte of spaces in one line of JSON takes a megabyte as gzip."""
    bomb = tmp_path / "bomb"
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = json.dumps({"format": "driftpace-campaign", "version": 1, "name": "a", "entries": 9}).encode() + b"\n"
    parts = [packer.compress(head), *(packer.compress(b" " * (1 << 24)) for _ in range(64)), packer.flush()]
    bomb.write_bytes(b"".join(parts))
    tracemalloc.start()
    try:
        with pytest.raises(StateFileError, match=r"'bomb' is truncated.*: it unpacks to more than [\d,]+ bytes"):
            import_campaign(bomb, storage=MemoryStore())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * most_bytes(bomb.stat().st_size)


def test_rows_that_unpack_to_gigabytes_are_refused() -> None:
    packed = zlib.compressobj(9)
    bomb = b"".join([*(packed.compress(bytes(1 << 24)) for _ in range(64)), packed.flush()])
    assert most_bytes(len(bomb)) < 1 << 30
    for read in (unpack_rows, unpack_ids, lambda data: from_checkpoint(1, data)):
        with pytest.raises(StateFileError, match="it unpacks to more than"):
            read(bomb)


def test_what_a_piece_may_unpack_to_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert most_bytes(1 << 40) == inflate.LARGEST == 1 << 30
    assert most_bytes(1 << 40, largest=LARGEST_FILE) == 16 << 30
    monkeypatch.setattr(inflate, "LARGEST", 100)
    assert inflate.inflate(inflate.deflate(bytes(100))) == bytes(100)
    with pytest.raises(DataError, match=r"rows must be at most 100 bytes in one delivery; got 101."):
        inflate.deflate(bytes(101))


def test_a_delivery_that_could_not_be_read_again_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = begun(MemoryStore())
    campaign.ask(key="W1")
    entries = campaign.status().entries
    monkeypatch.setattr(inflate, "LARGEST", 1_000)
    with pytest.raises(DataError, match=r"must be at most 1,000 bytes in one delivery; got"):
        campaign.tell(*rows_of(1, 0, 200), final=False)
    monkeypatch.undo()
    assert campaign.status().entries == entries


def test_an_exported_file_can_be_read_by_its_owner_only(carried: Path) -> None:
    assert stat.S_IMODE(carried.stat().st_mode) == 0o600
