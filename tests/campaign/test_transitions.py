"""Rows of the open period that are read again at once are those that were delivered one after the other, to the bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftpace.campaign import Campaign
from driftpace.campaign.handle import with_rows
from driftpace.campaign.packing import unpack_rows
from driftpace.campaign.state import CampaignState, from_checkpoint, to_checkpoint
from driftpace.campaign.transitions import asked, delivered, redelivered, without_deliveries
from driftpace.storage import MemoryStore

DEFINITION = {"name": "churn", "target": "y", "epsilon": 1e-3, "seed": 0}


def deliver(campaign: Campaign, rng: np.random.Generator, *, count: int = 12, **options: Any) -> None:
    for number in range(count):
        rows = int(rng.integers(1, 5))
        X = rng.normal(size=(rows, 3))
        given = {name: make(rng, rows, number) for name, make in options.items()}
        campaign.tell(X, X.sum(axis=1) + rng.normal(size=rows), final=False, **given)


def in_store(store: MemoryStore) -> tuple[CampaignState, dict[int, bytes]]:
    record = store.checkpoint("churn")
    assert record is not None
    state = from_checkpoint(*record)
    assert state.opened is not None
    return state, store.rows("churn", state.opened.deliveries)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "groups": {"groups": lambda rng, rows, _: rng.integers(0, 5, size=rows)},
    "weights of some": {
        "sample_weight": lambda rng, rows, number: rng.uniform(1, 2, size=rows) if number % 3 else None
    },
    "ids": {"ids": lambda _, rows, number: [f"{number}-{row}" for row in range(rows)]},
    "annotators": {
        "ids": lambda _, rows, number: [f"{number}-{row}" for row in range(rows)],
        "annotators": lambda _, rows, number: ["ada" if number % 2 else "bob"] * rows,
    },
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("more", [{}, {"budget": {"total": 4000, "horizon": 3, "per_sample": 1}}])
def test_rows_read_at_once_are_those_delivered_one_by_one(
    name: str, more: dict[str, Any], rng: np.random.Generator
) -> None:
    store = MemoryStore()
    campaign = Campaign.create({**DEFINITION, **more}, storage=store)
    for _ in range(2):
        campaign.ask()
        deliver(campaign, rng, **OPTIONS[name])
        state, rows = in_store(store)
        assert state.opened is not None
        packed = {seq: unpack_rows(rows[seq]) for seq in state.opened.deliveries}
        apart = replace(state, opened=without_deliveries(state.opened))
        for seq, part in packed.items():
            apart = delivered(apart, part, seq=seq)
        at_once = redelivered(replace(state, opened=without_deliveries(state.opened)), packed)
        again = with_rows(state, rows)
        assert apart.opened == at_once.opened == again.opened
        ends = [asked(one, pool=None, key=None) for one in (apart, at_once, again)]
        assert len({str(request) for _, request in ends}) == 1
        closed = [one.method.close(one.state) for one, _ in ends]
        finished = [replace(state, state=after, opened=None, last=report) for after, report in closed]
        assert len({to_checkpoint(replace(one, last=None)) for one in finished}) == 1
        campaign.tell(final=True)
