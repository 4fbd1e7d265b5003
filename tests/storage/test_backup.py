"""A backup has everything that was acknowledged when it began, while others write, and is restored to both kinds of store."""

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import ParameterError, StorageError, StorageNotFoundError
from driftpace.storage import open_store
from driftpace.storage.backup import back_up, read_backup, restore
from driftpace.storage.seal import broken_seals, make_seal
from tests.storage.releases.cases import CAMPAIGNS, fill

AT = "2026-11-19T10:00:00.000Z"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def test_a_backup_of_a_store_in_use_is_whole_and_restored(url: str, tmp_path: Path) -> None:
    store = open_store(url)  # stays open: everything may be in the write-ahead log
    fill(store)
    seal = make_seal(store, CAMPAIGNS, at=AT)
    path = tmp_path / "monday.backup"
    backup = back_up(url, path)
    assert (backup.campaigns, backup.entries) == (len(CAMPAIGNS), sum(head.seq for head in store.heads()))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.glob("*.part*")] == []
    restored = open_store(path)
    assert broken_seals(seal, restored) == []
    verdicts = {name: verify_campaign(name, restored).verdict for name in CAMPAIGNS}
    assert set(verdicts.values()) == {CheckVerdict.PASS, CheckVerdict.WARN}
    assert [token.name for token in restored.tokens()] == ["desk"]
    assert restored.refusals("prices") == store.refusals("prices")
    restored.close()
    store.close()


def test_a_backup_is_restored_to_a_new_file(tmp_path: Path) -> None:
    store = open_store(tmp_path / "labels.db")
    fill(store)
    seal = make_seal(store, CAMPAIGNS, at=AT)
    store.close()
    back_up(tmp_path / "labels.db", tmp_path / "a.backup")
    with pytest.raises(ParameterError, match=r"must be a place without a store; .* exists; move it away first"):
        restore(tmp_path / "a.backup", tmp_path / "labels.db")
    (tmp_path / "left.db-wal").write_bytes(b"changes of a file that was removed")
    with pytest.raises(ParameterError, match=r"has a file left\.db-wal; move it away first"):
        restore(tmp_path / "a.backup", tmp_path / "left.db")
    restore(tmp_path / "a.backup", tmp_path / "again.db")
    again = open_store(tmp_path / "again.db", create=False)
    assert broken_seals(seal, again) == []
    campaign = Campaign.open("prices", storage=again)
    campaign.tell([[0.1, 0.2]], [0.3], ids=["4-0-3"], final=False)  # it goes on
    assert verify_campaign("prices", again).verdict is CheckVerdict.PASS
    again.close()
    assert stat.S_IMODE((tmp_path / "again.db").stat().st_mode) == 0o600


def test_a_backup_is_restored_to_an_empty_postgres_database(postgres_url: str, tmp_path: Path) -> None:
    store = open_store(tmp_path / "labels.db")
    fill(store)
    seal = make_seal(store, CAMPAIGNS, at=AT)
    store.close()
    back_up(tmp_path / "labels.db", tmp_path / "a.backup")
    restore(tmp_path / "a.backup", postgres_url)
    again = open_store(postgres_url)
    assert broken_seals(seal, again) == []
    Campaign.create({"name": "another", "epsilon": 0.1}, storage=again)  # numbers go on behind those that were copied
    Campaign.open("prices", storage=again).tell([[0.1, 0.2]], [0.3], ids=["4-0-3"], final=False)
    assert verify_campaign("prices", again).verdict is CheckVerdict.PASS
    again.close()
    with pytest.raises(ParameterError, match="the database has campaigns or tokens"):
        restore(tmp_path / "a.backup", postgres_url)


def test_backups_taken_while_others_write_are_prefixes(url: str, tmp_path: Path) -> None:
    store = open_store(url)
    campaign = Campaign.create({"name": "prices", "epsilon": 0.1, "seed": 0}, storage=store)
    campaign.ask()
    told: list[int] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            place = len(told)
            campaign.tell([[0.1 * place, 1.0]], [0.5], delivery=f"{place}.csv", final=False)
            told.append(place)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for place in range(3):
            before = len(told)
            back_up(url, tmp_path / f"{place}.backup")
            copy = open_store(tmp_path / f"{place}.backup")
            names = [entry.key for entry in copy.entries("prices", kinds=("delivered",))]
            assert verify_campaign("prices", copy).verdict is CheckVerdict.PASS
            copy.close()
            assert len(names) >= before
            assert names == [f"{one}.csv" for one in range(len(names))]
    finally:
        stop.set()
        writer.join()
    store.close()


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageNotFoundError, match="there is no store"):
        back_up(tmp_path / "none.db", tmp_path / "a.backup")
    assert not (tmp_path / "a.backup").exists()
    open_store(tmp_path / "labels.db").close()
    (tmp_path / "taken").touch()
    with pytest.raises(ParameterError, match="must be a new file"):
        back_up(tmp_path / "labels.db", tmp_path / "taken")
    with pytest.raises(ParameterError, match="begins with 'memory'"):
        back_up("memory://", tmp_path / "a.backup")
    (tmp_path / "text").write_text("a text, not a backup of a store\n" * 100)
    with pytest.raises(StorageError, match="is not a store"):
        read_backup(tmp_path / "text")
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE cats (name)").connection.close()
    with pytest.raises(StorageError, match="is not a backup of a store"):
        read_backup(tmp_path / "other.db")
    back_up(tmp_path / "labels.db", tmp_path / "b.backup")
    data = bytearray((tmp_path / "b.backup").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 4096] = b"\xff" * 4096
    (tmp_path / "b.backup").write_bytes(data)
    with pytest.raises(StorageError, match=r"damaged|is not a store"):
        restore(tmp_path / "b.backup", tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()
