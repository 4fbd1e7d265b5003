"""A column of weights in campaigns: read, stored, recomputed, and refused where it is wrong."""

from typing import Any

import numpy as np
import pytest

from driftpace import SquaredLoss, Tracker
from driftpace.campaign import Campaign
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore

VALUES: dict[str, Any] = {"name": "survey", "target": "y", "epsilon": 0.05, "seed": 0, "weight": "w"}


@pytest.fixture
def table() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(120), rng.uniform(0.2, 3.0, 120)
    return {"row": [f"r{i}" for i in range(120)], "x": x, "w": w, "y": x + rng.standard_normal(120)}


def rows(table: dict[str, Any], part: slice) -> dict[str, Any]:
    return {name: values[part] for name, values in table.items()}


def test_a_column_of_weights_gives_the_model_of_a_tracker_told_them(table: dict[str, Any]) -> None:
    campaign = Campaign.create({**VALUES, "id": "row"}, storage=MemoryStore())
    campaign.ask()
    campaign.tell_table(rows(table, slice(0, 70)), final=False)
    receipt = campaign.tell_table(rows(table, slice(50, 120)), final=True)
    assert receipt.repeated == 20
    tracker = Tracker(SquaredLoss(), epsilon=0.05, rng=0)
    tracker.ask()
    report = tracker.tell(np.asarray(table["x"])[:, None], table["y"], sample_weight=table["w"])
    assert receipt.report is not None
    assert report is not None
    assert receipt.report.effective_samples == report.effective_samples
    assert receipt.report.risk_bound == pytest.approx(report.risk_bound, rel=1e-12)
    (line,) = campaign.ledger()
    assert line.report.effective_samples is not None
    assert 60 < line.report.effective_samples < 120
    checkpoint = campaign.store.checkpoint("survey")
    assert checkpoint is not None
    *_, (_, recomputed) = campaign.replay()
    assert to_checkpoint(recomputed) == checkpoint[1]


def test_arrays_have_weights_too(table: dict[str, Any]) -> None:
    campaign = Campaign.create({"name": "a", "epsilon": 0.05, "seed": 0}, storage=MemoryStore())
    campaign.ask()
    receipt = campaign.tell(np.asarray(table["x"])[:, None], table["y"], sample_weight=table["w"], final=True)
    assert receipt.report is not None
    assert receipt.report.effective_samples is not None
    campaign.ask()
    with pytest.raises(DataError, match="together with groups, weights, exposures, ids and annotators"):
        campaign.tell(sample_weight=[1.0])


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (-1.0, "weight 'w' must not be negative; row 3 has -1"),
        ("much", "weight 'w' must be numeric; row 3 has 'much'"),
    ],
)
def test_a_wrong_weight_is_refused_by_its_cell(table: dict[str, Any], cell: Any, words: str) -> None:
    campaign = Campaign.create(VALUES, storage=MemoryStore())
    campaign.ask()
    wrong = {
        **rows(table, slice(0, 20)),
        "w": ["1", "1", cell, *["1"] * 17] if isinstance(cell, str) else [1.0, 1.0, cell, *[1.0] * 17],
    }
    with pytest.raises(DataError) as error:
        campaign.tell_table(wrong)
    assert words in str(error.value)
    order = campaign.status().order
    assert order is not None
    assert order.received == 0


def test_a_weight_is_no_feature(table: dict[str, Any]) -> None:
    campaign = Campaign.create(VALUES, storage=MemoryStore())
    campaign.ask()
    campaign.tell_table(table, final=True)
    assert campaign.encoding is not None
    assert "w" not in campaign.encoding.sources
    with pytest.raises(ParameterError, match="must name each column once"):
        Campaign.create({**VALUES, "features": ["x", "w"]}, storage=MemoryStore())
