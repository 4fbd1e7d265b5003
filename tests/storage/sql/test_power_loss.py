"""A loss of power at any moment leaves everything that was acknowledged, nothing twice, and a store that verifies."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.records import CheckVerdict
from driftpace.campaign.verification import verify_campaign
from driftpace.errors import StorageNotFoundError
from driftpace.service.auth import make_token
from driftpace.storage import Store, open_store
from driftpace.storage.sql import sqlite
from tests.reference.power_loss import Choice, Trace, kept_all, kept_none, kept_some, rebuilt, recorded

NAME = "prices"
FILE = "labels.db"


def settings(synchronous: str) -> type[sqlite._Line]:
    """Return connections that write back to the file after a few pages, and sync as ``synchronous`` says instead of FULL."""

    class Line(sqlite._Line):
        def execute(self, text: str, *values: object) -> object:  # type: ignore[override]
            return super().execute(text.replace("synchronous = FULL", f"synchronous = {synchronous}"), *values)  # type: ignore[arg-type]

        def __init__(self, *values: object, **named: object) -> None:
            super().__init__(*values, **named)  # type: ignore[arg-type]
            super().execute("PRAGMA wal_autocheckpoint = 25")

    return Line


def rows(place: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((23, place))
    X = rng.standard_normal((6, 2))
    return X, X @ np.array([1.0, -0.5]) + 0.5 * rng.standard_normal(6)


@dataclass
class Life:
    """A campaign's life, of which every acknowledged change is noted in the trace."""

    trace: Trace
    place: Path
    hashes: list[str] = field(default_factory=list)
    deliveries: int = 0

    def acknowledged(self, store: Store) -> None:
        self.hashes = [entry.hash for entry in store.entries(NAME)]
        self.trace.acknowledge((len(self.hashes), len(store.tokens())))

    def deliver(self, campaign: Campaign, *, final: bool) -> None:
        self.deliveries += 1
        place = self.deliveries
        campaign.tell(*rows(place), ids=[f"{place}-{row}" for row in range(6)], final=final, delivery=f"{place}.csv")
        self.acknowledged(campaign.store)

    def lived(self, periods: int) -> None:
        store = open_store(self.place)
        campaign = Campaign.create({"name": NAME, "epsilon": 0.1, "seed": 0}, storage=store)
        self.acknowledged(store)
        make_token(store, "ada", ["read"])
        self.acknowledged(store)
        for period in range(1, periods + 1):
            campaign.ask(key=f"P{period}")
            self.acknowledged(store)
            with store.turn(NAME):  # a ticket, which is not synced, before and after a change that is
                self.deliver(campaign, final=False)
            with store.turn(NAME):
                pass
            if period == 2:
                store.close()  # writes back to the file, and deletes the write-ahead log
            self.deliver(campaign, final=True)
        campaign.undo(period=periods, reason="too early", who="Ada")
        self.acknowledged(store)
        store.close()


def life(folder: Path, monkeypatch: pytest.MonkeyPatch, *, periods: int, synchronous: str = "FULL") -> Life:
    folder.mkdir()
    monkeypatch.setattr(sqlite, "_Line", settings(synchronous))
    with recorded(folder) as trace:
        one = Life(trace, folder / FILE)
        one.lived(periods)
    return one


@dataclass(frozen=True, slots=True)
class Found:
    """What a rebuilt store has: the hashes of its log, its tokens, and what is wrong with it."""

    hashes: list[str]
    tokens: int
    wrong: str


class Aftermath:
    """Rebuilds folders and opens them, those of the same content once."""

    def __init__(self, one: Life, folder: Path) -> None:
        self._life, self._folder = one, folder
        self._found: dict[str, Found] = {}

    @property
    def opened(self) -> int:
        """How many different folders were opened."""
        return len(self._found)

    def problem(self, count: int, choose: Choice, names_kept: float) -> str:
        """Return what is wrong after a loss of power behind so many events; empty where nothing is."""
        events = self._life.trace.events[:count]
        notes = [event.note for event in events if event.kind == "acknowledged"]
        entries, tokens = notes[-1] if notes else (0, 0)
        found = self._look(rebuilt(events, choose, names_kept))
        if found.wrong:
            return found.wrong
        if found.hashes != self._life.hashes[: len(found.hashes)]:
            return "the log is another one"
        if len(found.hashes) < entries or found.tokens < tokens:
            return f"{entries} entries and {tokens} tokens were acknowledged; {len(found.hashes)} and {found.tokens} are left"
        return ""

    def _look(self, files: dict[str, bytes]) -> Found:
        digest = hashlib.sha256(repr(sorted((name, hash(data)) for name, data in files.items())).encode()).hexdigest()
        if digest not in self._found:
            place = self._folder / f"{len(self._found)}"
            place.mkdir()
            for name, data in files.items():
                (place / name).write_bytes(data)
            self._found[digest] = _state(place / FILE)
        return self._found[digest]


def _state(place: Path) -> Found:
    try:
        store = open_store(place, create=False)
    except StorageNotFoundError:  # not even its name was synced, or no table
        return Found([], 0, "")
    try:
        damage = store.damage()
        if damage:
            return Found([], 0, damage[0].sentence)
        if store.head(NAME) is None:
            return Found([], len(store.tokens()), "")
        verified = verify_campaign(NAME, store)
        keys = [entry.key for entry in store.entries(NAME, kinds=("delivered",))]
        wrong = "" if verified.verdict is CheckVerdict.PASS else verified.sentence
        wrong = wrong or ("a delivery is there twice" if len(keys) > len(set(keys)) else "")
        return Found([entry.hash for entry in store.entries(NAME)], len(store.tokens()), wrong)
    except Exception as error:
        return Found([], 0, f"{type(error).__name__}: {error}")
    finally:
        store.close()


def choices(seed: int, random: int) -> Iterator[tuple[Choice, float]]:
    yield kept_all, 1.0
    yield kept_none, 0.0
    rng = np.random.default_rng(seed)
    for _ in range(random):
        yield kept_some(rng), float(rng.uniform())


def problems(one: Life, folder: Path, counts: list[int], random: int) -> list[str]:
    folder.mkdir()
    aftermath = Aftermath(one, folder)
    found = {
        aftermath.problem(count, choose, names_kept)
        for count in counts
        for choose, names_kept in choices(count, random)
    }
    return sorted(found - {""})


def moments(one: Life, most: int) -> list[int]:
    """Return so many prefixes: behind acknowledgements, and the rest spread over the trace."""
    count = len(one.trace.events)
    last = [place + 1 for place, event in enumerate(one.trace.events) if event.kind == "acknowledged"]
    spread = np.linspace(0, count, max(0, most - len(last)), dtype=int).tolist()
    return sorted({*last, *spread})


def test_the_recording_has_every_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is rebuilt from all events is what is on the disk, also while the write-ahead log is in use."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setattr(sqlite, "_Line", settings("FULL"))
    with recorded(folder) as trace:
        one = Life(trace, folder / FILE)
        store = open_store(one.place)
        campaign = Campaign.create({"name": NAME, "epsilon": 0.1, "seed": 0}, storage=store)
        for period in range(1, 4):
            campaign.ask(key=f"P{period}")
            one.deliver(campaign, final=True)
            on_disk = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
            assert set(on_disk) == {FILE, f"{FILE}-wal"}
            assert rebuilt(trace.events, kept_all) == on_disk
        turns = []
        for _ in range(3):
            before = len(trace.events)
            with store.turn(NAME):
                turns.append({event.kind for event in trace.events[before:]})
        assert {"write"} in turns  # a ticket is not synced, unless the file is written back then
        store.close()
    assert rebuilt(trace.events, kept_all) == {FILE: one.place.read_bytes()}
    kinds = [event.kind for event in trace.events]
    assert {"make", "unlink", "write", "sync", "sync_names"} <= set(kinds)


def test_nothing_acknowledged_is_lost_with_the_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = life(tmp_path / "folder", monkeypatch, periods=2)
    assert problems(one, tmp_path / "after", moments(one, 40), random=1) == []


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_nothing_acknowledged_is_lost_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = life(tmp_path / "folder", monkeypatch, periods=3)
    assert problems(one, tmp_path / "after", list(range(len(one.trace.events) + 1)), random=4) == []


@pytest.mark.parametrize("synchronous", ["OFF", "NORMAL"])
def test_without_syncs_something_acknowledged_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synchronous: str
) -> None:
    """The control: the same campaign with fewer syncs."""
    one = life(tmp_path / "folder", monkeypatch, periods=2, synchronous=synchronous)
    found = problems(one, tmp_path / "after", moments(one, 0), random=0)
    assert any("entries and" in problem and "were acknowledged" in problem for problem in found)


def test_a_delivery_that_was_under_way_is_sent_again_and_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = life(tmp_path / "folder", monkeypatch, periods=2)
    events = one.trace.events
    noted = [place for place, event in enumerate(events) if event.kind == "acknowledged"]
    before, behind = noted[2], noted[3]  # the first delivery is between them
    outcomes = set()
    for number, count in enumerate(np.linspace(before + 1, behind, 6, dtype=int).tolist()):
        place = tmp_path / f"{number}"
        place.mkdir()
        for name, data in rebuilt(events[:count], kept_some(np.random.default_rng(number)), 1.0).items():
            (place / name).write_bytes(data)
        store = open_store(place / FILE)
        receipt = Campaign.open(NAME, storage=store).tell(
            *rows(1), final=False, delivery="1.csv", ids=[f"1-{row}" for row in range(6)]
        )
        outcomes.add(receipt.duplicate is not None)
        assert len(store.entries(NAME, kinds=("delivered",))) == 1
        store.close()
    assert outcomes == {False, True}
