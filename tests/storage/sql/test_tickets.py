"""Who changes a campaign waits in order of arrival; a ticket whose holder is gone is passed over."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from driftpace.campaign import Campaign
from driftpace.storage import Store, open_store
from driftpace.storage.sql import store as sql_store
from tests.reference.changes import change


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = f"{tmp_path}/labels.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = open_store(url)
    for name in ("churn", "other"):
        made.create(name, change())
    yield made
    made.close()


def tickets(store: Store) -> int:
    from sqlalchemy import text

    assert isinstance(store, sql_store.SqlStore)
    count = store._connections.read(
        lambda connection: connection.scalar(text("SELECT count(*) FROM driftpace_tickets"))
    )
    return int(count)


def test_turns_are_in_order_of_arrival(store: Store) -> None:
    done: list[int] = []

    def wait_in_line(place: int) -> None:
        with store.turn("churn"):
            done.append(place)

    waiting = []
    with store.turn("churn"):
        for place in range(5):
            thread = threading.Thread(target=wait_in_line, args=(place,))
            thread.start()
            waiting.append(thread)
            while tickets(store) < place + 2:
                time.sleep(0.001)
        with store.turn("other"):  # another campaign does not wait
            assert done == []
    for thread in waiting:
        thread.join()
    assert done == [0, 1, 2, 3, 4]
    assert tickets(store) == 0


def test_a_campaign_is_crowded_while_somebody_waits_for_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not store.crowded("churn")
    with store.turn("churn"):
        assert store.crowded("churn")
        assert not store.crowded("other")
    assert not store.crowded("churn")
    monkeypatch.setattr(sql_store, "LEASE", 0.0)
    store.turn("churn").__enter__()  # as if it had been killed
    assert not store.crowded("churn")
    assert not store.crowded("none")


def test_a_writer_who_comes_later_does_not_go_ahead_of_those_who_wait(store: Store) -> None:
    """Whoever had no conflict yet is the quickest, and would change the campaign under those whose turn it is."""
    campaign = Campaign.create({"name": "prices", "target": "y", "epsilon": 0.1, "seed": 0}, storage=store)
    campaign.ask()
    before = len(campaign.log())
    with store.turn("prices"):
        late = threading.Thread(target=lambda: campaign.tell([[1.0], [2.0]], [1.0, 3.0], final=False))
        late.start()
        while tickets(store) < 2:
            time.sleep(0.001)
        assert len(campaign.log()) == before
    late.join()
    assert len(campaign.log()) > before
    assert tickets(store) == 0


def test_a_ticket_that_expired_is_passed_over(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_store, "LEASE", 0.0)
    left = store.turn("churn")
    left.__enter__()  # as if it had been killed
    monkeypatch.undo()
    with store.turn("churn"):
        assert tickets(store) == 2


def test_a_turn_that_fails_gives_its_ticket_back(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), store.turn("churn"):
        raise ZeroDivisionError
    assert tickets(store) == 0


def test_no_ticket_for_a_campaign_that_is_not_there(store: Store) -> None:
    with store.turn("none"):
        assert tickets(store) == 0


class Line:
    """A clock of its own and connections to a store where each of those ahead takes a turn of so many seconds."""

    def __init__(self, ahead: int, turn: float) -> None:
        self.now, self.looks = 0.0, 0
        self._ahead, self._turn = ahead, turn

    def ask(self, *_: Any) -> list[tuple[int]]:
        self.looks += 1
        return [(max(0, self._ahead - int(self.now / self._turn)),)]

    def lightly(self, *_: Any) -> None:
        """Renew a ticket."""

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("turn", [0.005, 0.01, 0.2])
@pytest.mark.parametrize("ahead", [1, 2, 15, 63])
def test_who_waits_looks_seldom_and_is_there_soon(ahead: int, turn: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks of those who wait cost processor time that the others need for their turns."""
    line = Line(ahead, turn)
    monkeypatch.setattr(sql_store, "time", line)
    sql_store.SqlStore(cast(Any, line))._wait_for("churn", 7)
    assert 0.0 <= line.now - ahead * turn <= 0.5 * turn
    assert line.looks <= 20 + ahead * turn / 0.2
