"""Deliveries against the pool of their period: what is said, what the log keeps, and weights that make up for it."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.log_text import describe_entry
from driftpace.campaign.serialization import ledger_json, receipt_json
from driftpace.campaign.state import to_checkpoint
from driftpace.errors import DataError, ParameterError
from driftpace.storage import MemoryStore

VALUES: dict[str, Any] = {
    "name": "loans",
    "target": "y",
    "features": ["age", "city"],
    "categories": {"city": ["Oslo", "Rome"]},
    "id": "row",
    "epsilon": 0.05,
    "seed": 0,
}


def make_pool(rows: int = 2000, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    city = np.where(rng.random(rows) < 0.3, "Rome", "Oslo")
    return {"row": [f"{seed}-{place}" for place in range(rows)], "age": rng.normal(40.0, 10.0, rows), "city": city}


def table(pool: dict[str, Any], places: Any, rng: np.random.Generator) -> dict[str, Any]:
    rows = {name: np.asarray(values)[places] for name, values in pool.items()}
    return {**rows, "y": 0.02 * rows["age"] + rng.standard_normal(len(places))}


def young(pool: dict[str, Any], sample: Any) -> Any:
    """Return the places of the drawn rows that are labelled: the young ones, and a few others."""
    ages = pool["age"][sample.positions]
    return sample.positions[(ages < 38.0) | (np.arange(len(ages)) % 5 == 0)]


@pytest.fixture
def campaign() -> Campaign:
    made = Campaign.create(VALUES, storage=MemoryStore())
    made.ask(key="1")
    made.override(400, reason="all at once")
    return made


def test_rows_that_were_drawn_look_like_their_pool(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    sample = campaign.sample(pool)
    receipt = campaign.tell_table(table(pool, sample.positions, rng))
    assert receipt.rows == 400
    assert receipt.mismatch is None
    assert receipt_json(receipt)["mismatch"] is None
    assert campaign.ledger()[0].mismatch is None


def test_rows_that_were_not_labelled_at_random_are_said_to_differ(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    sample = campaign.sample(pool)
    receipt = campaign.tell_table(table(pool, young(pool, sample), rng), final=True)
    assert receipt.mismatch is not None
    (age,) = receipt.mismatch.columns
    assert (age.column, age.statistic) == ("age", "median")
    assert age.delivered < 36.0 < 39.0 < age.pool < 41.0
    assert receipt_json(receipt)["mismatch"]["columns"][0]["column"] == "age"
    (row,) = campaign.ledger()
    assert row.mismatch == receipt.mismatch
    assert ledger_json(row)["mismatch"]["sentence"] == receipt.mismatch.sentence
    (entry,) = campaign.store.entries("loans", kinds=("delivered",))
    assert "unlike the pool in “age”" in describe_entry(entry).text


def test_rows_are_looked_at_together(campaign: Campaign) -> None:
    """Ten deliveries of four rows: none shows by itself what they show together."""
    pool, rng = make_pool(), np.random.default_rng(0)
    old = [place for place in campaign.sample(pool).positions if pool["age"][place] > 41.0]
    said = [
        campaign.tell_table(table(pool, old[start : start + 4], rng), final=False).mismatch is not None
        for start in range(0, 60, 4)
    ]
    assert not said[0]
    assert said[-1]


def test_rows_without_ids_and_others_are_compared_too(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    campaign.sample(pool)
    X = np.column_stack([rng.normal(60.0, 5.0, 50), np.zeros(50)])
    assert campaign.tell(X, X[:, 0], final=False, dry_run=True).mismatch is not None
    ids = [f"other-{place}" for place in range(50)]
    receipt = campaign.tell(X, X[:, 0], ids=ids, accept_others=True, final=False)
    assert receipt.others == 50
    assert receipt.mismatch is not None


def test_the_profile_of_a_pool_is_kept_once_a_period(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    first = campaign.sample(pool)
    campaign.tell_table(table(pool, first.positions[:100], rng), final=False)
    campaign.sample(pool, replace=True)
    campaign.sample(make_pool(seed=1), replace=True)
    bodies = [entry.body for entry in campaign.store.entries("loans", kinds=("selected",))]
    assert [("profile" in body, "profile_of" in body) for body in bodies] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert bodies[0]["profile"]["rows"] == 2000


def test_two_pools_of_a_period_are_told_apart(campaign: Campaign) -> None:
    early, rng = make_pool(), np.random.default_rng(0)
    late = make_pool(seed=1)
    late["age"] = late["age"] + 20.0
    first = campaign.sample(early)
    campaign.tell_table(table(early, first.positions[:80], rng), final=False)
    second = campaign.sample(late, replace=True)
    assert campaign.tell_table(table(late, second.positions[:80], rng), final=False).mismatch is None


def test_informative_rows_are_compared_with_their_weights() -> None:
    campaign = Campaign.create({**VALUES, "epsilon": 0.02}, storage=MemoryStore())
    rng = np.random.default_rng(0)
    for period in (1, 2):
        pool = make_pool(seed=period)
        order = campaign.ask(key=str(period))
        while not order.closed:
            sample = campaign.sample(pool, choose="informative")
            receipt = campaign.tell_table(table(pool, sample.positions, rng))
            assert receipt.mismatch is None
            order = receipt.order
    assert sample.weights is not None


def test_balanced_rows_count_for_fewer_and_for_the_pool(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    sample = campaign.sample(pool)
    places = young(pool, sample)
    campaign.tell_table(table(pool, places[:100], rng), final=False)
    receipt = campaign.tell_table(table(pool, places[100:], rng), balance=True, final=True)
    assert receipt.mismatch is not None
    assert receipt.effective is not None
    assert receipt.effective < 0.9 * len(places)
    assert receipt.report is not None
    assert receipt.report.effective_samples == pytest.approx(receipt.effective, rel=1e-6)
    *_, (_, recomputed) = campaign.replay()
    checkpoint = campaign.store.checkpoint("loans")
    assert checkpoint is not None
    assert to_checkpoint(recomputed) == checkpoint[1]


def test_an_undone_delivery_leaves_the_weights_of_the_others(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    places = young(pool, campaign.sample(pool))
    campaign.tell_table(table(pool, places[:100], rng), final=False, delivery="monday")
    campaign.tell_table(table(pool, places[100:], rng), balance=True, final=False)
    undone = campaign.undo(delivery="monday", reason="wrong file")
    assert undone.order is not None
    assert undone.order.received == len(places) - 100
    *_, (_, recomputed) = campaign.replay()
    checkpoint = campaign.store.checkpoint("loans")
    assert checkpoint is not None
    assert to_checkpoint(recomputed) == checkpoint[1]


def test_what_cannot_be_balanced_is_refused(campaign: Campaign) -> None:
    pool, rng = make_pool(), np.random.default_rng(0)
    with pytest.raises(ParameterError, match=r"balance.*whose pool is not known"):
        campaign.tell_table(table(pool, range(10), rng), balance=True)
    sample = campaign.sample(pool)
    old = [place for place in sample.positions if pool["age"][place] > 45.0]
    with pytest.raises(DataError, match=r"balance.*all rows have age above 4"):
        campaign.tell_table(table(pool, old, rng), balance=True)
    with pytest.raises(ParameterError, match=r"balance.*rows that have weights already"):
        campaign.tell(np.ones((5, 2)), np.ones(5), sample_weight=np.ones(5), ids=sample.ids[:5], balance=True)
    assert campaign.order().received == 0
