"""What the golden files hold, how they go on, and how they are written."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from driftpace import Ball, Budget, LinearCost, LogisticLoss, SquaredLoss, Tracker
from driftpace.campaign import Campaign
from driftpace.campaign.export_import import export_campaign
from driftpace.records import Constants, StepReport
from driftpace.storage import MemoryStore
from driftpace.typing import FloatArray

FOLDER = Path(__file__).parent
CAMPAIGN = FOLDER / "campaign.dpc"
EXPECTED = FOLDER / "expected.json"
TRACKERS = ("adaptive", "paper", "budget", "candidates")


def rows(period: int, count: int = 30) -> tuple[FloatArray, FloatArray]:
    """Return the rows of a period: the same ones for ever."""
    rng = np.random.default_rng((7, period))
    X = rng.standard_normal((count, 2))
    y = X @ np.array([1.0, -0.5]) + 0.05 * period + 0.5 * rng.standard_normal(count)
    return X, y


def begin(name: str) -> Tracker:
    """Return a tracker before its first period."""
    if name == "paper":
        return Tracker.as_in_paper(
            SquaredLoss(),
            epsilon=0.1,
            domain=Ball(radius=5.0),
            first_samples=(30, 30),
            constants=Constants.given(m=1.0, M=1.0, A=0.3, B=4.0),
            rng=0,
        )
    if name == "budget":
        cost = LinearCost(fixed=5, per_sample=1, currency="EUR")
        return Tracker(SquaredLoss(), epsilon=0.1, budget=Budget(total=200, horizon=5, cost=cost), rng=0)
    if name == "candidates":
        return Tracker(SquaredLoss(), epsilon=0.1, l2=[0.0, 0.1], rng=0)
    return Tracker(SquaredLoss(), epsilon=0.1, rng=0)


def follow(tracker: Tracker, periods: range) -> StepReport:
    """Run periods with all of their rows."""
    for period in periods:
        tracker.ask()
        report = tracker.tell(*rows(period))
    assert report is not None
    return report


def numbers(tracker: Tracker, report: StepReport) -> dict[str, Any]:
    """Return the numbers of a closed period."""
    return {
        "coef": [*tracker.coef.tolist(), tracker.intercept],
        "risk": report.risk_bound,
        "samples": tracker.ask().samples,
    }


def path_of(name: str) -> Path:
    """Return where a tracker is saved."""
    return FOLDER / f"{name}.json"


def deliver(campaign: Campaign, period: int) -> None:
    """Run one period of the campaign."""
    X, y = rows(period)
    campaign.ask()
    campaign.tell(X, np.where(y > 0, 1, -1), final=True)


def write() -> None:
    """Write all files, and the numbers with which each goes on."""
    expected = {}
    for name in TRACKERS:
        tracker = begin(name)
        follow(tracker, range(1, 3))
        tracker.save(path_of(name))
        expected[name] = numbers(tracker, follow(tracker, range(3, 5)))
    campaign = Campaign.create(Tracker(LogisticLoss(l2=0.1), epsilon=0.1, rng=0), storage=MemoryStore(), name="golden")
    for period in range(1, 3):
        deliver(campaign, period)
    export_campaign(campaign, CAMPAIGN)
    deliver(campaign, 3)
    expected["campaign"] = {"coef": campaign.tracker().coef.tolist(), "samples": campaign.ask().samples}
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n")
