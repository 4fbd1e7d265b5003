"""Many at once: threads, processes and forks; numbers without a gap, nothing lost, nothing twice, no error."""

import multiprocessing
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from driftpace.service.limits import ServiceLimits
from driftpace.storage import Store, open_store
from tests.reference.changes import append_next, change, numbers

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

FORK = multiprocessing.get_context("fork")
SHARE = 5


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    store = open_store(url)
    store.create("churn", change())
    yield store
    store.close()


def test_threads_append_without_a_gap(store: Store) -> None:
    failed: list[BaseException] = []

    def write(worker: int) -> None:
        try:
            for place in range(SHARE):
                append_next(store, "churn", 100 * worker + place)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(worker,)) for worker in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failed == []
    written = numbers(store, "churn")
    assert sorted(written) == sorted([0, *(100 * worker + place for worker in range(1, 9) for place in range(SHARE))])
    for worker in range(1, 9):
        mine = [number for number in written if number // 100 == worker]
        assert mine == sorted(mine)


def _write(url: str, worker: int, start: object, done: "multiprocessing.Queue[object]") -> None:
    try:
        store = open_store(url)
        start.wait()  # type: ignore[attr-defined]
        done.put([append_next(store, "churn", 100 * worker + place) for place in range(SHARE)])
        store.close()
    except BaseException as error:
        done.put(repr(error))


def test_sixteen_processes_append_without_a_gap(store: Store, url: str) -> None:
    start, done = FORK.Barrier(16), FORK.Queue()
    processes = [FORK.Process(target=_write, args=(url, worker, start, done)) for worker in range(1, 17)]
    for process in processes:
        process.start()
    answers = [done.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    done.close()
    assert [said for said in answers if isinstance(said, str)] == []
    assert sorted(seq for seqs in answers for seq in seqs) == list(range(2, 16 * SHARE + 2))
    assert sorted(numbers(store, "churn")) == sorted(
        [0, *(100 * w + place for w in range(1, 17) for place in range(SHARE))]
    )


def test_a_store_may_be_used_on_both_sides_of_a_fork_while_threads_write(store: Store) -> None:
    finished = threading.Event()
    failed: list[BaseException] = []
    written: list[int] = []

    def write() -> None:
        try:
            while not finished.is_set():
                written.append(len(written) + 1000)
                append_next(store, "churn", written[-1])
                finished.wait(0.002 * random.random())  # or nobody else would ever have a turn
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    children = []
    for child in range(1, 9):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                for place in range(3):
                    append_next(store, "churn", 10 * child + place)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
        append_next(store, "churn", 500 + child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    finished.set()
    thread.join(timeout=60)
    assert (codes, failed) == ([0] * 8, [])
    expected = [
        0,
        *written,
        *(500 + child for child in range(1, 9)),
        *(10 * c + p for c in range(1, 9) for p in range(3)),
    ]
    assert sorted(numbers(store, "churn")) == sorted(expected)


def test_readers_are_not_kept_waiting_by_a_writer(store: Store, url: str) -> None:
    other = open_store(url)
    seen: list[list[int]] = []
    for number in range(1, 20):
        store.append("churn", number, change(number))
        seen.append(numbers(other, "churn"))
    assert seen == [list(range(number + 1)) for number in range(1, 20)]
    other.close()


def test_connections_are_kept_for_as_many_as_a_service_has_threads(store: Store) -> None:
    limits = ServiceLimits()
    count = limits.reads + limits.fits + limits.plans
    made: list[object] = []
    together = threading.Barrier(count)

    def note(*_: object) -> None:
        made.append(1)

    def look(_: object) -> int:
        return together.wait(120.0)

    event.listen(Engine, "connect", note)
    try:
        for opened in (count, 0):  # the second time all are there
            made.clear()
            threads = [threading.Thread(target=store._connections.read, args=(look,)) for _ in range(count)]  # type: ignore[attr-defined]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=120)
            assert len(made) <= opened
    finally:
        event.remove(Engine, "connect", note)
