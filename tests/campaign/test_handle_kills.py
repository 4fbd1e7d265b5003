"""kill -9 during ask, tell, late rows, undo and close: nothing acknowledged is lost or counted twice, and it goes on undisturbed.

A worker with a fixed script is killed again and again, at random instants and between any two statements to the database, and
takes up again each time. The fast suite kills 12 times and at every seventh boundary; the slow tests kill DRIFTPACE_KILLS times
(60 by default), twice at every boundary, and at every boundary of each kind of call.
"""

import json
import os
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, event

from driftpace.campaign import Campaign
from driftpace.campaign.state import to_checkpoint
from driftpace.storage import MemoryStore, open_store
from driftpace.storage.codec import decode
from tests.reference.working import DEFINITION, Command, digest_of, timeless, warm_up, work

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

KILLS = int(os.environ.get("DRIFTPACE_KILLS", "60"))
PATIENCE = 120.0
BOUNDARIES = 70
EVERY_KIND = {"ask", "tell", "late", "extra", "undo", "close"}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    warm_up(tmp_path_factory.mktemp("warm"))


@dataclass
class Acknowledged:
    """What a worker reported before it was killed."""

    done: list[tuple[Command, Any]] = field(default_factory=list)
    interrupted: Counter[str] = field(default_factory=Counter)
    pending: Command | None = None
    ready: int = 0
    kills: int = 0

    @property
    def period(self) -> int:
        """The period that is not closed yet, as far as this is known."""
        return 1 + max((command[1] for command, _ in self.done if command[0] == "close"), default=0)

    def read(self, lines: bytes) -> None:
        for line in lines.splitlines():
            what, given, answer = json.loads(line)
            command: Command = tuple(given or ("", 0, 0, 0))
            assert what != "failed", answer
            if what == "ready":
                self.ready += 1
            elif what == "begun":
                self.pending = command
            else:
                assert self.pending == command
                self.pending = None
                self.done.append((command, answer))


@dataclass
class Worker:
    """A process that works, and what it wrote into its pipe so far."""

    pid: int
    pipe: int
    answer: bytes = b""

    def hear(self, lines: int) -> None:
        """Wait until it has written so many lines, or has ended."""
        deadline = time.monotonic() + PATIENCE
        while self.answer.count(b"\n") < lines:
            ready, _, _ = select.select([self.pipe], [], [], max(0.0, deadline - time.monotonic()))
            assert ready
            more = os.read(self.pipe, 1 << 16)
            if not more:
                return
            self.answer += more


def a_life(
    url: str,
    so_far: Acknowledged,
    *,
    end: Callable[[Worker], None],
    before: Callable[[], object] = bool,
    definition: dict[str, Any] = DEFINITION,
) -> None:
    """Fork a worker that takes up the work, kill it when ``end`` returns, and read what it acknowledged."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)

        def note(what: str, command: Command | None, answer: Any) -> None:
            os.write(writing, json.dumps([what, command, answer]).encode() + b"\n")  # one write, whole or not at all

        try:
            before()
            campaign = Campaign.create(definition, storage=open_store(url), load_if_exists=True)
            note("ready", None, None)
            work(campaign, note, first=so_far.period, again=so_far.pending)
        except BaseException as error:
            note("failed", None, repr(error))
        finally:
            os._exit(1)
    os.close(writing)
    worker = Worker(pid, reading)
    try:
        end(worker)
    finally:
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        worker.hear(1 << 30)
        os.close(reading)
    so_far.read(worker.answer)
    assert code == -signal.SIGKILL
    so_far.kills += 1
    if so_far.pending is not None:
        so_far.interrupted[so_far.pending[0]] += 1


def examined(url: str, so_far: Acknowledged, definition: dict[str, Any] = DEFINITION) -> None:
    """Compare what is in the store with what was acknowledged, with its own replay, and with an undisturbed run."""
    store = open_store(url, create=False)
    campaign = Campaign.open("prices", storage=store)
    last = so_far.period + 1
    work(campaign, lambda *_: None, first=so_far.period, again=so_far.pending, last=last)
    undisturbed = Campaign.create(definition, storage=MemoryStore())
    work(undisturbed, lambda *_: None, last=last)

    log = campaign.log()
    assert [entry.seq for entry in log] == list(range(1, len(log) + 1))
    assert timeless(log) == timeless(undisturbed.log())

    asked = {(entry.body["period"], entry.body["samples"]) for entry in log if entry.kind == "asked"}
    deliveries = Counter(
        (entry.body["period"], entry.body["rows"], entry.key) for entry in log if entry.kind == "delivered"
    )
    certified = [decode(entry.body["report"]) for entry in log if entry.kind == "certified"]
    reports = {report.period: report for report in certified}
    assert set(deliveries.values()) <= {1}
    for (verb, period, gathered, rows), answer in so_far.done:
        if verb == "ask" and answer[2] == 0:
            assert tuple(answer[:2]) in asked
        if verb == "tell" and period % 2:
            assert deliveries[period, rows, f"{period}:{gathered}"] == 1
        if verb == "close":
            assert answer == [period, reports[period].samples, digest_of(reports[period])]

    *_, (_, folded) = campaign.replay()
    assert store.checkpoint("prices") == (len(log), to_checkpoint(folded))
    assert campaign.ask(key="next") == undisturbed.ask(key="next")
    mine, theirs = campaign.tracker(), undisturbed.tracker()
    assert np.array_equal(mine.coef, theirs.coef)
    assert mine.intercept == theirs.intercept
    store.close()


@pytest.mark.parametrize("kills", [12, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_kills_at_random_instants(
    url: str, kills: int, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    so_far = Acknowledged()

    def end(worker: Worker) -> None:
        worker.hear(int(rng.integers(0, 16)))
        time.sleep(rng.uniform(0.0, 0.012))

    while so_far.kills < kills or (kills >= 50 and set(so_far.interrupted) != EVERY_KIND):
        a_life(url, so_far, end=end)
        assert so_far.kills < 10 * kills
    examined(url, so_far)
    if "DRIFTPACE_KILLS" in os.environ:
        answer = f"{len(so_far.done)} acknowledged, {so_far.period - 1} periods, interrupted {dict(so_far.interrupted)}"
        with capsys.disabled():
            print(f"\n{url.partition(':')[0]}: {so_far.kills} kills, {answer}")


def _ends_at(boundary: int) -> None:
    """Arrange that this process is killed at the boundary of a statement: before it, after it, or before a commit."""
    left = boundary

    def count(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, moment, count)


FEW_BOUNDARIES = range(0, BOUNDARIES, 7)
ALL_BOUNDARIES = (*range(BOUNDARIES), *range(BOUNDARIES))


@pytest.mark.parametrize("boundaries", [FEW_BOUNDARIES, pytest.param(ALL_BOUNDARIES, marks=pytest.mark.slow)], ids=len)
def test_kills_between_any_two_statements(url: str, boundaries: Sequence[int]) -> None:
    so_far = Acknowledged()
    for boundary in boundaries:
        a_life(url, so_far, end=lambda worker: worker.hear(1 << 30), before=partial(_ends_at, boundary))
    examined(url, so_far)
    assert so_far.kills == len(boundaries)


def _ends_within(kind: str, boundary: int) -> None:
    """Arrange that this process is killed at the boundary of a statement within its first ``kind``."""
    name = kind if kind in ("ask", "undo") else "tell"
    method = getattr(Campaign, name)

    def interrupted(campaign: Campaign, *rows: Any, **options: Any) -> Any:
        named = str(options.get("delivery", "")).partition(" ")[0]
        tells = named if named in ("late", "extra") else "tell" if rows else "close"
        if name != "tell" or tells == kind:
            _ends_at(boundary)
        return method(campaign, *rows, **options)

    setattr(Campaign, name, interrupted)


@pytest.mark.parametrize("orders", [None, 1])
@pytest.mark.parametrize("most", [1, pytest.param(100, marks=pytest.mark.slow)], ids=["one", "every"])
def test_kills_within_each_kind_of_call(url: str, most: int, orders: int | None) -> None:
    """One kill in each kind of call; the slow variant kills at every boundary of each."""
    definition = DEFINITION if orders is None else {**DEFINITION, "orders": orders}
    so_far = Acknowledged()
    for kind in sorted(EVERY_KIND):
        for boundary in (2,) if most == 1 else range(most):
            before = so_far.interrupted[kind]
            a_life(
                url,
                so_far,
                end=lambda worker: worker.hear(1 << 30),
                before=partial(_ends_within, kind, boundary),
                definition=definition,
            )
            if so_far.interrupted[kind] == before:
                break
    examined(url, so_far, definition)
    least = 1 if most == 1 else 5
    assert all(so_far.interrupted[kind] >= least for kind in EVERY_KIND), so_far.interrupted
