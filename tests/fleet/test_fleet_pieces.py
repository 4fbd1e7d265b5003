"""Orders of segments that are delivered in pieces; where segments lend to each other, what is lent depends on what arrived."""

from typing import Any

import numpy as np
import pandas as pd

from driftpace import Fleet, SquaredLoss

NAMES = [f"store {number}" for number in range(6)]
COLUMNS = ["price", "day", "stock"]


def rows(place: int, period: int, start: int, stop: int) -> pd.DataFrame:
    """Return rows of a segment by their numbers: the same ones however they are cut."""
    rng = np.random.default_rng((place, period))
    X = rng.standard_normal((2000, 3))
    y = X @ np.array([1.0, -0.5, 0.2]) + 0.3 * place + 0.2 * period + rng.standard_normal(2000)
    return pd.DataFrame(X[start:stop], columns=COLUMNS).assign(store=NAMES[place], y=y[start:stop])


def followed(piece: int | None) -> list[Any]:
    """Return the rows and the risk of each segment in each period, each order delivered in pieces of so many rows."""
    fleet = Fleet(
        SquaredLoss(), epsilon=0.05, segment="store", target="y", segments=NAMES, borrow=False, executor="local", rng=0
    )
    found = []
    for period in range(4):
        bought = [0] * len(NAMES)
        while (orders := fleet.ask()).samples:
            parts = []
            for place, order in enumerate(orders):
                count = order.samples if piece is None else min(piece, order.samples)
                parts.append(rows(place, period, bought[place], bought[place] + count))
                bought[place] += count
            fleet.tell(pd.concat(parts), final=False)
        fleet.tell()
        found.append((bought, [fleet.segment(name).history[-1].risk_bound for name in NAMES]))
    return found


def test_pieces_of_orders_change_nothing() -> None:
    whole, pieces = followed(None), followed(5)
    assert [bought for bought, _ in pieces] == [bought for bought, _ in whole]
    np.testing.assert_allclose([risks for _, risks in pieces], [risks for _, risks in whole], rtol=1e-9)
