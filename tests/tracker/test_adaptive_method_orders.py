"""A limited number of orders in a period: how many are asked for, deliveries in pieces, and the promise by Monte Carlo."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftpace import Budget, LinearCost, SquaredLoss, Tracker
from driftpace.adaptive import sample_size
from driftpace.backtest.promise import promise
from driftpace.errors import ParameterError
from driftpace.learners import Sgd
from driftpace.records import Outcome, Request
from driftpace.synthetic import ShapedRegression
from driftpace.typing import FloatArray

FEATURES, EPSILON = 3, 0.05
POPULATION = ShapedRegression(features=FEATURES, cost=0.02, shape="walk", rng=1)


def rows(period: int, count: int, part: int = 0) -> tuple[FloatArray, FloatArray]:
    return POPULATION.period(period).draw(count, rng=np.random.default_rng([period, part]))


def begun(orders: int | None, periods: int = 4, **changes: Any) -> Tracker:
    """Return a tracker after some periods, each delivered as asked."""
    tracker = Tracker(
        SquaredLoss(), **{"epsilon": EPSILON, "features": FEATURES, "orders": orders, "rng": 0, **changes}
    )
    for period in range(1, periods + 1):
        complete(tracker, period)
    return tracker


def complete(tracker: Tracker, period: int) -> list[int]:
    """Deliver a period as it is asked for and close it; return the sizes of its orders."""
    sizes: list[int] = []
    while (samples := tracker.ask().samples) > 0:
        tracker.tell(*rows(period, samples, len(sizes)), final=False)
        sizes.append(samples)
    tracker.tell()
    return sizes


def same(first: Request, second: Request) -> bool:
    return (first.samples, first.reason, first.risk_bound) == (second.samples, second.reason, second.risk_bound)


@pytest.mark.parametrize("orders", [1, 2, 3])
def test_a_period_has_at_most_so_many_orders(orders: int) -> None:
    tracker = begun(orders, periods=1)
    counts = [len(complete(tracker, period)) for period in range(2, 10)]
    assert max(counts) == orders
    assert tracker.ask().samples > 0


def test_a_period_that_had_its_order_says_so() -> None:
    for orders, had in ((1, "its one order"), (2, "its 2 orders")):
        tracker = begun(orders)
        for part in range(orders):
            tracker.tell(*rows(5, tracker.ask().samples, part), final=False)
        request = tracker.ask()
        assert request.samples == 0
        assert request.reason.endswith(f"the period has had {had}")
        assert request.outcome in (Outcome.MET, Outcome.UNSUPPORTED)
        report = tracker.tell()
        assert report is not None
        assert report.risk_bound == pytest.approx(request.risk_bound), "no decision is left, so every row counts"


@pytest.mark.parametrize("orders", [1, 2])
def test_an_order_that_is_delivered_in_pieces_stays_as_it_was(orders: int, tmp_path: Path) -> None:
    whole, pieces = begun(orders), begun(orders)
    asked = whole.ask().samples
    assert pieces.ask().samples == asked
    X, y = rows(5, asked)
    pieces.tell(X[:4], y[:4], final=False)
    request = pieces.ask()
    assert request.samples == asked - 4
    assert request.reason == f"{asked - 4} more rows complete the order of {asked}"
    pieces.save(tmp_path / "open.json")
    pieces = Tracker.load(tmp_path / "open.json")
    assert same(pieces.ask(), request)
    pieces.tell(X[4:-1], y[4:-1], final=False)
    assert pieces.ask().reason == f"1 more row completes the order of {asked}"
    pieces.tell(X[-1:], y[-1:], final=False)
    whole.tell(X, y, final=False)
    assert same(pieces.ask(), whole.ask())
    if orders == 2:
        more = rows(5, whole.ask().samples, 1)
        first, second = whole.tell(*more), pieces.tell(*more)
    else:
        first, second = whole.tell(), pieces.tell()
    assert first is not None
    assert second is not None
    assert (first.samples, first.risk_bound, first.audit) == (second.samples, second.risk_bound, second.audit)
    assert whole.coef.tolist() == pieces.coef.tolist()


def test_more_rows_than_asked_end_the_order_and_fewer_leave_the_period_short() -> None:
    tracker = begun(1)
    tracker.tell(*rows(5, tracker.ask().samples + 7), final=False)
    assert tracker.ask().samples == 0
    tracker.tell()
    asked = tracker.ask().samples
    report = tracker.tell(*rows(6, 2))
    assert report is not None
    assert (report.samples, report.asked, report.outcome) == (2, asked, Outcome.SHORT)


def test_a_period_that_is_closed_after_its_first_batch_falls_short() -> None:
    """The batch was delivered as asked, but more were to follow: nothing speaks against what the target was sized by."""
    for orders in (None, 2):
        tracker = begun(orders)
        request = tracker.ask()
        assert "of them first" in request.reason
        report = tracker.tell(*rows(40, request.samples))
        assert report is not None
        assert report.risk_bound > EPSILON
        assert report.outcome is Outcome.SHORT
    fresh = Tracker(SquaredLoss(), epsilon=EPSILON / 100, orders=1, rng=0)
    report = fresh.tell(*rows(1, fresh.ask().samples))
    assert report is not None
    assert report.outcome is Outcome.SHORT, "an initial sample is no order"


def test_a_decision_that_no_rows_are_needed_is_no_order() -> None:
    """A still population and a lax target: rows that show a jump in such a period still lead to the one order."""
    tracker = Tracker(SquaredLoss(), epsilon=5.0, features=1, orders=1, rng=0)
    rng = np.random.default_rng(0)
    for _ in range(8):
        X = rng.standard_normal((200, 1))
        tracker.ask()
        tracker.tell(X, X[:, 0] + 0.1 * rng.standard_normal(200))
    assert tracker.ask().samples == 0
    X = rng.standard_normal((12, 1))
    tracker.tell(X, 400.0 * X[:, 0] + 300.0 * rng.standard_normal(12), final=False)
    assert tracker.ask().samples > 0
    tracker.tell(X, 40.0 * X[:, 0], final=False)
    while tracker.ask().samples:
        assert "complete" in tracker.ask().reason
        tracker.tell(X, 40.0 * X[:, 0], final=False)
    assert tracker.ask().reason.endswith("the period has had its one order")


@pytest.mark.parametrize(("features", "initial"), [(FEATURES, [12]), (None, [10, 2])])
def test_a_first_period_has_an_initial_sample_and_then_its_order(features: int | None, initial: list[int]) -> None:
    """Before the initial sample neither the number of columns nor the noise is known."""
    tracker = Tracker(SquaredLoss(), epsilon=EPSILON, features=features, orders=1, rng=0)
    sizes = complete(tracker, 1)
    assert sizes[:-1] == initial
    assert tracker.history[0].outcome in (Outcome.MET, Outcome.UNSUPPORTED)
    assert Tracker(SquaredLoss(), epsilon=EPSILON, features=FEATURES, orders=2).ask().samples == 12


def test_an_initial_sample_may_be_delivered_in_pieces() -> None:
    tracker = Tracker(SquaredLoss(), epsilon=EPSILON, features=FEATURES, orders=1, rng=0)
    assert tracker.ask().samples == 12
    tracker.tell(*rows(1, 5), final=False)
    assert tracker.ask().samples == 7
    tracker.tell(*rows(1, 7, 1), final=False)
    tracker.tell(*rows(1, tracker.ask().samples, 2), final=False)
    assert tracker.ask().reason.endswith("its one order")


@pytest.mark.parametrize("orders", [1, 2])
def test_rows_that_are_withdrawn_were_no_order(orders: int) -> None:
    tracker = begun(orders)
    first = tracker.ask()
    for part in range(orders):
        tracker.tell(*rows(5, tracker.ask().samples, part), final=False)
    tracker.ask()
    tracker.forget()
    assert same(tracker.ask(), first)
    assert len(complete(tracker, 5)) == orders


def test_candidates_share_the_orders_of_a_period() -> None:
    for orders in (1, 2):
        tracker = begun(orders, l2=[0.0, 0.1, 3.0])
        request = tracker.ask()
        assert "needs the most of 3 candidates" in request.reason
        assert tracker.ask() == request, "asking again gives the same answer"
        asked = request.samples
        tracker.tell(*rows(5, 3), final=False)
        assert tracker.ask().samples == asked - 3
        tracker.tell(*rows(5, asked - 3, 1), final=False)
        assert len(complete(tracker, 5)) <= orders - 1
        assert all(len(complete(tracker, period)) <= orders for period in (6, 7, 8))


@pytest.mark.parametrize("orders", [1, 2])
def test_a_budget_is_spent_in_so_many_orders(orders: int) -> None:
    """Prices without a fixed part would allow any number of batches."""
    budget = Budget(total=2000, horizon=8, cost=LinearCost())
    tracker = begun(orders, periods=2, budget=budget)
    counts = [len(complete(tracker, period)) for period in range(3, 7)]
    assert 1 <= max(counts) <= orders
    asked = tracker.ask().samples
    tracker.tell(*rows(7, 2), final=False)
    assert tracker.ask().samples == asked - 2


def test_a_number_of_orders_that_cannot_be_is_refused() -> None:
    for wrong in (0, -1, 1.5, "one", True):
        with pytest.raises(ParameterError, match=r"^Tracker\(orders=\.\.\.\) must be"):
            Tracker(SquaredLoss(), epsilon=EPSILON, orders=wrong)  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match=r"Tracker\(orders=\.\.\.\) must be None when the tracker is made of parts"
    ):
        Tracker(SquaredLoss(), epsilon=EPSILON, learner=Sgd(), orders=1)


# ---- the promise


def risks_and_labels(
    orders: int | None, shape: Any, cost: float, seed: int, runs: int = 20
) -> tuple[FloatArray, float]:
    """Return the true excess risks, runs of 15 periods, and the mean number of rows of a period."""
    risks, labels = np.empty((runs, 15)), 0
    for run in range(len(risks)):
        population = ShapedRegression(features=5, cost=cost, shape=shape, rng=1_000_003 * (seed + 1) + run)
        tracker = Tracker(SquaredLoss(), epsilon=EPSILON, features=5, orders=orders, rng=run)
        rng = np.random.default_rng([seed, run])
        for index in range(risks.shape[1]):
            now = population.period(index + 1)
            report = tracker.step(lambda count, now=now, rng=rng: now.draw(count, rng=rng))  # type: ignore[misc]
            labels += report.samples
            risks[run, index] = now.excess_risk(SquaredLoss(), np.append(tracker.coef, tracker.intercept))
    return risks, labels / risks.size


@pytest.mark.statistical
def test_one_order_keeps_the_promise_in_few_runs(monkeypatch: Any, seed: int) -> None:
    """The mean of a run is about 0.66 targets with a standard deviation of 0.19, that of four is above 1.1 once in 10^5 suites.

    The control aims at eight times as much: its mean of four, 2.4 targets with a standard error of 0.35, must be above.
    """
    risks, _ = risks_and_labels(1, "walk", 0.01, seed, runs=4)
    assert 0.3 * EPSILON < risks.mean() <= 1.1 * EPSILON
    monkeypatch.setattr(sample_size, "ONE_ORDER", 8.0 * sample_size.ONE_ORDER)
    risks, _ = risks_and_labels(1, "walk", 0.01, seed, runs=4)
    assert risks.mean() > 1.1 * EPSILON


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(("shape", "cost"), [("walk", 0.01), ("line", 0.02)])
def test_the_promise_is_kept_with_one_order_and_with_two(shape: Any, cost: float, seed: int) -> None:
    """The mean of 300 risks has a standard error of about 0.05 targets: at 0.8 of the target a false alarm is a matter of 1e-4.

    Batches need fewer rows than one order, and one order not half as many again.
    """
    _, batches = risks_and_labels(None, shape, cost, seed)
    for orders in (1, 2):
        risks, labels = risks_and_labels(orders, shape, cost, seed)
        assert promise(risks, EPSILON).mean <= EPSILON
        assert labels < 1.5 * batches
        assert risks.mean() > 0.3 * EPSILON, "not kept by waste"


@pytest.mark.slow
@pytest.mark.statistical
def test_one_order_that_aims_beyond_the_target_breaks_the_promise(monkeypatch: Any, seed: int) -> None:
    """The control: with 2.5 times the target as its aim, the same study sees that the promise is broken."""
    monkeypatch.setattr(sample_size, "ONE_ORDER", 2.5)
    risks, _ = risks_and_labels(1, "walk", 0.01, seed)
    assert promise(risks, EPSILON).mean > EPSILON
