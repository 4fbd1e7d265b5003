"""Fleet campaigns of shops, the rows that their orders ask for, and periods that are worked through."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftpace import FleetCampaign
from driftpace.campaign.fleet import FleetReceipt
from driftpace.campaign.fleet.state import pack_segments

SHOPS = ("Oslo", "Rome", "Turin")
DEFINITION: dict[str, Any] = {"name": "shops", "segment": "shop", "target": "sales", "epsilon": 0.1, "seed": 0}
Table = dict[str, Any]


class Market:
    """Labels rows of shops, with an id of its own for each row."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.made = 0

    def rows(self, missing: Mapping[str, int]) -> Table:
        shops = [name for name, count in missing.items() for _ in range(count)]
        price = self.rng.standard_normal(len(shops))
        level = np.array([3.0 + len(name) for name in shops])
        sales = level - price + self.rng.standard_normal(len(shops))
        ids = [f"row-{self.made + place}" for place in range(len(shops))]
        self.made += len(shops)
        return {"id": ids, "shop": shops, "price": price, "sales": sales}


def create(store: Any, *, segments: tuple[str, ...] = SHOPS, **values: Any) -> FleetCampaign:
    return FleetCampaign.create({**DEFINITION, **values}, storage=store, segments=segments)


def work(campaign: FleetCampaign, market: Market, key: str) -> FleetReceipt:
    """Ask for a period and deliver what it misses until it is closed."""
    order = campaign.ask(key=key)
    while True:
        receipt = campaign.tell(market.rows(order.segments.missing), source=f"{key}.csv")
        order = receipt.order
        if receipt.closed is not None:
            return receipt


def bits(campaign: FleetCampaign) -> str:
    """Return a digest of all that is known of every segment."""
    return pack_segments(campaign.fleet().snapshot().segments)[1]
