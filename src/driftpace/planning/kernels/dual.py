"""The priced dynamic programme over the distance: the sum of gaps and priced money is minimised.

Nodes are a period n and a grid point i, a squared distance z. The values at the grid points, interpolated linearly, are lower
bounds at every distance in between, because of three facts about one move as a function of z within a grid cell:

* the risk after a purchase, and the squared distance one or more periods later, are concave in z: they lie above their chords;
* a gap max(risk - epsilon, 0) with its corner inside the cell has been lowered at both ends (``gap`` and ``idle`` are given so);
* the value of the next period is piecewise linear and may be convex at grid points. If a move crosses grid points, the flattest
  line from the lower end is used: :func:`lower_line`.

The minimum over moves of functions that lie above lines lies above the lines through the minimal ends. With ``smooth`` False a cell
has the value of its lower end, which needs only monotonicity.

Waiting k periods is one move, so that a slow drift is not lost between grid points.
"""

import numpy as np

from driftpace.compiled import compiled
from driftpace.planning.kernels.tables import PricedTables, Values
from driftpace.typing import FloatArray, IntArray

CHUNK = 32


@compiled()
def interpolate(values: FloatArray, points: FloatArray, smooth: bool, y: float, at: int) -> float:
    """Return the value at ``y`` at or above point ``at``: interpolated to the next point, or that of the point itself."""
    if not smooth or at == len(points) - 1:
        return values[at]
    return values[at] + (values[at + 1] - values[at]) * (y - points[at]) / (points[at + 1] - points[at])


@compiled()
def lower_line(
    values: FloatArray, points: FloatArray, smooth: bool, y: float, at: int, below: float, at_below: int
) -> float:
    """Return a value at ``y`` in cell ``at`` such that the line from the value at ``below`` to it stays under the curve."""
    value = interpolate(values, points, smooth, y, at)
    if smooth and at_below < at:
        low = interpolate(values, points, smooth, below, at_below)
        for j in range(at_below + 1, at + 1):
            run = points[j] - below
            if run > 0.0:
                value = min(value, low + (values[j] - low) * (y - below) / run)
    return value


@compiled()
def best_purchase(
    tables: PricedTables, values: FloatArray, i: int, price: float, weight: float, hint: int
) -> tuple[float, int]:
    """Return the minimal value of buying at point ``i`` and its order size; chunks that cannot be better are skipped."""
    counts = len(tables.prices)
    chunks = (counts + CHUNK - 1) // CHUNK
    below = max(i - 1, 0)
    best = np.inf
    pick = -1
    for step in range(chunks):  # the hint first, so that most others can be skipped
        c = hint if step == 0 else (step - 1 if step <= hint else step)
        first, last = c * CHUNK, min((c + 1) * CHUNK, counts) - 1
        floor = interpolate(
            values, tables.points, tables.smooth, tables.ahead[below, last], tables.ahead_point[below, last]
        )
        if price * tables.prices[first] + weight * tables.least_gap[i, c] + floor >= best:
            continue
        for a in range(first, last + 1):
            now = price * tables.prices[a] + weight * tables.gap[i, a]
            if now + floor >= best:
                continue
            value = now + lower_line(
                values,
                tables.points,
                tables.smooth,
                tables.ahead[i, a],
                tables.ahead_point[i, a],
                tables.ahead[below, a],
                tables.ahead_point[below, a],
            )
            if value < best:
                best = value
                pick = a
    return best, pick


@compiled()
def best_wait(tables: PricedTables, n: int, i: int, now: float, buy: FloatArray) -> tuple[float, int]:
    """Return the minimal value of a node where waiting is allowed, and how long to wait; ``now`` is that of buying at once."""
    horizon = len(tables.weights)
    below = max(i - 1, 0)
    best = now
    wait = 0
    total = 0.0
    for k in range(1, horizon - n + 1):
        total += tables.weights[n + k - 1] * tables.idle[i, k - 1]
        if total >= best and total > 0.0:
            break
        if n + k == horizon:
            if total < best:
                best = total
                wait = k
            break
        value = total + lower_line(
            buy[n + k],
            tables.points,
            tables.smooth,
            tables.later[i, k],
            tables.later_point[i, k],
            tables.later[below, k],
            tables.later_point[below, k],
        )
        if value < best:
            best = value
            wait = k
    return best, wait


@compiled()
def backward(tables: PricedTables, price: float, values: Values, then: Values, hints: IntArray) -> None:
    """Fill the values of all nodes; ``then`` are those after a purchase: the same, or those with one order fewer to come."""
    horizon, size = len(tables.weights), len(tables.points)
    values.free[horizon, :] = 0.0
    values.sample[horizon, :] = np.inf
    for n in range(horizon - 1, -1, -1):
        weight = tables.weights[n]
        for i in range(size):
            values.sample[n, i], pick = best_purchase(tables, then.free[n + 1], i, price, weight, hints[i])
            if pick >= 0:
                hints[i] = pick // CHUNK
            if tables.adjacent:
                values.pending[n, i] = np.inf
                if n + 1 < horizon:
                    values.pending[n, i], _ = best_purchase(tables, then.sample[n + 1], i, price, weight, hints[i])
        for i in range(size):
            values.free[n, i], _ = best_wait(tables, n, i, values.sample[n, i], values.pending)


@compiled()
def follow_policy(
    tables: PricedTables, first: int, price: float, needs_neighbour: bool, values: Values, chosen: IntArray
) -> bool:
    """Follow the policy from the first period, at the nearest grid points; return whether it reaches the end.

    ``chosen`` gets the order size of each period, -1 for none.
    """
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
                i = nearest_point(tables.points, tables.later[i, wait], tables.later_point[i, wait])
                state = 0 if tables.adjacent else 2
        ahead = values.sample if state == 0 else values.free
        _, pick = best_purchase(tables, ahead[n + 1], i, price, tables.weights[n], 0)
        if pick < 0:
            return False
        chosen[n] = pick
        state = 1 if state == 0 else 2
        i = nearest_point(tables.points, tables.ahead[i, pick], tables.ahead_point[i, pick])
        n += 1
    return True


@compiled()
def nearest_point(points: FloatArray, y: float, at: int) -> int:
    """Return the grid point nearest to ``y``, which lies between point ``at`` and the next."""
    if at + 1 < len(points) and points[at + 1] - y < y - points[at]:
        return at + 1
    return at
