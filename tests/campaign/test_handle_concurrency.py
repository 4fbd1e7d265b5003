"""Six processes (sixteen in the slow suite) on one campaign: one order per period, no delivery lost, no error."""

import multiprocessing
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import ProtocolError
from driftpace.storage import open_store
from tests.reference.working import DEFINITION, rows_of, warm_up

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")  # of newer Pythons

FORK = multiprocessing.get_context("fork")
PERIODS, ROWS = 2, 3
PATIENCE = 300.0


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="module", autouse=True)
def _warm(tmp_path_factory: pytest.TempPathFactory) -> None:
    warm_up(tmp_path_factory.mktemp("warm"))


@pytest.fixture(params=[6, pytest.param(16, marks=pytest.mark.slow)])
def workers(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


def crowd(target: Any, url: str, workers: int, *more: Any) -> list[Any]:
    """Run ``target(url, worker, *more)`` in many processes and return their answers; what they raise fails the test."""
    answers = FORK.Queue()

    def run(worker: int) -> None:
        try:
            answers.put((worker, target(url, worker, *more), None))
        except BaseException as error:
            answers.put((worker, None, repr(error)))

    processes = [FORK.Process(target=run, args=(worker,)) for worker in range(workers)]
    for process in processes:
        process.start()
    collected = sorted((answers.get(timeout=PATIENCE) for _ in processes), key=lambda answer: int(answer[0]))
    for process in processes:
        process.join(timeout=PATIENCE)
    answers.close()
    assert [failed for _, _, failed in collected if failed is not None] == []
    return [answer for _, answer, _ in collected]


def folds(url: str) -> None:
    """The state in the store is the fold of its log."""
    store = open_store(url, create=False)
    *_, (entry, folded) = Campaign.open("prices", storage=store).replay()
    assert store.checkpoint("prices") == (entry.seq, to_checkpoint(folded))
    store.close()


def in_step(url: str, worker: int, workers: int, together: Any) -> list[Any]:
    """All make the campaign, ask, deliver their share and deliver it again; whoever comes last closes the period."""
    together.wait()
    store = open_store(url)
    campaign = Campaign.create(DEFINITION, storage=store, load_if_exists=True)
    seen: list[Any] = []
    for period in range(1, PERIODS + 1):
        key = f"W{period}"
        together.wait()
        order = campaign.ask(key=key)
        together.wait()
        if worker == 0:
            campaign.override(workers * ROWS, reason="everybody brings a share")
        together.wait()
        X, y = rows_of(period, worker, ROWS)
        receipt = campaign.tell(X, y, key=key, source=f"{worker}.csv")
        twice = campaign.tell(X, y, key=key)
        seen.append((order, receipt.rows, receipt.report, twice.rows, twice.duplicate))
    store.close()
    return seen


def test_in_step(url: str, workers: int) -> None:
    seen = crowd(in_step, url, workers, workers, FORK.Barrier(workers, timeout=PATIENCE))
    store = open_store(url, create=False)
    campaign = Campaign.open("prices", storage=store)
    log = {entry.seq: entry for entry in campaign.log()}
    assert sorted(log) == list(range(1, len(log) + 1))
    ledger = campaign.ledger()
    assert [(row.key, row.report.samples) for row in ledger] == [
        (f"W{p}", workers * ROWS) for p in range(1, PERIODS + 1)
    ]
    counted = Counter(entry.kind for entry in log.values())
    assert (counted["delivered"], counted["closed"], counted["fitted"]) == (PERIODS * workers, PERIODS, PERIODS)
    assert [e.key for e in log.values() if e.kind == "asked" and e.key] == [f"W{p}" for p in range(1, PERIODS + 1)]
    for period in range(PERIODS):
        orders = [mine[period][0] for mine in seen]
        assert all(order == orders[0] for order in orders)
        assert [mine[period][1] for mine in seen] == [ROWS] * workers
        assert [mine[period][2] for mine in seen if mine[period][2] is not None] == [ledger[period].report]
        assert [mine[period][3] for mine in seen] == [0] * workers
        assert [log[mine[period][4]].body["source"] for mine in seen] == [f"{worker}.csv" for worker in range(workers)]
    store.close()
    folds(url)


def as_they_come(url: str, worker: int) -> list[tuple[int, int, str]]:
    """Ask for a period and bring a share, until it is closed by whoever brings the last row; then the next."""
    store = open_store(url)
    campaign = Campaign.create(DEFINITION, storage=store, load_if_exists=True)
    counted: list[tuple[int, int, str]] = []
    for period in range(1, PERIODS + 1):
        key = f"W{period}"
        for turn in range(1000):
            order = campaign.ask(key=key)
            if order.closed:
                break
            try:
                X, y = rows_of(period, 1000 * worker + turn, min(2, order.missing)) if order.missing else (None, None)
                receipt = campaign.tell(X, y, key=key, delivery=None if X is None else f"{period}/{worker}/{turn}")
            except ProtocolError:
                if not campaign.ask(key=key).closed:
                    raise
                break
            if X is not None:
                rows = receipt.rows + sum(
                    late.rows for late in receipt.late
                )  # where others closed the period meanwhile
                counted.append((period, rows, f"{period}/{worker}/{turn}"))
    store.close()
    return counted


def test_as_they_come(url: str, workers: int) -> None:
    counted = [share for shares in crowd(as_they_come, url, workers) for share in shares]
    store = open_store(url, create=False)
    campaign = Campaign.open("prices", storage=store)
    delivered = [(e.body["period"], e.body["rows"], e.key) for e in campaign.log(kinds=["delivered"])]
    assert sorted(delivered) == sorted(counted)
    assert [row.key for row in campaign.ledger()] == [f"W{period}" for period in range(1, PERIODS + 1)]
    for row in campaign.ledger():
        assert row.report.samples == sum(rows for period, rows, _ in delivered if period == row.report.period)
    assert np.isfinite(campaign.tracker().coef).all()
    store.close()
    folds(url)
