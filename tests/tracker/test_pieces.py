"""Orders that are delivered in pieces, with the question for the next one after each: nothing may depend on the pieces."""

from typing import Any

import numpy as np
import pytest

from driftpace import Budget, LogisticLoss, SoftmaxLoss, SquaredLoss, Tracker
from driftpace.losses import Loss

FEATURES, PERIODS = 3, 6


def drawn(loss: Loss, period: int, start: int, stop: int) -> tuple[Any, Any]:
    """Return rows of a period by their numbers: the same ones however they are cut."""
    rng = np.random.default_rng((11, period))
    X = rng.standard_normal((2000, FEATURES))
    scores = X @ np.array([1.0, -0.5, 0.2]) + 0.4 * period + rng.standard_normal(2000)
    if isinstance(loss, SoftmaxLoss):
        y = np.digitize(scores, [0.0, 1.5])
    elif isinstance(loss, LogisticLoss):
        y = np.where(scores > 0.5, 1, -1)
    else:
        y = scores
    return X[start:stop], y[start:stop]


def followed(tracker: Tracker, loss: Loss, piece: int | None) -> list[Any]:
    """Follow the stream and return the reports, each order delivered in pieces of so many rows."""
    reports = []
    for period in range(PERIODS):
        bought = 0
        while missing := tracker.ask().samples:
            rows = missing if piece is None else min(piece, missing)
            tracker.tell(*drawn(loss, period, bought, bought + rows), final=False)
            bought += rows
            assert tracker.ask().samples == missing - rows or missing == rows
        report = tracker.tell()
        assert report is not None
        reports.append(report)
    return reports


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 0.05},
        {"epsilon": 0.05, "features": FEATURES},
        {"tolerance": 0.1, "features": FEATURES},
        {"epsilon": 0.05, "features": FEATURES, "audit": 0.2},
        {"epsilon": 0.05, "features": FEATURES, "orders": 2},
        {"epsilon": 0.05, "method": "wide"},
        {"epsilon": 0.05, "features": FEATURES, "budget": Budget(total=400, horizon=PERIODS, batches=True)},
    ],
    ids=["epsilon", "features", "tolerance", "audit", "two-orders", "wide", "budget"],
)
@pytest.mark.parametrize(
    "loss", [SquaredLoss(), LogisticLoss(l2=1e-3), SoftmaxLoss(l2=1e-3)], ids=lambda loss: type(loss).__name__
)
def test_pieces_of_an_order_change_nothing(loss: Loss, options: dict[str, Any]) -> None:
    whole = followed(Tracker(loss, rng=0, **options), loss, None)
    pieces = followed(Tracker(loss, rng=0, **options), loss, 7)
    assert [report.samples for report in pieces] == [report.samples for report in whole]
    np.testing.assert_allclose(
        [report.risk_bound for report in pieces], [report.risk_bound for report in whole], rtol=1e-9
    )
    assert sum(report.samples for report in whole) > PERIODS * 7, "no order had more than a piece"


def test_the_rest_of_an_order_is_said() -> None:
    loss = SquaredLoss()
    tracker = Tracker(loss, epsilon=0.05, features=FEATURES, rng=0)
    ordered = tracker.ask().samples
    tracker.tell(*drawn(loss, 0, 0, 2), final=False)
    request = tracker.ask()
    assert request.samples == ordered - 2
    assert request.reason == f"{ordered - 2} more rows complete the order of {ordered}"


def test_more_rows_than_ordered_are_decided_on_at_once() -> None:
    loss = SquaredLoss()
    tracker = Tracker(loss, epsilon=0.05, features=FEATURES, rng=0)
    ordered = tracker.ask().samples
    tracker.tell(*drawn(loss, 0, 0, ordered + 30), final=False)
    assert "complete the order" not in tracker.ask().reason
