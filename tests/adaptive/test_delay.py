"""What labels outstanding will tell, and orders for the risk while a model is in use."""

import numpy as np
import pytest

from driftpace.adaptive.bank import first_bank, predict, prediction_of, update
from driftpace.adaptive.delay import (
    ClosedOrder,
    InUse,
    Moments,
    RowsInUse,
    Walks,
    arrival_shares,
    expected_moments,
    moments_of,
    rows_in_use,
    steady,
    with_closed,
)
from driftpace.typing import FloatArray

EPSILON, SIZE = 0.05, 5


def walk(cost: float, *, level: float = 1.0) -> tuple[Walks, Moments]:
    """Return a single random walk whose steps cost so many targets, known as well as ``level`` targets."""
    unit = np.array([[2.0 * EPSILON / SIZE]])
    models = Walks(
        sizes=np.array([float(SIZE)]),
        shares=np.ones((1, 1)),
        step=cost * unit,
        keeps=0 * unit,
        wobble=0 * unit,
        noise=200.0,
    )
    return models, Moments(spread=level * unit, cross=0 * unit, speed=cost * unit)


def risk(variances: FloatArray) -> float:
    return 0.5 * SIZE * float(variances[0])


def steady_rows(cost: float, delay: int) -> RowsInUse:
    """Return the order of a long run in which each order was the one before."""
    walks, now = walk(cost)
    known = np.eye(delay + 1)[-1]
    for _ in range(60):
        use = InUse(walks=walks, now=walks.next(now), start=walks.next(now), known=known)
        sized = rows_in_use(use, risk, EPSILON, EPSILON, 10**6)
        now = walks.after(use.start, sized.rows)
    return sized


@pytest.mark.parametrize(("cost", "delay"), [(0.05, 1), (0.05, 4), (0.2, 1), (0.2, 2), (0.1, 4)])
def test_the_price_of_a_delay_is_that_of_the_formula(cost: float, delay: int) -> None:
    """The formula is for many rows, of which each counts in full: the noise is large."""
    left = 1.0 - delay * cost
    price = (1.0 + cost) / (left * (left + cost))
    late, in_time = (steady_rows(cost, periods).rows for periods in (delay, 0))
    assert late / in_time == pytest.approx(price, rel=0.02)


def test_a_delay_that_costs_more_than_the_target_is_refused() -> None:
    assert not steady_rows(0.2, 4).refused
    late = steady_rows(0.3, 4)
    assert late.refused
    assert late.rows == late.in_time == late.high


def test_an_order_that_is_partly_in_time_costs_less() -> None:
    walks, now = walk(0.2)
    orders = []
    for known in ([0.0, 0.0, 1.0], [0.5, 0.5, 1.0], [1.0, 1.0, 1.0]):
        use = InUse(walks=walks, now=walks.next(now), start=walks.next(now), known=np.array(known))
        orders.append(rows_in_use(use, risk, EPSILON, EPSILON, 10**6).rows)
    assert orders[0] > orders[1] > orders[2] > 0


def test_moments_follow_the_bank() -> None:
    """The variances of a bank whose labels say what it expected: predict and update, for every model."""
    bank = first_bank(np.zeros(SIZE), 0.01, 2.0 * EPSILON / SIZE)
    walks = Walks.of([bank], 1.0)
    moments = moments_of([bank])
    for rows in (30, 0, 12):
        bank, moments = predict(bank, forgetting=0.0), walks.next(moments)
        view = prediction_of(bank, 0.0, jumps=False)
        left = walks.left(moments, rows)
        variance = np.append(left[0], view.variance[-1])
        bank, moments = update(bank, view, view.shares, view.mean, variance), walks.after(moments, rows)
        for name in ("spread", "cross", "speed"):
            np.testing.assert_allclose(getattr(moments, name)[0], getattr(bank, name), rtol=1e-9, atol=1e-15)


def test_rows_outstanding_are_expected() -> None:
    walks, now = walk(0.2)
    one = walks.after(walks.next(now), 10)
    closed = (
        ClosedOrder(requested=30, arrived=((0, 30),), moments=now),
        ClosedOrder(requested=30, arrived=((0, 10),), moments=one),
        ClosedOrder(requested=20, arrived=(), moments=walks.next(one)),
    )
    expected = expected_moments(walks, walks.next(one), closed, 2)
    direct = walks.after(walks.next(walks.after(walks.next(now), 30 * arrival_shares(closed, 2)[-1])), 20)
    assert expected.spread == pytest.approx(direct.spread, rel=1e-9)
    settled = closed[:1]
    assert expected_moments(walks, now, settled, 2) is now


def test_labels_that_never_arrive_are_not_expected_for_ever() -> None:
    walks, now = walk(0.2)
    lost = ClosedOrder(requested=30, arrived=(), moments=now)
    assert arrival_shares([lost] * 12, 1)[-1] < 0.1
    assert expected_moments(walks, now, [lost] * 12, 1).spread[0, 0] > 0.8 * walks.next(now).spread[0, 0]


def test_only_the_last_moments_are_kept() -> None:
    _, now = walk(0.2)
    closed: tuple[ClosedOrder, ...] = ()
    for _ in range(40):
        closed = with_closed(closed, ClosedOrder(requested=1, arrived=(), moments=now), 3)
    assert len(closed) == 23
    assert [order.moments is not None for order in closed] == [False] * 19 + [True] * 4


def test_orders_are_steady_unless_labels_in_time_take_more() -> None:
    closed = [ClosedOrder(requested=40, arrived=())] * 8

    def sized(rows: int, in_time: int) -> RowsInUse:
        return RowsInUse(rows=rows, in_time=in_time, low=0, high=500, impossible=0.0)

    assert steady(sized(400, 20), closed) == 50
    assert steady(sized(2, 1), closed) == 32
    assert steady(sized(400, 90), closed) == 90
    assert steady(sized(400, 20), closed[:5]) == 400
