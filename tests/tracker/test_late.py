"""Late rows of a tracker: the same state, bit for bit, as rows in time up to the orders placed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftpace import Budget, LinearCost, SquaredLoss, Tracker
from driftpace.errors import DataError, ProtocolError
from driftpace.storage.codec import encode
from driftpace.tracker.codec import encode_state
from driftpace.tracker.method import TellEvent
from driftpace.tracker.revision import orders_of, with_orders
from tests.reference.campaigns import rows_of

SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "one order": {"orders": 1},
    "candidates": {"l2": [0.0, 0.3]},
    "budget": {"budget": Budget(total=900, horizon=12, cost=LinearCost(per_sample=1))},
}


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=4, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.integers(1, 25), st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), max_size=2)),
        min_size=2,
        max_size=5,
    )
)
def test_late_rows_give_the_state_of_rows_in_time(shape: str, steps: list[tuple[int, list[tuple[int, int]]]]) -> None:
    """Periods with late rows of up to three periods before, against the tidy history with the same orders."""
    tracker = Tracker(SquaredLoss(), epsilon=0.1, delay=3, rng=0, **SHAPES[shape])
    counted: dict[int, list[tuple[int, int, int]]] = {}
    orders = []
    fresh = 0
    for period, (rows, later) in enumerate(steps, start=1):
        tracker.ask()
        tracker.tell(*rows_of(period, fresh, rows), final=False)
        counted[period] = [(fresh, rows, 0)]
        fresh += rows
        for back, more in later:
            if period - back >= 1:
                tracker.tell_late(period - back, *rows_of(period - back, fresh, more))
                counted[period - back].append((fresh, more, back))
                fresh += more
                tracker.ask()
        orders.append(orders_of(tracker.snapshot()[1]))
        tracker.tell()
    method, final = tracker.snapshot()
    state = method.begin()
    for period, order in enumerate(orders, start=1):
        state = with_orders(state, order)
        for start, count, late in counted[period]:
            X, y = rows_of(period, start, count)
            state = method.gather(state, TellEvent(X=X, y=y, late=late))
        state, report = method.close(state)
        assert tracker.history[period - 1].samples == report.samples
        assert tracker.history[period - 1].risk_bound == report.risk_bound
    assert encode_state(final) == encode_state(state)


def test_a_saved_tracker_takes_late_rows(tmp_path: Path) -> None:
    tracker = Tracker(SquaredLoss(), epsilon=0.1, delay=2, rng=0)
    for period in (1, 2, 3):
        tracker.ask()
        tracker.tell(*rows_of(period, 0, 20))
    tracker.ask()
    tracker.tell(*rows_of(4, 0, 3), final=False)
    tracker.save(tmp_path / "state")
    again = Tracker.load(tmp_path / "state")
    for one in (tracker, again):
        one.tell_late(2, *rows_of(2, 50, 7))
        one.ask()
    assert encode_state(tracker.snapshot()[1]) == encode_state(again.snapshot()[1])
    assert [encode(report) for report in tracker.history] == [encode(report) for report in again.history]
    assert again.snapshot()[1].gathered == 3


def test_refusals_change_nothing() -> None:
    with pytest.raises(ProtocolError, match=r"give Tracker\(delay=\.\.\.\)"):
        Tracker(SquaredLoss(), epsilon=0.1).tell_late(1, [[1.0]], [1.0])
    tracker = Tracker(SquaredLoss(), epsilon=0.1, delay=1, rng=0)
    with pytest.raises(ProtocolError, match="got 1, none is kept yet"):
        tracker.tell_late(1, [[1.0]], [1.0])
    for period in (1, 2):
        tracker.ask()
        tracker.tell(*rows_of(period, 0, 20))
    coef = tracker.coef
    with pytest.raises(ProtocolError, match="one of the last 1 closed periods; got 1, kept are periods 2 to 2"):
        tracker.tell_late(1, *rows_of(1, 50, 2))
    with pytest.raises(DataError, match=r"Tracker\.tell_late"):
        tracker.tell_late(2, [[np.inf, 1.0]], [1.0])
    assert np.array_equal(tracker.coef, coef)
    tracker.forget()
