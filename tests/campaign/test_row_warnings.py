"""What the first rows of a campaign show: targets that look like classes, and features that give the target away."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign, render
from driftpace.campaign.log_text import describe_entry
from driftpace.service.dashboard.campaign_page import definition_facts
from driftpace.storage import MemoryStore


def told(y: Any, *, period: int = 1, **more: Any) -> tuple[Campaign, tuple[str, ...]]:
    """Return a campaign and the warnings of the rows of a period."""
    rng = np.random.default_rng(3)
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.3, "seed": 0, **more}, storage=MemoryStore())
    receipt = None
    for _ in range(period):
        campaign.ask()
        x = rng.normal(size=len(y))
        receipt = campaign.tell_table({"x": x, "fee": np.where(y == y[0], 5.0, 7.0), "y": y}, final=True, again=True)
    assert receipt is not None
    return campaign, receipt.warnings


@pytest.mark.parametrize(
    ("codes", "loss", "words"),
    [
        ([0, 1, 2], "softmax", "y has 3 values, 0, 1 and 2, and is predicted as a number"),
        ([0, 1], "logistic", "y has 2 values, 0 and 1, and is predicted as a number"),
    ],
)
def test_codes_of_classes_are_not_regressed_in_silence(codes: list[int], loss: str, words: str) -> None:
    y = np.array(codes * 12)
    campaign, warnings = told(y)
    assert warnings[0] == f"{words}: if they are classes, create the campaign with classes and loss {loss}"
    (entry,) = campaign.log(kinds=("delivered",))
    assert words in describe_entry(entry).sentence


def test_features_that_give_the_target_away_are_named_by_the_receipt() -> None:
    y = np.array(["no", "yes"] * 15)
    campaign = Campaign.create(
        {"name": "a", "target": "y", "classes": ["no", "yes"], "loss": "logistic", "epsilon": 0.3, "seed": 0},
        storage=MemoryStore(),
    )
    campaign.ask()
    x = np.random.default_rng(3).normal(size=30)
    receipt = campaign.tell_table({"x": x, "fee": np.where(y == "yes", 5.0, 7.0), "y": y}, final=False)
    assert [warning.partition(" (")[0] for warning in receipt.warnings] == ["fee predicts y almost perfectly"]
    assert "Warning    fee predicts y almost perfectly (AUC 1;" in render(receipt)


@pytest.mark.parametrize(
    ("y", "more"),
    [
        (np.arange(30.0) % 7 + 0.5, {}),
        (np.array([0, 1, 2] * 10), {"loss": "poisson"}),
        (np.array([0, 1, 2] * 6), {}),
    ],
    ids=["numbers", "counts", "too few rows"],
)
def test_other_targets_have_no_warning(y: Any, more: dict[str, Any]) -> None:
    _, warnings = told(y, **more)
    assert not any("is predicted as a number" in warning for warning in warnings)


def test_the_first_receipt_says_which_columns_are_features() -> None:
    campaign = Campaign.create(
        {"name": "a", "target": "y", "id": "id", "epsilon": 0.3, "seed": 0}, storage=MemoryStore()
    )
    campaign.ask()
    rng = np.random.default_rng(3)
    table = {
        "id": [f"r{place}" for place in range(20)],
        "x": rng.normal(size=20),
        "city": ["Oslo", "Rome"] * 10,
        "day": [f"2026-03-{1 + place:02}" for place in range(20)],
        "y": rng.normal(size=20),
    }
    receipt = campaign.tell_table(table, final=False)
    assert receipt.features == "x, city (2 categories); not used: day; a campaign with features uses others"
    assert f"Features   {receipt.features}" in render(receipt)
    again = campaign.tell_table({**table, "id": [f"s{place}" for place in range(20)]}, final=False)
    assert (again.rows, again.features) == (20, "")
    assert campaign.encoding is not None
    facts = dict(definition_facts(campaign.definition, campaign.status(), shown=campaign.encoding.sources))
    assert facts["Features"] == "x, city"


def test_rows_of_later_periods_are_not_warned_of_again() -> None:
    assert told(np.array([0, 1, 2] * 12), period=2)[1] == ()


def test_calendar_features_are_not_looked_for_in_the_table() -> None:
    values = {"name": "a", "target": "y", "features": ["x", "date:weekday"], "epsilon": 0.3, "seed": 0}
    values["categories"] = {"date:weekday": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]}
    campaign = Campaign.create(values, storage=MemoryStore())
    campaign.ask()
    rng = np.random.default_rng(3)
    day = [f"2026-03-{1 + place % 28:02}" for place in range(40)]
    receipt = campaign.tell_table({"x": rng.normal(size=40), "date": day, "y": rng.normal(size=40)}, final=False)
    assert (receipt.rows, receipt.warnings) == (40, ())
