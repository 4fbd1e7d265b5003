"""A delivery is taken once: by its rows, by its name, by the ids of its rows; and can be taken back."""

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftpace.campaign.definition import Definition
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import (
    ConflictError,
    DataError,
    ParameterError,
    ProtocolError,
)
from driftpace.storage import MemoryStore
from driftpace.storage.base import Store
from driftpace.tracker.inputs import InputRows
from tests.reference.campaigns import BUDGET, begun, rows_of


def test_a_delivery_counts_once_however_often_it_is_told(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    rows = rows_of(1, 0, 4)
    first = campaign.tell(*rows, final=False)
    again = campaign.tell(*rows, final=False)
    assert (first.rows, again.rows) == (4, 0)
    assert again.duplicate == campaign.log(kinds=("delivered",))[0].seq
    assert campaign.status().order == first.order
    assert campaign.tell(*rows, final=False, again=True).order.received == 8
    named = campaign.tell(*rows_of(1, 4, 2), delivery="monday", final=False)
    assert named.rows == 2
    assert campaign.tell(*rows_of(1, 6, 2), delivery="monday", final=False).duplicate is not None
    campaign.tell(final=True)
    campaign.ask()
    late = campaign.tell(*rows)
    assert late.duplicate is not None
    assert late.order.closed


def test_a_name_with_another_digest_is_refused_in_every_period(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    campaign.tell(*rows_of(1, 0, 4), delivery="weekly", digest="a", final=True)
    campaign.ask()
    assert campaign.tell(*rows_of(1, 0, 4), delivery="weekly", digest="a").duplicate is not None
    before = campaign.log()
    with pytest.raises(ParameterError, match="'weekly' named other rows in period 1"):
        campaign.tell(*rows_of(2, 0, 4), delivery="weekly", digest="b")
    assert campaign.log() == before
    assert campaign.tell(*rows_of(2, 0, 4), delivery="weekly", digest="b", again=True, final=False).rows == 4


def test_rows_that_were_drawn_meanwhile_are_chosen_again(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    seen = campaign.drawn()
    campaign.record_draw(["a"], before=seen)
    with pytest.raises(ConflictError, match="other rows were drawn for period 1"):
        campaign.record_draw(["b"], before=seen)
    with pytest.raises(ProtocolError, match="period 2"):
        campaign.record_draw(["b"], before=campaign.drawn(), period=2)
    assert campaign.drawn() == ("a",)


def test_a_delivery_that_is_told_again_to_close_its_period_closes_it_and_counts_once(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    rows = rows_of(1, 0, 4)
    campaign.tell(*rows, final=False)
    receipt = campaign.tell(*rows, final=True)
    assert (receipt.rows, receipt.order.received, receipt.order.closed) == (0, 4, True)
    assert receipt.duplicate is not None
    assert receipt.report is not None
    assert receipt.report.samples == 4


def test_a_delivery_that_was_taken_back_can_be_told_again(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    rows = rows_of(1, 0, 4)
    campaign.tell(*rows, final=False)
    after = campaign.forget(reason="wrong file", who="Ada")
    assert after.received == 0
    assert after.missing == after.samples > 0
    assert campaign.tell(*rows, final=False).rows == 4
    *_, (_, folded) = campaign.replay()
    assert folded.order == campaign.status().order


@pytest.mark.parametrize(
    "shape", [{}, {"l2": [0.0, 0.1]}, {"budget": BUDGET}, {"features": ["a", "b"], "l2": [0.0, 0.1]}]
)
def test_columns_that_only_a_bad_delivery_had_are_forgotten_with_it(shape: dict[str, Any]) -> None:
    campaign, other = begun(MemoryStore(), **shape), begun(MemoryStore(), **shape)
    for one in (campaign, other):
        one.ask()
    X, y = rows_of(1, 0, 6)
    wide = X if "features" in shape else np.column_stack([X, np.arange(6.0)])
    campaign.tell(InputRows(X=wide, columns=("wrong", "names", "number")[: wide.shape[1]]), y, final=False)
    campaign.forget(reason="the number of the row was among the columns")
    receipts = [one.tell(InputRows(X=X, columns=("a", "b")), y, final=True) for one in (campaign, other)]
    assert receipts[0].report is not None
    assert receipts[1].report is not None
    assert replace(receipts[0].report, seconds=0.0) == replace(receipts[1].report, seconds=0.0)
    assert campaign.predict(X).tolist() == other.predict(X).tolist()
    *_, (_, folded) = campaign.replay()
    assert to_checkpoint(folded) == (campaign.store.checkpoint("prices") or (0, b""))[1]


def test_rows_with_ids_count_once_within_a_period(store: Store) -> None:
    campaign = begun(store)
    campaign.ask()
    X, y = rows_of(1, 0, 6)
    campaign.tell(X[:4], y[:4], ids=["a", "b", "c", "d"], final=False)
    receipt = campaign.tell(X, y, ids=["a", "b", "c", "d", "e", "f"], final=False)
    assert (receipt.rows, receipt.repeated, receipt.order.received) == (2, 4, 6)
    apart = begun(store, name="apart")
    apart.ask()
    apart.tell(X[:4], y[:4], final=False)
    apart.tell(X[4:], y[4:], final=False)
    assert apart.tracker().ask() == campaign.tracker().ask()
    with pytest.raises(DataError, match=r"ids=\.\.\.\) must be unique; got 'a' twice"):
        campaign.tell(X[:2], y[:2], ids=["a", "a"], final=False)


def test_many_rows_of_which_two_are_one_are_refused_at_once() -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    compared = [0]

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared[0] += 1
            return str.__eq__(self, other)

        def __str__(self) -> str:
            return self

    ids = [Counted(f"row-{place}") for place in (*range(2000), 1999)]
    with pytest.raises(DataError, match="must be unique; got 'row-1999' twice"):
        campaign.tell(np.ones((2001, 1)), np.ones(2001), ids=ids)
    assert compared[0] < 10 * len(ids)


def test_counts_of_numpy_are_counts(store: Store) -> None:
    campaign = begun(store)
    assert campaign.ask(pool=np.int64(4)) == campaign.ask(pool=4)  # type: ignore[arg-type]
    campaign.override(np.int64(3), reason="few")  # type: ignore[arg-type]
    receipt = campaign.tell(*rows_of(1, 0, 3), unlabelled=np.int64(2))  # type: ignore[arg-type]
    assert (receipt.unlabelled, receipt.order.closed) == (2, True)


def test_a_delivery_is_known_again_whatever_way_the_machine_compresses(monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = begun(MemoryStore())
    campaign.ask()
    rows = rows_of(1, 0, 4)
    campaign.tell(*rows)
    compress = zlib.compress
    monkeypatch.setattr(zlib, "compress", lambda data, level=9: compress(data, 9 if level == 1 else level))
    assert campaign.tell(*rows).duplicate == 3


def test_a_period_takes_no_more_rows_than_its_definition_says() -> None:
    campaign = begun(MemoryStore(), max_rows=12)
    campaign.ask()
    campaign.tell(*rows_of(1, 0, 10), final=False)
    before = campaign.status()
    with pytest.raises(DataError, match=r"at most 12 rows in a period \(max_rows.*\); period 1 has 10 and got 3 more"):
        campaign.tell(*rows_of(1, 10, 3), final=False)
    assert campaign.status() == before
    assert campaign.tell(*rows_of(1, 10, 2), final=True).rows == 2
    with pytest.raises(DataError, match="period 1 has 12 and got 1 more"):
        campaign.tell(*rows_of(1, 20, 1), key="1")


def test_the_most_rows_follow_the_cap_unless_they_are_given() -> None:
    values = {"name": "a", "target": "y", "epsilon": 0.1}
    assert Definition.of(values).row_limit == 10**6
    assert Definition.of({**values, "cap": 2 * 10**6}).row_limit == 2 * 10**6
    assert Definition.of({**values, "max_rows": 50}).row_limit == 50
    with pytest.raises(ParameterError, match=r"max_rows=.*at least 1; got 0"):
        Definition.of({**values, "max_rows": 0})
