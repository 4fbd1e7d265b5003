"""The dynamic programme for the least cost such that no gap, or no stretch of gaps, exceeds a level.

Nodes are a period n and a grid point i. On a grid that rounds down, every value is a lower bound on the cost; on one that rounds
up, the policy is feasible. ``runs`` False: no single gap may exceed the level. True: the gaps from one purchase to the next may
not add up to more; ``before`` is then the gap of the purchase that leads to a grid point.
"""

import numpy as np

from driftpace.compiled import compiled
from driftpace.planning.kernels.tables import LevelTables, PointIndices, Values
from driftpace.typing import FloatArray, IntArray


@compiled()
def list_purchases(
    gap: FloatArray,
    ahead_point: PointIndices,
    prices: FloatArray,
    weight: float,
    level: float,
    starts: IntArray,
    points: IntArray,
    values: FloatArray,
    entries: IntArray,
) -> int:
    """List the purchases within the level for each grid point, the cheapest to each point ahead; return their number.

    They are ordered from the lowest point ahead, the most expensive, to the highest.
    """
    size, counts = gap.shape
    at = 0
    for i in range(size):
        starts[i] = at
        last = -1
        for a in range(counts - 1, -1, -1):
            if weight * gap[i, a] > level:
                break  # fewer samples only make it larger
            if ahead_point[i, a] != last:
                last = ahead_point[i, a]
                at += 1
            points[at - 1] = last
            values[at - 1] = prices[a]
            entries[at - 1] = a
    starts[size] = at
    return at


@compiled()
def best_wait(tables: LevelTables, n: int, i: int, now: float, buy: FloatArray) -> tuple[float, int]:
    """Return the least cost from a node where waiting is allowed, and how long to wait; ``now`` is that of buying at once."""
    horizon = len(tables.weights)
    if n + tables.waits[i] >= horizon:
        return 0.0, horizon - n
    best = now
    wait = 0
    total = tables.before[i] * tables.weights[n - 1] if n > 0 else 0.0
    for k in range(1, horizon - n + 1):
        each = tables.weights[n + k - 1] * tables.idle[i, k - 1]
        total += each
        if (total if tables.runs else each) > tables.level:
            break
        if n + k == horizon:
            return 0.0, k
        value = buy[n + k, tables.later_point[i, k]]
        if value < best:
            best = value
            wait = k
    return best, wait


@compiled()
def best_purchase(tables: LevelTables, n: int, i: int, ahead: FloatArray) -> tuple[float, int]:
    """Return the least cost of buying at grid point ``i`` and the purchase that attains it."""
    starts = tables.starts[tables.classes[n]]
    best = np.inf
    pick = -1
    least = ahead[0]
    for s in range(starts[i + 1] - 1, starts[i] - 1, -1):
        if tables.values[s] + least >= best:
            break
        value = tables.values[s] + ahead[tables.points[s]]
        if value < best:
            best = value
            pick = s
    return best, pick


@compiled()
def backward(tables: LevelTables, values: Values) -> None:
    """Fill the least costs of all nodes."""
    horizon, size = len(tables.weights), tables.idle.shape[0]
    values.free[horizon, :] = 0.0
    values.sample[horizon, :] = np.inf
    for n in range(horizon - 1, -1, -1):
        for i in range(size):
            values.sample[n, i], _ = best_purchase(tables, n, i, values.free[n + 1])
            if tables.adjacent:
                values.pending[n, i], _ = best_purchase(tables, n, i, values.sample[n + 1])
        for i in range(size):
            values.free[n, i], _ = best_wait(tables, n, i, values.sample[n, i], values.pending)


@compiled()
def follow_policy(tables: LevelTables, first: int, needs_neighbour: bool, values: Values, chosen: IntArray) -> bool:
    """Follow the policy from the first period; ``chosen`` gets the order size of each period, -1 for none."""
    horizon = len(tables.weights)
    n, i = 0, first
    chosen[:] = -1
    state = 0 if needs_neighbour else 2  # 0: a purchase needs one in the next period; 1: must buy now; 2: unconstrained
    while n < horizon:
        if state != 1:
            now = values.pending[n, i] if state == 0 else values.sample[n, i]
            _, wait = best_wait(tables, n, i, now, values.pending)
            if wait > 0:
                n += wait
                if n >= horizon:
                    break
                i = tables.later_point[i, wait]
                state = 0 if tables.adjacent else 2
        ahead = values.sample if state == 0 else values.free
        _, pick = best_purchase(tables, n, i, ahead[n + 1])
        if pick < 0:
            return False
        chosen[n] = tables.entries[pick]
        state = 1 if state == 0 else 2
        i = tables.points[pick]
        n += 1
    return True
