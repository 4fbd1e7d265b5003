"""Campaigns on worlds of known truth, for the tests of everything that stands on them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftpace.campaign import Campaign, Receipt
from driftpace.storage.base import Store
from driftpace.synthetic import DriftingRegression
from driftpace.typing import FloatArray

VALUES: dict[str, Any] = {"name": "prices", "target": "price", "epsilon": 0.1, "seed": 1}

BUDGET = {"total": 900, "horizon": 12, "fixed": 60, "per_sample": 1, "currency": "EUR"}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "candidates": {"l2": [0.0, 0.1]},
    "budget": {"budget": BUDGET},
    "batches": {"budget": {**BUDGET, "fixed": 0}},
    "confidence": {"confidence": 0.9},
    "one order": {"orders": 1},
    "audited": {"audit": 0.2},
    "forgetful": {"keep_rows": False},
}


def ticking() -> Callable[[], str]:
    """Return a clock of its own: every look is a second later, so two runs write the same times."""
    seconds = iter(range(10**6))

    def clock() -> str:
        now = next(seconds)
        return f"2026-11-15T{now // 3600 % 24:02d}:{now // 60 % 60:02d}:{now % 60:02d}.000Z"

    return clock


def begun(store: Store, **more: Any) -> Campaign:
    """Return a fresh campaign."""
    return Campaign.create({**VALUES, **more}, storage=store, clock=ticking())


def rows_of(period: int, start: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return rows ``start`` to ``start + count`` of a period: the same ones whoever asks, and however they are cut."""
    world = DriftingRegression(features=2, rho=0.05, noise=1.0, rng=0).period(period)
    whole = [world.draw(1, rng=np.random.default_rng((7, period, place))) for place in range(start, start + count)]
    return (
        np.concatenate([X for X, _ in whole]) if whole else np.empty((0, 2)),
        np.concatenate([y for _, y in whole]) if whole else np.empty(0),
    )


def run_period(campaign: Campaign, period: int, *, parts: int = 1) -> Receipt:
    """Ask, tell in ``parts`` and top up until the period closes itself; return the last receipt."""
    order = campaign.ask(key=f"W{period}")
    assert order.period == period
    receipt = None
    while order.missing:
        size = max(1, order.missing // parts)
        X, y = rows_of(period, order.received, min(size, order.missing))
        receipt = campaign.tell(X, y, source=f"{period}-{order.received}.csv")
        order = receipt.order
    if receipt is None or receipt.report is None:
        receipt = campaign.tell()
    return receipt
