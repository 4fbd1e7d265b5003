"""Every engine gives the same numbers, and loses nothing when a worker dies; Ray and Spark run in make engines."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from driftpace import Fleet
from driftpace.errors import DataError, ExecutorError, ParameterError
from driftpace.executors import Executor, LocalExecutor, ProcessExecutor, open_executor
from tests.executors import tasks
from tests.fleet.stores import Shop, new_fleet, run, same

pytestmark = pytest.mark.filterwarnings("ignore")  # the engines warn of their own sockets and processes

ROOT = Path(__file__).parents[2]
PACKAGES = {"local": "driftpace", "processes": "joblib", "dask": "distributed", "ray": "ray", "spark": "pyspark"}
SPREAD = [name for name in PACKAGES if name != "local"]


@pytest.fixture(scope="module")
def engines() -> Iterator[dict[str, Executor]]:
    """The engines that were started, each with two workers."""
    paths = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, [paths])])
    started: dict[str, Executor] = {}
    yield started
    for name, end in (("dask", _end_dask), ("ray", _end_ray), ("spark", _end_spark)):
        if name in started:
            end(started[name])
    if paths is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = paths


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send all work to the engines; looks by the squared loss take less time than that, and stay in the program otherwise."""
    monkeypatch.setattr("driftpace.fleet.fleet.is_light", lambda _: False)


def _end_dask(executor: Any) -> None:
    executor.client.cluster.close()
    executor.client.close()


def _end_ray(executor: Any) -> None:
    import ray

    ray.shutdown()


def _end_spark(executor: Any) -> None:
    executor.session.stop()


def engine(started: dict[str, Executor], name: str) -> Executor:
    if find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed; make engines runs this")
    if name not in started:
        started[name] = open_executor(name, workers=None if name == "local" else 2)
    return started[name]


@pytest.mark.parametrize("name", PACKAGES)
def test_answers_come_in_the_order_of_the_items(engines: dict[str, Executor], name: str) -> None:
    executor = engine(engines, name)
    answers = list(executor.map(tasks.doubled, range(30)))
    assert [answer for answer, _ in answers] == list(range(0, 60, 2))
    assert (os.getpid() in {process for _, process in answers}) == (name == "local")
    assert list(executor.map(tasks.doubled, [])) == []


@pytest.mark.parametrize("name", PACKAGES)
def test_an_exception_of_the_function_is_raised_as_it_is(engines: dict[str, Executor], name: str) -> None:
    executor = engine(engines, name)
    with pytest.raises(DataError, match=r"refuse\(item=...\) must be another number") as caught:
        list(executor.map(tasks.refuse, range(5)))
    assert caught.value.name == "item"
    assert list(executor.map(tasks.refuse, [1, 2])) == [1, 2]
    if name != "local":
        with pytest.raises(RuntimeError, match="Local: item 1"):
            list(executor.map(tasks.raise_the_unsendable, [1]))


@pytest.mark.parametrize("name", PACKAGES)
def test_arrays_can_be_written_and_products_have_the_same_bits(engines: dict[str, Executor], name: str) -> None:
    executor = engine(engines, name)
    items = [{"rows": array.copy()} for array in tasks.large_arrays()]
    for answer, array in zip(executor.map(tasks.halves, items), tasks.large_arrays(), strict=True):
        answer["rows"] *= 2.0
        assert (answer["rows"] == array).all()
    here = list(LocalExecutor().map(tasks.product, tasks.large_arrays()))
    there = list(executor.map(tasks.product, tasks.large_arrays()))
    assert all((a == b).all() for a, b in zip(here, there, strict=True))


@pytest.mark.parametrize("name", SPREAD)
def test_work_is_done_again_when_a_worker_is_killed(engines: dict[str, Executor], name: str, tmp_path: Path) -> None:
    executor = tasks.Fatal(engine(engines, name), tmp_path / "killed")
    assert [answer for answer, _ in executor.map(tasks.doubled, range(8))] == list(range(0, 16, 2))
    assert (tmp_path / "killed").exists()


def test_work_that_always_kills_its_worker_is_given_up() -> None:
    pytest.importorskip("joblib")
    with pytest.raises(ExecutorError, match="the workers of processes were lost 4 times"):
        list(ProcessExecutor(workers=2).map(tasks.die, range(4)))


@pytest.mark.parametrize("name", SPREAD)
def test_a_fleet_has_the_same_bits_on_every_engine_also_when_a_worker_is_killed(
    engines: dict[str, Executor], name: str, tmp_path: Path
) -> None:
    here = new_fleet(delay=1)
    there = new_fleet(delay=1, executor=tasks.Fatal(engine(engines, name), tmp_path / "killed"))
    late = Shop().rows("Rome", 6)
    for fleet in (here, there):
        shop = Shop()
        run(fleet, shop, 2)
        fleet.tell(late, period=2)
        assert fleet.tell(shop.rows("Oslo", 12), key="march").rows == 12
        assert fleet.tell(shop.rows("Oslo", 12), key="march").repeated
    assert (tmp_path / "killed").exists()
    assert same(here, there)


@pytest.mark.parametrize("name", SPREAD)
def test_segments_that_borrow_have_the_same_bits_on_every_engine(
    engines: dict[str, Executor], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight stores, four in a chunk, and a ninth that joins them, learn from each other what they do not know alone."""
    names = [f"s{place}" for place in range(8)]

    def run_with(executor: Any, *, borrow: bool) -> Fleet:
        fleet, shop = new_fleet(segments=names, executor=executor, borrow=borrow), Shop([*names, "s8"])
        run(fleet, shop, 2)
        fleet.add(["s8"])
        run(fleet, shop, 1)
        return fleet

    here, alone = run_with(None, borrow=True), run_with(None, borrow=False)
    monkeypatch.setattr("driftpace.fleet.fleet.CHUNK", 4)
    there = run_with(engine(engines, name), borrow=True)
    assert len(there) == 9
    assert same(here, there)
    assert not same(here, alone)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_number_of_workers_and_of_segments_in_a_chunk_changes_nothing(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("joblib")
    here, seen = new_fleet(), []
    run(here, Shop(), 2)
    monkeypatch.setattr("driftpace.fleet.fleet.CHUNK", workers)
    there = new_fleet(
        executor=ProcessExecutor(workers=workers), progress=lambda done, every: seen.append((done, every))
    )
    run(there, Shop(), 2)
    assert same(here, there)
    assert seen[: 3 // workers] == [(done, 3) for done in range(workers, 4, workers)]


def test_the_clients_of_engines_are_taken_as_they_are(engines: dict[str, Executor]) -> None:
    executor: Any = engine(engines, "dask")
    assert next(iter(open_executor(executor.client).map(tasks.doubled, [4])))[0] == 8
    address = executor.client.scheduler.address
    by_address: Any = open_executor("dask", address=address)
    assert next(iter(by_address.map(tasks.doubled, [4])))[0] == 8
    by_address.client.close()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"executor": "slurm"}, r"open_executor\(executor=...\) must be one of 'local', .*; got 'slurm'"),
        ({"executor": 3}, r"must be one of .* or have a method map\(function, items\); got 3"),
        ({"executor": "local", "address": "tcp://x"}, r"\(address=...\) must be None unless executor is one of 'dask'"),
        ({"executor": "processes", "workers": 0}, r"\(workers=...\) must be"),
    ],
)
def test_other_executors_are_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        open_executor(**options)


def test_an_address_where_nothing_answers_changes_nothing() -> None:
    dask = pytest.importorskip("dask")
    fleet = new_fleet(executor=open_executor("dask", address="tcp://127.0.0.1:9"))
    refused = pytest.raises(ExecutorError, match=r"the Dask scheduler at tcp://127\.0\.0\.1:9 cannot be reached")
    with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}), refused:
        fleet.ask()
    assert fleet.period == 1
    assert fleet.segments == new_fleet().segments
