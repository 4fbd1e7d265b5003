"""Drifting stores, fleets of them, and whether two fleets are the same to the bit."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from driftpace import Fleet, SquaredLoss
from driftpace.fleet import FleetOrders

STORES = ("Oslo", "Rome", "Turin")
Frame = dict[str, Any]


class Shop:
    """Drifting stores: a frame of labelled rows for each of their orders."""

    def __init__(self, names: Iterable[str] = STORES, *, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.coef = {name: self.rng.standard_normal(3) for name in names}

    def next_period(self) -> None:
        for coef in self.coef.values():
            coef += 0.05 * self.rng.standard_normal(3)

    def rows(self, name: str, count: int) -> Frame:
        price, size = self.rng.standard_normal((2, count))
        target = np.column_stack([np.ones(count), price, size]) @ self.coef[name] + self.rng.standard_normal(count)
        return {"store": [name] * count, "price": price, "size": size, "sales": target}

    def label_all(self, count: int) -> Frame:
        """Return so many rows of each store."""
        frames = [self.rows(name, count) for name in self.coef]
        return {column: np.concatenate([frame[column] for frame in frames]) for column in frames[0]}

    def label(self, orders: FleetOrders) -> pd.DataFrame:
        return pd.concat(pd.DataFrame(self.rows(order.segment, order.samples)) for order in orders)


def new_fleet(**options: Any) -> Fleet:
    given: dict[str, Any] = {"epsilon": 0.1, "segment": "store", "target": "sales", "segments": STORES, "rng": 0}
    return Fleet(SquaredLoss(), **(given | options))


def run(fleet: Fleet, shop: Shop, periods: int, change: Callable[[pd.DataFrame], Any] = lambda frame: frame) -> None:
    for _ in range(periods):
        while (orders := fleet.ask()).samples:
            fleet.tell(change(shop.label(orders)), final=False)
        fleet.tell()
        shop.next_period()


def same(one: Fleet, other: Fleet) -> bool:
    return (
        one.segments == other.segments
        and one.ledger.columns() == other.ledger.columns()
        and all(bits_of(one, name) == bits_of(other, name) for name in one.segments)
    )


def bits_of(fleet: Fleet, name: str) -> list[float] | None:
    """Return the model of a segment as numbers."""
    model = fleet.model(name)
    return None if model is None else model.tolist()
