"""Rows chosen by the model of a campaign: drawn, recorded with their weights, and weighted when their labels arrive."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore

VALUES: dict[str, Any] = {
    "name": "fraud",
    "target": "y",
    "features": ["a", "b"],
    "classes": ["no", "yes"],
    "id": "row",
    "epsilon": 0.02,
    "seed": 0,
}


def pool_of(period: int, rows: int = 3000) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a pool without labels in which few are positive, and the labels by id."""
    rng = np.random.default_rng(period)
    a, b = rng.standard_normal((2, rows))
    y = np.where(a + 0.5 * a**2 + rng.logistic(size=rows) > 4.5, "yes", "no")
    ids = [f"{period}-{place}" for place in range(rows)]
    return {"row": ids, "a": a, "b": b}, dict(zip(ids, y.tolist(), strict=True))


def labelled(sample: Any, labels: dict[str, str]) -> dict[str, Any]:
    table: dict[str, Any] = sample.rows()
    table["y"] = [labels[row_id] for row_id in sample.ids]
    return table


def filled(choose: str, periods: int = 2) -> tuple[Campaign, list[Any]]:
    """Return a campaign after some periods, and its draws."""
    campaign, draws = Campaign.create(VALUES, storage=MemoryStore()), []
    for period in range(1, periods + 1):
        pool, labels = pool_of(period)
        order = campaign.ask(key=str(period))
        while not order.closed:
            draws.append(campaign.sample(pool, choose=choose))
            order = campaign.tell_table(labelled(draws[-1], labels)).order
    return campaign, draws


def test_informative_rows_get_their_weights_when_they_arrive() -> None:
    campaign, draws = filled("informative")
    assert draws[0].weights is None
    assert "There is no model to choose by yet." in draws[0].sentence
    assert "informative ones more often; their weights are kept" in draws[-1].sentence
    weights = draws[-1].weights
    assert weights is not None
    assert weights.min() < 0.9 < 1.1 < weights.max() <= 10.0 + 1e-9
    for line in campaign.ledger():
        assert line.report.effective_samples is not None
        assert line.report.effective_samples < line.report.samples
    *_, (_, recomputed) = campaign.replay()
    checkpoint = campaign.store.checkpoint("fraud")
    assert checkpoint is not None
    assert to_checkpoint(recomputed) == checkpoint[1]


@pytest.mark.parametrize("choose", ["uniform", "stratified"])
def test_other_rows_count_alike(choose: str) -> None:
    campaign, draws = filled(choose)
    assert all(draw.weights is None for draw in draws)
    assert "no weights are needed" in draws[-1].sentence
    assert all(line.report.effective_samples is None for line in campaign.ledger())


def test_rows_without_ids_are_refused_where_weights_are_found_by_id() -> None:
    campaign, _ = filled("informative", periods=1)
    pool, labels = pool_of(2)
    order = campaign.ask(key="2")
    sample = campaign.sample(pool, choose="informative")
    table = labelled(sample, labels)
    X, y = np.column_stack([table["a"], table["b"]]), np.array([word == "yes" for word in table["y"]], dtype=float)
    with pytest.raises(DataError, match="drawn with weights, which are found by id"):
        campaign.tell(X, y)
    receipt = campaign.tell(X, y, ids=sample.ids, final=True)
    assert receipt.report is not None
    assert receipt.report.effective_samples is not None
    assert order.period == 2


def test_weights_of_a_draw_of_your_own_count_too() -> None:
    campaign = Campaign.create({"name": "own", "epsilon": 0.1, "seed": 0}, storage=MemoryStore())
    campaign.ask()
    with pytest.raises(DataError, match="must have one entry for each of the 2 rows"):
        campaign.record_draw(["a", "b"], weights=[1.0])
    campaign.record_draw([str(place) for place in range(20)], weights=np.linspace(0.5, 2.0, 20))
    rng = np.random.default_rng(0)
    receipt = campaign.tell(
        rng.standard_normal((20, 1)), rng.standard_normal(20), ids=[str(place) for place in range(20)], final=True
    )
    assert receipt.report is not None
    assert receipt.report.effective_samples == pytest.approx(25.0**2 / np.square(np.linspace(0.5, 2.0, 20)).sum())


def test_unknown_ways_to_choose_are_refused() -> None:
    campaign = Campaign.create(VALUES, storage=MemoryStore())
    campaign.ask()
    pool, _ = pool_of(1)
    with pytest.raises(ParameterError, match="did you mean 'informative'"):
        campaign.sample(pool, choose="informativ")
    with pytest.raises(ParameterError, match="must be 'uniform' with a column to stratify by"):
        campaign.sample(pool, choose="informative", strata="a")
