"""A store that goes away in the middle of a delivery: one sentence, nothing half written, and the same file counts once later."""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from driftpace import FleetCampaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.errors import StorageError
from driftpace.storage import MemoryStore, open_store
from tests.campaign.fleet.shops import Market, bits, create
from tests.reference.postgres import Server
from tests.reference.small_disk import in_a_small_file_system

FILES = 3


def deliver(campaign: FleetCampaign, number: int) -> None:
    """Deliver one of the files of the first period; the last one closes it."""
    rows = Market(seed=number).rows({"Oslo": 12, "Rome": 12, "Turin": 12})
    campaign.tell(rows, delivery=f"file-{number}", final=number == FILES - 1)


def expected() -> str:
    campaign = create(MemoryStore())
    campaign.ask(key="W0")
    for number in range(FILES):
        deliver(campaign, number)
    return bits(campaign)


@contextmanager
def opened(path: Path) -> Iterator[FleetCampaign]:
    store = open_store(str(path))
    try:
        yield FleetCampaign.open("shops", storage=store)
    finally:
        store.close()


@contextmanager
def before_statement(number: int, happens: Callable[[], None]) -> Iterator[list[int]]:
    """Let something happen before a statement to the database; yield a list with the number of statements so far."""
    seen = [0]

    def count(*_: object) -> None:
        seen[0] += 1
        if seen[0] == number:
            happens()

    names = ("before_cursor_execute", "commit")
    for name in names:
        event.listen(Engine, name, count)
    try:
        yield seen
    finally:
        for name in names:
            event.remove(Engine, name, count)


def test_a_server_that_stops_in_the_middle_of_a_delivery(
    own_postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("driftpace.storage.sql.connections.RECONNECTING", 0.2)  # no patience
    server, wanted = own_postgres_server, expected()
    store = open_store(server.url())
    create(store).ask(key="W0")
    campaign = FleetCampaign.open("shops", storage=store)
    before = bits(campaign)
    with before_statement(0, lambda: None) as statements:
        deliver(campaign, 0)
    whole = statements[0]
    assert whole > 5
    first = bits(campaign)
    assert first != before
    stopped = 0
    for at in {1, 2, whole // 2, whole - 1, whole}:
        with before_statement(at, lambda: server.stop(signal.SIGQUIT)), pytest.raises(StorageError, match="the server"):
            deliver(campaign, 1)
        server.start()
        other = open_store(server.url())
        again = FleetCampaign.open("shops", storage=other)
        assert bits(again) == first
        assert [entry.key for entry in again.log(kinds=("delivered",))] == ["file-0"]
        assert compare_with_log(again).problem is None
        other.close()
        stopped += 1
    assert stopped == 5
    for number in range(FILES):  # all that may not have counted is sent again, by the campaign that saw the server go
        deliver(campaign, number)
    assert bits(campaign) == wanted
    store.close()


_FULL = """
import sys
from pathlib import Path
from driftpace import FleetCampaign
from driftpace.errors import StorageError
from driftpace.storage import open_store
from tests.campaign.fleet.shops import bits, create
from tests.campaign.fleet.test_store_lost import FILES, deliver, expected

store = open_store(sys.argv[1])
campaign = create(store)
campaign.ask(key="W0")
deliver(campaign, 0)
before, ballast = bits(campaign), Path(sys.argv[2]) / "ballast"
with ballast.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(4096))
    except OSError:
        pass
try:
    deliver(campaign, 1)
except StorageError as error:
    print(error)
again = FleetCampaign.open("shops", storage=store)
assert bits(again) == before
assert [entry.key for entry in again.log(kinds=("delivered",))] == ["file-0"]
ballast.unlink()
for number in range(FILES):
    deliver(campaign, number)
assert bits(campaign) == expected()
store.close()
"""


def test_a_disk_that_is_full_in_the_middle_of_a_delivery(tmp_path: Path) -> None:
    said = in_a_small_file_system(tmp_path, _FULL)
    assert "is full; nothing was written" in said
    assert said.count("\n") == 1


def test_a_file_that_is_removed_in_the_middle_of_a_delivery(tmp_path: Path) -> None:
    """The delivery is refused, no other file appears, and a copy goes on from where it was made."""
    folder, copy = tmp_path / "share", tmp_path / "copy.db"
    folder.mkdir()
    path, wanted = folder / "labels.db", expected()
    store = open_store(str(path))
    campaign = create(store)
    campaign.ask(key="W0")
    deliver(campaign, 0)
    before = bits(campaign)
    store.close()
    shutil.copy(path, copy)
    with opened(copy) as other, before_statement(0, lambda: None) as statements:
        deliver(other, 1)
    whole = statements[0]
    assert whole > 5
    shutil.copy(path, copy)

    def remove() -> None:
        for found in folder.iterdir():
            found.unlink()

    for at in sorted({2, whole // 2, whole - 1}):
        refused = pytest.raises(StorageError, match="was removed")
        with opened(path) as other, before_statement(at, remove), refused:
            deliver(other, 1)
        assert list(folder.iterdir()) == []
        shutil.copy(copy, path)
        with opened(path) as again:
            assert bits(again) == before
    with opened(path) as again:
        for number in range(FILES):
            deliver(again, number)
        assert bits(again) == wanted
