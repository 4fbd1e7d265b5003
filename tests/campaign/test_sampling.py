"""Campaign.sample draws valid rows at random, records them, and never draws a row twice in a period."""

from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.errors import ConflictError, DataError, ParameterError, ProtocolError
from driftpace.storage import MemoryStore

POOL: dict[str, list[Any]] = {
    "id": [f"r{n}" for n in range(60)],
    "x": list(range(60)),
    "city": ["Oslo", "Rome", "Rome"] * 20,
}


@pytest.fixture
def campaign() -> Campaign:
    """A campaign with an order of ten rows."""
    definition = {"name": "a", "target": "y", "features": ["x"], "id": "id", "epsilon": 0.1, "seed": 1}
    campaign = Campaign.create(definition, storage=MemoryStore())
    assert campaign.ask().missing == campaign.shortfall().samples
    return campaign


def test_rows_are_drawn_once_and_returned_again(campaign: Campaign) -> None:
    missing = campaign.ask().missing
    sample = campaign.sample(POOL, source="pool.csv")
    assert (len(sample), sample.new, sample.eligible, sample.pool_rows) == (missing, missing, 60, 60)
    assert campaign.drawn() == sample.ids
    assert [POOL["id"][position] for position in sample.positions] == list(sample.ids)
    assert sample.rows()["id"] == list(sample.ids)
    again = campaign.sample(POOL)
    assert (again.ids, again.new, campaign.shortfall().samples) == (sample.ids, 0, 0)
    (entry,) = campaign.log(kinds=("selected",))
    assert (entry.body["rows"], entry.body["pool"], entry.body["source"]) == (missing, 60, "pool.csv")


def test_other_rows_replace_those_that_cannot_be_labelled(campaign: Campaign) -> None:
    first = campaign.sample(POOL)
    assert campaign.shortfall(replace=True).samples == len(first)
    second = campaign.sample(POOL, replace=True)
    assert not set(first.ids) & set(second.ids)
    assert set(campaign.drawn()) == {*first.ids, *second.ids}


def test_a_dry_run_records_nothing_and_draws_what_is_drawn_then(campaign: Campaign) -> None:
    trial = campaign.sample(POOL, dry_run=True)
    assert campaign.drawn() == ()
    assert campaign.sample(POOL).ids == trial.ids


def test_a_pool_that_does_not_fit_the_definition_is_refused_before_labels_are_bought() -> None:
    definition = {"name": "a", "target": "y", "features": ["x", "city"], "id": "id", "epsilon": 0.1, "seed": 1}
    campaign = Campaign.create(definition, storage=MemoryStore())
    campaign.ask()
    with pytest.raises(
        DataError, match=r"feature 'city' must be numeric; it holds text; list its categories in the definition"
    ):
        campaign.sample(POOL)
    assert campaign.drawn() == ()


def test_rows_of_a_pool_without_an_id_are_not_drawn(campaign: Campaign) -> None:
    gaps = ["NA" if place in (3, 9) else None if place == 5 else f"r{place}" for place in range(60)]
    sample = campaign.sample({**POOL, "id": gaps})
    assert (sample.skipped, sample.eligible, sample.invalid) == (3, 57, {"without id": 3})
    assert set(sample.ids) <= {f"r{place}" for place in range(60)}


def test_invalid_rows_are_skipped_and_labels_are_not_copied(campaign: Campaign) -> None:
    pool: dict[str, Any] = {**POOL, "x": [np.inf, None, *range(58)], "y": [1.0, None, None] * 20}
    sample = campaign.sample(pool)
    assert (sample.skipped, sample.invalid) == (1, {"with an infinite x": 1})
    assert sample.labelled == sum(pool["y"][position] is not None for position in sample.positions)
    assert "y" not in sample.rows()


def test_no_rows_are_drawn_where_none_are_missing(campaign: Campaign) -> None:
    campaign.override(0, reason="holiday")
    sample = campaign.sample(POOL)
    assert (len(sample), sample.rows()["x"]) == (0, [])


def test_a_concurrent_draw_is_seen(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    record, rivals = Campaign._record_draw, [campaign]

    def overtaken(self: Campaign, *args: Any, **options: Any) -> None:
        if rivals:
            rivals.pop().sample(POOL)
        record(self, *args, **options)

    monkeypatch.setattr(Campaign, "_record_draw", overtaken)
    sample = campaign.sample(POOL)
    assert sample.new == 0
    assert set(campaign.drawn()) == set(sample.ids)


def test_endless_conflicts_are_reported(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(self: Campaign, *args: Any, **options: Any) -> None:
        raise ConflictError("a concurrent writer committed first.")

    monkeypatch.setattr(Campaign, "_record_draw", conflict)
    with pytest.raises(ConflictError):
        campaign.sample(POOL)


@pytest.mark.parametrize(
    ("pool", "options", "message"),
    [
        (POOL, {"strata": "town"}, r"Campaign\.sample\(strata=\.\.\.\) must be a column of the pool"),
        (
            {"id": ["a"], "x": [np.inf]},
            {"source": "p.csv"},
            r"pool=\.\.\.\) must have valid rows; p\.csv has none: 1 with an infinite x",
        ),
        ({"id": ["a"]}, {}, r"Campaign\.sample: the table must have the column 'x'"),
        (7, {}, r"Campaign\.sample\(pool=\.\.\.\) must be"),
    ],
)
def test_errors_name_the_parameter(campaign: Campaign, pool: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        campaign.sample(pool, **options)
    assert campaign.drawn() == ()


def test_a_pool_that_is_exhausted_or_changed(campaign: Campaign) -> None:
    few = {name: values[:3] for name, values in POOL.items()}
    assert len(campaign.sample(few)) == 3
    with pytest.raises(ParameterError, match="must have rows that were not drawn before; it has none left"):
        campaign.sample(few)
    campaign.override(3, reason="all there are")
    with pytest.raises(ParameterError, match=r"must contain the rows drawn from it before; '.*' is missing"):
        campaign.sample({name: values[10:] for name, values in POOL.items()})


def test_an_order_comes_first() -> None:
    campaign = Campaign.create({"name": "a", "target": "y", "epsilon": 0.1}, storage=MemoryStore())
    with pytest.raises(ProtocolError, match=r"requires an open period; call ask\(\)"):
        campaign.sample(POOL)
