"""The rows of each segment are drawn from its rows of the pool, once."""

from collections.abc import Iterator

import numpy as np
import pytest

from driftpace import FleetCampaign
from driftpace.campaign.fleet import sampling
from driftpace.campaign.fleet.actions import marks_of
from driftpace.errors import DriftpaceError, ProtocolError
from driftpace.storage import MemoryStore
from tests.campaign.fleet.shops import Market, create


def pool_of(sizes: dict[str, int]) -> dict[str, list[object]]:
    shops = [name for name, count in sizes.items() for _ in range(count)]
    return {
        "id": [f"{name}-{place}" for place, name in enumerate(shops)],
        "shop": list(shops),
        "price": np.random.default_rng(0).standard_normal(len(shops)).tolist(),
    }


def test_each_segment_gets_its_rows_and_a_job_that_runs_twice_draws_once() -> None:
    store = MemoryStore()
    campaign = create(store, id="id")
    campaign.ask(key="a")
    pool = pool_of({"Oslo": 50, "Rome": 50, "Turin": 4})
    sample = campaign.sample(pool)
    assert {name: len(ids) for name, ids in sample.ids.items()} == {"Oslo": 10, "Rome": 10, "Turin": 4}
    assert sample.short == {"Turin": 6}
    rows = sample.rows()
    assert all(row_id.startswith(shop) for row_id, shop in zip(rows["id"], rows["shop"], strict=True))
    assert "sales" not in rows
    assert sample.rows("Oslo")["id"] == list(sample.ids["Oslo"])
    again = FleetCampaign.open("shops", storage=store).sample(pool)
    assert (again.new, again.ids) == (0, sample.ids)


def test_rows_that_were_labelled_are_not_drawn_again() -> None:
    campaign, market = create(MemoryStore(), id="id"), Market()
    campaign.ask()
    pool = pool_of({"Oslo": 60, "Rome": 60, "Turin": 60})
    first = campaign.sample(pool)
    labels = market.rows({name: len(ids) for name, ids in first.ids.items()})
    labels["id"] = [row_id for ids in first.ids.values() for row_id in ids]
    receipt = campaign.tell(labels, final=False)
    assert receipt.order.missing
    second = campaign.sample(pool)
    drawn = {row_id for ids in first.ids.values() for row_id in ids}
    assert second.new == receipt.order.missing
    assert drawn.isdisjoint(row_id for ids in second.ids.values() for row_id in ids)


def test_labelled_rows_are_read_once_for_all_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them once for each segment takes hours with ten thousand."""
    campaign, market = create(MemoryStore(), id="id"), Market()
    order = campaign.ask()
    pool = pool_of({"Oslo": 60, "Rome": 60, "Turin": 60})
    campaign.tell(market.rows(order.segments.missing), final=False)
    reads: list[int] = []

    class Marks(set[tuple[str, str]]):
        def __iter__(self) -> Iterator[tuple[str, str]]:
            reads.append(len(self))
            return super().__iter__()

    monkeypatch.setattr(sampling, "marks_of", lambda *given: Marks(marks_of(*given)))
    assert campaign.sample(pool).new
    assert reads == [30]


def test_segments_of_the_pool_are_added() -> None:
    campaign = create(MemoryStore(), id="id", segments=())
    campaign.ask(key="a")
    sample = campaign.sample(pool_of({"Bari": 30, "Oslo": 30}))
    assert {name: len(ids) for name, ids in sample.ids.items()} == {"Bari": 10, "Oslo": 10}
    assert [row.segment for row in campaign.segments] == ["Bari", "Oslo"]


def test_a_pool_that_cannot_be_used() -> None:
    campaign = create(MemoryStore(), id="id")
    with pytest.raises(ProtocolError, match=r"call ask\(\)"):
        campaign.sample(pool_of({"Oslo": 3}))
    campaign.ask()
    with pytest.raises(DriftpaceError, match="must have the column 'shop'"):
        campaign.sample({"id": ["1"], "price": [1.0]})
    with pytest.raises(DriftpaceError, match="must have a segment in every row"):
        campaign.sample({"id": ["1"], "shop": [None], "price": [1.0]})
