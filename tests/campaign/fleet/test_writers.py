"""Several processes write one fleet campaign at once: each delivery counts once, none is lost, and the log leads to the state."""

import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet.verification import compare_with_log
from driftpace.storage import MemoryStore, open_store
from tests.campaign.fleet.shops import Market, bits, create, work

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

WRITERS = 4
FILES = 5
SHOPS = tuple(f"shop {place:03d}" for place in range(140))
"""More than one chunk of segments is kept in a store."""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "labels.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def rows_of(writer: int, file: int) -> dict[str, Any]:
    """Return the rows of a file: of shops in both chunks, one shop of every writer among them."""
    names = (f"shop {writer:03d}", f"shop {130 + file:03d}", f"new {writer}")
    return Market(seed=10 * writer + file).rows(dict.fromkeys(names, 2))


def write(place: str, writer: int, ready: Any) -> None:
    """Ask, deliver files of its own and of the writer before, and ask again."""
    store = open_store(place)
    campaign = FleetCampaign.open("shops", storage=store)
    ready.wait(120)
    for file in range(FILES):
        for owner in (writer, (writer - 1) % WRITERS):
            name = f"file {owner}/{file}"
            campaign.tell(rows_of(owner, file), delivery=name, final=False, who=f"writer {writer}")
        campaign.ask(key="a")
    store.close()


def test_writers_at_once(place: str) -> None:
    work(create(MemoryStore()), Market(), "a")  # the kernels that the processes use are compiled
    store = open_store(place)
    create(store, segments=SHOPS, budget={"total": 10**6, "horizon": 3}).ask(key="a")
    store.close()
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(WRITERS)
    crew = [context.Process(target=write, args=(place, writer, ready)) for writer in range(WRITERS)]
    for one in crew:
        one.start()
    for one in crew:
        one.join(500)
    assert [one.exitcode for one in crew] == [0] * WRITERS
    store = open_store(place)
    campaign = FleetCampaign.open("shops", storage=store)
    delivered = campaign.log(kinds=("delivered",))
    assert sorted(str(entry.key) for entry in delivered) == sorted(
        f"file {writer}/{file}" for writer in range(WRITERS) for file in range(FILES)
    )
    received = {row.segment: row.received for row in campaign.segments if row.received}
    assert received == {
        **{f"shop {writer:03d}": 2 * FILES for writer in range(WRITERS)},
        **{f"new {writer}": 2 * FILES for writer in range(WRITERS)},
        **{f"shop {130 + file:03d}": 2 * WRITERS for file in range(FILES)},
    }
    status = campaign.status()
    assert status.committed is not None
    assert status.committed.amount == 6 * WRITERS * FILES
    found = compare_with_log(campaign)
    assert (found.problem, found.exact, found.segments) == (None, True, len(SHOPS) + WRITERS)
    closed = campaign.tell(final=True).closed
    assert closed is not None
    assert closed.received == 6 * WRITERS * FILES
    store.close()


def test_writers_of_different_campaigns_do_not_disturb_each_other(postgres_url: str) -> None:
    """The same rows lead to the same bits in a store that others write, and in one of its own."""
    store = open_store(postgres_url)
    names = ("one", "two")
    campaigns = [create(store, name=name) for name in names]
    markets = [Market(seed=0), Market(seed=0)]
    for key in ("a", "b"):
        for campaign, market in zip(campaigns, markets, strict=True):
            work(campaign, market, key)
    alone = create(MemoryStore(), name="alone")
    market = Market(seed=0)
    for key in ("a", "b"):
        work(alone, market, key)
    assert [bits(FleetCampaign.open(name, storage=store)) for name in names] == [bits(alone)] * 2
    store.close()
