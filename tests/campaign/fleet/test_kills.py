"""kill -9 at any statement to the database: what was acknowledged is kept, and the next process goes on as if nothing was."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from driftpace import FleetCampaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.storage import MemoryStore, open_store
from tests.campaign.fleet.shops import Market, bits, create

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

STEPS = 6
EVERY = 7
"""Of the statements of a whole run, one in so many is where a process is killed."""


def step(campaign: FleetCampaign, number: int) -> None:
    """Do one step of a script: two periods, each asked for, filled by two files and closed; again it changes nothing."""
    period, what = divmod(number, 3)
    key = f"W{period}"
    if what == 0:
        campaign.ask(key=key)
        return
    if any(closed.key == key for closed in campaign.ledger()):
        return
    rows = Market(seed=number).rows({"Oslo": 12, "Rome": 12, "Turin": 12} if what == 1 else {"Oslo": 3})
    campaign.tell(rows, delivery=f"file-{number}", final=what == 2)


def work(place: str, acknowledged: str, killed_at: int) -> None:
    """Run the script from its start, noting each step that is done; the process dies at a statement."""
    seen = 0

    def count(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)

    for name in ("before_cursor_execute", "commit"):
        event.listen(Engine, name, count)
    campaign = FleetCampaign.open("shops", storage=place)
    with open(acknowledged, "a") as file:
        for number in range(STEPS):
            step(campaign, number)
            file.write(f"{number}\n")
            file.flush()
        file.write(f"statements {seen}\n")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "labels.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def run(place: str, notes: Path, killed_at: int) -> int:
    process = multiprocessing.get_context("fork").Process(target=work, args=(place, str(notes), killed_at))
    process.start()
    process.join(300)
    assert process.exitcode is not None
    return process.exitcode


def expected() -> tuple[str, list[object]]:
    """Return what the script leads to where nobody is killed, and warm the kernels that the processes use."""
    campaign = create(MemoryStore())
    for number in range(STEPS):
        step(campaign, number)
    return bits(campaign), [row.to_values() for row in campaign.segments]


def test_a_killed_process_loses_nothing_that_was_acknowledged(place: str, tmp_path: Path) -> None:
    wanted = expected()
    whole = tmp_path / "whole"
    store = open_store(str(tmp_path / "count.db"))
    create(store)
    store.close()
    assert run(str(tmp_path / "count.db"), whole, 0) == 0
    statements = int(whole.read_text().split()[-1])
    assert statements > 50
    store = open_store(place)
    create(store)
    store.close()
    notes = tmp_path / "notes"
    kills = 0
    for killed_at in range(1, statements, EVERY):
        done = set(notes.read_text().split()) if notes.exists() else set()
        kills += run(place, notes, killed_at) == -signal.SIGKILL
        store = open_store(place)
        campaign = FleetCampaign.open("shops", storage=store)
        if {"2"} <= done:
            assert [period.key for period in campaign.ledger()][:1] == ["W0"]
        names = {entry.key for entry in campaign.log(kinds=("delivered",))}
        assert {f"file-{number}" for number in (1, 2, 4, 5) if str(number) in done} <= names
        assert len(names) == len(campaign.log(kinds=("delivered",)))
        store.close()
    assert kills > 3
    assert run(place, notes, 0) == 0
    store = open_store(place)
    campaign = FleetCampaign.open("shops", storage=store)
    assert (bits(campaign), [row.to_values() for row in campaign.segments]) == wanted
    assert compare_with_log(campaign).problem is None
    store.close()
