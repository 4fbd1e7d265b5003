"""Campaigns that have been run for a while, over a small drifting world."""

from pathlib import Path
from typing import Any

import numpy as np

from driftpace.campaign import Campaign, Receipt, import_campaign
from driftpace.storage.base import Store

FEATURES = ("a", "b", "c")


def rows(rng: np.random.Generator, count: int, period: int = 1) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return rows of a world whose best model moves a little in each period."""
    X = rng.normal(size=(count, len(FEATURES)))
    return X, X @ (1.0 + 0.05 * period * np.arange(len(FEATURES))) + rng.normal(size=count)


def as_csv(X: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bytes:
    """Return rows as a CSV file."""
    lines = [",".join(repr(float(cell)) for cell in (*row, target)) for row, target in zip(X, y, strict=True)]
    return "\n".join([",".join((*FEATURES, "y")), *lines, ""]).encode()


def begun(store: Store, name: str, **more: Any) -> Campaign:
    """Return a campaign that nothing has happened to."""
    return Campaign.create({"name": name, "target": "y", "epsilon": 0.1, "seed": 0, **more}, storage=store)


def run_periods(campaign: Campaign, rng: np.random.Generator, count: int) -> None:
    """Ask and tell until so many periods are closed."""
    for period in range(1, count + 1):
        order = campaign.ask(key=f"2026-W{period:02d}")
        receipt: Receipt | None = None
        while receipt is None or receipt.report is None:
            missing = order.missing if receipt is None else receipt.order.missing
            X, y = rows(rng, missing, period)
            table = {name: X[:, place] for place, name in enumerate(FEATURES)} | {"y": y}
            receipt = campaign.tell_table(_columns(table)) if missing else campaign.tell()


def _columns(table: dict[str, Any]) -> Any:
    from driftpace.tables.columns import from_arrays

    return from_arrays(table, "tests")


def imported(path: Path, **more: Any) -> Campaign:
    """Import a campaign of one model."""
    campaign = import_campaign(path, **more)
    assert isinstance(campaign, Campaign)
    return campaign
